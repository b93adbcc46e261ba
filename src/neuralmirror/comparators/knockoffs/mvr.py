"""The diagonal s of knockoffs: equicorrelated, or by minimum variance-based reconstructability (Spector, Janson)."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from neuralmirror.comparators.knockoffs.covariances import (
    Array,
    inverse,
    is_positive_definite,
    product,
    smallest_eigenvalue,
)

BOUNDARY = 0.95  # share of the way to the boundary that an interior-point step may go


def equicorrelated_s(corr: Array) -> Array:
    """s_j = min(1, 2 λ_min(Σ)), the same for all j."""
    return np.full(len(corr), min(1.0, 2 * smallest_eigenvalue(corr)))


def room(x: Array, change: Array) -> float:
    """sup{a : x + a·change ≥ 0} for x > 0."""
    shrinking = change < 0
    return float((x[shrinking] / -change[shrinking]).min(initial=np.inf))


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
    step = min(1.0, BOUNDARY * room(s, change))
    while step > 1e-10:
        trial = s + step * change
        if is_positive_definite(2 * corr - np.diag(trial)):
            lower, B = mvr_objective(corr, trial)
            if lower <= value - 0.1 * step * decrease:
                return trial, lower, B
        step /= 2
    raise np.linalg.LinAlgError("no step lowers the objective")
