"""How many cores a command may use. One number bounds them all: PyTorch, BLAS, OpenMP, numba and our own workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

QUIET = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}  # idle threads sleep; spinning ones slow their neighbours
POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def sleep_when_idle() -> None:
    """To be said before PyTorch is imported, which reads it once."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def available_cores() -> int:
    """Cores that this process may use, which on a shared machine are fewer than it has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) else cores


def core_count(jobs: int | None) -> int:
    """What --jobs asks for, or the cores available."""
    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}; leave it out to use all available cores")
    return jobs or available_cores()


@contextmanager
def threads(jobs: int | None) -> Iterator[int]:
    """Bound all threads to `jobs`, or to the cores available; yield that number. Earlier limits come back."""
    number = core_count(jobs)
    before = {name: os.environ.get(name) for name in POOLS}
    os.environ.update(dict.fromkeys(POOLS, str(number)))  # for what is not loaded yet
    from neuralmirror._internal.device import thread_limit

    try:
        with thread_limit(number):
            yield number
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
