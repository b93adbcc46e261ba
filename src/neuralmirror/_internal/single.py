"""One thread for every library, while pieces run beside each other. Loads none of those libraries."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack

from threadpoolctl import ThreadpoolController

HAVE_THREADS = ("numpy", "scipy.linalg", "sklearn", "torch")  # modules that bring libraries with threads of their own


class Single:
    """A block with one thread for BLAS, OpenMP and PyTorch; limits end with the last block of this process."""

    def __init__(self) -> None:
        self.users, self._lock, self._before = 0, threading.Lock(), ExitStack()
        self._loaded: list[str] = []
        self._libraries: ThreadpoolController | None = None

    def __enter__(self) -> None:
        torch = sys.modules.get("torch")
        with self._lock:
            self.users += 1
            if self.users == 1:
                self._before.enter_context(self._known_libraries().limit(limits=1))
                if torch is not None:
                    self._before.callback(torch.set_num_threads, torch.get_num_threads())
        if torch is not None:
            torch.set_num_threads(1)  # holds for the thread that says so, and for those that start after it

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.users -= 1
            if self.users == 0:
                self._before.close()

    def _known_libraries(self) -> ThreadpoolController:
        """The libraries with threads, looked for again where there may be more: a search takes milliseconds."""
        loaded = [name for name in HAVE_THREADS if name in sys.modules]
        if self._libraries is None or loaded != self._loaded:
            self._loaded, self._libraries = loaded, ThreadpoolController()
        return self._libraries


single = Single()
