"""Links: how the k true columns of X make a signal. `responses` turns the signal into y."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neuralmirror.simulation.random_functions import perceptron, tanh_units, trees

Array = NDArray[np.float64]


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


def score_columns(x: Array) -> Array:
    """The uniform scores of each column."""
    return np.asarray(np.apply_along_axis(uniform_scores, 0, x))


# ---- functions of the standardised true columns x (n, k) and of β (k,) ----


def squares(x: Array, beta: Array) -> Array:
    """Σ_j β_j (x_j² − 1). For a two-valued x_j the term is linear, and 0 if the two are balanced."""
    return (x**2 - 1) @ beta


def products(x: Array, beta: Array) -> Array:
    """Σ β_i x_i x_{i+1} over the disjoint pairs i = 1, 3, 5, …"""
    return (x[:, ::2] * x[:, 1::2]) @ beta[::2]


def triple_products(x: Array, beta: Array) -> Array:
    """Σ β_i x_i x_{i+1} x_{i+2} over the disjoint triples i = 1, 4, 7, …"""
    return (x[:, ::3] * x[:, 1::3] * x[:, 2::3]) @ beta[::3]


def ratio(x: Array, beta: Array) -> Array:
    """Σ β_i x_i / (1 + x_{i+1}²) over the disjoint pairs."""
    return (x[:, ::2] / (1 + x[:, 1::2] ** 2)) @ beta[::2]


def gate(x: Array, beta: Array) -> Array:
    """Σ β_i x_i 1{x_{i+1} > 0} over the disjoint pairs."""
    return (x[:, ::2] * (x[:, 1::2] > 0)) @ beta[::2]


def sign_product(x: Array, beta: Array) -> Array:
    """Σ β_i sign(x_i x_{i+1}) over the disjoint pairs."""
    return np.sign(x[:, ::2] * x[:, 1::2]) @ beta[::2]


def sine_of_sum(x: Array, beta: Array) -> Array:
    """Σ β_i sin(1.5(x_i + x_{i+1})) over the disjoint pairs."""
    return np.sin(1.5 * (x[:, ::2] + x[:, 1::2])) @ beta[::2]


def mixed(x: Array, beta: Array) -> Array:
    """A third products, a third linear, a third squares: 2⌊k/6⌋ features in products, the others halved."""
    k = len(beta)
    pairs = 2 * (k // 6)
    half = pairs + (k - pairs + 1) // 2
    linear = x[:, pairs:half] @ beta[pairs:half]
    return products(x[:, :pairs], beta[:pairs]) + linear + squares(x[:, half:], beta[half:])


def friedman(x: Array, beta: Array) -> Array:
    """Σ_b β_b [10 sin(π u₁u₂) + 20(u₃ − ½)² + 10u₄ + 5u₅] over blocks b of 5 features; u: uniform scores."""
    u = score_columns(x).reshape(len(x), -1, 5)  # (n, k/5, 5)
    u1, u2, u3, u4, u5 = np.moveaxis(u, -1, 0)
    block = 10 * np.sin(np.pi * u1 * u2) + 20 * (u3 - 0.5) ** 2 + 10 * u4 + 5 * u5
    signal: Array = block @ beta[::5]
    return signal


def ring(x: Array, beta: Array) -> Array:
    """Σ 1{0.2 ≤ r ≤ 0.45} over pairs, r the distance of their uniform scores from the centre (½, ½); β is ignored."""
    distance = np.hypot(*np.moveaxis(score_columns(x).reshape(len(x), -1, 2) - 0.5, -1, 0))  # (n, k/2)
    return np.asarray(((distance >= 0.2) & (distance <= 0.45)).sum(axis=1), dtype=np.float64)


def xor(x: Array, beta: Array) -> Array:
    """Σ 1{u_i > ½} xor 1{u_{i+1} > ½} over pairs, u: uniform scores; β is ignored."""
    above = score_columns(x) > 0.5
    return np.asarray((above[:, ::2] ^ above[:, 1::2]).sum(axis=1), dtype=np.float64)


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
    "linear-uniform": lambda x, beta: x @ beta,
    "sine2": lambda x, beta: np.sin(2 * x).sum(axis=1),
    "sine3": lambda x, beta: np.sin(3 * x) @ beta,
    "cosine3": lambda x, beta: np.cos(3 * x) @ beta,
    "ratio": ratio,
    "gate": gate,
    "sign-product": sign_product,
    "sine-of-sum": sine_of_sum,
    "triple-products": triple_products,
    "ring": ring,
    "xor": xor,
}
# Functions of the k standardised true columns that draw whatever they need.
RANDOM: dict[str, Callable[[Generator, Array], Array]] = {
    "trees": trees,
    "tanh-units": tanh_units,
    "perceptron": perceptron,
}
LINKS = (*INDEX, *ADDITIVE, *RANDOM)
# The links whose features come in groups, with the size of a group.
GROUP = {
    "products": 2,
    "ratio": 2,
    "gate": 2,
    "sign-product": 2,
    "sine-of-sum": 2,
    "ring": 2,
    "xor": 2,
    "triple-products": 3,
    "friedman": 5,
}
# Links with an even function of some features: one that takes two balanced values does not matter there.
EVEN = ("squares", "mixed", "absolute", "cosine3", "ratio", "friedman", "ring")

# Links that draw nothing: the classes of a multinomial response would all have the same signal.
FIXED = ("sine2", "ring", "xor")


def draw_signal(rng: Generator, x: Array, p: int, link: str) -> Array:
    """The signal (n,) of the true columns x (n, k) among p.

    β_j ~ N(0, (20√(log p / n))²) for a single index (Sec 5.1), else ±Uniform(0.5, 1.5) with a fair sign.
    """
    n, k = x.shape
    if link in INDEX:
        return INDEX[link](x @ rng.normal(0, 20 * np.sqrt(np.log(p) / n), k))
    if link in RANDOM:
        return RANDOM[link](rng, standardise(x))
    beta = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k)
    return ADDITIVE[link](standardise(x), beta)


def scale_signal(signal: Array, h2: float, noise_variance: float) -> Array:
    """s with mean 0 and variance v·h2/(1 − h2), so that beside noise of variance v its share is h2."""
    sd = float(np.sqrt(noise_variance * h2 / (1 - h2)))
    return sd * standardise(signal)
