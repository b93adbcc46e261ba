"""What every selector of the package shares: checked input, one way to select, and results that can be stored."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from neuralmirror import selection
from neuralmirror._internal import checks
from neuralmirror._internal.columns import Columns, sort_columns
from neuralmirror._internal.matrices import dense, with_text_names
from neuralmirror._internal.responses import check_classes, check_response, guess_task
from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror._internal.storage import read_selector, write_selector

Mask = NDArray[np.bool_]


class SelectionWarning(UserWarning):
    """Something about the data or the result that a user should know."""


class ControlledSelector(SelectorMixin, BaseEstimator):
    """A scikit-learn selector whose expected share of false selections stays below `fdr`.

    A subclass's `fit` calls `_read` for a checked problem and `_conclude` with the statistics of its usable columns.
    """

    fdr: float
    offset: int
    support_: Mask

    def _read(self, X: Any, y: Any, task: str = "auto", covariates: Iterable[Any] | None = None) -> StandardisedData:
        """Check X and y; keep names, classes and the sorting of columns; return the standardised problem."""
        checks.check_fdr(self.fdr)
        checks.check_offset(getattr(self, "offset", 1))
        X = with_text_names(dense(X))
        checks.check_frame(X)
        checks.check_text(X)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        names = [str(name) for name in getattr(self, "feature_names_in_", range(X.shape[1]))]
        checks.check_shape(X)
        checks.check_finite(X, names)
        checks.check_spread(X, [f"column {name!r} of X" for name in names])
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = check_response(column_or_1d(y, warn=True), len(X))
        task = guess_task(y, checks.check_choice("task", task, ("auto", "regression", "classification")))
        self.task_ = task
        if task == "classification":
            check_classes(y)
            self.classes_, y = np.unique(y, return_inverse=True)
        aside = checks.column_positions(covariates, names, "covariates")
        self._sort(X, names, aside)
        n_classes = len(self.classes_) if task == "classification" else 0
        self._y_spread = 1.0 if n_classes else float(y.std())
        x = standardised(X[:, self._columns.usable])
        return StandardisedData(x, y.astype(float), standardised(X[:, aside]), n_classes)

    def _sort(self, X: NDArray[np.float64], names: list[str], aside: list[int]) -> None:
        """Keep apart covariates, constant columns and copies, and say so."""
        columns = sort_columns(X)
        usable = np.setdiff1d(columns.usable, aside)
        self._columns = Columns(usable, columns.constant, columns.copies)
        self._leaders = np.arange(X.shape[1])  # the feature that stands for each feature's group: itself
        self._sd, self._means = X.std(axis=0), X.mean(axis=0)
        self.constant_features_ = np.array([names[j] for j in columns.constant], dtype=object)
        self.duplicate_features_ = {names[j]: names[first] for j, first in columns.copies.items()}
        if len(columns.constant):
            _warn(f"{_count(columns.constant, 'constant column')} cannot be selected: {_some(self.constant_features_)}")
        if columns.copies:
            _warn(
                f"{_count(columns.copies, 'column')} repeat another exactly and are represented by it: "
                + _some(f"{copy} = {first}" for copy, first in self.duplicate_features_.items())
            )
        if len(usable) < 2:
            raise ValueError(f"X has {len(usable)} distinct, varying columns to select from; at least 2 are needed")

    def _conclude(self, statistics: NDArray[np.float64], n_mirrors: int = 1) -> Self:
        """Store the statistics (draws, usable columns), select, and say why when nothing is selected."""
        self._draws = np.zeros((len(statistics), self.n_features_in_))
        self._draws[:, self._columns.usable] = statistics
        self._n_mirrors = n_mirrors
        self._select()
        if not self.support_.any():
            _warn(self.explain())
        return self

    def _select(self) -> None:
        counting = {"offset": self.offset, "n_mirrors": self._n_mirrors}
        self.mirror_statistics_ = np.median(self._draws, axis=0)[self._leaders]
        thresholds = [selection.mirror_threshold(m, self.fdr, **counting) for m in self._draws]
        self.threshold_ = float(np.median(thresholds))
        self.support_ = self.reselect(fdr=self.fdr)
        passed = [m >= t for m, t in zip(self._draws, thresholds, strict=True)]
        self.selection_frequencies_ = np.mean(passed, axis=0)[self._leaders]
        self.q_values_ = selection.repeated_q_values(self._draws, **counting)[self._leaders]
        self.estimated_fdp_ = float(self.q_values_[self.support_].max(initial=0.0))

    def reselect(self, fdr: float | None = None, offset: int | None = None) -> Mask:
        """The selection at another level or offset, without refitting: a boolean mask over the features."""
        check_is_fitted(self)
        level = checks.check_fdr(self.fdr if fdr is None else fdr)
        offset = checks.check_offset(self.offset if offset is None else offset)
        return selection.select_repeated(self._draws, level, offset=offset, n_mirrors=self._n_mirrors)[self._leaders]

    def explain(self) -> str:
        """One or two sentences on what was selected, or on why nothing was."""
        check_is_fitted(self)
        found, p = int(self.support_.sum()), self.n_features_in_
        if found:
            return (
                f"{found} of {p} features selected at fdr={self.fdr:g} "
                f"(threshold {self.threshold_:.4g}, estimated FDP {self.estimated_fdp_:.3f})."
            )
        counting = {"offset": self.offset, "n_mirrors": self._n_mirrors}
        return selection.explain_empty(self._draws, self.fdr, **counting)

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """The selected columns of X."""
        return super().transform(with_text_names(X))

    def inverse_transform(self, X: Any) -> Any:
        """X with columns of zeros where `transform` removed some; scikit-learn's own refuses an empty selection."""
        if self.get_support().any():
            return super().inverse_transform(X)
        return np.zeros((X.shape[0], self.n_features_in_))

    def table(self) -> Any:
        """Feature, statistic, q-value, share of draws and selected: a pandas frame, or a list of dicts without pandas.

        One row for each column of X, in their order.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        columns = {
            "feature": [str(name) for name in names],
            "statistic": getattr(self, "mirror_statistics_", self._draws[0]).tolist(),
            "q_value": self.q_values_.tolist(),
            "selection_frequency": self.selection_frequencies_.tolist(),
            "selected": self.support_.tolist(),
        }
        try:
            import pandas
        except ImportError:
            return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return pandas.DataFrame(columns)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_draws")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX=N_CHAR_MAX))
        if not hasattr(self, "support_"):
            return text
        return f"{text}: {int(self.support_.sum())} of {self.n_features_in_} features selected"

    def save(self, path: str | Path) -> None:
        """Write parameters and results to one safetensors file, which holds numbers and JSON and never code."""
        check_is_fitted(self)
        write_selector(path, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote; a ValueError says what is wrong with any other file."""
        loaded = cls()
        read_selector(path, loaded)
        return loaded


def _warn(message: str) -> None:
    warnings.warn(message, SelectionWarning, stacklevel=4)


def _count(things: Any, noun: str) -> str:
    return f"{len(things)} {noun}{'s' * (len(things) > 1)}"


def _some(names: Iterable[str], most: int = 5) -> str:
    """The first few of many names."""
    listed = list(names)
    return ", ".join(map(str, listed[:most])) + (f" and {len(listed) - most} more" if len(listed) > most else "")
