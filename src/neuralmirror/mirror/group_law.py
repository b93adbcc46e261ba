"""Copies of whole groups of columns, each given the columns of all other groups.

    X̃_G = E[X_G | X_-G] + residuals drawn anew,      all columns of the group together

The mean of a whole group is least squares on one set of columns outside it, chosen one after the other by how much
each adds to what the others explain of the group; how many, leave-one-out error decides. The residuals of all columns
take one random order of the rows, lose what they share with the regressors, and are brought back to the products that
they had with each other. So X_G and its copies have the same products with every regressor and among themselves: a
group of near-copies is copied as a group of near-copies. Were the residuals of normal columns turned at random instead
of put in random order, and the regressors given, the draw would be exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

COUNTS = (8, 24, 64)  # regressors to choose from
CANDIDATES = 200  # columns outside a group that may become its regressors
OWN_SHARE = 0.02  # of its variance that a regressor must add to those before it
HELD = 10_000  # columns up to which all products are held
NEGLIGIBLE = 1e-3  # of the largest singular value: what a group's residuals do not span


class Products:
    """x_i·x_j of standardised columns (n, p): computed once for all resolutions where that fits in memory."""

    def __init__(self, x: Floats) -> None:
        self.x = x.astype(np.float32)
        self.held = self.x.T @ self.x if x.shape[1] <= HELD else None

    def __call__(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float32]:
        """The products of some columns with some others, or with all."""
        if self.held is None:
            return np.asarray(self.x[:, rows].T @ (self.x if columns is None else self.x[:, columns]))
        return self.held[rows] if columns is None else self.held[np.ix_(rows, columns)]


@dataclass(frozen=True)
class GroupLaw:
    """The mean of one group's columns given the others, and what is left of them: U S Vᵀ."""

    columns: Indices  # (m,)
    regressors: Indices  # (r,)
    mean: Floats  # (n, m)
    left: Floats  # U (n, k)
    right: Floats  # S Vᵀ (k, m)
    explained: float  # share of the group's variance that the others predict in rows left out


def group_law(x: Floats, products: Products, columns: Indices, fixed: Floats) -> GroupLaw:
    """The law of some columns of x given the others; `fixed` (n, f) is an orthonormal basis of what is always known."""
    order = regressors_of(products, columns)
    own = x[:, columns]
    known = basis_of(x, order, fixed)
    along = known.T @ own  # (f + r, m)
    errors = {c: _left_out_error(own, known[:, :c], along[:c]) for c in _sizes(fixed.shape[1], known.shape[1])}
    count = min(errors, key=lambda c: errors[c])
    mean = known[:, :count] @ along[:count]
    left, sizes, right = np.linalg.svd(own - mean, full_matrices=False)
    kept = sizes > NEGLIGIBLE * max(float(sizes[0]), 1e-12)
    explained = 1 - errors[count] / max(float(np.square(own).mean()), 1e-12)
    chosen, right = order[: count - fixed.shape[1]], sizes[kept, None] * right[kept]
    return GroupLaw(columns, chosen, mean, left[:, kept], right, float(np.clip(explained, 0, 1)))


def _sizes(n_fixed: int, n_known: int) -> list[int]:
    """How many columns of the basis to try."""
    return sorted({min(n_fixed + count, n_known) for count in COUNTS})


def _left_out_error(own: Floats, basis: Floats, along: Floats) -> float:
    """The mean squared error of each row predicted from the others."""
    leverage = np.minimum(np.square(basis).sum(axis=1), 1 - 1e-3)
    return float(np.square((own - basis @ along) / (1 - leverage)[:, None]).mean())


def basis_of(x: Floats, regressors: Indices, fixed: Floats) -> Floats:
    """An orthonormal basis of `fixed` and the regressors, whose first columns span what the first of them span."""
    if not len(regressors):
        return fixed
    rest = x[:, regressors] - fixed @ (fixed.T @ x[:, regressors])
    return np.hstack([fixed, np.linalg.qr(rest)[0]])


def regressors_of(products: Products, columns: Indices) -> Indices:
    """Columns outside a group, in the order in which each adds most to what is known of the group.

    A Cholesky decomposition of the products of the candidates, with pivots chosen by the group.
    """
    near = np.abs(products(columns)).max(axis=0)
    near[columns] = -1
    outside = min(CANDIDATES, len(near) - len(columns), products.x.shape[0] // 4)
    if outside < 1:
        return np.zeros(0, dtype=np.intp)
    candidates = np.argsort(-near, kind="stable")[:outside]
    among = products(candidates, candidates)  # (c, c)
    shared = products(columns, candidates).astype(np.float64)  # (m, c): of what is left of both
    left = np.diag(among).astype(np.float64)  # squared lengths of what is left of the candidates
    whole, factor, order = left.copy(), np.zeros((0, outside)), []
    for _ in range(min(COUNTS[-1], outside)):
        gain = np.where(left > OWN_SHARE * whole, np.square(shared).sum(axis=0) / np.maximum(left, 1e-12), -1.0)
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        row = (among[best] - factor[:, best] @ factor) / np.sqrt(left[best])  # (c,)
        shared = shared - np.outer(shared[:, best] / np.sqrt(left[best]), row)
        left, factor = left - np.square(row), np.vstack([factor, row])
        order.append(int(candidates[best]))
    return np.array(order, dtype=np.intp)


def draw_group(law: GroupLaw, x: Floats, fixed: Floats, n_copies: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """X̃_G^1..K, (m, K, n). The basis is found again: to keep it for every group would take far more room than x."""
    n, m = law.mean.shape
    basis = basis_of(x, law.regressors, fixed)
    copies = np.empty((m, n_copies, n), dtype=np.float32)
    for number in range(n_copies):
        turned = law.left[rng.permutation(n)]
        turned -= basis @ (basis.T @ turned)
        sizes, turns = np.linalg.eigh(turned.T @ turned)
        nearest = turned @ ((turns / np.sqrt(np.maximum(sizes, 1e-9))) @ turns.T)  # orthonormal again, turned least
        copies[:, number] = (law.mean + nearest @ law.right).T
    return copies
