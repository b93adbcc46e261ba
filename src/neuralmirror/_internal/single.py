"""One thread for every library, while pieces run beside each other. Loads none of those libraries."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack

from threadpoolctl import threadpool_limits


class Single:
    """A block with one thread for BLAS, OpenMP and PyTorch; limits end with the last block of this process."""

    def __init__(self) -> None:
        self.users, self._lock, self._before = 0, threading.Lock(), ExitStack()

    def __enter__(self) -> None:
        torch = sys.modules.get("torch")
        with self._lock:
            self.users += 1
            if self.users == 1:
                self._before.enter_context(threadpool_limits(1))
                if torch is not None:
                    self._before.callback(torch.set_num_threads, torch.get_num_threads())
        if torch is not None:
            torch.set_num_threads(1)  # holds for the thread that says so, and for those that start after it

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.users -= 1
            if self.users == 0:
                self._before.close()


single = Single()
