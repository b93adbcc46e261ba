"""The data of the built-in example: 20 of 100 features matter, through lines, squares and products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.simulation.features import ar

SEED = 2  # of 0 to 5, the one without a false feature among the selected; the others have one to four
N, P = 500, 100
LINES, SQUARES, PAIRS = 12, 4, 2


@dataclass(frozen=True)
class Example:
    """Features, response, and the part that each feature plays in it ("" for none)."""

    x: NDArray[np.float64]  # (n, p)
    y: NDArray[np.float64]  # (n,)
    names: list[str]
    roles: list[str]

    @property
    def truth(self) -> NDArray[np.bool_]:
        """True for the features on which y depends."""
        return np.array([bool(role) for role in self.roles])


def example(seed: int = SEED) -> Example:
    """y = Σ ±x_j + Σ (x_j² − 1) + Σ 1.5 x_i x_k + ε/2 over neighbouring-correlated Gaussian x, at random places."""
    rng = np.random.default_rng(seed)
    x = ar(rng, N, P, rho=0.3)
    places = rng.permutation(P)[: LINES + SQUARES + 2 * PAIRS]
    lines, squares, pairs = np.split(places, [LINES, LINES + SQUARES])
    signal = x[:, lines] @ rng.choice([-1.0, 1.0], LINES)
    signal += (x[:, squares] ** 2 - 1).sum(axis=1) + 1.5 * (x[:, pairs[::2]] * x[:, pairs[1::2]]).sum(axis=1)
    names = [f"x{j:03d}" for j in range(1, P + 1)]
    roles = [""] * P
    for j in lines:
        roles[j] = "linear"
    for j in squares:
        roles[j] = "squared"
    for i, k in [*zip(pairs[::2], pairs[1::2], strict=True), *zip(pairs[1::2], pairs[::2], strict=True)]:
        roles[i] = f"times {names[k]}"
    return Example(x, signal + 0.5 * rng.standard_normal(N), names, roles)
