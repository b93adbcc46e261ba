"""How a simulated y follows its signal s: numbers with noise, or classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neuralmirror.simulation.links import uniform_scores

Array = NDArray[np.float64]

# ---- responses: (rng, signals of shape (n, C)) -> y of shape (n,) ----


def gaussian(rng: Generator, signals: Array) -> NDArray[Any]:
    """y = s + ε with ε ~ N(0, 1)."""
    signal = signals[:, 0]
    return signal + rng.standard_normal(len(signal))


def heteroscedastic(rng: Generator, signals: Array) -> NDArray[Any]:
    """y = s + σ(s)ε with σ² = ¼ + (3/2)u(s), u the uniform score of s: the variances average exactly 1."""
    signal = signals[:, 0]
    return signal + np.sqrt(0.25 + 1.5 * uniform_scores(signal)) * rng.standard_normal(len(signal))


def logistic(rng: Generator, signals: Array) -> NDArray[Any]:
    """y ∈ {0, 1} with P(y = 1) = 1/(1 + e⁻ˢ), drawn as y = 1{s + ε > 0} with logistic ε."""
    return (signals[:, 0] + rng.logistic(size=len(signals)) > 0).astype(np.int64)


def multinomial(rng: Generator, signals: Array) -> NDArray[Any]:
    """y ∈ {0, 1, 2} with P(y = c) ∝ exp(s_c), drawn as the argmax of s_c + ε_c with Gumbel ε."""
    labels: NDArray[np.int64] = np.argmax(signals + rng.gumbel(size=signals.shape), axis=1)
    return labels


def threshold(rng: Generator, signals: Array) -> NDArray[Any]:
    """y = 1{s > 0}: two classes without noise, so the signal's share does not count."""
    return (signals[:, 0] > 0).astype(np.int64)


class Response(NamedTuple):
    """A kind of y: how it is drawn from `n_signals` signals, and the noise variance v that h2 refers to."""

    draw: Callable[[Generator, Array], NDArray[Any]]
    noise_variance: float = 1.0
    n_signals: int = 1
    numeric: bool = True


RESPONSES = {
    "gaussian": Response(gaussian),
    "heteroscedastic": Response(heteroscedastic),
    "logistic": Response(logistic, noise_variance=np.pi**2 / 3, numeric=False),
    "multinomial": Response(multinomial, noise_variance=np.pi**2 / 6, n_signals=3, numeric=False),
    "threshold": Response(threshold, numeric=False),
}
