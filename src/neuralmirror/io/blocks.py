"""A table looked at in blocks of columns, so that genotypes are never widened all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.tables import MISSING_GENOTYPE, Table

Block = NDArray[Any]  # some columns of a table, (n, b)

BLOCK = 1024  # columns looked at together


def absent(block: Block) -> NDArray[np.bool_]:
    """Where a value is missing."""
    return np.asarray(block == MISSING_GENOTYPE if block.dtype == np.int8 else np.isnan(block))


def with_nan(block: Block) -> NDArray[np.float64]:
    """Floats, missing ones NaN."""
    return np.where(absent(block), np.nan, block.astype(np.float64))


def blocks(table: Table) -> Iterator[Block]:
    """The numeric columns, some at a time."""
    for start in range(0, len(table.names), BLOCK):
        yield table.values[:, start : start + BLOCK]


def by_column(table: Table, function: Callable[[Block], NDArray[Any]]) -> NDArray[Any]:
    """What a function of blocks gives for each column (p,)."""
    parts = [function(block) for block in blocks(table)]
    return np.concatenate(parts) if parts else np.empty(0)


def column_means(table: Table, function: Callable[[Block], NDArray[Any]]) -> NDArray[np.float64]:
    """The mean over samples of a function of the values, by column."""
    return by_column(table, lambda block: np.mean(function(block), axis=0))


def missing_shares(table: Table) -> dict[str, float]:
    """The share of samples without a value, by feature."""
    shares = dict(zip(table.names, map(float, column_means(table, absent)), strict=True))
    return shares | {name: float(np.mean(column == "")) for name, column in table.texts.items()}


def allele_frequencies(table: Table) -> NDArray[np.float64]:
    """Half the mean of the known genotypes of each column."""
    known = column_means(table, lambda block: ~absent(block))
    total = column_means(table, lambda block: np.where(absent(block), 0, block))
    return np.asarray(total / np.maximum(known, 1e-300) / 2)


def unit_columns(block: Block) -> NDArray[np.float64]:
    """Columns centred and of length one, as rows (b, n); missing values stand at the mean."""
    values = with_nan(block)
    centred = np.nan_to_num(values - np.nanmean(values, axis=0))
    return np.asarray((centred / np.maximum(np.linalg.norm(centred, axis=0), 1e-300)).T)
