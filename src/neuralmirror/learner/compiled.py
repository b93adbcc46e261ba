"""Compiled steps that all parts of the sampler share."""

from __future__ import annotations

import numba
import numpy as np

compiled = numba.njit(cache=True, nogil=True, fastmath=True)
# For functions that make no arrays: counting references to those at hand takes longer than their arithmetic.
compiled_step = numba.njit(cache=True, nogil=True, fastmath=True, _nrt=False)  # type: ignore[call-overload]


@compiled_step
def dot(a, b, n):  # type: ignore[no-untyped-def]
    """Σ a b over the first n places."""
    total = np.float32(0.0)
    for i in range(n):
        total += a[i] * b[i]
    return total


@compiled_step
def add(weight, column, to):  # type: ignore[no-untyped-def]
    """Add a multiple of a column to another."""
    for i in range(column.shape[0]):
        to[i] += weight * column[i]


@compiled_step
def pick(odds, here, total):  # type: ignore[no-untyped-def]
    """A place drawn by weight; `here` stands for the empty term."""
    target, place = np.random.random() * total, 0
    reached = odds[0]
    while place < here and reached < target:
        place += 1
        reached += odds[place]
    return place
