"""Covariance matrices: estimated, given and checked, with the linear algebra that knockoffs need of them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from sklearn.covariance import ledoit_wolf

from neuralmirror._internal.standardised import standardised

Array = NDArray[np.float64]

SINGULAR = 1e-9  # a correlation matrix with a smaller eigenvalue leaves knockoffs no room
ROUNDING = 1e-6  # allowed below zero in 2D − DΣ⁻¹D on the scale of correlations: the SDP makes it singular


# Linear algebra


def is_positive_definite(matrix: Array) -> bool:
    """Whether a Cholesky factor exists."""
    return bool(lapack.dpotrf(matrix, lower=1, clean=0)[1] == 0)


def product(left: Array, right: Array) -> Array:
    """AB by SciPy's BLAS."""
    # NumPy's @ has a thread pool of its own; beside the Cholesky factors of SciPy's the two fight for the cores.
    return np.asarray(blas.dgemm(1.0, right.T, left.T).T)


def inverse(matrix: Array) -> Array:
    """Σ⁻¹ through Cholesky, in half the time of a general inverse; LinAlgError unless Σ ≻ 0."""
    factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    lower = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    return np.asarray(lower + np.tril(lower, -1).T)


def psd_factor(matrix: Array) -> Array:
    """F with FFᵀ = V: Cholesky's where V ≻ 0, the spectrum's where V is singular; ValueError unless V ≽ 0."""
    factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    if not failed:
        return np.asarray(factor)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -ROUNDING:
        raise ValueError(
            "s must satisfy diag(s) ≼ 2Σ, got a conditional covariance 2D − DΣ⁻¹D with smallest eigenvalue "
            f"{values[0]:.3g}; compute s from this very Σ, knockoff_s(sigma), or shrink it."
        )
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


# Covariance


def correlation(sigma: Array) -> Array:
    """Σ_jk / √(Σ_jj Σ_kk)."""
    scale = np.sqrt(np.diag(sigma))
    return np.asarray(sigma / np.outer(scale, scale))


def empirical_covariance(X: Array) -> Array:
    """Σ̂ = (X − X̄)ᵀ(X − X̄) / (n − 1), singular unless n > p."""
    return np.atleast_2d(np.cov(X, rowvar=False))


def ledoit_wolf_covariance(X: Array) -> Array:
    """Ledoit and Wolf's shrinkage of the correlations towards I, put back on the scale of X."""
    scale = X.std(axis=0)
    shrunk, _ = ledoit_wolf(standardised(X))
    return np.asarray(shrunk * np.outer(scale, scale))


COVARIANCES: dict[str, Callable[[Array], Array]] = {
    "empirical": empirical_covariance,
    "ledoit-wolf": ledoit_wolf_covariance,
}


def covariance_matrix(X: Array, covariance: str | Array = "ledoit-wolf") -> Array:
    """Σ of the columns of X: a given matrix, or estimated by the method named in COVARIANCES."""
    if isinstance(covariance, str) and covariance not in COVARIANCES:
        raise ValueError(f"covariance must be a matrix or one of {[*COVARIANCES]}, got {covariance!r}.")
    p = X.shape[1]
    sigma = checked_covariance(COVARIANCES[covariance](X) if isinstance(covariance, str) else covariance)
    if len(sigma) != p:
        raise ValueError(f"covariance must be {p} by {p}, a row for each column of X, got {sigma.shape}.")
    return sigma


def checked_covariance(sigma: Array) -> Array:
    """Σ when square, finite, symmetric and with positive definite correlations; ValueError otherwise."""
    sigma = np.asarray(sigma, dtype=np.float64)
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1] or not len(sigma):
        raise ValueError(f"a covariance must be a square matrix, got shape {sigma.shape}.")
    if not np.isfinite(sigma).all():
        raise ValueError("a covariance must be finite, got NaN or infinity; impute or drop missing values.")
    if not np.allclose(sigma, sigma.T, rtol=1e-6, atol=1e-8 * np.abs(sigma).max()):
        raise ValueError("a covariance must be symmetric, got one that is not; did you mean (S + S.T) / 2?")
    variances = np.diag(sigma)
    if variances.min() <= 0:
        j = variances.argmin()
        raise ValueError(f"variances must be > 0, got {variances[j]:.3g} in column {j}; drop constants.")
    smallest_eigenvalue(correlation(sigma))
    return sigma


def smallest_eigenvalue(corr: Array) -> float:
    """λ_min of a correlation matrix; ValueError where it is not safely positive."""
    if not np.allclose(np.diag(corr), 1):
        raise ValueError(
            f"expected a correlation matrix, got diagonal entries up to {np.diag(corr).max():.3g}; "
            "knockoff_s(sigma, method) takes any covariance."
        )
    smallest = float(np.linalg.eigvalsh(corr)[0])
    if smallest < SINGULAR:
        raise ValueError(
            f"the correlations must be positive definite, got smallest eigenvalue {smallest:.3g}; "
            'estimate them with covariance="ledoit-wolf", or drop columns that repeat others.'
        )
    return smallest
