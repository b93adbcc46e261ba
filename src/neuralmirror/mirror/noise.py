"""The noise Z_j of mirrored pairs X_j ± c_j Z_j: drawn by feature, and louder where rows are levers."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor


def feature_generators(x: NDArray[np.float64], *key: int) -> list[np.random.Generator]:
    """One generator per column, keyed by the seed and the column's own values.

    So neither the order of the columns, nor chunks, nor workers change what a feature draws. Columns of one hash
    (multiples of each other become equal when standardised) are told apart by their order.
    """
    seen: Counter[int] = Counter()
    generators = []
    for column in x.T:
        code = zlib.crc32(np.ascontiguousarray(column).tobytes())
        generators.append(np.random.default_rng([*key, code, seen[code]] if seen[code] else [*key, code]))
        seen[code] += 1
    return generators


def draw_noise(generators: list[np.random.Generator], n: int, n_mirrors: int) -> NDArray[np.float32]:
    """Z_j^1..Z_j^K ~ N(0, I_n) for every feature, (n, p, K)."""
    draws = [g.standard_normal((n_mirrors, n), dtype=np.float32) for g in generators]
    return np.stack(draws).transpose(2, 0, 1)


def with_noise(x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The directions of every feature: X_j (n, p) and its noises (n, p, K) side by side, (n, p, K+1)."""
    return np.concatenate([x[:, :, None], z], axis=2)


def row_sizes(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """How loud the noise of each feature is in each row, s (n, p) with mean square 1; x is standardised.

    s_ij² = 1 + λ(mean of x_ik² over k ≠ j − 1). Where columns are large together in the same rows, as in heavy-tailed
    data, such a row is a lever for all of them, and noise without levers would be no match. λ = max(0, 1 − 2e/v) weighs
    the variance v of the rows' mean squares against e, what the columns' own tails and their correlations bring to it.
    """
    n, p = x.shape
    squares = x**2
    sizes, tails = squares.mean(axis=1, keepdims=True), (squares**2).mean(axis=0)
    gram = x @ x.T if n < p else x.T @ x
    pairs = max(0.0, float((gram**2).sum()) / n**2 - p - p**2 / n)  # Σ r_jk² over j ≠ k, less what chance brings
    expected = (float((tails - 1).sum()) + 2 * pairs) / p**2  # normal x_j and x_k: cov(x_j², x_k²) = 2r_jk²
    share = max(0.0, 1 - 2 * expected / max(float(sizes.var()), 1e-300))
    return np.asarray(np.sqrt(1 + share * ((p * sizes - squares) / max(1, p - 1) - 1)))


def mirrored_pair(x: Tensor, z: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """(X^+, X^-) = (X + cZ, X − cZ)."""
    return x + scales * z, x - scales * z
