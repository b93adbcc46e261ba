"""The data of a selection as numbers: standardised features, covariates, and a response ready to be predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class StandardisedData:
    """Standardised features and covariates with their response: numbers, or class labels 0..C−1."""

    x: Floats  # (n, p)
    y: Floats  # (n,)
    covariates: Floats  # (n, c)
    classes: int = 0  # 0: regression
    group_of_column: Indices | None = None  # (p,): columns of one number are one feature; None: each its own

    @property
    def group(self) -> Indices:
        """The feature of each column, 0, 1, ... in order."""
        return np.arange(self.x.shape[1]) if self.group_of_column is None else self.group_of_column

    def rows(self, index: Indices) -> StandardisedData:
        """Some of the rows, standardised anew."""
        x, covariates = standardised(self.x[index]), standardised(self.covariates[index])
        return replace(self, x=x, y=self.y[index], covariates=covariates)

    def columns(self, index: Indices) -> StandardisedData:
        """Some of the columns."""
        group = None if self.group_of_column is None else np.unique(self.group[index], return_inverse=True)[1]
        return replace(self, x=self.x[:, index], group_of_column=group)

    def codes(self) -> Floats:
        """The response as columns (n, q): itself, 0/1 for two classes, one-hot for more."""
        labels = self.y.astype(int)
        return np.asarray(np.eye(self.classes)[labels] if self.classes > 2 else self.y[:, None], dtype=float)


def standardised(values: Floats) -> Floats:
    """Columns about their means, in units of their standard deviations; constant ones become zero."""
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def rank_normal(y: Floats) -> Floats:
    """Rank-inverse-normal scores of y. A feature that y does not depend on stays so under any transform of y."""
    return standardised(ndtri((rankdata(y) - 0.5) / len(y)))


def response_columns(data: StandardisedData, transform: str = "standard") -> Floats:
    """The response of a linear method, standardised (n, q): numbers, or their rank-normal scores, or class codes."""
    if data.classes or transform == "standard":
        return standardised(data.codes())
    return rank_normal(data.y)[:, None]
