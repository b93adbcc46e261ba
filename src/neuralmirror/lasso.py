"""The sparse skip: a pair-adaptive lasso on the directions (X_j, c_jZ_j^1..K) of every feature, and on their squares.

    f(x) = Σ θ_d x_d + κ_d (x_d² − 1)          over all directions d

A plain lasso with cross-validated λ, then again with columns weighted by (r_j + ε)^½, where r_j adds up the
coefficients of all directions of feature j: small features are shrunk more, large ones freed from bias, and the
directions of a feature share one weight. Squares enter only where they predict better out of sample, and so do
the ranks of y. The solver is scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV, LogisticRegression, lasso_path
from sklearn.model_selection import KFold

from neuralmirror.problems import Problem, rank_normal, standardised

Floats = NDArray[np.float64]
Groups = NDArray[np.intp]

FLOOR = 0.01  # ε: what a feature of coefficient zero keeps
STAGES = 2  # adaptive lassos after the plain one
PENALTIES = 15  # on each part of the path
TURNS = (1.0, 0.1, 0.01, 0.001)  # where its parts end, as shares of the smallest penalty that kills all coefficients
FLAT = 1.02  # how near to its minimum the error must still be at the end of a part to follow the next


@dataclass(frozen=True)
class Fit:
    """Coefficients (columns,) of one lasso, its penalty, and the share of variance it explains out of sample."""

    coefficients: Floats
    penalty: float
    explained: float


@dataclass(frozen=True)
class Choice:
    """The response to predict, the transform it had, the degree of the skip, and the plain lasso that won."""

    problem: Problem
    transform: str
    degree: int
    first: Fit | None = None


class Skip(NamedTuple):
    """θ and κ of inputs, each (..., inputs, q), and the constant (q,), on the scale of the network's outputs."""

    linear: Floats
    curve: Floats
    intercept: Floats = np.zeros(1)


def cross_validated_lasso(columns: Floats, y: Floats, weights: Floats, n_jobs: int | None = None) -> Fit:
    """argmin ‖y − Dθ‖²/2n + λ Σ |θ_j|/w_j with λ by five-fold cross-validation.

    Small penalties are slow and matter only where there is little noise, so the path is followed in parts, and only
    until the error has turned.
    """
    design = np.asfortranarray(columns * weights)
    largest = max(float(np.abs(design.T @ (y - y.mean())).max()) / len(y), 1e-12)
    parts = []
    for start, end in pairwise(TURNS):
        parts.append(_path(design, y, largest * np.geomspace(start, end, PENALTIES), n_jobs))
        if _errors(parts[-1])[-1] > FLAT * min(_errors(part).min() for part in parts):
            break
    best = min(parts, key=lambda part: _errors(part).min())
    explained = 1 - float(_errors(best).min()) / max(float(y.var()), 1e-300)
    return Fit(best.coef_ * weights, float(best.alpha_), explained)


def _path(design: Floats, y: Floats, penalties: Floats, n_jobs: int | None) -> LassoCV:
    folds = KFold(5, shuffle=True, random_state=0)
    return LassoCV(alphas=penalties, cv=folds, n_jobs=n_jobs, max_iter=5000, tol=1e-3).fit(design, y)


def _errors(part: LassoCV) -> Floats:
    """Mean squared error out of sample at each penalty."""
    return np.asarray(part.mse_path_.mean(axis=1))


def group_weights(coefficients: Floats, groups: Groups) -> Floats:
    """(r_j + ε)^½ of each column's feature j, with r_j = Σ |θ| over its columns / max over features."""
    sizes = np.bincount(groups, np.abs(coefficients))
    share = sizes / max(float(sizes.max(initial=0.0)), 1e-300)
    return np.asarray(np.sqrt(share + FLOOR)[groups])


def adaptive_lasso(solve: Callable[[int, Floats], Floats], first: Floats, groups: Groups) -> Floats:
    """Coefficients after the adaptive stages; `solve` maps a stage and its column weights to coefficients."""
    coefficients = first
    for stage in range(1, STAGES + 1):
        coefficients = solve(stage, group_weights(coefficients, groups))
    return coefficients


def with_squares(columns: Floats, degree: int) -> Floats:
    """The columns, and for degree 2 their standardised squares behind them."""
    return columns if degree == 1 else np.hstack([columns, standardised(columns**2)])


def as_skip(coefficients: Floats, columns: Floats) -> Skip:
    """θ and κ from coefficients of `with_squares(columns, ·)`: squares enter the skip as x² − 1."""
    inputs = columns.shape[1]
    if len(coefficients) == inputs:
        return Skip(coefficients, np.zeros_like(coefficients))
    spread = (columns**2).std(axis=0)
    return Skip(coefficients[:inputs], coefficients[inputs:] / np.where(spread > 0, spread, 1.0))


def beside(covariates: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Least squares of values on the covariates: the coefficients, and what is left of the values.

    A lasso that leaves covariates unpenalised is a lasso on what they leave of the columns and of the response.
    """
    slopes = np.asarray(np.linalg.lstsq(covariates, values)[0], dtype=float)
    return slopes, values - covariates @ slopes


def plain_lasso(columns: Floats, y: Floats, covariates: Floats, n_jobs: int | None = None) -> Fit:
    """Every column penalised alike, covariates not at all."""
    (_, design), (_, rest) = beside(covariates, columns), beside(covariates, y)
    fit = cross_validated_lasso(design, rest, np.ones(columns.shape[1]), n_jobs)
    left = (1 - fit.explained) * float(rest.var()) / max(float(y.var()), 1e-300)
    return replace(fit, explained=1 - left)


def choose(
    problem: Problem, directions: Floats, transform: str = "auto", degree: int | None = None, n_jobs: int | None = None
) -> Choice:
    """Ranks or plain values of y, and then squares or none, by what a plain lasso explains out of sample.

    The lasso sees all directions, so the choice treats X_j and its noise alike. Only open questions are asked.
    """
    columns = directions.reshape(len(directions), -1)

    def best(options: list[Choice]) -> Choice:
        """The option that explains most out of sample; a class by the first of its indicators."""
        if len(options) == 1:
            return options[0]
        fitted = [replace(option, first=option.first or first_stage(option, columns, n_jobs)) for option in options]
        return max(fitted, key=lambda option: option.first.explained if option.first else -np.inf)

    start = 1 if degree is None else degree
    choice = best([Choice(replace(problem, y=y), name, start) for name, y in responses(problem, transform).items()])
    if degree is None:
        choice = best([choice, replace(choice, degree=2, first=None)])
    return replace(choice, first=None) if problem.classes else choice


def first_stage(choice: Choice, columns: Floats, n_jobs: int | None = None) -> Fit:
    """The plain lasso of what was chosen; of several classes, that of the first indicator."""
    problem = choice.problem
    return plain_lasso(with_squares(columns, choice.degree), problem.codes()[:, 0], problem.covariates, n_jobs)


def responses(problem: Problem, transform: str) -> dict[str, Floats]:
    """The transforms of y to choose from, by name; classes have none."""
    if problem.classes:
        return {"none": problem.y}
    every = {"standard": standardised(problem.y), "rank": rank_normal(problem.y)}
    return every if transform == "auto" else {transform: every[transform]}


def skip(choice: Choice, directions: Floats, n_jobs: int | None = None) -> Skip:
    """θ and κ of all inputs (p(K+1) + c, q): the directions (n, p, K+1) and then the covariates."""
    problem, (n, p, each) = choice.problem, directions.shape
    columns = directions.reshape(n, p * each)
    groups = np.tile(np.arange(p).repeat(each), choice.degree)
    fits = [_adaptive_skip(choice, columns, code, groups, n_jobs) for code in problem.codes().T]
    linear, curve = (np.stack([fit[part] for fit in fits], axis=-1) for part in (0, 1))
    return _on_outputs(problem, Skip(linear, curve), np.hstack([columns, problem.covariates]))


def _adaptive_skip(choice: Choice, columns: Floats, y: Floats, groups: Groups, n_jobs: int | None) -> Skip:
    """All stages for one output; the covariates' θ follow from what the directions leave."""
    covariates, squared = choice.problem.covariates, with_squares(columns, choice.degree)
    (_, design), (_, rest) = beside(covariates, squared), beside(covariates, y)
    first = choice.first or plain_lasso(squared, y, covariates, n_jobs)
    coefficients = adaptive_lasso(
        lambda _, weights: cross_validated_lasso(design, rest, weights, n_jobs).coefficients,
        first.coefficients,
        groups,
    )
    gamma, _ = beside(covariates, y - squared @ coefficients)
    linear, curve, _ = as_skip(coefficients, columns)
    return Skip(np.append(linear, gamma), np.append(curve, np.zeros_like(gamma)))


def relevant_count(choice: Choice, n_jobs: int | None = None) -> int:
    """How many features the skip of X alone, without any noise, keeps."""
    linear, curve, _ = skip(choice, choice.problem.x[:, :, None], n_jobs)
    kept = (np.abs(linear) + np.abs(curve)).sum(axis=-1)[: choice.problem.x.shape[1]]
    return int(np.count_nonzero(kept))


def individual_skips(choice: Choice, noise: Floats, n_jobs: int | None = None) -> tuple[Skip, Skip]:
    """θ and κ of p networks: shared (p, p + c, q) and own (p, K+1, q)."""
    problem = choice.problem
    fits = [individual_lassos(choice, noise, code, n_jobs) for code in problem.codes().T]
    shared, own = (
        Skip(*(np.stack([fit[side][part] for fit in fits], axis=-1) for part in (0, 1))) for side in (0, 1)
    )
    if not problem.classes:
        return shared, own
    inputs = np.hstack([problem.x, problem.covariates])
    scores = _scores(shared.linear.mean(axis=0), shared.curve.mean(axis=0), inputs)
    to_logits, intercept = onto_logits(scores, problem.y.astype(int))
    one, two = (Skip(part.linear @ to_logits.T, part.curve @ to_logits.T, intercept) for part in (shared, own))
    return one, two


def individual_lassos(
    choice: Choice, noise: Floats, y: Floats, n_jobs: int | None = None
) -> tuple[Skip, Skip]:
    """p lassos, the j-th on (X, covariates, c_jZ_j^1..K): shared (p, p + c) and own (p, K+1) coefficients.

    The penalties of all stages are cross-validated once, without noise; the p problems differ by a few columns, so
    each starts from the common solution and works on inner products alone.
    """
    problem, degree = choice.problem, choice.degree
    x, covariates = problem.x, problem.covariates
    squared = with_squares(x, degree)
    (_, design), (_, rest) = beside(covariates, squared), beside(covariates, y)
    stages = [cross_validated_lasso(design, rest, np.ones(squared.shape[1]), n_jobs)]
    groups = np.tile(np.arange(x.shape[1]), degree)
    for _ in range(STAGES):
        weights = group_weights(stages[-1].coefficients, groups)
        stages.append(cross_validated_lasso(design, rest, weights, n_jobs))
    common = _SharedGram(design - design.mean(axis=0), rest - rest.mean(), stages, groups)
    extra = [with_squares(noise[:, j], degree) for j in range(x.shape[1])]
    solved = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(common.solve)(j, beside(covariates, columns)[1]) for j, columns in enumerate(extra)
    )
    return _split(problem, y, noise, extra, solved)


def _split(
    problem: Problem, y: Floats, noise: Floats, extra: list[Floats], solved: list[tuple[Floats, Floats]]
) -> tuple[Skip, Skip]:
    """Coefficients of p lassos as shared and own skips; X_j's own pass from the shared to the own ones."""
    squared = with_squares(problem.x, 2 if len(solved[0][0]) > problem.x.shape[1] else 1)
    fitted = np.stack([squared @ s + z @ o for (s, o), z in zip(solved, extra, strict=True)], axis=1)  # (n, p)
    gamma, _ = beside(problem.covariates, y[:, None] - fitted)
    shared = [as_skip(s, problem.x) for s, _ in solved]
    own = [as_skip(o, noise[:, j]) for j, (_, o) in enumerate(solved)]
    parts = []
    for part, rest in ((0, gamma.T), (1, np.zeros_like(gamma.T))):
        matrix = np.stack([s[part] for s in shared])  # (p, p)
        mine = np.column_stack([matrix.diagonal(), np.stack([o[part] for o in own])])  # (p, K+1)
        parts.append((np.hstack([matrix - np.diag(matrix.diagonal()), rest]), mine))
    return Skip(parts[0][0], parts[1][0]), Skip(parts[0][1], parts[1][1])


class _SharedGram:
    """The inner products, penalties and starts that all p individual lassos have in common."""

    def __init__(self, shared: Floats, y: Floats, stages: list[Fit], groups: Groups) -> None:
        self.shared, self.y, self.stages, self.groups = shared, y, stages, groups
        self.gram, self.response = shared.T @ shared, shared.T @ y

    def solve(self, j: int, noise: Floats) -> tuple[Floats, Floats]:
        """Coefficients of the shared columns and of the noise columns of feature j."""
        noise = noise - noise.mean(axis=0)
        extra = noise.shape[1]
        cross = self.shared.T @ noise
        gram = np.block([[self.gram, cross], [cross.T, noise.T @ noise]])
        response = np.concatenate([self.response, noise.T @ self.y])

        def solve(stage: int, weights: Floats) -> Floats:
            start = np.append(self.stages[stage].coefficients, np.zeros(extra))
            return self._lasso(gram, response, weights, self.stages[stage].penalty, start)

        groups = np.append(self.groups, np.full(extra, j))
        theta = adaptive_lasso(solve, solve(0, np.ones(len(gram))), groups)
        return theta[:-extra], theta[-extra:]

    def _lasso(self, gram: Floats, response: Floats, weights: Floats, penalty: float, start: Floats) -> Floats:
        columns = np.empty((len(self.y), len(weights)), order="F")  # only its shape is read: the Gram matrix serves
        _, path, _ = lasso_path(
            columns, self.y, alphas=[penalty], precompute=gram * np.outer(weights, weights),
            Xy=response * weights, coef_init=start / weights, max_iter=5000, tol=1e-3, check_input=False,
        )  # fmt: skip
        return np.asarray(path[:, 0] * weights)


def _on_outputs(problem: Problem, part: Skip, inputs: Floats) -> Skip:
    """The constant beside the coefficients; those of logits instead where the response is a class."""
    scores = _scores(part.linear, part.curve, inputs)
    if not problem.classes:
        return part._replace(intercept=(problem.codes() - scores).mean(axis=0))
    to_logits, intercept = onto_logits(scores, problem.y.astype(int))
    return Skip(part.linear @ to_logits.T, part.curve @ to_logits.T, intercept)


def _scores(linear: Floats, curve: Floats, inputs: Floats) -> Floats:
    return np.asarray(inputs @ linear + (inputs**2 - 1) @ curve)


def onto_logits(scores: Floats, labels: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """B (q, q) and b (q,) that turn least-squares scores s into logits Bs + b, by logistic regression on s.

    For elliptical X the least-squares direction is that of the logistic model, so only its length is wanting. A
    trace of a penalty keeps it finite where the classes can be separated.
    """
    model = LogisticRegression(C=100.0, max_iter=1000).fit(scores, labels)
    return np.asarray(model.coef_), np.asarray(model.intercept_)
