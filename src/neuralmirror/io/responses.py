"""The column to explain, as numbers or as classes, and covariates as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.cells import are_dates, as_numbers
from neuralmirror.io.errors import DataError
from neuralmirror.io.tables import Column, Dropped, is_missing

LONGEST = 2.0**53  # whole numbers beyond this are rounded


def response(
    column: Column, target: str, samples: tuple[str, ...] | None
) -> tuple[Column, NDArray[np.intp], tuple[Dropped, ...]]:
    """The values that are there, their rows, and the samples without one; text that spells numbers becomes numbers."""
    numbers = as_numbers(column)
    y = column if numbers is None else _whole(numbers)
    missing = is_missing(y)
    if missing.all():
        raise DataError(f"the target {target!r} has no value in any of the {len(y)} samples; choose another")
    kept, gone = np.flatnonzero(~missing), np.flatnonzero(missing)
    ids = samples or tuple(f"row {i + 1}" for i in range(len(y)))
    dropped = (Dropped(f"no value of {target}", tuple(ids[i] for i in gone)),) if len(gone) else ()
    y = _whole(y[kept].astype(float)) if numbers is not None else y[kept].astype(str)
    _check_finite(y, target, [ids[i] for i in kept])
    _check_classes(y, target)
    return y, kept, dropped


def _check_finite(y: Column, target: str, ids: Sequence[str]) -> None:
    """Numbers must be finite."""
    if y.dtype.kind != "f" or np.isfinite(y).all():
        return
    first = ids[int(np.flatnonzero(~np.isfinite(y))[0])]
    raise DataError(f"inf in the target {target!r}, {first}; correct it, or drop such samples with --na inf")


def _check_classes(y: Column, target: str) -> None:
    """Text must name classes, which have members."""
    if y.dtype.kind != "U":
        return
    if are_dates(y.astype(object)):
        raise DataError(f"the target {target!r} holds dates such as {str(y[0])!r}; give days or years as numbers")
    if len(set(y)) == len(y):
        raise DataError(
            f"the target {target!r} is text with a different value in every sample ({str(y[0])!r}, for one), so there "
            "are no classes to tell apart; choose another target, or write it as numbers"
        )


def _whole(numbers: NDArray[np.float64]) -> Column:
    """Integers where every value is one that fits, so that codes 0 and 1 count as classes."""
    if (np.abs(numbers) < LONGEST).all() and (numbers == np.round(numbers)).all():
        return numbers.astype(np.int64)
    return numbers


def covariate_matrix(columns: dict[str, Column]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Covariates as numbers (n, c): means for missing ones, one column per level of text but the first."""
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    for name, column in columns.items():
        numbers = as_numbers(column)
        if numbers is not None:
            if np.isnan(numbers).all():
                raise DataError(f"the covariate {name!r} has no value at all; leave it out")
            parts.append(np.where(np.isnan(numbers), np.nanmean(numbers), numbers))
            names.append(name)
            continue
        levels: Sequence[str] = sorted({str(value) for value in column[~is_missing(column)]})
        for level in levels[1:]:
            parts.append((column == level).astype(float))
            names.append(f"{name}={level}")
    n = len(next(iter(columns.values()), ()))
    return (np.column_stack(parts) if parts else np.empty((n, 0))), tuple(names)
