"""The linear Gaussian mirror (Section 2.2), for any number of features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from neuralmirror._internal import checks
from neuralmirror._internal.standardised import response_columns
from neuralmirror.base import ControlledSelector
from neuralmirror.comparators.knockoffs.statistics import lasso_magnitudes, over_columns, pair_magnitudes
from neuralmirror.comparators.least_squares import independent_columns, is_full_rank, least_squares_mirrors
from neuralmirror.mirror.noise import feature_generators

Floats = NDArray[np.float64]

ROWS_PER_PAIR = 4  # rows for each mirrored pair that an active set may hold


class GaussianMirror(ControlledSelector):
    """Select features of a linear model with Gaussian mirrors, the false discovery rate below `fdr`.

    Parameters
    ----------
    scheme : "individual" or "simultaneous"
        "individual" mirrors one feature at a time by least squares on (X_j ± c_jZ_j, X_-j), with the exact c_j^GM.
        Where columns outnumber rows or depend on each other, a lasso on all mirrored pairs names the active pairs
        first. "simultaneous" is that lasso itself: M_j = |θ_j| − |θ̃_j| on (X, sd(X_j)Z_j), λ by cross-validation.
    fdr : float
        The largest acceptable expected share of false features among those selected.
    offset : 0 or 1
        Added to the count of false ones. 0 is the paper's; 1 also holds when little or nothing is relevant.
    n_repeats : int
        Independent draws of all noises, of which at least half must select a feature.
    task : "auto", "regression" or "classification"
        Classes enter as 0/1 columns, one per class where there are more than two.
    target_transform : "standard" or "rank"
        Numeric responses as they are, standardised, or as rank-normal scores.
    random_state : int, RandomState or None

    Attributes
    ----------
    support_, mirror_statistics_, threshold_, q_values_, estimated_fdp_, selection_frequencies_
        As in `NeuralGaussianMirror`.
    scales_ : c_j in the units of X, of the last draw; 0 outside its active pairs
    """

    def __init__(
        self,
        scheme: str = "individual",
        fdr: float = 0.1,
        offset: int = 1,
        n_repeats: int = 1,
        task: str = "auto",
        target_transform: str = "standard",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.scheme = scheme
        self.fdr = fdr
        self.offset = offset
        self.n_repeats = n_repeats
        self.task = task
        self.target_transform = target_transform
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Draw noises, mirror, compare, select."""
        scheme = checks.check_choice("scheme", self.scheme, ("individual", "simultaneous"))
        repeats = checks.check_count("n_repeats", self.n_repeats)
        transform = checks.check_choice("target_transform", self.target_transform, ("standard", "rank"))
        problem = self._read(X, y, self.task)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        x, codes = problem.x, response_columns(problem, transform)
        mirror = simultaneous_mirrors if scheme == "simultaneous" else individual_mirrors
        seeds = [(seed, draw) for draw in range(repeats)]
        draws = [mirror(x, _noise(x, *key), codes, np.random.default_rng(key)) for key in seeds]
        self.scales_ = np.zeros(self.n_features_in_)
        self.scales_[self._columns.usable] = draws[-1][1] * self._sd[self._columns.usable]
        return self._conclude(np.stack([statistics for statistics, _ in draws]))


def individual_mirrors(x: Floats, z: Floats, y: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """M_j and c_j by least squares: over all features where X has full rank, else over the active pairs."""
    usable = np.arange(x.shape[1]) if is_full_rank(x, spare=y.shape[1] + 1) else active_pairs(x, z, y, rng)
    statistics, scales = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    if len(usable):
        mirrors = least_squares_mirrors(x[:, usable], z[:, usable], y)
        statistics[usable], scales[usable] = mirrors.statistics(), mirrors.scales
    return statistics, scales


def active_pairs(x: Floats, z: Floats, y: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Features of which a lasso on (X, Z) uses X_j or Z_j: at most n/4, the largest coefficients first.

    An active set chosen from X alone has seen y, and least squares on it favours the very features it chose. A pair
    enters through X_j as easily as through Z_j when j is null, so M_j stays symmetric.
    """
    feature, noise = pair_magnitudes(x, z, y, rng, over_columns(lasso_magnitudes))
    sizes = np.maximum(feature, noise)
    strongest = np.argsort(-sizes, kind="stable")[: len(x) // ROWS_PER_PAIR]
    return independent_columns(x, strongest[sizes[strongest] > 0])


def simultaneous_mirrors(x: Floats, z: Floats, y: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """M_j = |θ_j| − |θ̃_j| of one lasso on (X, cZ) with c_j = sd(X_j), as columns of equal length.

    A lasso judges columns by their whole length, not by what the others leave of them, so c_j is the marginal sd.
    """
    feature, noise = pair_magnitudes(x, z, y, rng, over_columns(lasso_magnitudes))
    return feature - noise, 1 / z.std(axis=0)


def _noise(x: Floats, seed: int, draw: int) -> Floats:
    """Z_j ~ N(0, I_n), keyed by the seed and the column's values, so the order of columns does not matter."""
    generators = feature_generators(x, seed, draw)
    return np.stack([generator.standard_normal(len(x)) for generator in generators], axis=1)
