"""Can copies be told from their features? A check of the conditional law that can fail.

For each column some summaries of X_j and of its K copies are compared, with and without the neighbour that predicts the
column best. If the law is right X_j has the largest of the K+1 values in a share 1/(K+1) of the columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neuralmirror.mirror.directions import Directions

Floats = NDArray[np.float64]
Directed = NDArray[np.float32]
MOST_COLUMNS = 500
AT_ONCE = 10  # columns, whose values a cache holds

Summary = Callable[[Directed, Floats], Floats]  # directions (c, K+1, n) and neighbours (c, 1, n) to (c, K+1)
SUMMARIES: dict[str, Summary] = {
    "follows its neighbour": lambda x, other: np.abs((x * other).mean(axis=-1)),
    "is large where its neighbour is": lambda x, other: (x * x * (other * other)).mean(axis=-1),
    "has heavy tails": lambda x, other: ((x * x) * (x * x)).mean(axis=-1),
    "is skewed": lambda x, other: np.abs((x * x * x).mean(axis=-1)),
}


def check_law(directions: Directions) -> dict[str, dict[str, float]]:
    """For each summary: the share of columns in which X_j leads, the share expected, and their distance in z."""
    if directions.law is None or directions.n_features < 3:
        return {}
    columns = np.unique(np.linspace(0, len(directions.values) - 1, MOST_COLUMNS).astype(int))
    other = _neighbours(directions, columns)[:, None]  # (c, 1, n)
    blocks = np.array_split(np.arange(len(columns)), -(-len(columns) // AT_ONCE))
    found = [_summaries(directions.values[columns[block]], other[block]) for block in blocks]
    expected = 1 / directions.values.shape[1]
    spread = (expected * (1 - expected) / len(columns)) ** 0.5
    shares = {name: _lead(np.concatenate([part[name] for part in found])) for name in SUMMARIES}
    return {
        name: {"share": share, "expected": expected, "z": (share - expected) / spread} for name, share in shares.items()
    }


def _summaries(values: Directed, other: Floats) -> dict[str, Floats]:
    """Every summary (c, K+1) of some columns' directions (c, K+1, n), beside their neighbours (c, 1, n)."""
    scaled = values / np.maximum(values.std(axis=2, keepdims=True).mean(axis=1, keepdims=True), 1e-12)
    return {name: summary(scaled.astype(np.float64, copy=False), other) for name, summary in SUMMARIES.items()}


def _neighbours(directions: Directions, columns: NDArray[np.intp]) -> Floats:
    """The column of another feature that goes best with the conditional mean of each column, (c, n)."""
    assert directions.law is not None
    x = directions.values[:, 0].astype(np.float64)
    along = np.abs(directions.law.mean[:, columns].T @ x.T)  # (c, p)
    along[directions.feature[columns][:, None] == directions.feature] = -1
    return np.asarray(x[along.argmax(axis=1)])


def _lead(values: Floats) -> float:
    """How often the first of each row (c, K+1) is the largest; a tie counts in parts."""
    largest = values >= values.max(axis=1, keepdims=True) * (
        1 - 1e-3
    )  # products with regressors are equal but for rounding
    return float((largest[:, 0] / largest.sum(axis=1)).mean())
