"""From columns to numbers: missing values filled in, text turned into columns of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.blocks import with_nan
from neuralmirror.io.errors import DataError
from neuralmirror.io.filters import Rules
from neuralmirror.io.names import counted
from neuralmirror.io.tables import Column, Dropped, Table

MAX_LEVELS = 30


def impute(table: Table, rules: Rules) -> tuple[NDArray[np.float64], list[str]]:
    """The columns as floats with no value missing."""
    x = with_nan(table.values)
    holes = np.isnan(x)
    if not holes.any():
        return x, []
    row, column = np.argwhere(holes)[0]
    if rules.missing == "error":
        raise DataError(
            f"{int(holes.sum())} values are missing (the first in row {row + 1} of {table.names[column]!r}); "
            "impute them with --missing mean or --missing mode"
        )
    for j in np.flatnonzero(holes.any(axis=0)):
        known = x[~holes[:, j], j]
        x[holes[:, j], j] = known.mean() if rules.missing == "mean" else _mode(known)
    some = int(holes.any(axis=0).sum())
    share = holes.sum() / holes.size
    count = f"{int(holes.sum())} missing values ({share:.2%}) in {counted(some, 'feature')}"
    return x, [f"{count} set to the {rules.missing} of the feature"]


def _mode(values: NDArray[np.float64]) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


@dataclass(frozen=True)
class Encoded:
    """Columns of 0 and 1 with their names, the feature of each, and the levels of every feature."""

    columns: NDArray[np.float64]
    names: list[str]
    groups: list[str]
    levels: dict[str, tuple[str, ...]]
    dropped: list[Dropped]
    told: list[str]


def encode(texts: dict[str, Column], n: int) -> Encoded:
    """One column per level, all of one feature's levels a group; two levels need one column."""
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    groups: list[str] = []
    kept: dict[str, tuple[str, ...]] = {}
    dropped: list[Dropped] = []
    told: list[str] = []
    for name, column in texts.items():
        words = np.where(column == "", "(missing)", column)
        levels = sorted(set(words))
        if len(levels) > MAX_LEVELS:
            dropped.append(Dropped(f"text with more than {MAX_LEVELS} distinct values", (name,)))
            told.append(f"1 feature dropped, text with {len(levels)} distinct values: {name}")
            continue
        shown = levels if len(levels) > 2 else levels[1:]
        parts += [(words == level).astype(float) for level in shown]
        names += [f"{name}={level}" for level in shown]
        groups += [name] * len(shown)
        kept[name] = tuple(levels)
        told.append(f"{name} is categorical: {len(levels)} levels, selected together")
    return Encoded(np.column_stack(parts) if parts else np.empty((n, 0)), names, groups, kept, dropped, told)
