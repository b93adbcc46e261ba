"""Gaussian Model-X and fixed-X knockoffs: covariances, the diagonal s, sampling and feature statistics.

Knockoffs X̃ of X copy its second moments and swap freely with it: with Σ = cov(X) and D = diag(s),

    cov(X, X̃) = [[Σ, Σ − D], [Σ − D, Σ]],   feasible when 0 ≤ s and D ≼ 2Σ.

Larger s sets a feature further apart from its knockoff, hence more power. The solvers take a correlation
matrix; `knockoff_s` carries their answer over to any covariance or Gram matrix.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_factor, cho_solve, lapack, qr
from sklearn.covariance import ledoit_wolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV, lars_path
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.multiclass import type_of_target

Array = NDArray[np.float64]
Magnitudes = Callable[[Array, NDArray[Any], np.random.Generator], Array]

SINGULAR = 1e-9  # a correlation matrix with a smaller eigenvalue leaves knockoffs no room
ROUNDING = 1e-6  # allowed below zero in 2D − DΣ⁻¹D on the scale of correlations: the SDP makes it singular
BOUNDARY = 0.95  # share of the way to the boundary that an interior-point step may go
FOLDS = 5
MOST_CLASSES = 10


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


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


def _room(x: Array, change: Array) -> float:
    """sup{a : x + a·change ≥ 0} for x > 0."""
    shrinking = change < 0
    return float((x[shrinking] / -change[shrinking]).min(initial=np.inf))


# Covariance


def standardise(X: Array) -> Array:
    """Columns with mean 0 and variance 1; constant ones become 0."""
    scale = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1))


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
    shrunk, _ = ledoit_wolf(standardise(X))
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


# The diagonal s: equicorrelated


def equicorrelated_s(corr: Array) -> Array:
    """s_j = min(1, 2 λ_min(Σ)), the same for all j."""
    return np.full(len(corr), min(1.0, 2 * smallest_eigenvalue(corr)))


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


# Feature statistics: swapping X_j and X̃_j flips the sign of W_j


def correlation_difference(X: Array, X_knock: Array, y: Array) -> Array:
    """W_j = |cor(X_j, y)| − |cor(X̃_j, y)|."""
    _check_pairs(X, X_knock)
    outcome = standardise(np.asarray(y, dtype=np.float64)) / len(y)
    return np.asarray(np.abs(outcome @ standardise(X)) - np.abs(outcome @ standardise(X_knock)))


def lasso_coefficient_difference(
    X: Array,
    X_knock: Array,
    y: NDArray[Any],
    rng: np.random.Generator,
    magnitudes: Magnitudes | None = None,
) -> Array:
    """W_j = |β_j| − |β̃_j| of a lasso on (X, X̃), λ by cross-validation; logistic where `holds_labels(y)`.

    For fixed-X knockoffs use `lasso_signed_max`: cross-validation looks at more than (X, X̃)ᵀy.
    """
    if magnitudes is None:
        magnitudes = logistic_magnitudes if holds_labels(y) else lasso_magnitudes
    original, knockoff = pair_magnitudes(X, X_knock, y, rng, magnitudes)
    return original - knockoff


def lasso_signed_max(X: Array, X_knock: Array, y: Array, rng: np.random.Generator) -> Array:
    """W_j = max(λ_j, λ̃_j) · sign(λ_j − λ̃_j), λ the penalty at which a column enters the lasso path."""
    original, knockoff = pair_magnitudes(X, X_knock, y, rng, entry_magnitudes)
    return np.asarray(np.maximum(original, knockoff) * np.sign(original - knockoff))


def pair_magnitudes(
    X: Array, X_knock: Array, y: NDArray[Any], rng: np.random.Generator, magnitudes: Magnitudes
) -> tuple[Array, Array]:
    """The magnitudes of X and of X̃ in one fit that sees each pair in random order.

    The coin makes X_j and X̃_j exchangeable to the solver, whatever its tolerance and order of updates.
    """
    _check_pairs(X, X_knock)
    flip = rng.random(X.shape[1]) < 0.5
    design = np.hstack([np.where(flip, X_knock, X), np.where(flip, X, X_knock)])  # (n, 2p)
    first, second = np.split(magnitudes(standardise(design), y, rng), 2)
    return np.where(flip, second, first), np.where(flip, first, second)


def lasso_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """|β| of the lasso, λ by cross-validation."""
    folds = KFold(FOLDS, shuffle=True, random_state=_seed(rng))
    # A loose path chooses λ: its small-λ end, never chosen, would take most of the time at full precision.
    chosen = LassoCV(cv=folds, alphas=60, eps=3e-3, tol=1e-3, max_iter=10_000).fit(design, y).alpha_
    return np.asarray(np.abs(Lasso(chosen, tol=1e-7, max_iter=10_000).fit(design, y).coef_))


def ridge_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """|β| of ridge regression, λ by leave-one-out, which needs no `rng`."""
    return np.asarray(np.abs(RidgeCV(len(y) * np.logspace(-4, 2, 25)).fit(design, y).coef_))


def logistic_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """‖β_j·‖ over the classes of l1-penalised (multinomial) logistic regression, λ by cross-validation."""
    chosen = LogisticRegressionCV(
        Cs=logistic_grid(design, y),
        l1_ratios=(1.0,),
        solver="saga",
        scoring="neg_log_loss",
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=_seed(rng)),
        tol=1e-2,
        max_iter=1000,
        random_state=_seed(rng),
        use_legacy_attributes=False,
    ).fit(design, y)
    model = LogisticRegression(
        C=chosen.C_, l1_ratio=1.0, solver="saga", tol=1e-4, max_iter=10_000, random_state=_seed(rng)
    )
    return np.asarray(np.linalg.norm(model.fit(design, y).coef_, axis=0))


def logistic_grid(design: Array, y: NDArray[Any]) -> Array:
    """Ten C = 1/λ from λ_max = max|Xᵀ(Y − Ȳ)|, where the first coefficient enters, down to λ_max/100."""
    indicators = (np.asarray(y)[:, None] == np.unique(y)).astype(np.float64)  # (n, classes)
    largest = np.abs(design.T @ (indicators - indicators.mean(axis=0))).max()
    return np.asarray(np.logspace(0, 2, 10) / largest)


def entry_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """sup{λ : β_j(λ) ≠ 0} on the exact lasso path, which needs no `rng`; 0 if a column never enters."""
    penalties, _, path = lars_path(design, np.asarray(y, dtype=np.float64) - np.mean(y), method="lasso")
    inside = path != 0  # (2p, knots)
    before = np.maximum(inside.argmax(axis=1) - 1, 0)  # zero at the knot of entry, non-zero at the next
    return np.where(inside.any(axis=1), penalties[before], 0.0)


def holds_labels(y: NDArray[Any]) -> bool:
    """Whether y names classes: text, booleans, or at most ten different whole numbers."""
    return type_of_target(y) in {"binary", "multiclass"} and len(np.unique(y)) <= MOST_CLASSES


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _check_pairs(X: Array, X_knock: Array) -> None:
    if X.shape != X_knock.shape:
        raise ValueError(f"X and its knockoffs must have one shape, got {X.shape} and {X_knock.shape}.")
