"""The diagonal s of knockoffs by the semidefinite program: the largest sum, with a certified bound."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from neuralmirror.comparators.knockoffs.covariances import (
    Array,
    inverse,
    is_positive_definite,
    product,
    smallest_eigenvalue,
)
from neuralmirror.comparators.knockoffs.mvr import BOUNDARY, interior_start, room


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


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
    available = min(room(point.s, change.s), room(1 - point.s, -change.s))
    primal = _step_length(A, -np.diag(change.s), available)
    available = min(room(point.ceiling, change.ceiling), room(point.floor, change.floor))
    dual = _step_length(point.dual, change.dual, available)
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
