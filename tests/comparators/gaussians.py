"""Correlation matrices, rows of Gaussian features with one of them, and a regression on such rows."""

import numpy as np

from neuralmirror.comparators.knockoffs import covariances as cov
from neuralmirror.comparators.knockoffs import mvr
from neuralmirror.comparators.knockoffs import sampling as ko


def random_correlation(seed, p, factors=2):
    """A loading matrix plus noise of unequal size: neither Toeplitz nor exchangeable."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((p, factors))
    return cov.correlation(loadings @ loadings.T + np.diag(rng.uniform(0.2, 2, p)))


def toeplitz(p, rho):
    return rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def exchangeable(p, rho):
    return (1 - rho) * np.eye(p) + rho


def gaussian_rows(sigma, n, rng):
    return rng.standard_normal((n, len(sigma))) @ np.linalg.cholesky(sigma).T


def regression_pairs(seed=0, n=300, p=20, k=5):
    rng = np.random.default_rng(seed)
    sigma = toeplitz(p, 0.4)
    X = gaussian_rows(sigma, n, rng)
    X_knock = ko.gaussian_knockoffs(X, sigma, mvr.mvr_s(sigma), rng, mean=np.zeros(p))
    signal = X[:, :k] @ np.array([1, -1] * k)[:k]
    return X, X_knock, signal + rng.standard_normal(n)
