"""Random functions of the true columns: sums of trees, of small tanh units, and a perceptron."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.float64]

DEPTH = 3
NODES, LEAVES = 2**DEPTH - 1, 2**DEPTH
TREES = 12  # at least; more where each feature would have fewer than three nodes
UNITS, FAN_IN = 24, 3


def trees(rng: Generator, x: Array) -> Array:
    """Σ of at least 12 trees of depth 3: node v asks x_f(v) > t_v with t_v ~ N(0, 0.5²), leaves are N(0, 1)."""
    k = x.shape[1]
    asked = every_feature(rng, k, max(TREES, -(-3 * k // NODES)), NODES)
    signal = np.zeros(len(x))
    for features in asked:
        thresholds = inner_thresholds(rng.normal(0, 0.5, NODES), x[:, features])
        signal += rng.standard_normal(LEAVES)[reached_leaf(x, features, thresholds)]
    return signal


def inner_thresholds(thresholds: Array, asked: Array) -> Array:
    """Thresholds moved into [min, max) of the column they are asked of, so that every question divides the rows."""
    low, high = asked.min(axis=0), asked.max(axis=0)
    return np.clip(thresholds, low, np.maximum(low, np.nextafter(high, -np.inf)))


def reached_leaf(x: Array, features: NDArray[np.intp], thresholds: Array) -> NDArray[np.intp]:
    """The leaf of each row: from node v to 2v + 1 where x_f(v) ≤ t_v, to 2v + 2 otherwise."""
    node = np.zeros(len(x), dtype=np.intp)
    for _ in range(DEPTH):
        node = 2 * node + 1 + (x[np.arange(len(x)), features[node]] > thresholds[node])
    return np.asarray(node - NODES)


def tanh_units(rng: Generator, x: Array) -> Array:
    """Σ_u a_u tanh(b_u + Σ w_uj x_j) over at least 24 units of 3 features; a, w ~ ±Uniform(0.5, 1.5), b ~ N(0, 1)."""
    k = x.shape[1]
    chosen = every_feature(rng, k, max(UNITS, k), FAN_IN)  # (units, 3)
    weights, heights = signed_uniform(rng, chosen.shape), signed_uniform(rng, (len(chosen),))
    inside = (x[:, chosen] * weights).sum(axis=2) + rng.standard_normal(len(chosen))  # (n, units)
    return np.asarray(np.tanh(inside) @ heights)


def perceptron(rng: Generator, x: Array) -> Array:
    """Σ_u a_u tanh(b_u + Σ_j w_uj x_j) over 24 units of all k features; a, b ~ N(0, 1), w ~ N(0, 4/k)."""
    k = x.shape[1]
    weights = rng.normal(0, 2 / np.sqrt(k), (k, UNITS))
    inside = x @ weights + rng.standard_normal(UNITS)
    return np.asarray(np.tanh(inside) @ rng.standard_normal(UNITS))


def every_feature(rng: Generator, k: int, groups: int, size: int) -> NDArray[np.intp]:
    """`groups` draws of `size` features (groups, size): one permutation of all k after another, so all have a part."""
    rounds = [rng.permutation(k) for _ in range(-(-groups * size // k))]
    return np.concatenate(rounds)[: groups * size].reshape(groups, size)


def signed_uniform(rng: Generator, shape: tuple[int, ...]) -> Array:
    """±Uniform(0.5, 1.5) with a fair sign."""
    return np.asarray(rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape))
