"""Simulated data with a known truth: the paper's designs (Sec 5) and harder ones.

`Simulation` names a distribution of X (design), a signal (link) and a kind of y (response); `FAMILIES` holds
the named settings on which selectors are compared.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from neuralmirror.simulation.responses import ADDITIVE, GROUP, INDEX, RESPONSES, draw_signal, scale_signal

Array = NDArray[np.float64]

# ---- features: (rng, n, p, rho) -> X of shape (n, p) ----


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


def heavy(rng: Generator, n: int, p: int, rho: float) -> Array:
    """Multivariate t with 3 degrees of freedom over AR(ρ), scaled to variance 1: X_i = G_i / √χ²₃."""
    x: Array = ar(rng, n, p, rho) / np.sqrt(rng.chisquare(3, size=(n, 1)))
    return x


def binary(rng: Generator, n: int, p: int, rho: float) -> Array:
    """X_ij = 1{G_ij < Φ⁻¹(f_j)} with G ~ AR(ρ) and frequencies f_j ~ Uniform(0.1, 0.9)."""
    cut = _normal_quantile(rng.uniform(0.1, 0.9, p))
    return (ar(rng, n, p, rho) < cut).astype(np.float64)


def genotypes(rng: Generator, n: int, p: int, rho: float, block: int = 20) -> Array:
    """Minor allele counts 0/1/2: X = A + A′, two haplotypes A_ij = 1{G_ij < Φ⁻¹(f_j)}.

    G is AR(ρ) within linkage blocks of `block` markers; allele frequencies f_j ~ Uniform(0.05, 0.5).
    """
    cut = _normal_quantile(rng.uniform(0.05, 0.5, p))
    alleles = (ar(rng, 2 * n, p, rho, block) < cut).astype(np.float64)  # (2n, p)
    return alleles[:n] + alleles[n:]


def _normal_quantile(levels: Array) -> Array:
    return np.array([NormalDist().inv_cdf(level) for level in levels])


DESIGNS: dict[str, Callable[[Generator, int, int, float], Array]] = {
    "toeplitz": toeplitz,
    "constant": constant,
    "ar": ar,
    "independent": independent,
    "heavy": heavy,
    "binary": binary,
    "genotypes": genotypes,
}


@dataclass(frozen=True)
class Simulation:
    """A distribution of (X, y) in which k of p features matter; each sample draws which ones, and their β.

    design: toeplitz, constant, ar, independent, heavy, binary, genotypes (the functions of those names, with
        their ρ = rho), or columns: p random columns of the matrix `source`, with all its rows if it has at
        most n (n then becomes their number), otherwise with n random rows in their order.
    link: the signal s. Either f(Xβ) with β_j ~ N(0, (20√(log p / n))²) as in the paper, f(t) = t (linear),
        t + sin t (sin), t³/2 (cubic), t⁵/10 (quintic). Or a sum over the standardised true columns with β_j
        of random sign and size Uniform(0.5, 1.5): squares, products, mixed, friedman (see `responses`),
        absolute Σβ_j|x_j|, sine Σβ_j sin(2x_j). Or null: s = 0, nothing matters, k is ignored.
    response: gaussian, heteroscedastic, logistic, multinomial (see `responses`). The three classes of
        multinomial have a signal each, over the same true features but with a β of its own.
    h2: the signal's share of the variance: s is centred and scaled to sample variance v·h2/(1−h2), where the
        noise variance v is 1, or π²/3 for logistic and π²/6 for multinomial on the logit scale. None leaves
        s = f(Xβ) as in the paper for numeric y, and means 0.9 for the other links and for classes.
    """

    design: str = "toeplitz"
    n: int = 1000
    p: int = 500
    k: int = 30
    rho: float = 0.5
    link: str = "linear"
    h2: float | None = None
    response: str = "gaussian"
    source: ArrayLike | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_names(self)
        _check_counts(self)
        _check_shares(self)
        _check_source(self)
        if self.source is not None:
            object.__setattr__(self, "n", min(self.n, np.shape(self.source)[0]))

    def sample(self, random_state: int | Generator | None = None) -> tuple[Array, NDArray[Any], NDArray[np.bool_]]:
        """X (n, p), y (n,) and the truth (p,), True for the features on which y depends.

        A seed gives the same X whatever the link and the response. y is float, or int from 0 for classes.
        """
        rng = np.random.default_rng(random_state)
        X = self._features(rng)  # (n, p)
        support = self._support(rng, X)  # (k,)
        truth = np.zeros(self.p, dtype=np.bool_)
        truth[support] = True
        response = RESPONSES[self.response]
        signals = [self._signal(rng, X[:, support]) for _ in range(response.n_signals)]
        return X, response.draw(rng, np.stack(signals, axis=1)), truth

    def _features(self, rng: Generator) -> Array:
        if self.source is None:
            return DESIGNS[self.design](rng, self.n, self.p, self.rho)
        source = np.asarray(self.source)
        rows = np.sort(rng.choice(source.shape[0], self.n, replace=False))
        columns = rng.choice(source.shape[1], self.p, replace=False)
        return source[np.ix_(rows, columns)].astype(np.float64)

    def _support(self, rng: Generator, X: Array) -> NDArray[np.intp]:
        # A constant column cannot matter, and rare variants may be constant in a small sample.
        k = 0 if self.link == "null" else self.k
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
        remedy = "lower k, raise n, or drop the constant columns of source"
        _require(k <= len(varying), f"k = {k} features should matter, got {len(varying)} that vary; {remedy}")
        return rng.permutation(varying)[:k]

    def _signal(self, rng: Generator, x: Array) -> Array:
        signal, response = draw_signal(rng, x, self.p, self.link), RESPONSES[self.response]
        if self.h2 is None and self.link in INDEX and response.numeric:
            return signal
        return scale_signal(signal, 0.9 if self.h2 is None else self.h2, response.noise_variance)


# ---- checks at the edge ----


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _check_name(what: str, got: str, known: Iterable[str]) -> None:
    names = list(known)
    close = difflib.get_close_matches(str(got), names, n=1)
    remedy = f"did you mean {close[0]!r}?" if close else f"choose for instance {names[0]!r}"
    _require(got in names, f"{what} must be one of {', '.join(names)}, got {got!r}; {remedy}")


def _check_names(sim: Simulation) -> None:
    _check_name("design", sim.design, [*DESIGNS, "columns"])
    _check_name("link", sim.link, [*INDEX, *ADDITIVE])
    _check_name("response", sim.response, RESPONSES)


def _check_counts(sim: Simulation) -> None:
    for name, least in (("n", 2), ("p", 2), ("k", 0)):
        got = getattr(sim, name)
        whole = isinstance(got, int | np.integer) and bool(got >= least)
        _require(whole, f"{name} must be an integer, at least {least}, got {got!r}; try {name}=20")
    if sim.link != "null":
        remedy = "change k or p, or take link='null' when nothing should matter"
        _require(1 <= sim.k <= sim.p, f"k must lie between 1 and p = {sim.p}, got {sim.k}; {remedy}")
    group = GROUP.get(sim.link, 1)
    remedy = f"try k={max(group, sim.k // group * group)}"
    _require(sim.k % group == 0, f"k must be a multiple of {group} for {sim.link!r}, got {sim.k}; {remedy}")
    _require(sim.link != "mixed" or sim.k >= 6, f"k must be at least 6 for 'mixed', got {sim.k}; try k=6")


def _check_shares(sim: Simulation) -> None:
    low = -1 / (sim.p - 1) if sim.design == "constant" else -1.0
    remedy = "X has no such distribution otherwise; try rho=0.5"
    _require(low < sim.rho < 1, f"rho must lie in ({low:.3g}, 1), got {sim.rho}; {remedy}")
    remedy = "give the signal's share, such as 0.5, or take link='null' for no signal"
    _require(sim.h2 is None or 0 < sim.h2 < 1, f"h2 must be None or lie in (0, 1), got {sim.h2}; {remedy}")


def _check_source(sim: Simulation) -> None:
    if sim.source is None:
        _require(sim.design != "columns", "design 'columns' needs a matrix, got source=None; pass source=X")
        return
    _require(sim.design == "columns", f"source goes with design 'columns', got {sim.design!r}; change either")
    shape = np.shape(sim.source)
    _require(len(shape) == 2, f"source must be a matrix (rows, features), got shape {shape}; reshape it")
    _require(sim.p <= shape[1], f"p must be at most the {shape[1]} columns of source, got {sim.p}; lower p")
    finite = bool(np.isfinite(np.asarray(sim.source, dtype=np.float64)).all())
    _require(finite, "source must be finite, got NaN or infinity; impute or drop these columns first")


FAMILIES: dict[str, Simulation] = {
    "linear": Simulation(),
    "single-index-sin": Simulation(link="sin"),
    "single-index-cubic": Simulation(link="cubic"),
    "single-index-quintic": Simulation(link="quintic"),
    "squares": Simulation(link="squares", n=2000, p=100, k=20, h2=0.9),
    "products": Simulation(link="products", n=2000, p=100, k=20, h2=0.9),
    "mixed": Simulation(link="mixed", n=2000, p=100, k=24, h2=0.9),
    "absolute": Simulation(link="absolute", n=2000, p=100, k=20, h2=0.9),
    "sine": Simulation(link="sine", n=2000, p=100, k=20, h2=0.9),
    "friedman": Simulation(link="friedman", n=2000, p=100, k=20, h2=0.9),
    "logistic": Simulation(response="logistic", p=200, k=20, h2=0.8),
    "multinomial": Simulation(response="multinomial", p=200, k=20, h2=0.8),
    "heavy-tailed": Simulation("heavy", h2=0.9),
    "ar": Simulation("ar", rho=0.8, h2=0.9),
    "toeplitz": Simulation("toeplitz"),
    "constant": Simulation("constant"),
    "binary": Simulation("binary", h2=0.9),
    "genotypes": Simulation("genotypes", rho=0.8, h2=0.9),
    "heteroscedastic": Simulation(response="heteroscedastic", h2=0.8),
    "null": Simulation(link="null", k=0),
}
"""The named settings of the trial bench; `dataclasses.replace(FAMILIES[name], n=…)` gives variants."""
