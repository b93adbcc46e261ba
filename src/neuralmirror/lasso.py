"""The sparse linear skip: a pair-adaptive lasso on the directions (X_j, c_jZ_j^1..K) of every feature.

A plain lasso with cross-validated λ, then once more with columns weighted by (r_j + ε)^½, where r_j adds up the
coefficients of all directions of feature j: small features are shrunk more, large ones freed from bias, and the
directions of a feature share one weight. The solver is scikit-learn's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV, LogisticRegression, lasso_path
from sklearn.model_selection import KFold

from neuralmirror.problems import Problem, rank_normal, standardised

Floats = NDArray[np.float64]

FLOOR = 0.01  # ε: what a feature of coefficient zero keeps


@dataclass(frozen=True)
class Fit:
    """Coefficients (columns,) of one lasso, its penalty, and the share of variance it explains out of sample."""

    coefficients: Floats
    penalty: float
    explained: float


def cross_validated_lasso(columns: Floats, y: Floats, weights: Floats, n_jobs: int | None = None) -> Fit:
    """argmin ‖y − Dθ‖²/2n + λ Σ |θ_j|/w_j with λ by five-fold cross-validation."""
    folds = KFold(5, shuffle=True, random_state=0)
    model = LassoCV(alphas=50, cv=folds, n_jobs=n_jobs, max_iter=5000, tol=1e-3)
    model.fit(np.asfortranarray(columns * weights), y)
    explained = 1 - float(model.mse_path_.mean(axis=1).min()) / max(float(y.var()), 1e-300)
    return Fit(model.coef_ * weights, float(model.alpha_), explained)


def adaptive_column_weights(coefficients: Floats) -> Floats:
    """(r_j + ε)^½ with r_j = Σ_directions |θ| / max, from coefficients (p, K+1) to weights (p, K+1)."""
    sizes = np.abs(coefficients).sum(axis=1)
    share = sizes / max(float(sizes.max(initial=0.0)), 1e-300)
    return np.repeat(np.sqrt(share + FLOOR)[:, None], coefficients.shape[1], axis=1)


def beside(covariates: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Least squares of values on the covariates: the coefficients, and what is left of the values.

    A lasso that leaves covariates unpenalised is a lasso on what they leave of the columns and of the response.
    """
    slopes = np.linalg.lstsq(covariates, values)[0]
    return slopes, values - covariates @ slopes


def plain_lasso(directions: Floats, y: Floats, covariates: Floats, n_jobs: int | None = None) -> Fit:
    """The first stage: every direction penalised alike, covariates not at all."""
    _, columns = beside(covariates, directions.reshape(len(y), -1))
    _, rest = beside(covariates, y)
    fit = cross_validated_lasso(columns, rest, np.ones(columns.shape[1]), n_jobs)
    left = (1 - fit.explained) * float(rest.var()) / max(float(y.var()), 1e-300)
    return replace(fit, explained=1 - left)


def pair_adaptive_lasso(
    directions: Floats, y: Floats, covariates: Floats, n_jobs: int | None = None, first: Fit | None = None
) -> tuple[Floats, Floats]:
    """θ of the directions (n, p, K+1) and of the covariates (n, c): arrays (p, K+1) and (c,)."""
    n, p, k = directions.shape
    _, columns = beside(covariates, directions.reshape(n, p * k))
    first = first or plain_lasso(directions, y, covariates, n_jobs)
    weights = adaptive_column_weights(first.coefficients.reshape(p, k))
    theta = cross_validated_lasso(columns, beside(covariates, y)[1], weights.ravel(), n_jobs).coefficients
    gamma, _ = beside(covariates, y - directions.reshape(n, p * k) @ theta)
    return theta.reshape(p, k), gamma


def choose_transform(
    problem: Problem, directions: Floats, transform: str, n_jobs: int | None = None
) -> tuple[Problem, str, Fit | None]:
    """The response to predict: ranks turned normal, unless a lasso predicts the plain values better ("auto").

    The lasso sees all directions, so the choice treats X_j and its noise alike. Its fit is handed on.
    """
    if problem.classes:
        return problem, "none", None
    choices = {"rank": rank_normal(problem.y), "standard": standardised(problem.y)}
    if transform != "auto":
        return replace(problem, y=choices[transform]), transform, None
    fits = {name: plain_lasso(directions, y, problem.covariates, n_jobs) for name, y in choices.items()}
    best = max(choices, key=lambda name: fits[name].explained)
    return replace(problem, y=choices[best]), best, fits[best]


def skip(
    problem: Problem, directions: Floats, n_jobs: int | None = None, first: Fit | None = None
) -> tuple[Floats, Floats]:
    """θ of the directions (p, K+1, q) and of the covariates (c, q), on the scale of the network's outputs."""
    fits = [
        pair_adaptive_lasso(directions, code, problem.covariates, n_jobs, first) for code in problem.codes().T
    ]
    theta, gamma = np.stack([t for t, _ in fits], axis=-1), np.stack([g for _, g in fits], axis=-1)
    if problem.classes:
        scores = np.tensordot(directions, theta, axes=2) + problem.covariates @ gamma
        to_logits = onto_logits(scores, problem.y.astype(int)).T
        return theta @ to_logits, gamma @ to_logits
    return theta, gamma


def individual_skips(
    problem: Problem, noise: Floats, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """θ of p networks: shared (p, p + c, q) and own (p, K+1, q), on the scale of the networks' outputs."""
    fits = [individual_lassos(problem.x, noise, code, problem.covariates, n_jobs) for code in problem.codes().T]
    shared, own = np.stack([s for s, _ in fits], axis=-1), np.stack([o for _, o in fits], axis=-1)
    if problem.classes:
        common = np.hstack([problem.x, problem.covariates])
        to_logits = onto_logits(common @ shared.mean(axis=0), problem.y.astype(int)).T
        return shared @ to_logits, own @ to_logits
    return shared, own


def individual_lassos(
    x: Floats, noise: Floats, y: Floats, covariates: Floats, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """θ of p lassos, the j-th on (X, covariates, c_jZ_j^1..K): shared (p, p + c) and own (p, K+1) coefficients.

    Both penalties are cross-validated once, without noise; the p problems differ by K columns, so each starts
    from the common solution and works on inner products alone.
    """
    (_, columns), (_, rest) = beside(covariates, x), beside(covariates, y)
    first = cross_validated_lasso(columns, rest, np.ones(x.shape[1]), n_jobs)
    weights = adaptive_column_weights(first.coefficients[:, None])[:, 0]
    second = cross_validated_lasso(columns, rest, weights, n_jobs)
    problem = _SharedGram(columns - columns.mean(axis=0), rest - rest.mean())
    solved = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(problem.solve)(j, beside(covariates, noise[:, j])[1], first, second) for j in range(x.shape[1])
    )
    theta, own = np.stack([s for s, _ in solved]), np.stack([o for _, o in solved])
    fitted = x @ theta.T + x * own[:, 0] + np.einsum("npk,pk->np", noise, own[:, 1:])  # (n, p): one fit per network
    gamma, _ = beside(covariates, y[:, None] - fitted)
    return np.hstack([theta, gamma.T]), own


class _SharedGram:
    """The inner products that all p individual lassos have in common."""

    def __init__(self, shared: Floats, y: Floats) -> None:
        self.shared, self.y = shared, y
        self.gram, self.response = shared.T @ shared, shared.T @ y

    def solve(self, j: int, noise: Floats, first: Fit, second: Fit) -> tuple[Floats, Floats]:
        noise = noise - noise.mean(axis=0)  # (n, K)
        k = noise.shape[1]
        cross = self.shared.T @ noise
        gram = np.block([[self.gram, cross], [cross.T, noise.T @ noise]])
        response = np.concatenate([self.response, noise.T @ self.y])
        start = np.append(first.coefficients, np.zeros(k))
        sizes = np.abs(self._lasso(gram, response, np.ones(len(gram)), first.penalty, start))
        sizes[j] = sizes[j] + sizes[-k:].sum()
        sizes[-k:] = sizes[j]
        weights = adaptive_column_weights(sizes[:, None])[:, 0]
        theta = self._lasso(gram, response, weights, second.penalty, np.append(second.coefficients, np.zeros(k)))
        own = np.append(theta[j], theta[-k:])
        theta[j] = 0.0
        return theta[:-k], own

    def _lasso(self, gram: Floats, response: Floats, weights: Floats, penalty: float, start: Floats) -> Floats:
        columns = np.empty((len(self.y), len(weights)), order="F")  # only its shape is read: the Gram matrix serves
        _, path, _ = lasso_path(
            columns, self.y, alphas=[penalty], precompute=gram * np.outer(weights, weights),
            Xy=response * weights, coef_init=start / weights, max_iter=5000, tol=1e-3, check_input=False,
        )  # fmt: skip
        return np.asarray(path[:, 0] * weights)


def onto_logits(scores: Floats, labels: NDArray[np.intp]) -> Floats:
    """The matrix B (q, q) that turns least-squares scores s into logits Bs, by logistic regression on s.

    For elliptical X the least-squares direction is that of the logistic model, so only its length is wanting.
    """
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(scores, labels)
    return np.asarray(model.coef_)
