"""How a simulated y follows X: links turn the true columns into a signal, responses turn the signal into y.

`designs` draws X and puts the parts together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.float64]

# ---- links ----


def standardise(x: Array) -> Array:
    """(x − mean) / sd along the rows; what does not vary becomes 0."""
    sd = x.std(axis=0)
    scores: Array = (x - x.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    return scores


def uniform_scores(values: Array) -> Array:
    """Empirical distribution function at mid-ranks: within (0, 1), mean exactly 1/2, ties share a score."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    scores: Array = ((np.cumsum(counts) - counts / 2) / len(values))[place]
    return scores


def squares(x: Array, beta: Array) -> Array:
    """Σ_j β_j (x_j² − 1). For a two-valued x_j the term is linear, and 0 if the two are balanced."""
    return (x**2 - 1) @ beta


def products(x: Array, beta: Array) -> Array:
    """Σ β_i x_i x_{i+1} over the disjoint pairs i = 1, 3, 5, …"""
    return (x[:, ::2] * x[:, 1::2]) @ beta[::2]


def mixed(x: Array, beta: Array) -> Array:
    """A third products, a third linear, a third squares: 2⌊k/6⌋ features in products, the others halved."""
    k = len(beta)
    pairs = 2 * (k // 6)
    half = pairs + (k - pairs + 1) // 2
    linear = x[:, pairs:half] @ beta[pairs:half]
    return products(x[:, :pairs], beta[:pairs]) + linear + squares(x[:, half:], beta[half:])


def friedman(x: Array, beta: Array) -> Array:
    """Σ_b β_b [10 sin(π u₁u₂) + 20(u₃ − ½)² + 10u₄ + 5u₅] over blocks b of 5 features; u: uniform scores."""
    u = np.apply_along_axis(uniform_scores, 0, x).reshape(len(x), -1, 5)  # (n, k/5, 5)
    u1, u2, u3, u4, u5 = np.moveaxis(u, -1, 0)
    block = 10 * np.sin(np.pi * u1 * u2) + 20 * (u3 - 0.5) ** 2 + 10 * u4 + 5 * u5
    signal: Array = block @ beta[::5]
    return signal


# Functions of the single index t = Xβ; the last three are the paper's f₁, f₂ and f₃.
INDEX: dict[str, Callable[[Array], Array]] = {
    "linear": lambda t: t,
    "sin": lambda t: t + np.sin(t),
    "cubic": lambda t: t**3 / 2,
    "quintic": lambda t: t**5 / 10,
}
# Functions of the k standardised true columns and of β.
ADDITIVE: dict[str, Callable[[Array, Array], Array]] = {
    "squares": squares,
    "products": products,
    "mixed": mixed,
    "absolute": lambda x, beta: np.abs(x) @ beta,
    "sine": lambda x, beta: np.sin(2 * x) @ beta,
    "friedman": friedman,
    "null": lambda x, beta: np.zeros(len(x)),
}
# The links whose features come in groups, with the size of a group.
GROUP = {"products": 2, "friedman": 5}


def draw_signal(rng: Generator, x: Array, p: int, link: str) -> Array:
    """The signal (n,) of the true columns x (n, k) among p.

    β_j ~ N(0, (20√(log p / n))²) for a single index (Sec 5.1), else ±Uniform(0.5, 1.5) with a fair sign.
    """
    n, k = x.shape
    if link in INDEX:
        return INDEX[link](x @ rng.normal(0, 20 * np.sqrt(np.log(p) / n), k))
    beta = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k)
    return ADDITIVE[link](standardise(x), beta)


def scale_signal(signal: Array, h2: float, noise_variance: float) -> Array:
    """s with mean 0 and variance v·h2/(1 − h2), so that beside noise of variance v its share is h2."""
    sd = float(np.sqrt(noise_variance * h2 / (1 - h2)))
    return sd * standardise(signal)


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
}
