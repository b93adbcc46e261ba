"""Work in pieces through joblib: threads or processes on one machine, Dask or Ray past it.

`with joblib.parallel_config(backend="dask")` around any call of the package sends its pieces to that cluster. What a
piece computes does not depend on where it runs, so neither does the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import joblib
from joblib.parallel import get_active_backend

from neuralmirror._internal.packing import Packer, shared_folder, unpacked
from neuralmirror._internal.single import single

ATTEMPTS = 3  # at pieces whose workers died under them
WAVE = 4  # pieces a worker, where a backend returns them only together
DEATHS = {"TerminatedWorkerError", "BrokenProcessPool", "RayActorError", "WorkerCrashedError", "KilledWorker"}

CLUSTERS = {"DaskDistributedBackend", "RayBackend"}

Kind = Literal["threads", "processes"]
Numbered = tuple[int, Any]
Call = tuple[Any, ...]  # of joblib's `delayed`


class WorkerError(OSError):
    """Workers that cannot do their pieces: which, why, and what to do."""


def run_pieces(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    prefer: Kind = "processes",
    folder: Path | None = None,
) -> Iterator[Numbered]:
    """Yield (i, function(*arguments[i])) as the pieces are completed, in any order.

    Backend and workers of `joblib.parallel_config` come before `prefer` and `n_jobs`. Large arrays for a cluster lie in
    `folder` while the pieces run. Pieces whose worker died run again.
    """
    waiting = dict(enumerate(arguments))
    if not _is_cluster() and (len(waiting) < 2 or workers(n_jobs, prefer) == 1):
        for number, piece in waiting.items():
            yield number, function(*piece)
        return
    with _sender(function, folder) as send, _one_thread_each(prefer):
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for number, result in _completed(send, waiting, n_jobs, prefer):
                    del waiting[number]
                    yield number, result
                return
            except Exception as reason:
                if not _is_death(reason):
                    raise
                if attempt == ATTEMPTS:
                    lost = f"{len(waiting)} pieces lost their workers {ATTEMPTS} times"
                    raise WorkerError(f"{lost}; workers that outgrow their memory are killed: give them more") from None


def in_order(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    tick: Callable[[int], None] = lambda steps: None,
    **how: Any,
) -> list[Any]:
    """All results of `run_pieces`, in the order of the arguments; `tick` hears of each as it comes."""
    found: dict[int, Any] = {}
    for number, result in run_pieces(function, arguments, **how):
        found[number] = result
        tick(1)
    return [found[number] for number in range(len(arguments))]


def elsewhere() -> bool:
    """Whether the caller has chosen workers outside this process: loky, Dask or Ray."""
    return not getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)


def workers(n_jobs: int | None = None, prefer: Kind = "processes") -> int:
    """How many pieces run at once."""
    backend, _ = get_active_backend(prefer=prefer)
    return int(backend.effective_n_jobs(_jobs(n_jobs)))


def _completed(
    send: Callable[[int, tuple[Any, ...]], Call], waiting: dict[int, tuple[Any, ...]], n_jobs: int | None, prefer: Kind
) -> Iterator[Numbered]:
    """One attempt: each piece as it comes where the backend can do that, else a few for every worker at a time."""
    backend, _ = get_active_backend(prefer=prefer)
    # Copies on write: compiled code and PyTorch want arrays that they may write to.
    settings: dict[str, Any] = {"n_jobs": _jobs(n_jobs), "prefer": prefer, "mmap_mode": "c"}
    if type(backend).__name__ == "DaskDistributedBackend":
        from neuralmirror._internal.dask_backend import steady

        settings["backend"] = steady(backend)
    calls = [send(number, piece) for number, piece in waiting.items()]
    if backend.supports_return_generator:
        # A cluster that grows with its queue must see the queue.
        ahead = "all" if _is_cluster() else "2 * n_jobs"
        yield from joblib.Parallel(**settings, return_as="generator_unordered", pre_dispatch=ahead)(calls)
        return
    size = WAVE * workers(n_jobs, prefer)
    with joblib.Parallel(**settings) as parallel:  # the same workers for all waves
        for first in range(0, len(calls), size):
            yield from parallel(calls[first : first + size])


def _jobs(n_jobs: int | None) -> int:
    """The caller's number of workers, else the given one, else the backend's; on Ray all, where joblib takes one."""
    backend, chosen = get_active_backend()
    if type(backend).__name__ == "RayBackend":
        import ray

        if not ray.is_initialized():
            ray.init()
        return max(2, int(ray.cluster_resources().get("CPU", 1))) if chosen in (None, -1, 1) else int(chosen)
    first, second = (chosen, n_jobs) if elsewhere() else (n_jobs, chosen)
    wanted = second if first is None else first
    return int(backend.default_n_jobs if wanted is None else wanted)


def _is_cluster() -> bool:
    return type(get_active_backend()[0]).__name__ in CLUSTERS


def _is_death(reason: BaseException) -> bool:
    """Whether a worker died, whichever library says so."""
    return any(kind.__name__ in DEATHS for kind in type(reason).__mro__)


@contextmanager
def _sender(function: Callable[..., Any], folder: Path | None) -> Iterator[Callable[[int, tuple[Any, ...]], Call]]:
    """What makes a call of a piece: as it is on this machine, small bytes and paths of large arrays for a cluster."""
    if not _is_cluster():
        yield lambda number, piece: joblib.delayed(_piece)(number, function, piece)
        return
    release = version("neuralmirror")
    with shared_folder(folder) as place:
        packer = Packer(place)
        yield lambda number, piece: joblib.delayed(_sent_piece)(number, release, packer.packed((function, piece)))


def _one_thread_each(prefer: Kind) -> AbstractContextManager[object]:
    """One thread for every library where the workers are threads of this process.

    OpenBLAS does not hear it from the workers themselves once another thread has set a number.
    """
    backend, _ = get_active_backend(prefer=prefer)
    return single if getattr(backend, "supports_sharedmem", False) else nullcontext()


def _piece(number: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Numbered:
    """One piece in a worker: on one thread, for the workers fill the cores, and with no workers of its own."""
    with single, joblib.parallel_config(backend="sequential"):
        return number, function(*arguments)


def _sent_piece(number: int, release: str, content: bytes) -> Numbered:
    """One piece in a worker of a cluster."""
    here = version("neuralmirror")
    if here != release:
        raise WorkerError(f"a worker has neuralmirror {here}, the caller {release}; install the same on both")
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # read when numba is imported, which unpacking may do
    return _piece(number, *unpacked(content))
