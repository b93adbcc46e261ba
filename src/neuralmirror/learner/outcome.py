"""The outcome as all parts of the learner predict it: a number, or the chances of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import norm

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LOGIT = 1.7  # times a probit is about a logit


@dataclass(frozen=True)
class Response:
    """What is to be predicted: standardised numbers (n, 1), or labels (n, 1) of so many classes."""

    values: Floats
    classes: int = 0

    def rows(self, order: Indices) -> Response:
        """The rows in another order."""
        return Response(self.values[order], self.classes)


def codes(response: Response) -> Floats:
    """Numbers as they are; 0/1 for two classes; one column a class for more."""
    if response.classes <= 2:
        return response.values
    return np.asarray(np.eye(response.classes)[response.values[:, 0].astype(int)])


def probabilities(values: Floats, classes: int) -> Floats:
    """Numbers as they are; of latent values, the chances of the classes."""
    if classes == 0:
        return values
    if classes == 2:
        return np.asarray(norm.cdf(values))
    return np.asarray(softmax(LOGIT * values, axis=-1))


def expected(outputs: Floats, classes: int) -> Floats:
    """What outputs say of the outcome: numbers as they are; of logits, the chances of the classes."""
    return probabilities(outputs / LOGIT if classes else outputs, classes)


def explained(targets: Floats, predicted: Floats, base: Floats) -> float:
    """1 − Σ(y − ŷ)² / Σ(y − ȳ)², with ȳ the mean of the rows that were learnt from."""
    return float(1 - ((targets - predicted) ** 2).sum() / max(float(((targets - base) ** 2).sum()), 1e-300))
