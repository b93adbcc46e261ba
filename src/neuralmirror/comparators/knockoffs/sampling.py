"""Gaussian Model-X and fixed-X knockoffs: the diagonal s and sampling.

Knockoffs X̃ of X copy its second moments and swap freely with it: with Σ = cov(X) and D = diag(s),

    cov(X, X̃) = [[Σ, Σ − D], [Σ − D, Σ]],   feasible when 0 ≤ s and D ≼ 2Σ.

Larger s sets a feature further apart from its knockoff, hence more power. The solvers take a correlation
matrix; `knockoff_s` carries their answer over to any covariance or Gram matrix.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr
from sklearn.exceptions import ConvergenceWarning

from neuralmirror.comparators.knockoffs.covariances import (
    Array,
    checked_covariance,
    correlation,
    inverse,
    is_positive_definite,
    product,
    psd_factor,
    smallest_eigenvalue,
)

BOUNDARY = 0.95  # share of the way to the boundary that an interior-point step may go


# The diagonal s: equicorrelated


def equicorrelated_s(corr: Array) -> Array:
    """s_j = min(1, 2 λ_min(Σ)), the same for all j."""
    return np.full(len(corr), min(1.0, 2 * smallest_eigenvalue(corr)))


def _room(x: Array, change: Array) -> float:
    """sup{a : x + a·change ≥ 0} for x > 0."""
    shrinking = change < 0
    return float((x[shrinking] / -change[shrinking]).min(initial=np.inf))


# The diagonal s: minimum variance-based reconstructability (Spector and Janson)


def mvr_s(corr: Array, tol: float = 1e-10, max_iter: int = 100) -> Array:
    """argmin over s of tr G⁻¹ = tr (2Σ − D)⁻¹ + Σ_j 1/s_j, with G = cov(X, X̃).

    The objective is convex and its own barrier, so Newton's method needs a handful of steps, each an inverse,
    a product and a solve, where coordinate descent needs sweeps of p rank-one updates. At the optimum
    1/s_j = ‖(2Σ − D)⁻¹e_j‖ ≥ 1/(2 − s_j), so s ≤ 1 needs no constraint.
    """
    smallest_eigenvalue(corr)
    s = interior_start(corr)
    value, B = mvr_objective(corr, s)
    for _ in range(max_iter):
        change, decrease = mvr_newton(s, B)
        if decrease <= tol * value:
            break
        try:
            s, value, B = _mvr_line_search(corr, s, value, change, decrease)
        except np.linalg.LinAlgError:  # rounding hides any further decrease
            break
    return np.minimum(s, 1)


def interior_start(corr: Array) -> Array:
    """s_j ∝ 1/‖Σ⁻¹e_j‖, which solves the MVR problem to first order, shrunk until it is feasible."""
    s = 1 / np.linalg.norm(inverse(corr), axis=0)
    while not is_positive_definite(2 * corr - np.diag(s / BOUNDARY)):
        s = 0.8 * s
    return np.asarray(s)


def mvr_objective(corr: Array, s: Array) -> tuple[float, Array]:
    """tr B + Σ_j 1/s_j with B = (2Σ − D)⁻¹, and B; LinAlgError where s is infeasible."""
    B = inverse(2 * corr - np.diag(s))
    return float(np.trace(B) + (1 / s).sum()), B


def mvr_newton(s: Array, B: Array) -> tuple[Array, float]:
    """−H⁻¹g and gᵀH⁻¹g, with gradient g = diag B² − s⁻² and Hessian H = 2 B∘B² + 2 diag s⁻³."""
    B_squared = product(B, B)
    gradient = np.diag(B_squared) - s**-2.0
    hessian = 2 * (B * B_squared + np.diag(s**-3.0))
    change = -cho_solve(cho_factor(hessian, lower=True, overwrite_a=True), gradient)
    return change, float(-gradient @ change)


def _mvr_line_search(corr: Array, s: Array, value: float, change: Array, decrease: float) -> tuple[Array, float, Array]:
    """The first of the steps 1, ½, ¼, ... that is feasible and lowers the objective enough (Armijo)."""
    step = min(1.0, BOUNDARY * _room(s, change))
    while step > 1e-10:
        trial = s + step * change
        if is_positive_definite(2 * corr - np.diag(trial)):
            lower, B = mvr_objective(corr, trial)
            if lower <= value - 0.1 * step * decrease:
                return trial, lower, B
        step /= 2
    raise np.linalg.LinAlgError("no step lowers the objective")


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


# The diagonal s: semidefinite program


class SDPPoint(NamedTuple):
    """A primal point s with its multipliers, or a change of them."""

    s: Array  # (p,)
    dual: Array  # (p, p): Z ≽ 0, for D ≼ 2Σ
    ceiling: Array  # (p,): u ≥ 0, for s ≤ 1
    floor: Array  # (p,): l ≥ 0, for s ≥ 0


def sdp_s(corr: Array, tol: float = 1e-6) -> Array:
    """argmax Σ_j s_j subject to 0 ≤ s ≤ 1 and D ≼ 2Σ, its mean certified to `tol` by `sdp_solution`."""
    return sdp_solution(corr, tol)[0]


def sdp_solution(corr: Array, tol: float = 1e-6, max_iter: int = 60) -> tuple[Array, float]:
    """The SDP's s, strictly feasible, and an upper bound on every feasible Σ_j s_j, within p·tol of its own.

    A primal-dual interior-point method in the manner of Helmberg, Rendl, Vanderbei and Wolkowicz, with
    Mehrotra's corrector: one p × p system a step and about a dozen steps whatever p.
    """
    smallest_eigenvalue(corr)
    point = sdp_start(corr)
    bound, centring = sdp_bound(corr, point.dual), 0.5
    for _ in range(max_iter):
        if bound - point.s.sum() <= tol * len(corr):
            break
        try:
            point, step = sdp_step(corr, point, centring)
        except np.linalg.LinAlgError:  # rounding ended the progress; the bound tells how far it came
            break
        bound = min(bound, sdp_bound(corr, point.dual))
        centring = float(np.clip(1 - step, 0.01, 0.5))  # a short step asks for a better centred one next
    _warn_of_gap(bound - float(point.s.sum()), tol * len(corr))
    return point.s, bound


def sdp_start(corr: Array) -> SDPPoint:
    """A well-scaled s inside the feasible set, and multipliers with diag Z + u − l = 1."""
    p = len(corr)
    return SDPPoint(np.minimum(0.5, interior_start(corr)), np.eye(p), np.ones(p), np.ones(p))


def sdp_bound(corr: Array, dual: Array) -> float:
    """Weak duality: Σ_j s_j ≤ 2 tr(ZΣ) + Σ_j (1 − Z_jj)₊ for every feasible s and every Z ≽ 0."""
    return float(2 * (dual * corr).sum() + np.maximum(1 - np.diag(dual), 0).sum())


def sdp_step(corr: Array, point: SDPPoint, centring: float) -> tuple[SDPPoint, float]:
    """One predictor-corrector step that aims at `centring` times the gap; the new point, the step length."""
    A = 2 * corr - np.diag(point.s)
    B = inverse(A)
    factor = cho_factor(sdp_system(point, B), lower=True, overwrite_a=True)
    mu = centring * complementarity(point, A) / (3 * len(corr))
    predictor = sdp_direction(point, B, factor, 0.0, SDPPoint(*map(np.zeros_like, point)))
    corrector = sdp_direction(point, B, factor, mu, second_order(point, B, predictor))
    return _sdp_move(point, corrector, A)


def sdp_system(point: SDPPoint, B: Array) -> Array:
    """B∘Z + diag(u/(1 − s) + l/s), B = (2Σ − D)⁻¹: positive definite by Schur's product theorem."""
    s, dual, ceiling, floor = point
    return np.asarray(B * dual + np.diag(ceiling / (1 - s) + floor / s))


def complementarity(point: SDPPoint, A: Array) -> float:
    """tr(ZA) + uᵀ(1 − s) + lᵀs, A = 2Σ − D: the duality gap when diag Z + u − l = 1."""
    s, dual, ceiling, floor = point
    return float((dual * A).sum() + ceiling @ (1 - s) + floor @ s)


def sdp_direction(point: SDPPoint, B: Array, factor: tuple[Array, bool], mu: float, second: SDPPoint) -> SDPPoint:
    """Newton's change for ZA = μI, u∘(1 − s) = μ, l∘s = μ, diag Z + u − l = 1, given second-order terms."""
    s, dual, ceiling, floor = point
    target = mu * (np.diag(B) + 1 / (1 - s) - 1 / s) + np.diag(second.dual) + second.ceiling - second.floor
    ds = cho_solve(factor, 1 - target)
    return SDPPoint(
        ds,
        mu * B - dual + _symmetric(product(B * ds, dual)) + second.dual,
        (mu + ceiling * ds) / (1 - s) - ceiling + second.ceiling,
        (mu - floor * ds) / s - floor + second.floor,
    )


def second_order(point: SDPPoint, B: Array, change: SDPPoint) -> SDPPoint:
    """What the linearised conditions leave out: sym(B dD dZ), du∘ds/(1 − s), −dl∘ds/s."""
    s, ds = point.s, change.s
    dual = _symmetric(product(B * ds, change.dual))
    return SDPPoint(np.zeros_like(s), dual, change.ceiling * ds / (1 - s), -change.floor * ds / s)


def _sdp_move(point: SDPPoint, change: SDPPoint, A: Array) -> tuple[SDPPoint, float]:
    """Move s, and apart from it the multipliers, as far as stays inside; the shorter of the two lengths."""
    room = min(_room(point.s, change.s), _room(1 - point.s, -change.s))
    primal = _step_length(A, -np.diag(change.s), room)
    room = min(_room(point.ceiling, change.ceiling), _room(point.floor, change.floor))
    dual = _step_length(point.dual, change.dual, room)
    lengths = (primal, dual, dual, dual)
    moved = SDPPoint(*(x + a * dx for x, dx, a in zip(point, change, lengths, strict=True)))
    return moved, min(primal, dual)


def _step_length(matrix: Array, change: Array, room: float) -> float:
    """A step a ≤ 1 that stops short of `room` and of the boundary of matrix + a·change ≻ 0."""
    step = min(1.0, BOUNDARY * room)
    while not is_positive_definite(matrix + step / BOUNDARY * change):
        step *= 0.85
        if step < 1e-6:
            raise np.linalg.LinAlgError("no step keeps the iterate positive definite")
    return step


def _warn_of_gap(gap: float, allowed: float) -> None:
    if gap > allowed:
        message = (
            f"the SDP's s is feasible, but its certified distance from the best sum(s) is {gap:.2g}, where "
            f"{allowed:.2g} was asked; a better conditioned covariance or a larger tol avoids this."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=3)


S_METHODS: dict[str, Callable[[Array], Array]] = {
    "equicorrelated": equicorrelated_s,
    "sdp": sdp_s,
    "mvr": mvr_s,
}


def knockoff_s(sigma: Array, method: Callable[[Array], Array] = mvr_s) -> Array:
    """s of any covariance or Gram matrix: Σ_jj times the s_j of its correlations."""
    return np.asarray(np.diag(sigma) * method(correlation(sigma)))


# Knockoffs


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
