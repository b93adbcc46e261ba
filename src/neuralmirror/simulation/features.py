"""Distributions of X: (rng, n, p, rho) -> X of shape (n, p)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

Array = NDArray[np.float64]


def independent(rng: Generator, n: int, p: int, rho: float = 0.0) -> Array:
    """X ~ N(0, I); rho is ignored."""
    return rng.standard_normal((n, p))


def toeplitz(rng: Generator, n: int, p: int, rho: float) -> Array:
    """X ~ N(0, Ω⁻¹) with precision Ω_ij = ρ^|i−j| (Toeplitz partial correlation).

    Ω = LLᵀ is the covariance of an AR(1) chain, so L⁻¹ is bidiagonal and X = Z L⁻¹.
    """
    z = rng.standard_normal((n, p))
    s = np.sqrt(1 - rho**2)
    x: Array = z / s
    x[:, 0] = z[:, 0]
    x[:, :-1] -= rho / s * z[:, 1:]
    return x


def constant(rng: Generator, n: int, p: int, rho: float) -> Array:
    """X ~ N(0, Ω⁻¹) with precision Ω = (1−ρ)I + ρ11ᵀ (constant partial correlation).

    The paper prints 11ᵀ/p, but the smallest eigenvalue it states, 1/(1+(p−1)ρ), belongs to 11ᵀ.
    Ω is 1+(p−1)ρ along 1 and 1−ρ across it, hence X = aZ + (b−a) Z11ᵀ/p with a, b their inverse roots.
    """
    z = rng.standard_normal((n, p))
    across, along = (1 - rho) ** -0.5, (1 + (p - 1) * rho) ** -0.5
    x: Array = across * z + (along - across) * z.mean(axis=1, keepdims=True)
    return x


def ar(rng: Generator, n: int, p: int, rho: float, block: int | None = None) -> Array:
    """X ~ N(0, Σ) with Σ_ij = ρ^|i−j|, or 0 when i and j lie in different blocks of `block` columns."""
    x = rng.standard_normal((n, p))
    for j in range(1, p):
        if j % (block or p):
            x[:, j] = rho * x[:, j - 1] + np.sqrt(1 - rho**2) * x[:, j]
    return x


def blocks(rng: Generator, n: int, p: int, rho: float, block: int = 10) -> Array:
    """X_ij = √ρ C_ib + √(1−ρ) E_ij: correlation ρ inside the block b of ten columns, 0 across blocks."""
    own = rng.standard_normal((n, p))
    common = rng.standard_normal((n, -(-p // block)))  # (n, blocks)
    x: Array = np.sqrt(rho) * np.repeat(common, block, axis=1)[:, :p] + np.sqrt(1 - rho) * own
    return x


def factors(rng: Generator, n: int, p: int, rho: float = 0.0, count: int = 5) -> Array:
    """X = FL/√5 + 0.7E with five factors F, loadings L and noise E standard normal; rho is ignored."""
    loadings = rng.standard_normal((count, p)) / np.sqrt(count)
    x: Array = rng.standard_normal((n, count)) @ loadings + 0.7 * rng.standard_normal((n, p))
    return x


def heavy(rng: Generator, n: int, p: int, rho: float) -> Array:
    """Multivariate t with 3 degrees of freedom over AR(ρ), scaled to variance 1: X_i = G_i / √χ²₃."""
    x: Array = ar(rng, n, p, rho) / np.sqrt(rng.chisquare(3, size=(n, 1)))
    return x


def lognormal(rng: Generator, n: int, p: int, rho: float) -> Array:
    """X = e^G with G ~ AR(ρ)."""
    return np.asarray(np.exp(ar(rng, n, p, rho)))


def uniform(rng: Generator, n: int, p: int, rho: float) -> Array:
    """X = Φ(G) with G ~ AR(ρ): uniform on (0, 1), joined by a Gaussian copula."""
    return np.asarray(ndtr(ar(rng, n, p, rho)))


def binary(rng: Generator, n: int, p: int, rho: float) -> Array:
    """X_ij = 1{G_ij < Φ⁻¹(f_j)} with G ~ AR(ρ) and frequencies f_j ~ Uniform(0.1, 0.9)."""
    cut = ndtri(rng.uniform(0.1, 0.9, p))
    return np.asarray(ar(rng, n, p, rho) < cut, dtype=np.float64)


def genotypes(rng: Generator, n: int, p: int, rho: float, block: int = 20) -> Array:
    """Minor allele counts 0/1/2: X = A + A′, two haplotypes A_ij = 1{G_ij < Φ⁻¹(f_j)}.

    G is AR(ρ) within linkage blocks of `block` markers; allele frequencies f_j ~ Uniform(0.05, 0.5).
    """
    cut = ndtri(rng.uniform(0.05, 0.5, p))
    alleles = np.asarray(ar(rng, 2 * n, p, rho, block) < cut, dtype=np.float64)  # (2n, p)
    return alleles[:n] + alleles[n:]


def assorted(rng: Generator, n: int, p: int, rho: float) -> Array:
    """Columns of mixed kind from one AR(ρ) copula G: each is, with equal chances, one of `MARGINALS`."""
    kinds = rng.integers(len(MARGINALS), size=p)
    frequencies = rng.uniform(0.1, 0.5, p)
    g = ar(rng, n, p, rho)
    return np.column_stack([MARGINALS[kind](g[:, j], frequencies[j]) for j, kind in enumerate(kinds)])


# Increasing functions of a standard normal column and a frequency f.
MARGINALS: tuple[Callable[[Array, float], Array], ...] = (
    lambda g, f: g,
    lambda g, f: np.asarray(np.exp(g)),
    lambda g, f: (g > ndtri(1 - f)).astype(np.float64),  # 1 with chance f
    lambda g, f: (g > ndtri((1 - f) ** 2)).astype(np.float64) + (g > ndtri(1 - f**2)),  # binomial(2, f)
    lambda g, f: np.asarray(stdtrit(3, ndtr(g))),  # Student's t with 3 degrees of freedom
)

DESIGNS: dict[str, Callable[[Generator, int, int, float], Array]] = {
    "toeplitz": toeplitz,
    "constant": constant,
    "ar": ar,
    "independent": independent,
    "blocks": blocks,
    "factors": factors,
    "heavy": heavy,
    "lognormal": lognormal,
    "uniform": uniform,
    "binary": binary,
    "genotypes": genotypes,
    "assorted": assorted,
}
