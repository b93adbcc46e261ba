"""Words and numbers that the user calls missing, in every kind of file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import MISSING_GENOTYPE, Column, Table


def with_missing(table: Table, options: ReadOptions) -> Table:
    """The table with the values of `options.na` missing, among features and traits alike."""
    if not options.na:
        return table
    numbers = [number for word in options.na if (number := options.notation(".").number(word)) is not None]
    words = set(options.na)
    texts = {name: _cleared(column, words) for name, column in table.texts.items()}
    traits = {
        name: _blanked(column, numbers) if column.dtype.kind in "fiu" else _cleared(column, words)
        for name, column in table.traits.items()
    }
    return replace(table, values=_blanked(table.values, numbers), texts=texts, traits=traits)


def _blanked(values: NDArray[Any], numbers: list[float]) -> NDArray[Any]:
    hit = np.isin(values, numbers)
    if not hit.any():
        return values
    return np.where(hit, np.int8(MISSING_GENOTYPE) if values.dtype == np.int8 and values.ndim == 2 else np.nan, values)


def _cleared(column: Column, words: set[str]) -> Column:
    return np.array(["" if str(value) in words else value for value in column], dtype=object)
