"""The sparse skip: a pair-adaptive lasso on the directions (X_j, c_jZ_j^1..K) of every feature, squares and products.

    f(x) = Σ θ_d x_d + κ_d (x_d² − 1) + Σ γ_de x_d x_e          over directions d, and some pairs of them

A plain lasso with cross-validated λ, then again with columns weighted by (r_j + ε)^½, where r_j adds up the
coefficients of all directions of feature j: small features are shrunk more, large ones freed from bias, and the
directions of a feature share one weight. Squares enter only where they predict better out of sample, and so do
the ranks of y; products only of pairs of features that stand out in what is left (see products). What needs
cross-validated lassos yields them as tasks (see solvers).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from neuralmirror._internal.standardised import StandardisedData, rank_normal, standardised
from neuralmirror.learner.pair_scan import NO_PRODUCTS, outstanding_pairs, products_of
from neuralmirror.learner.solvers import Fit, Steps, Task

Floats = NDArray[np.float64]
Groups = NDArray[np.intp]

FLOOR = 0.01  # ε: what a feature of coefficient zero keeps
STAGES = 2  # adaptive lassos after the plain one
LEAST_WEIGHT = 0.03  # v of a row whose class is certain


@dataclass(frozen=True)
class Choice:
    """The response to predict, the transform it had, the degree of the skip, and the plain lasso that won."""

    problem: StandardisedData
    transform: str
    degree: int
    first: Fit | None = None


class Skip(NamedTuple):
    """θ and κ of inputs, each (..., inputs, q), and the constant (q,), on the scale of the network's outputs.

    And the γ (t, q) of products, with the two inputs (t, 2) of each.
    """

    linear: Floats
    curve: Floats
    intercept: Floats = np.zeros(1)
    pairs: Groups = np.zeros((0, 2), dtype=np.intp)
    products: Floats = np.zeros((0, 1))


def group_weights(coefficients: Floats, groups: Groups) -> Floats:
    """(r_j + ε)^½ of each column's feature j, with r_j = Σ |θ| over its columns / max over features."""
    return weights_of_sizes(np.bincount(groups, np.abs(coefficients)).astype(float))[groups]


def weights_of_sizes(sizes: Floats) -> Floats:
    """(r + ε)^½ with r the sizes of the features in units of the largest."""
    largest = sizes.max(axis=-1, keepdims=True, initial=1e-300)
    return np.asarray(np.sqrt(sizes / largest + FLOOR))


def adaptive_stages(columns: Floats, y: Floats, groups: Groups, first: Fit | None = None) -> Steps[list[Fit]]:
    """The plain lasso and then each adaptive one, weighted by the one before it."""
    stages = [first or (yield Task(columns, y, np.ones(columns.shape[1])))]
    for _ in range(STAGES):
        stages.append((yield Task(columns, y, group_weights(stages[-1].coefficients, groups))))
    return stages


def with_squares(columns: Floats, degree: int) -> Floats:
    """The columns, and for degree 2 their standardised squares behind them."""
    return columns if degree == 1 else np.hstack([columns, standardised(columns**2)])


def as_skip(coefficients: Floats, columns: Floats) -> Skip:
    """θ and κ from coefficients of `with_squares(columns, ·)`: squares enter the skip as x² − 1."""
    inputs = columns.shape[-1]
    linear, curve = coefficients[..., :inputs], coefficients[..., inputs:]
    if not curve.size:
        return Skip(linear, np.zeros_like(linear))
    spread = (columns**2).std(axis=0)
    return Skip(linear, curve / np.where(spread > 0, spread, 1.0))


def beside(covariates: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Least squares of values on the covariates: the coefficients, and what is left of the values.

    A lasso that leaves covariates unpenalised is a lasso on what they leave of the columns and of the response.
    """
    if not covariates.size:
        return np.zeros((0, *values.shape[1:])), values
    slopes = np.asarray(np.linalg.lstsq(covariates, values)[0], dtype=float)
    return slopes, values - covariates @ slopes


def plain_lasso(columns: Floats, y: Floats, covariates: Floats) -> Steps[Fit]:
    """Every column penalised alike, covariates not at all."""
    (_, design), (_, rest) = beside(covariates, columns), beside(covariates, y)
    fit = yield Task(design, rest, np.ones(columns.shape[1]))
    left = (1 - fit.explained) * float(rest.var()) / max(float(y.var()), 1e-300)
    return replace(fit, explained=1 - left)


def choose(
    problem: StandardisedData, directions: Floats, transform: str = "auto", degree: int | None = None
) -> Steps[Choice]:
    """Ranks or plain values of y, and then squares or none, by what a plain lasso explains out of sample.

    The lasso sees all directions, so the choice treats X_j and its noise alike. Only open questions are asked.
    """
    columns = directions.reshape(len(directions), -1)
    start = 1 if degree is None else degree
    options = [Choice(replace(problem, y=y), name, start) for name, y in responses(problem, transform).items()]
    choice = yield from _best(options, columns)
    if degree is None:
        choice = yield from _best([choice, replace(choice, degree=2, first=None)], columns)
    return replace(choice, first=None) if problem.classes else choice


def _best(options: list[Choice], columns: Floats) -> Steps[Choice]:
    """The option that explains most out of sample; a class by the first of its indicators."""
    if len(options) == 1:
        return options[0]
    fitted = []
    for option in options:
        fitted.append(option if option.first else replace(option, first=(yield from first_stage(option, columns))))
    return max(fitted, key=lambda option: option.first.explained if option.first else -np.inf)


def first_stage(choice: Choice, columns: Floats) -> Steps[Fit]:
    """The plain lasso of what was chosen; of several classes, that of the first indicator."""
    problem = choice.problem
    return plain_lasso(with_squares(columns, choice.degree), problem.codes()[:, 0], problem.covariates)


def responses(problem: StandardisedData, transform: str) -> dict[str, Floats]:
    """The transforms of y to choose from, by name; classes have none."""
    if problem.classes:
        return {"none": problem.y}
    every = {"standard": standardised(problem.y), "rank": rank_normal(problem.y)}
    return every if transform == "auto" else {transform: every[transform]}


def skip(choice: Choice, directions: Floats, products: str | None = None) -> Steps[Skip]:
    """θ, κ and γ of all inputs (p(K+1) + c, q): the directions (n, p, K+1) and then the covariates.

    `products` names the device on which pairs of features are looked for; None looks for none.
    """
    problem, (n, p, each) = choice.problem, directions.shape
    columns = directions.reshape(n, p * each)
    groups = np.tile(np.arange(p).repeat(each), choice.degree)
    fits = []
    for code in problem.codes().T:
        fits.append((yield from _adaptive_skip(choice, columns, code, groups, products)))
    return _on_outputs(problem, _stacked(fits), np.hstack([columns, problem.covariates]))


def _stacked(fits: list[Skip]) -> Skip:
    """The skips of single outputs as one, outputs last; a product belongs to the output that it was found for."""
    linear, curve = np.stack([fit.linear for fit in fits], axis=-1), np.stack([fit.curve for fit in fits], axis=-1)
    own = [np.outer(fit.products, output) for fit, output in zip(fits, np.eye(len(fits)), strict=True)]
    return Skip(linear, curve, pairs=np.vstack([fit.pairs for fit in fits]), products=np.vstack(own))


def _adaptive_skip(choice: Choice, columns: Floats, y: Floats, groups: Groups, products: str | None) -> Steps[Skip]:
    """All stages for one output; the covariates' θ follow from what the directions leave."""
    covariates, terms = choice.problem.covariates, with_squares(columns, choice.degree)
    (_, design), (_, rest) = beside(covariates, terms), beside(covariates, y)
    stages, entered = (yield from adaptive_stages(design, rest, groups, choice.first)), NO_PRODUCTS
    if products is not None:
        each, left = columns.shape[1] // (groups.max() + 1), rest - design @ stages[-1].coefficients
        found = products_of(columns, outstanding_pairs(columns, left, each, products), each)
        if len(found.pairs):
            wider = np.hstack([terms, found.columns])
            joined = np.append(groups, groups.max() + 1 + found.pairs)  # the products of a pair are a group
            again = yield from adaptive_stages(beside(covariates, wider)[1], rest, joined)
            if again[-1].explained > stages[-1].explained:
                stages, entered, terms, groups = again, found, wider, joined
    coefficients = stages[-1].coefficients
    slopes, _ = beside(covariates, y - terms @ coefficients)
    if choice.problem.classes == 2:
        coefficients, slopes = yield from logistic_stage(terms, y, covariates, coefficients, slopes, groups)
    singles, gamma = np.split(coefficients, [len(coefficients) - len(entered.pairs)])
    linear, curve, *_ = as_skip(singles, columns)
    gamma = gamma / np.where(entered.spreads > 0, entered.spreads, 1.0)
    kept = np.flatnonzero(gamma)
    return Skip(
        np.append(linear, slopes),
        np.append(curve, np.zeros_like(slopes)),
        pairs=np.column_stack([entered.first, entered.second])[kept],
        products=gamma[kept],
    )


def logistic_stage(
    terms: Floats, y: Floats, covariates: Floats, coefficients: Floats, slopes: Floats, groups: Groups
) -> Steps[tuple[Floats, Floats]]:
    """One more adaptive stage for two classes, with rows weighted by what they tell of a logit.

    From the least-squares fit to a logit η with probability μ, then η + (y − μ)/v by least squares with weights
    v = μ(1 − μ): a step of Newton's method for the logistic likelihood, which least squares on 0 and 1 is not.
    """
    scores = terms @ coefficients + covariates @ slopes
    length, constant = onto_logits(scores[:, None], y.astype(int))
    eta = scores * length[0, 0] + constant[0]
    v = np.maximum(expit(eta) * expit(-eta), LEAST_WEIGHT)
    root, target = np.sqrt(v)[:, None], np.sqrt(v) * (eta + (y - expit(eta)) / v)
    free = root * np.hstack([np.ones_like(root), covariates])
    (_, design), (_, rest) = beside(free, root * terms), beside(free, target)
    fit = yield Task(design, rest, group_weights(coefficients, groups))
    unpenalised, _ = beside(free, target - (root * terms) @ fit.coefficients)
    return fit.coefficients, unpenalised[1:]


def relevant_count(choice: Choice) -> Steps[int]:
    """How many features the skip of X alone, without any noise, keeps."""
    linear, curve, *_ = yield from skip(choice, choice.problem.x[:, :, None])
    kept = (np.abs(linear) + np.abs(curve)).sum(axis=-1)[: choice.problem.x.shape[1]]
    return int(np.count_nonzero(kept))


def _on_outputs(problem: StandardisedData, part: Skip, inputs: Floats) -> Skip:
    """The constant beside the coefficients; those of logits instead where the response is a class."""
    first, second = part.pairs.T
    scores = scores_of(part.linear, part.curve, inputs) + (inputs[:, first] * inputs[:, second]) @ part.products
    if not problem.classes:
        return part._replace(intercept=(problem.codes() - scores).mean(axis=0))
    to_logits, intercept = onto_logits(scores, problem.y.astype(int))
    linear, curve, products = (values @ to_logits.T for values in (part.linear, part.curve, part.products))
    return Skip(linear, curve, intercept, part.pairs, products)


def scores_of(linear: Floats, curve: Floats, inputs: Floats) -> Floats:
    """Σ θx + κ(x² − 1) at every row, (n, q)."""
    return np.asarray(inputs @ linear + (inputs**2 - 1) @ curve)


def onto_logits(scores: Floats, labels: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """B (q, q) and b (q,) that turn least-squares scores s into logits Bs + b, by logistic regression on s.

    For elliptical X the least-squares direction is that of the logistic model, so only its length is wanting. A
    trace of a penalty keeps it finite where the classes can be separated.
    """
    model = LogisticRegression(C=100.0, max_iter=1000).fit(scores, labels)
    return np.asarray(model.coef_), np.asarray(model.intercept_)
