"""The noise Z_j of mirrored pairs X_j ± c_j Z_j, drawn by feature."""

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


def mirrored_pair(x: Tensor, z: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """(X^+, X^-) = (X + cZ, X − cZ)."""
    return x + scales * z, x - scales * z
