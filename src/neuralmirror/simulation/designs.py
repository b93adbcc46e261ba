"""Simulated data with a known truth: the paper's designs (Sec 5) and harder ones.

`Simulation` names a distribution of X (design, see `features`), a signal (link, see `links`) and a kind of y
(response, see `responses`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from neuralmirror.simulation.features import DESIGNS, ar
from neuralmirror.simulation.links import FIXED, GROUP, INDEX, LINKS, draw_signal, scale_signal
from neuralmirror.simulation.responses import RESPONSES

__all__ = ["DESIGNS", "Simulation", "ar"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Simulation:
    """A distribution of (X, y) in which k of p features matter; each sample draws which ones, and their β.

    design: a function of `features` with its ρ = rho (toeplitz, constant, ar, independent, blocks, factors, heavy,
        lognormal, uniform, binary, genotypes, assorted), or columns: p random columns of the matrix `source`, with
        all its rows if it has at most n (n then becomes their number), otherwise with n random rows in their order.
    link: the signal s. Either f(Xβ) with β_j ~ N(0, (20√(log p / n))²) as in the paper, f(t) = t (linear),
        t + sin t (sin), t³/2 (cubic), t⁵/10 (quintic). Or a sum over the standardised true columns with β_j
        of random sign and size Uniform(0.5, 1.5): linear-uniform Σβ_jx_j, absolute Σβ_j|x_j|, sine Σβ_j sin(2x_j),
        sine3 and cosine3 Σβ_j sin(3x_j) and cos(3x_j), sine2 Σ sin(2x_j), and the functions of `links`: squares,
        products, triple-products, mixed, friedman, ratio, gate, sign-product, sine-of-sum, ring, xor. Or a function
        drawn at random (see `random_functions`): trees, tanh-units, perceptron. Or null: s = 0, nothing matters, k
        is ignored.
    response: gaussian, heteroscedastic, logistic, multinomial, threshold (see `responses`). The three classes of
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
    _check_name("link", sim.link, LINKS)
    _check_name("response", sim.response, RESPONSES)
    alike = sim.link in FIXED and RESPONSES[sim.response].n_signals > 1
    remedy = "take another link, or response='logistic'"
    _require(not alike, f"the classes of {sim.response!r} need signals of their own, got {sim.link!r}; {remedy}")


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
    _require(sim.design != "blocks" or sim.rho >= 0, f"rho must be at least 0 in blocks, got {sim.rho}; {remedy}")
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
