"""Errors at the edge: each says what was expected, what came, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

MIN_ROWS = 10
WIDEST = 1e150  # spread of a column, and its inverse the least, whose square double precision holds


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """A word out of a few."""
    if isinstance(value, str) and value in choices:
        return value
    near = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}{hint}")


def check_fdr(fdr: object) -> float:
    """A level strictly between 0 and 1."""
    if isinstance(fdr, (int, float, np.number)) and 0 < float(fdr) < 1:
        return float(fdr)
    hint = ""
    if isinstance(fdr, (int, float)) and 1 < fdr <= 100:
        hint = f"; did you mean {fdr / 100:g}?"
    raise ValueError(f"fdr must lie in (0, 1), got {fdr!r}{hint}")


def check_offset(offset: object) -> int:
    """0, the paper's estimate, or 1, which also holds when few features are relevant."""
    if offset in (0, 1):
        return 1 if offset else 0
    raise ValueError(f"offset must be 0 (the paper's) or 1 (safe for few discoveries), got {offset!r}")


def check_count(name: str, value: object, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_positive(name: str, value: object, zero: bool = False) -> float:
    """A finite number above zero, or from zero on."""
    if isinstance(value, (int, float, np.number)) and np.isfinite(value) and (value > 0 or (zero and value == 0)):
        return float(value)
    raise ValueError(f"{name} must be a number {'of at least' if zero else 'above'} 0, got {value!r}")


def check_frame(x: Any) -> None:
    """Data frames: distinct names and no text columns. Anything else passes."""
    names = [str(name) for name in getattr(x, "columns", [])]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise ValueError(f"X has several columns named {repeated[0]!r}; rename them so that each name is unique")
    frame = nw.from_native(x, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for name, dtype in frame.schema.items():
            if not (dtype.is_numeric() or dtype == nw.Boolean or dtype == nw.Object):
                raise ValueError(
                    f"column {name!r} of X has type {dtype}, but features must be numbers; encode it (one-hot, say) "
                    "or drop it"
                )


def check_text(x: Any) -> None:
    """Arrays that hold text: name the first cell that is no number."""
    values: NDArray[Any] = np.asarray(x)
    if values.dtype.kind not in "OUS" or values.ndim != 2:
        return
    for row, column in np.ndindex(values.shape):
        cell: Any = values[row, column]
        if isinstance(cell, (str, bytes)):
            try:
                float(cell)
            except ValueError:
                raise ValueError(
                    f"X holds the text {cell!r} in row {row}, column {column}, but features must be numbers; "
                    "encode or drop that column"
                ) from None


def check_finite(x: NDArray[np.float64], names: Sequence[str]) -> None:
    """No NaN and no infinity, or the first such cell is named."""
    bad = ~np.isfinite(x)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        kind = "NaN" if np.isnan(x[row, column]) else "inf"
        raise ValueError(
            f"X contains {kind} in column {names[column]!r} (row {row}; {int(bad.sum())} such cells in all); "
            "impute or drop these cells first"
        )


def check_spread(x: NDArray[np.float64], names: Sequence[str]) -> None:
    """Columns whose squares are neither infinite nor all zero."""
    spread = x.max(axis=0) / 2 - x.min(axis=0) / 2
    for column in np.flatnonzero((spread > WIDEST) | ((spread > 0) & (spread < 1 / WIDEST)))[:1]:
        raise ValueError(
            f"{names[column]} has values about {spread[column]:.0e} apart, outside of what can be squared "
            f"({1 / WIDEST:.0e} to {WIDEST:.0e}); give it in another unit"
        )


def check_shape(x: NDArray[np.float64]) -> None:
    """Enough rows to train on and more than one column."""
    n, p = x.shape
    if n < MIN_ROWS:
        raise ValueError(f"X has n_samples={n} rows, but at least {MIN_ROWS} are needed; add rows")
    if p < 2:
        raise ValueError(
            f"X has n_features={p}, but at least 2 are needed: a mirror is compared with other features' mirrors"
        )


def column_positions(columns: Iterable[Any] | None, names: Sequence[str], parameter: str) -> list[int]:
    """Positions of columns given by name or by number."""
    positions = []
    columns = [columns] if isinstance(columns, str) else columns
    for column in columns if columns is not None else []:
        if isinstance(column, str):
            check_choice(parameter, column, names)
            positions.append(list(names).index(column))
        elif isinstance(column, (int, np.integer)) and -len(names) <= column < len(names):
            positions.append(int(column) % len(names))
        else:
            raise ValueError(f"{parameter} must hold column names or positions below {len(names)}, got {column!r}")
    return positions
