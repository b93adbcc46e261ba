"""Orthogonal columns of an option, written down or as crosses: combinations of products of rows.

An isotropic prior does not notice the turn, and orthogonal columns have independent coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Block = NDArray[np.float32]  # (..., columns, n)

LEAST_SQUARE = 1e-6  # of a column, relative to the longest beside it; what is shorter vanishes
BYTES = 2**25  # of crosses that are written down at a time


@dataclass(frozen=True)
class Crosses:
    """Orthogonal columns that are never written down: combinations of products of rows, one row of each block."""

    blocks: tuple[Block, ...]  # two or three, (w, n) each
    chosen: NDArray[np.int64]  # (crosses, blocks): the row of each block
    means: Floats  # (crosses,): over the rows seen
    turn: Floats  # (columns, crosses)
    squares: Floats  # (columns,): ‖column‖² over the rows seen

    def __len__(self) -> int:
        return len(self.turn)


def orthogonal(block: Block, n_seen: int | None = None) -> list[Block]:
    """Each block (c, n) of a batch (..., c, n) turned so that its columns are orthogonal over the rows seen.

    Columns that vanish, as those of a feature with few values do, are left out.
    """
    flat = block.reshape(-1, *block.shape[-2:]).astype(np.float64)
    seen = flat[..., :n_seen]
    turns = [turn for turn, _ in _turns(seen @ seen.swapaxes(-1, -2))]
    return [(turn @ part).astype(np.float32) for turn, part in zip(turns, flat, strict=True)]


def _turns(products: Floats) -> list[tuple[Floats, Floats]]:
    """Of vectors with these products (b, r, r) with each other, the turns (c, r) to orthogonal ones, and their squares.

    Those that vanish are left out.
    """
    sizes, vectors = np.linalg.eigh(products)
    kept = sizes > LEAST_SQUARE * sizes.max(axis=-1, keepdims=True)
    turns = vectors.swapaxes(-1, -2)
    return [(turn[keep], size[keep]) for turn, size, keep in zip(turns, sizes, kept, strict=True)]


def orthogonal_crosses(factors: list[list[Block]], chosen: NDArray[np.int64], n_seen: int) -> list[Crosses]:
    """Columns for each combination of one block (w, n) of every factor, the last factor's changing fastest.

    They are made of products of one row of each block, `chosen` (crosses, factors), about their means.
    """
    count = int(np.prod([len(blocks) for blocks in factors]))
    sums, squares = np.zeros((count, len(chosen))), np.zeros((count, len(chosen), len(chosen)))
    step = max(1, BYTES // (8 * sums.size))
    for start in range(0, n_seen, step):
        part = slice(start, min(start + step, n_seen))
        values = np.ones((1, 1, 1))
        for blocks, rows in zip(factors, chosen.T, strict=True):
            every = np.stack([block[rows, part] for block in blocks]).astype(np.float64)  # (directions, crosses, .)
            values = (values[:, None] * every).reshape(-1, *every.shape[1:])
        sums += values.sum(axis=2)
        squares += values @ values.swapaxes(1, 2)
    means = sums / n_seen
    turns = _turns(squares - n_seen * means[:, :, None] * means[:, None])
    combinations = product(*factors)
    return [
        Crosses(blocks, chosen, mean, turn, sizes)
        for blocks, mean, (turn, sizes) in zip(combinations, means, turns, strict=True)
    ]


def centred(block: Block, n_seen: int | None = None) -> Block:
    """Columns about their means over the rows seen."""
    return np.asarray(block - block[..., :n_seen].mean(axis=-1, keepdims=True, dtype=np.float64), dtype=np.float32)
