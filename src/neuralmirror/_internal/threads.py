"""Pieces of work side by side in threads: for compiled code and matrix products, which let others run meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Other = TypeVar("Other")


def in_threads(work: Callable[[Piece], Result], pieces: Iterable[Piece], n_jobs: int) -> list[Result]:
    """What the work makes of every piece, in their order."""
    if n_jobs <= 1:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(work, pieces))


def at_once(one: Callable[[], Result], other: Callable[[], Other], n_jobs: int) -> tuple[Result, Other]:
    """What two pieces of work of different kinds give."""
    if n_jobs <= 1:
        return one(), other()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(other)
        return one(), waiting.result()
