"""Where work runs: the device of matrix products, and how many threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from neuralmirror._internal import checks
from neuralmirror._internal.single import single


def resolve_device(device: str) -> str:
    """ "auto" takes CUDA where there is one."""
    import torch

    checks.check_choice("device", str(device).split(":")[0], ("auto", "cpu", "cuda"))
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={device!r} was asked for, but PyTorch finds no CUDA device; use 'auto' or 'cpu'")
    return device


def resolve_jobs(n_jobs: int | None) -> int:
    """Threads: a number, for None all available cores (one in a worker), joblib's −1 for all, −2 for all but one."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return 1 if single.users else available
    count = int(n_jobs)
    if count == 0:
        raise ValueError("n_jobs must be a number of threads or −1 for all cores, got 0; leave it out for the default")
    return count if count > 0 else max(1, available + 1 + count)


@contextmanager
def thread_limit(count: int | None) -> Iterator[None]:
    """PyTorch, BLAS and OpenMP on so many threads within the block; None leaves them as they are.

    Our compiled code starts no threads of numba's, and asking numba for their number would start them.
    """
    if count is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with torch_threads(count), threadpool_limits(count):
        yield


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """PyTorch on so many threads within the block; None leaves them as they are."""
    import torch

    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
