"""What the rest of the genome says of a trait: offsets by which one chromosome's markers are tested.

Two ridge regressions, one upon the other (as in regenie; Mbatchou and others, 2021): each stretch of markers predicts
the trait at several penalties, and these predictions together predict it again, without the chromosome in question. All
predictions are for people whose trait the regression has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from neuralmirror.genome.windows import Columns, Panel, Stretch, products

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FOLDS = 5
HERITABILITIES = (0.1, 0.4, 0.7)  # the penalties, by the share of the trait that all markers together would explain


def fold_of_people(n: int, seed: int) -> Indices:
    """The part, of five, to which each person belongs."""
    return np.random.default_rng([seed, 5]).permutation(n) % FOLDS


@dataclass(frozen=True)
class Predictions:
    """The trait as predicted by the markers of each stretch of a chromosome at each penalty."""

    values: Columns  # (stretches × penalties, n)

    @staticmethod
    def of(
        panel: Panel,
        response: Columns,
        stretches: Sequence[Stretch],
        folds: Indices,
        n_markers: int,
        device: str = "cpu",
    ) -> Predictions:
        """The first ridge regression; `n_markers` are those of the whole genome."""
        parts = [np.flatnonzero(folds == fold) for fold in range(FOLDS)]
        found = np.zeros((len(stretches), len(HERITABILITIES), len(response)), dtype=np.float32)
        for place, stretch in enumerate(stretches):
            columns = panel.columns(stretch.first, stretch.last)
            x = [columns[:, part] for part in parts]
            among = [products(one, device) for one in x]
            along = [one @ response[part] for one, part in zip(x, parts, strict=True)]
            for fold, part in enumerate(parts):
                others = np.sum(among, axis=0) - among[fold]
                for number, share in enumerate(HERITABILITIES):
                    weights = _ridge(others, np.sum(along, axis=0) - along[fold], n_markers * (1 - share) / share)
                    found[place, number, part] = weights @ x[fold]
        return Predictions(found.reshape(-1, len(response)))


def _ridge(products: NDArray[np.floating], along: NDArray[np.floating], penalty: float) -> NDArray[np.floating]:
    """(XᵀX + λI)⁻¹ Xᵀy."""
    return np.asarray(cho_solve(cho_factor(products + penalty * np.eye(len(products), dtype=products.dtype)), along))


def offsets_of_others(predictions: Mapping[str, Columns], response: Columns, folds: Indices) -> dict[str, Floats]:
    """For each chromosome the trait as predicted by all others, (n,); none where there are no others."""
    if len(predictions) < 2:
        return {}
    owner = np.repeat(list(predictions), [len(rows) for rows in predictions.values()])
    rows = np.concatenate(list(predictions.values()))
    rows /= np.maximum(rows.std(axis=1, keepdims=True), 1e-12)
    second = _Second(rows, response, folds)
    penalty = second.best_penalty()
    return {name: second.predicted(owner != name, penalty) for name in predictions}


class _Second:
    """The second ridge regression: of the trait on the predictions of all stretches (q, n)."""

    def __init__(self, rows: Columns, response: Columns, folds: Indices) -> None:
        self.rows, self.response = rows, response
        self.parts = [np.flatnonzero(folds == fold) for fold in range(FOLDS)]
        self.products = [(rows[:, part] @ rows[:, part].T).astype(np.float64) for part in self.parts]
        self.along = [(rows[:, part] @ response[part]).astype(np.float64) for part in self.parts]

    def predicted(self, used: NDArray[np.bool_], penalty: float) -> Floats:
        """The trait of the people of each part, from some of the predictions and the people of the other parts."""
        found, chosen = np.zeros(len(self.response)), np.flatnonzero(used)
        products, along = np.sum(self.products, axis=0), np.sum(self.along, axis=0)
        for fold, part in enumerate(self.parts):
            others = (products - self.products[fold])[np.ix_(chosen, chosen)]
            weights = _ridge(others, (along - self.along[fold])[chosen], penalty)
            found[part] = weights @ self.rows[np.ix_(chosen, part)]
        return found

    def best_penalty(self) -> float:
        """The penalty, of a wide range, whose predictions are best."""
        every = np.ones(len(self.rows), dtype=bool)
        penalties = len(self.response) * np.logspace(-2, 3, 6)
        errors = [np.square(self.response - self.predicted(every, penalty)).sum() for penalty in penalties]
        return float(penalties[int(np.argmin(errors))])
