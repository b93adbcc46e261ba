"""Columns that can carry a mirror, set apart from constant ones and exact copies."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Columns:
    """Which columns of a table can carry a mirror: not the constant ones, and one of each set of equals."""

    usable: NDArray[np.intp]
    constant: NDArray[np.intp]
    copies: dict[int, int]  # a column that repeats another, to the first of its kind


def sort_columns(x: NDArray[np.float64]) -> Columns:
    """Set apart constant columns and exact copies of an earlier column."""
    constant = np.flatnonzero(x.max(axis=0) == x.min(axis=0))
    first: dict[bytes, int] = {}  # by digest, for the columns of a wide table would fill the memory once more
    copies: dict[int, int] = {}
    for j in np.setdiff1d(np.arange(x.shape[1]), constant):
        earlier = first.setdefault(blake2b((x[:, j] + 0.0).tobytes()).digest(), int(j))  # + 0.0: −0 and 0 are equal
        if earlier != j:
            copies[int(j)] = earlier
    usable = np.setdiff1d(np.arange(x.shape[1]), [*constant, *copies])
    return Columns(usable, constant, copies)
