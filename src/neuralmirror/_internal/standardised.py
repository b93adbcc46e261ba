"""A selection problem as numbers: standardised features, covariates, and a response ready to be predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StandardisedData:
    """Standardised features and covariates with their response: numbers, or class labels 0..C−1."""

    x: Floats  # (n, p)
    y: Floats  # (n,)
    covariates: Floats  # (n, c)
    classes: int = 0  # 0: regression
    unexplained: float = 1.0  # share of the response's variance that a sparse fit of X is known to leave
    n_mirrors: int = 1  # K, noises per feature

    def rows(self, index: NDArray[np.intp]) -> StandardisedData:
        """The same problem on some of its rows, standardised anew."""
        x, covariates = standardised(self.x[index]), standardised(self.covariates[index])
        return replace(self, x=x, y=self.y[index], covariates=covariates)

    def columns(self, index: NDArray[np.intp]) -> StandardisedData:
        """The same problem with some of its features."""
        return replace(self, x=self.x[:, index])

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
    return standardised(norm.ppf((rankdata(y) - 0.5) / len(y)))


def response_columns(problem: StandardisedData, transform: str = "standard") -> Floats:
    """The response of a linear method, standardised (n, q): numbers, or their rank-normal scores, or class codes."""
    if problem.classes or transform == "standard":
        return standardised(problem.codes())
    return rank_normal(problem.y)[:, None]
