"""Least squares for every feature at once: linear mirrors and partial F tests from one factorisation of X.

With X = QR, G = (XᵀX)⁻¹ and the dual columns D = XG, what the other columns leave of X_j is D_j / G_jj, of squared
norm 1/G_jj, and P_X = P_-j + D_jD_jᵀ / G_jj. So no feature needs a regression of its own. Columns of X are centred,
which accounts for the intercept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.stats import f as f_distribution

Floats = NDArray[np.float64]

DEPENDENT = 1e-7  # a column of which the others leave less than this share is their combination


class Factorisation(NamedTuple):
    """X = QR with its dual basis."""

    basis: Floats  # (n, p): Q
    dual: Floats  # (n, p): D = X(XᵀX)⁻¹ = QR⁻ᵀ
    own: Floats  # (p,): G_jj = ‖D_j‖²


class Mirrors(NamedTuple):
    """Coefficients of X_j and of c_jZ_j in the regression on (X, c_jZ_j), and the scales."""

    feature: Floats  # (p, q): β_j⁺ + β_j⁻
    noise: Floats  # (p, q): β_j⁺ − β_j⁻
    scales: Floats  # (p,): c_j

    def statistics(self) -> Floats:
        """|β⁺ + β⁻| − |β⁺ − β⁻|; norms over the columns of a response with several."""
        return np.asarray(np.linalg.norm(self.feature, axis=1) - np.linalg.norm(self.noise, axis=1))


def factorise(x: Floats) -> Factorisation:
    """Q, D and diag G of centred columns that are linearly independent."""
    basis, triangle = qr(x, mode="economic")
    dual = solve_triangular(triangle, basis.T).T  # (n, p)
    return Factorisation(basis, dual, np.square(dual).sum(axis=0))


def independent_columns(x: Floats, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The columns that are no combination of those before them in `order`, increasing."""
    if not len(order):
        return order
    left = np.abs(np.diag(qr(x[:, order], mode="r")[0]))  # what the earlier columns leave of each
    norms = np.linalg.norm(x[:, order[: len(left)]], axis=0)
    return np.sort(order[: len(left)][left > DEPENDENT * norms])


def is_full_rank(x: Floats, spare: int = 1) -> bool:
    """Whether centred columns are independent and leave `spare` directions beside themselves and the intercept."""
    n, p = x.shape
    return bool(n - 1 - p >= spare and len(independent_columns(x, np.arange(p))) == p)


def least_squares_mirrors(x: Floats, z: Floats, y: Floats) -> Mirrors:
    """The Gaussian mirrors of all features: c_j^GM (eq. gmc) and least squares on (X_j ± c_jZ_j, X_-j) for each j.

    Regressing on the pair is regressing on (X, c_jZ_j), and only Z_j's residual e_j = (I − P_X)Z_j is new:

        β⁺ − β⁻ = e_jᵀy / (c_j ‖e_j‖²),   β⁺ + β⁻ = D_jᵀy − D_jᵀZ_j · c_j(β⁺ − β⁻),
        c_j² = (1/G_jj) / (‖e_j‖² + (D_jᵀZ_j)²/G_jj).
    """
    z, y = z - z.mean(axis=0), y - y.mean(axis=0)  # (n, p), (n, q)
    basis, dual, own = factorise(x)
    residual = z - basis @ (basis.T @ z)
    left = np.square(residual).sum(axis=0)
    along = np.einsum("np,np->p", dual, z)
    scales = np.sqrt(1 / own / (left + along**2 / own))
    raw = residual.T @ y / left[:, None]  # (p, q): the coefficient of Z_j itself
    return Mirrors(dual.T @ y - along[:, None] * raw, raw / scales[:, None], scales)


def partial_p_values(x: Floats, y: Floats) -> Floats:
    """F tests of y given X_-j: F_j = (n − p − q)/q · b_jᵀS⁻¹b_j / G_jj with b_j = D_jᵀy and S = yᵀ(I − P_X)y.

    With one response column it is the usual t test squared; with q, Wilks' test. It is exact for Gaussian noise,
    and as a test of X_j on y given X_-j also for any y where X_j is Gaussian about a linear mean.
    """
    n, p = x.shape
    y = y - y.mean(axis=0)
    basis, dual, own = factorise(x)
    residual = y - basis @ (basis.T @ y)
    slopes = dual.T @ y  # (p, q)
    ratio = _quadratic(slopes, residual.T @ residual) / own
    return _upper_tail(ratio, y.shape[1], n - p - y.shape[1])


def marginal_p_values(x: Floats, y: Floats) -> Floats:
    """F tests of each column of X on y alone: R²/(1 − R²) · (n − 1 − q)/q."""
    y = y - y.mean(axis=0)
    squared = _quadratic(x.T @ y, y.T @ y) / np.square(x).sum(axis=0)  # R²
    squared = np.minimum(squared, 1.0)
    with np.errstate(divide="ignore"):
        ratio = squared / (1 - squared)
    return _upper_tail(ratio, y.shape[1], len(x) - 1 - y.shape[1])


def _quadratic(rows: Floats, matrix: Floats) -> Floats:
    """rᵀM⁻¹r for each row r; infinite where M vanishes, a perfect fit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if matrix.shape == (1, 1):
            return np.asarray(np.nan_to_num(rows[:, 0] ** 2 / matrix[0, 0], nan=0.0, posinf=np.inf))
        return np.asarray(np.einsum("pq,qp->p", rows, np.linalg.pinv(matrix) @ rows.T))


def _upper_tail(ratio: Floats, q: int, rest: int) -> Floats:
    return np.asarray(f_distribution.sf(ratio * rest / q, q, rest))
