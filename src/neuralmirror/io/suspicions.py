"""What looks like a mistake in the data. Nothing is changed here; the user is warned and told what to type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.blocks import BLOCK, unit_columns
from neuralmirror.io.names import counted, few
from neuralmirror.io.rows import counts_rows
from neuralmirror.io.tables import Column, Decision

Floats = NDArray[np.float64]

SAME = 0.999  # |correlation| with the target from which a feature looks like a copy of it
FAR = 3.0  # ranges of the other values by which a repeated value stands apart
CODES = frozenset(sign * code for code in (9, 99, 999, 9999, 99999, 999999, 8888, 7777) for sign in (1, -1))


def copies_of_target(
    x: Floats, names: Sequence[str], texts: dict[str, Column], y: Column, target: str
) -> list[Decision]:
    """Features that are the target in other words."""
    levels = sorted(set(y.tolist()))
    numbers = np.searchsorted(levels, y).astype(float) if y.dtype.kind not in "fiub" else y.astype(float)
    found = [names[j] for j in np.flatnonzero(correlations(x, numbers) > SAME).tolist()]
    if y.dtype.kind not in "fiub" and len(levels) > 2:
        found = [name for j, name in enumerate(names) if _one_to_one(x[:, j], y)]
    found += [name for name, column in texts.items() if _one_to_one(column, y)]
    return [
        Decision(f"{name!r} looks like a copy of the target {target!r}", f"--drop {name!r}", warns=True)
        for name in found
    ]


def correlations(x: Floats, y: Floats) -> Floats:
    """|correlation| of each column with y."""
    unit = unit_columns(y[:, None])[0]
    parts = [np.abs(unit_columns(x[:, start : start + BLOCK]) @ unit) for start in range(0, x.shape[1], BLOCK)]
    return np.concatenate(parts) if parts else np.empty(0)


def _one_to_one(column: Column, y: Column, first: int = 50) -> bool:
    """Whether each value goes with one class and each class with one value; the first few rows mostly decide."""
    for rows in (slice(first), slice(None)):
        a, b = column[rows].tolist(), y[rows].tolist()
        pairs = len(set(zip(a, b, strict=True)))
        if not pairs == len(set(a)) == len(set(b)):
            return False
    return pairs > 1


def codes_for_missing(x: Floats, names: Sequence[str]) -> list[Decision]:
    """A value that repeats, far outside the range of the others, such as −999."""
    found: dict[float, list[str]] = {}
    for start in range(0, x.shape[1], BLOCK):
        block = x[:, start : start + BLOCK]
        for side in (1.0, -1.0):  # the smallest, then the largest
            for j in np.flatnonzero(_stands_apart(side * block)).tolist():
                found.setdefault(float(side * (side * block[:, j]).min()), []).append(names[start + j])
    return [
        Decision(
            f"{value:g} repeats far outside the other values of {few(where)}; is it a code for missing?",
            f"--na {value:g}",
            warns=True,
        )
        for value, where in found.items()
    ]


def _stands_apart(block: Floats) -> NDArray[np.bool_]:
    """Whether the smallest value of each column repeats and lies far below the rest."""
    low = block.min(axis=0)
    at_low = block == low
    count = at_low.sum(axis=0)
    rest_low = np.where(at_low, np.inf, block).min(axis=0)
    spread = block.max(axis=0) - rest_low
    known = np.isin(low, list(CODES))
    enough = (count >= 2) & (count * 2 < len(block)) & (spread > 0) & (low == np.round(low))
    with np.errstate(invalid="ignore"):
        return np.asarray(enough & (rest_low - low > np.where(known, 0.5, FAR) * spread))


def linear_functions(x: Floats, names: Sequence[str]) -> list[Decision]:
    """Columns that are a multiple of another, but for a constant: no method can tell such a pair apart.

    Equal columns of length one have equal products with any vector, so that neighbours in the order of one product
    with a random vector are the only ones to compare.
    """
    n, p = x.shape
    probe = np.random.default_rng(0).standard_normal(n)
    product = np.concatenate(
        [np.abs(unit_columns(x[:, start : start + BLOCK]) @ probe) for start in range(0, p, BLOCK)] or [np.empty(0)]
    )
    order = np.argsort(product, kind="stable")
    near = np.flatnonzero(np.diff(product[order]) < 1e-9)
    pairs = [sorted((order[i], order[i + 1])) for i in near]
    found = [(a, b) for a, b in pairs if correlations(x[:, [b]], x[:, a])[0] > 1 - 1e-12]
    if not found:
        return []
    shown = few([f"{names[b]} (of {names[a]})" for a, b in sorted(found)], 3)
    verb = "is an exact linear function" if len(found) == 1 else "are exact linear functions"
    text = f"{counted(len(found), 'feature')} {verb} of another, so that either may be selected: {shown}"
    return [Decision(text, "--prune 0.999", warns=True)]


def row_numbers(x: Floats, names: Sequence[str]) -> list[Decision]:
    """Columns that count the rows are kept, though they seldom mean anything."""
    first = [j for j in range(x.shape[1]) if x[0, j] in (0, 1) and counts_rows(x[:, j])]
    return [
        Decision(f"{names[j]!r} counts the rows and is used as a feature", f"--drop {names[j]!r}", warns=True)
        for j in first
    ]
