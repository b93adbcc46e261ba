"""What a response may be, and whether it holds numbers or classes."""

from __future__ import annotations

import datetime
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.checks import check_spread


def check_response(y: Any, n: int) -> NDArray[Any]:
    """One value per row of X, none missing, at least two distinct."""
    values = _plain_values(np.asarray(y))
    if len(values) != n:
        raise ValueError(f"y has {len(values)} values but X has {n} rows; one value per row is needed")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"y contains NaN or inf (first in row {row}); drop such rows from X and y")
        check_spread(values[:, None], ["y"])
    try:
        distinct = len(np.unique(values))
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(f"y mixes values of the types {', '.join(kinds)}; give numbers or labels, not both") from None
    if distinct < 2:
        raise ValueError(f"y is constant (one class or one value, {values[0]}); a response that varies is needed")
    return values


def _plain_values(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers, booleans or labels: numbers in an object array as floats; dates and missing values are refused."""
    if values.dtype.kind == "O":
        gaps = [row for row, value in enumerate(values) if _is_missing(value)]
        if gaps:
            raise ValueError(f"y contains NaN, NA or None (first in row {gaps[0]}); drop such rows from X and y")
        if all(isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) for value in values):
            return values.astype(float)
    dates = values.dtype.kind == "O" and any(isinstance(value, datetime.date | datetime.timedelta) for value in values)
    if values.dtype.kind in "mM" or dates:
        raise ValueError("y holds dates or times; turn them into numbers first (days since the first one, say)")
    return values


def _is_missing(value: Any) -> bool:
    nothing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return nothing or (isinstance(value, float) and value != value)


def check_numeric_response(y: Any, method: str, instead: str) -> None:
    """Methods for a linear model of numbers: no labels."""
    values: NDArray[Any] = np.asarray(y)
    if y is not None and values.dtype.kind in "OUS":
        raise ValueError(
            f"Unknown label type: {method} needs a numeric y, got {values.dtype} such as {values.flat[0]!r}; "
            f"use {instead}"
        )


def guess_task(y: NDArray[Any], task: str) -> str:
    """Resolve task="auto": text, booleans and numbers of exactly two values are classes; other numbers are numbers."""
    numeric = y.dtype.kind in "fiu"
    if task == "regression" and not numeric and y.dtype.kind != "b":
        raise ValueError(
            f"task='regression' needs a numeric y, got {y.dtype} such as {y[0]!r}; "
            "use task='classification' (--task classification)"
        )
    if task != "auto":
        return task
    return "regression" if numeric and len(np.unique(y)) > 2 else "classification"


def check_classes(y: NDArray[Any]) -> None:
    """Classes that can be learned: fewer than half as many as rows, and each with two members or more."""
    levels, counts = np.unique(y, return_counts=True)
    number = y.dtype.kind in "fiu"
    if len(levels) > max(2, len(y) / 2):
        remedy = "use task='regression' (--task regression)" if number else "choose another target, or merge classes"
        raise ValueError(f"y has {len(levels)} different values in {len(y)} rows, too many for classes; {remedy}")
    if counts.min() < 2:
        alone = str(levels[counts.argmin()])
        remedy = ", or use task='regression' (--task regression) if y holds numbers" if number else ""
        raise ValueError(
            f"class {alone!r} of y has a single member, but at least 2 are needed; drop that row, or merge the class "
            f"with another{remedy}"
        )
