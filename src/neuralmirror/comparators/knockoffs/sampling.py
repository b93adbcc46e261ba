"""Gaussian Model-X and fixed-X knockoffs: the diagonal s and sampling.

Knockoffs X̃ of X copy its second moments and swap freely with it: with Σ = cov(X) and D = diag(s),

    cov(X, X̃) = [[Σ, Σ − D], [Σ − D, Σ]],   feasible when 0 ≤ s and D ≼ 2Σ.

Larger s sets a feature further apart from its knockoff, hence more power. The solvers take a correlation
matrix; `knockoff_s` carries their answer over to any covariance or Gram matrix.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from neuralmirror.comparators.knockoffs.covariances import Array, checked_covariance, correlation, inverse, psd_factor
from neuralmirror.comparators.knockoffs.mvr import equicorrelated_s, mvr_s
from neuralmirror.comparators.knockoffs.sdp import sdp_s

S_METHODS: dict[str, Callable[[Array], Array]] = {
    "equicorrelated": equicorrelated_s,
    "sdp": sdp_s,
    "mvr": mvr_s,
}


def knockoff_s(sigma: Array, method: Callable[[Array], Array] = mvr_s) -> Array:
    """s of any covariance or Gram matrix: Σ_jj times the s_j of its correlations."""
    return np.asarray(np.diag(sigma) * method(correlation(sigma)))


def gaussian_knockoffs(X: Array, sigma: Array, s: Array, rng: np.random.Generator, mean: Array | None = None) -> Array:
    """X̃ | X ~ N(X − (X − μ)Σ⁻¹D, 2D − DΣ⁻¹D), row by row; μ is the mean of the columns unless given."""
    centre = X.mean(axis=0) if mean is None else mean
    weights, spread = conditional_moments(sigma, s)
    return np.asarray(X - (X - centre) @ weights + rng.standard_normal(X.shape) @ spread.T)


def fixed_x_knockoffs(X: Array, s: Array, rng: np.random.Generator) -> Array:
    """X̃ = X(I − G⁻¹D) + UFᵀ with G = XᵀX, UᵀX = 0, UᵀU = I, FFᵀ = 2D − DG⁻¹D and s for G (n ≥ 2p).

    Then X̃ᵀX̃ = G and XᵀX̃ = G − D exactly. Centre X if the model has an intercept: where n > 2p the columns
    of U also sum to zero, so X̃ is centred too.
    """
    n, p = X.shape
    if n < 2 * p:
        raise ValueError(
            f"fixed-X knockoffs need n >= 2p rows, got n = {n} for p = {p}; "
            "use Model-X knockoffs (gaussian_knockoffs) or screen features first."
        )
    weights, spread = conditional_moments(X.T @ X, s)
    return np.asarray(X - X @ weights + orthogonal_complement(X, rng) @ spread.T)


def orthogonal_complement(X: Array, rng: np.random.Generator) -> Array:
    """U: p random orthonormal columns orthogonal to those of X, and to the intercept where n > 2p."""
    n, p = X.shape
    intercept = np.ones((n, min(1, n - 2 * p)))  # (n, 0) when n = 2p
    columns = np.hstack([intercept, X, rng.standard_normal((n, p))])
    return np.asarray(qr(columns, mode="economic")[0][:, -p:])


def conditional_moments(sigma: Array, s: Array) -> tuple[Array, Array]:
    """Σ⁻¹D and F with FFᵀ = 2D − DΣ⁻¹D, worked out on the scale of correlations."""
    scale = np.sqrt(np.diag(checked_covariance(sigma)))
    s = np.asarray(s, dtype=np.float64)
    if s.shape != scale.shape or not (s >= 0).all():
        raise ValueError(f"s must hold {len(scale)} values >= 0, got shape {s.shape}, minimum {s.min():.3g}.")
    share = s / scale**2
    weights = inverse(correlation(sigma)) * share
    spread = psd_factor(2 * np.diag(share) - share[:, None] * weights)
    return weights * scale / scale[:, None], scale[:, None] * spread
