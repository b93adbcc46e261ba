"""Groups and covariates for methods that know them and for methods that do not, so that all answer one question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal import responses
from neuralmirror.base import ControlledSelector, Mask

Floats = NDArray[np.float64]


class Columns:
    """Which columns of X are covariates, and which belong together as one feature."""

    def __init__(self, names: Sequence[str], covariates: Sequence[int], groups: Sequence[str] | None) -> None:
        if groups is not None and len(groups) != len(names):
            raise ValueError(f"feature_groups must hold {len(names)} labels, one per column of X, got {len(groups)}")
        self.covariates = list(covariates)
        self.groups = None if groups is None else list(groups)
        labels = list(names) if groups is None else list(groups)
        self.members: dict[str, list[int]] = {}
        for j, label in enumerate(labels):
            if j not in self.covariates:
                self.members.setdefault(label, []).append(j)

    @property
    def features(self) -> list[str]:
        """Names of the features: those of the groups, or of the columns."""
        return list(self.members)

    def fitted(self, selector: ControlledSelector, X: Any, y: Any) -> tuple[Mask, Floats]:
        """Fit, and gather support and q-values by feature."""
        if self.groups is None and not self.covariates:
            selector.fit(X, y)
            return selector.support_, selector.q_values_
        columns, x, y = self._known_to(selector, np.asarray(X, dtype=float), np.asarray(y))
        selector.fit(x[:, columns], y)
        support, q_values = np.zeros(x.shape[1], dtype=bool), np.ones(x.shape[1])
        support[columns], q_values[columns] = selector.support_, selector.q_values_
        together = self.members.values()
        return np.array([support[m].any() for m in together]), np.array([q_values[m].min() for m in together])

    def _known_to(self, selector: ControlledSelector, x: Floats, y: NDArray[Any]) -> tuple[list[int], Floats, Any]:
        """The columns that a method is given, and the data without what it cannot handle."""
        known = selector.get_params()
        columns = list(range(x.shape[1]))
        if self.covariates and "covariates" in known:
            selector.set_params(covariates=self.covariates)
        elif self.covariates:
            x, y = _residuals(x, y, self.covariates, str(known.get("task", "auto")))
            columns = [j for j in columns if j not in self.covariates]
        if self.groups is not None and "feature_groups" in known:
            selector.set_params(feature_groups=[self.groups[j] for j in columns])
        elif self.groups is not None:
            implied = {members[0] for members in self.members.values() if len(members) > 1}
            columns = [j for j in columns if j not in implied]
        return columns, x, y

    def note(self, selector: ControlledSelector, support: Mask) -> str:
        """What was found, counted in features."""
        if self.groups is None or not support.any():
            return selector.explain()
        return f"{int(support.sum())} of {len(support)} features selected at fdr={selector.fdr:g}."


def _residuals(x: Floats, y: NDArray[Any], covariates: list[int], task: str) -> tuple[Floats, Floats]:
    """X and a numeric y with the covariates regressed out."""
    if responses.guess_task(y, task) == "classification":
        raise ValueError("this method takes no covariates where the response holds classes; leave them out")
    side = np.column_stack([np.ones(len(x)), x[:, covariates]])
    both = np.column_stack([x, y.astype(float)])
    left = both - side @ np.linalg.lstsq(side, both)[0]
    return left[:, :-1], left[:, -1]
