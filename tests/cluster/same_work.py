"""Work in pieces whose results are compared to the last bit, and what kills a worker in its middle."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from neuralmirror import NeuralGaussianMirror
from neuralmirror.learner.network import Network

FITS = {
    "draws": {"n_repeats": 4},
    "turns": {"scheme": "turns"},
    "individual": {"scheme": "individual"},
    "networks": {"scheme": "individual", "learner": "network", "network": Network(steps=30, hidden_sizes=8)},
}


def table(n: int = 250, p: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Six of the features matter."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, p))
    return x, x[:, :6].sum(axis=1) + 0.3 * rng.standard_normal(n)


def fitted(**settings: object) -> bytes:
    """What a fit leaves, as bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = {"learner": "sparse", "random_state": 0, "fdr": 0.5, **settings}
        mirror = NeuralGaussianMirror(**chosen).fit(*table())
    return mirror.strengths_.tobytes() + mirror.q_values_.tobytes() + mirror.scales_.tobytes()


@contextmanager
def killing(busy_worker: Callable[[], int | None], patience: float = 60) -> Iterator[list[int]]:
    """Kill the first worker that is found at work, by its process id; the list that is yielded holds it."""
    killed: list[int] = []
    over = threading.Event()

    def watch() -> None:
        end = time.monotonic() + patience
        while not over.is_set() and time.monotonic() < end:
            pid = busy_worker()
            if pid is not None:
                time.sleep(0.3)
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
            time.sleep(0.02)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield killed
    finally:
        over.set()
        watcher.join()
