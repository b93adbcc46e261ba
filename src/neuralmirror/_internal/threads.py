"""Pieces of work side by side in threads: for compiled code and matrix products, which let others run meanwhile.

The libraries beneath have one thread each then: two that wait for each other on one core are slower than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from neuralmirror._internal.single import single

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Other = TypeVar("Other")


def in_threads(work: Callable[[Piece], Result], pieces: Iterable[Piece], n_jobs: int) -> list[Result]:
    """What the work makes of every piece, in their order."""
    if n_jobs <= 1:
        return [work(piece) for piece in pieces]
    with single, ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(partial(_alone, work), pieces))


def at_once(one: Callable[[], Result], other: Callable[[], Other], n_jobs: int) -> tuple[Result, Other]:
    """What two pieces of work of different kinds give."""
    if n_jobs <= 1:
        return one(), other()
    with single, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_alone, other)
        return one(), waiting.result()


def _alone(work: Callable[..., Result], *piece: object) -> Result:
    """Work with one thread for every library, which PyTorch wants to hear from the very thread."""
    with single:
        return work(*piece)
