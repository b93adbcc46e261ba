"""Benjamini-Hochberg and Benjamini-Yekutieli on least-squares or marginal p-values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control
from sklearn.utils.validation import check_is_fitted

from neuralmirror._internal import checks
from neuralmirror._internal.standardised import StandardisedData, response_columns
from neuralmirror.base import ControlledSelector, Mask
from neuralmirror.comparators.least_squares import is_full_rank, marginal_p_values, partial_p_values


class BHSelector(ControlledSelector):
    """Select features by the Benjamini-Hochberg procedure on their p-values.

    Parameters
    ----------
    fdr : float
        The level of the procedure.
    p_values : "ols" or "marginal"
        F tests of each feature given all others (n > p + 1), or of each feature alone, which call a feature
        relevant when it merely correlates with a relevant one.
    task : "auto", "regression" or "classification"
        Classes are tested as a factor, by Wilks' test.

    Attributes
    ----------
    support_ : boolean array, the selected features
    p_values_ : one per feature; 1 for constant columns and repeats
    q_values_ : adjusted p-values, the smallest level at which each feature is selected
    threshold_ : the largest p-value selected, −∞ when there is none
    estimated_fdp_ : the largest adjusted p-value selected
    """

    _adjustment = "bh"

    def __init__(self, fdr: float = 0.1, p_values: str = "ols", task: str = "auto") -> None:
        self.fdr = fdr
        self.p_values = p_values
        self.task = task

    def fit(self, X: Any, y: Any) -> Self:
        """Test every feature, adjust, select."""
        kind = checks.check_choice("p_values", self.p_values, ("ols", "marginal"))
        problem = self._read(X, y, self.task)
        self.p_values_ = np.ones(self.n_features_in_)
        self.p_values_[self._columns.usable] = feature_p_values(problem, kind)
        return self._conclude(-np.log10(np.maximum(self.p_values_[self._columns.usable], 1e-300))[None])

    def _select(self) -> None:
        usable = self._columns.usable
        self.q_values_ = np.ones(self.n_features_in_)
        self.q_values_[usable] = false_discovery_control(self.p_values_[usable], method=self._adjustment)
        self.support_ = self.reselect()
        self.threshold_ = float(self.p_values_[self.support_].max(initial=-np.inf))
        self.estimated_fdp_ = float(self.q_values_[self.support_].max(initial=0.0))
        self.selection_frequencies_ = self.support_.astype(float)

    def reselect(self, fdr: float | None = None, offset: int | None = None) -> Mask:
        """The selection at another level, without refitting. There is no offset here, so it must be None."""
        check_is_fitted(self)
        if offset is not None:
            raise ValueError(f"{type(self).__name__} has no offset, got {offset!r}; leave it out")
        return np.asarray(self.q_values_ <= checks.check_fdr(self.fdr if fdr is None else fdr))

    def explain(self) -> str:
        """One or two sentences on what was selected, or on why nothing was."""
        check_is_fitted(self)
        found, p = int(self.support_.sum()), self.n_features_in_
        if found:
            return f"{found} of {p} features selected at fdr={self.fdr:g} (p-values up to {self.threshold_:.3g})."
        return (
            f"No feature was selected at fdr={self.fdr:g}. The smallest p-value is {self.p_values_.min():.3g}, "
            f"adjusted for {p} features {self.q_values_.min():.3g}."
        )


class BYSelector(BHSelector):
    """Select features by the Benjamini-Yekutieli procedure, which holds under any dependence of the p-values.

    Parameters and attributes are those of `BHSelector`.
    """

    _adjustment = "by"


def feature_p_values(problem: StandardisedData, kind: str) -> NDArray[np.float64]:
    """One p-value for each usable column, given the others ("ols") or alone ("marginal")."""
    y = response_columns(problem)
    if problem.classes > 2:
        y = y[:, :-1]  # the indicators of all classes add up to a constant
    if kind == "marginal":
        return marginal_p_values(problem.x, y)
    n, p = problem.x.shape
    if not is_full_rank(problem.x, spare=y.shape[1]):
        raise ValueError(
            f"p_values='ols' needs independent columns and more than p + {y.shape[1]} rows, got {n} rows for p = {p} "
            "columns or columns that combine others; use p_values='marginal', drop columns, or use GaussianMirror"
        )
    return partial_p_values(problem.x, y)
