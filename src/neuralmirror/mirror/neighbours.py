"""The columns that each column is most correlated with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner.compiled import compiled

Indices = NDArray[np.intp]

BLOCK = 2**25  # bytes of the correlations that a thread holds at once


@compiled
def _largest(products, own, group, nearest):  # type: ignore[no-untyped-def]
    """The places of the largest absolute values of each row among other groups, largest first, into `nearest`."""
    count = nearest.shape[1]
    highest = np.empty(count, dtype=np.float32)
    for row in range(products.shape[0]):
        highest[:] = -1.0
        nearest[row] = own[row]  # stays where there are fewer others
        for column in range(products.shape[1]):
            value = abs(products[row, column])
            if value <= highest[count - 1] or group[column] == group[own[row]]:
                continue
            place = count - 1
            while place > 0 and highest[place - 1] < value:
                highest[place], nearest[row, place] = highest[place - 1], nearest[row, place - 1]
                place -= 1
            highest[place], nearest[row, place] = value, column


def nearest_neighbours(rows: NDArray[np.float32], count: int, group: Indices, n_jobs: int = 1) -> Indices:
    """The columns of other groups that each column (p, n) is most correlated with, nearest first: (p, count)."""
    p = len(rows)
    nearest = np.empty((p, count), dtype=np.intp)

    def of_block(block: Indices) -> None:
        _largest(rows[block] @ rows.T, block, group, nearest[block[0] : block[-1] + 1])

    in_threads(of_block, np.array_split(np.arange(p), 4 * p * p // BLOCK + 1), n_jobs)
    return nearest
