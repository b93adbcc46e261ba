"""The knockoff filters as scikit-learn selectors: Gaussian Model-X knockoffs and the original fixed-X ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from neuralmirror._internal import checks, responses
from neuralmirror._internal.standardised import StandardisedData, response_columns
from neuralmirror.base import ControlledSelector
from neuralmirror.comparators.knockoffs.covariances import covariance_matrix
from neuralmirror.comparators.knockoffs.sampling import S_METHODS, fixed_x_knockoffs, gaussian_knockoffs, knockoff_s
from neuralmirror.comparators.knockoffs.statistics import (
    Array,
    Magnitudes,
    class_forest_magnitudes,
    correlation_magnitudes,
    difference,
    entry_magnitudes,
    forest_magnitudes,
    lasso_magnitudes,
    logistic_magnitudes,
    over_columns,
    pair_magnitudes,
    ridge_magnitudes,
    signed_max,
)


class Statistic(NamedTuple):
    """How large features and knockoffs are in one fit, and how the two are compared."""

    magnitudes: Magnitudes
    compare: Callable[[Array, Array], Array]


STATISTICS = {
    "lasso": Statistic(lasso_magnitudes, difference),
    "ridge": Statistic(ridge_magnitudes, difference),
    "signed-max": Statistic(entry_magnitudes, signed_max),
    "correlation": Statistic(correlation_magnitudes, difference),
    "forest": Statistic(forest_magnitudes, difference),
}
# Where y holds classes, these models are fitted to them and not to a column for each class.
OF_CLASSES = {"lasso": logistic_magnitudes, "forest": class_forest_magnitudes}
# Functions of the Gram matrix and (X, X̃)ᵀy alone, as fixed-X knockoffs require. Cross-validation sees more.
SUFFICIENT = ("signed-max", "correlation")


class ModelXKnockoffs(ControlledSelector):
    """Select features by Gaussian Model-X knockoffs, with the false discovery rate below `fdr`.

    Each feature gets a knockoff of the same joint distribution that knows nothing of y. The guarantee rests on
    the distribution of X being Gaussian with this covariance; the model of y may be anything.

    Parameters
    ----------
    fdr : float
        The largest acceptable expected share of false features among those selected.
    offset : 0 or 1
        1 is the knockoff+ filter, which controls the FDR; 0 is the original one.
    covariance : "ledoit-wolf", "empirical" or array (p, p)
        Of the columns of X: estimated, or known.
    method : "mvr", "sdp" or "equicorrelated"
        How far each knockoff is set apart from its feature.
    statistic : "lasso", "ridge", "signed-max", "correlation" or "forest"
        |β_j| − |β̃_j| of a cross-validated lasso on (X, X̃) (logistic for classes) or of ridge regression; who enters
        the lasso path first, and where; |cor(X_j, y)| − |cor(X̃_j, y)|; or the difference of the impurity importances
        in a random forest on (X, X̃), which sees curves and interactions.
    n_repeats : int
        Independent draws of the knockoffs, of which at least half must select a feature.
    task : "auto", "regression" or "classification"
    target_transform : "standard" or "rank"
        Numeric responses as they are, standardised, or as rank-normal scores.
    random_state : int, RandomState or None

    Attributes
    ----------
    support_, threshold_, q_values_, estimated_fdp_, selection_frequencies_
        As in `NeuralGaussianMirror`.
    mirror_statistics_ : W_j, positive where the feature beat its knockoff
    s_ : the diagonal s, cov(X_j, X̃_j) = Σ_jj − s_j
    """

    def __init__(
        self,
        fdr: float = 0.1,
        offset: int = 1,
        covariance: str | ArrayLike = "ledoit-wolf",
        method: str = "mvr",
        statistic: str = "lasso",
        n_repeats: int = 1,
        task: str = "auto",
        target_transform: str = "standard",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.fdr = fdr
        self.offset = offset
        self.covariance = covariance
        self.method = method
        self.statistic = statistic
        self.n_repeats = n_repeats
        self.task = task
        self.target_transform = target_transform
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate Σ, solve for s, draw knockoffs, compare, select."""
        solver = S_METHODS[checks.check_choice("method", self.method, S_METHODS)]
        statistic = checks.check_choice("statistic", self.statistic, STATISTICS)
        transform = checks.check_choice("target_transform", self.target_transform, ("standard", "rank"))
        repeats = checks.check_count("n_repeats", self.n_repeats)
        problem = self._read(X, y, self.task)
        x, usable, scale = problem.x, self._columns.usable, self._sd[self._columns.usable]
        sigma = column_covariance(x, self.covariance, usable, self._sd)
        s = knockoff_s(sigma, solver)
        self.s_ = np.zeros(self.n_features_in_)
        self.s_[usable] = s * scale**2
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        generators = [np.random.default_rng([seed, draw]) for draw in range(repeats)]
        draws = [
            knockoff_statistics(statistic, x, gaussian_knockoffs(x, sigma, s, rng), problem, transform, rng)
            for rng in generators
        ]
        return self._conclude(np.stack(draws))


class FixedXKnockoffs(ControlledSelector):
    """Select features of a linear model by the original knockoff filter, with the false discovery rate below `fdr`.

    X may be anything of full rank with n > 2p rows; y must be linear in X with Gaussian noise of one variance.

    Parameters
    ----------
    fdr : float
        The largest acceptable expected share of false features among those selected.
    offset : 0 or 1
        1 is the knockoff+ filter, which controls the FDR; 0 is the original one.
    method : "sdp", "mvr" or "equicorrelated"
        How far each knockoff is set apart from its feature.
    statistic : "signed-max" or "correlation"
        Who enters the lasso path first, and where; or |cor(X_j, y)| − |cor(X̃_j, y)|.
    random_state : int, RandomState or None

    Attributes
    ----------
    support_, threshold_, q_values_, estimated_fdp_
        As in `NeuralGaussianMirror`.
    mirror_statistics_ : W_j, positive where the feature beat its knockoff
    """

    def __init__(
        self,
        fdr: float = 0.1,
        offset: int = 1,
        method: str = "sdp",
        statistic: str = "signed-max",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.fdr = fdr
        self.offset = offset
        self.method = method
        self.statistic = statistic
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Construct knockoffs with the Gram matrix of X, compare, select."""
        solver = S_METHODS[checks.check_choice("method", self.method, S_METHODS)]
        statistic = checks.check_choice("statistic", self.statistic, SUFFICIENT)
        responses.check_numeric_response(y, type(self).__name__, "ModelXKnockoffs")
        problem = self._read(X, y, "regression")
        n, p = problem.x.shape
        if n <= 2 * p:
            raise ValueError(
                f"FixedXKnockoffs needs more than 2p rows, got {n} rows for p = {p} distinct columns; "
                "use ModelXKnockoffs or GaussianMirror, or screen features first"
            )
        rng = np.random.default_rng(int(check_random_state(self.random_state).randint(2**31 - 1)))
        x = problem.x
        knockoffs = fixed_x_knockoffs(x, knockoff_s(x.T @ x, solver), rng)
        return self._conclude(knockoff_statistics(statistic, x, knockoffs, problem, "standard", rng)[None])


def knockoff_statistics(
    statistic: str, x: Array, knockoffs: Array, problem: StandardisedData, transform: str, rng: np.random.Generator
) -> Array:
    """W_j by one of STATISTICS, or its form in OF_CLASSES where y holds classes."""
    magnitudes, compare = STATISTICS[statistic]
    if statistic in OF_CLASSES and problem.classes:
        return compare(*pair_magnitudes(x, knockoffs, problem.y, rng, OF_CLASSES[statistic]))
    y = response_columns(problem, transform)
    return compare(*pair_magnitudes(x, knockoffs, y, rng, over_columns(magnitudes)))


def column_covariance(
    x: Array, covariance: str | ArrayLike, usable: NDArray[np.intp], sd: NDArray[np.float64]
) -> Array:
    """Σ of the standardised usable columns: estimated from them, or taken from a matrix for all columns of X."""
    if isinstance(covariance, str):
        return covariance_matrix(x, covariance)
    given = np.asarray(covariance, dtype=np.float64)
    if given.shape != (len(sd), len(sd)):
        raise ValueError(
            f"covariance must be {len(sd)} by {len(sd)}, a row for each column of X, got shape {given.shape}"
        )
    scale = sd[usable]
    return covariance_matrix(x, given[np.ix_(usable, usable)] / np.outer(scale, scale))
