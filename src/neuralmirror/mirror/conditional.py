"""Copies about the conditional mean: X̃_j = E[X_j | X_-j] + a residual drawn anew.

Given the other features X_j and its copies then have one distribution, and for a feature that y does not depend on they
have it given y too: no learner that treats them alike can tell which is which.

The mean is least squares on a column's nearest neighbours (by correlation), leading principal components and the
covariates; how many, leave-one-out error decides for each column. A copy takes the residuals of its own column in
random order, less what they share with the regressors, and in their original length. So X_j and its copies have the
same products with every regressor, skewed and heavy-tailed columns keep their shape, and for normal features the draw
is exact: given the others and those products the residual may point anywhere, with equal chance. Columns of few
values are drawn from a multinomial logistic law given the mean instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from neuralmirror._internal.standardised import standardised

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Basis = NDArray[np.float32]

PENALTIES = (0.0, 0.1, 1.0)  # of ridge regressions on columns of length 1
REGRESSORS = ((4, 0), (16, 0), (16, 20), (64, 20))  # nearest neighbours and principal components to choose from
PENALTY = 0.03  # of the squared weights of a logistic law
FEW_VALUES = 10  # columns of at most so many distinct values are discrete
BLOCK = 2**27  # bytes of the regressors that are held at once


@dataclass(frozen=True)
class ConditionalLaw:
    """E[X_j | X_-j] of standardised columns, what is left of them, and how large that is in each row."""

    regression: Regression
    mean: Floats  # (n, columns)
    residual: Floats  # (n, columns)
    left_out: Floats  # (n, columns): the mean in each row as predicted from the other rows
    row_spread: Floats  # (n, columns): standard deviation of the residual in each row, of mean square 1
    explained: Floats  # (columns,): share of the variance that the others predict in rows left out

    @property
    def scales(self) -> Floats:
        """c_j: the standard deviation of X_j given the others."""
        return np.asarray(self.residual.std(axis=0))


@dataclass(frozen=True)
class Regression:
    """The regressors of every column: nearest neighbours, principal components and covariates."""

    x: NDArray[np.float32]  # (n, p)
    nearest: Indices  # (p, most), nearest first
    scores: Floats  # (n, r): principal components
    loadings: Floats  # (r, p)
    covariates: Floats  # (n, c)
    choice: Indices  # (p,): which of REGRESSORS each column takes

    def blocks(self, choice: int, columns: Indices) -> Iterator[tuple[Indices, Basis, Basis]]:
        """Some columns at a time, with an orthonormal basis (b, n, m) of their regressors and its sizes (b, m)."""
        count, components = REGRESSORS[choice]
        width = count + components + self.covariates.shape[1] + 1
        pieces = max(1, 4 * len(self.x) * len(columns) * width // BLOCK)
        for block in np.array_split(columns, min(pieces, max(1, len(columns)))):
            if len(block):
                yield block, *self._basis(block, count, components)

    def _basis(self, block: Indices, count: int, components: int) -> tuple[Basis, Basis]:
        n = len(self.x)
        parts = [self.x[:, self.nearest[block, :count]].transpose(1, 0, 2)]
        if components and len(self.loadings):  # without the column's own share in them
            own = self.x[:, block].T[:, :, None] * self.loadings[:, block].T[:, None]
            parts.append((self.scores - own).astype(np.float32))
        fixed = np.hstack([np.ones((n, 1)), self.covariates]).astype(np.float32)
        parts.append(np.broadcast_to(fixed, (len(block), *fixed.shape)))
        regressors = np.concatenate(parts, axis=2)
        regressors = regressors / np.maximum(np.linalg.norm(regressors, axis=1, keepdims=True), 1e-12)
        sizes, turns = np.linalg.eigh((regressors.swapaxes(1, 2) @ regressors).astype(np.float64))
        weights = np.where(sizes > 1e-4 * sizes[:, -1:], 1 / np.sqrt(np.maximum(sizes, 1e-12)), 0.0)
        return regressors @ (turns * weights[:, None]).astype(np.float32), sizes.astype(np.float32)


def conditional_law(x: Floats, covariates: Floats, group: Indices) -> ConditionalLaw:
    """The law of every column given those of other groups; `group` (columns,) is that of each column."""
    n, p = x.shape
    most = min(REGRESSORS[-1][0], p - 1, int((group != group[0]).sum()), n // 4)
    scores, loadings = principal_components(x, min(REGRESSORS[-1][1], min(n, p) // 10))
    nearest, chosen = nearest_neighbours(x, max(1, most), group), np.zeros(p, dtype=np.intp)
    regression = Regression(x.astype(np.float32), nearest, scores, loadings, covariates, chosen)
    mean, left_out = np.empty((n, p)), np.empty((n, p))
    error_of_mean, error = np.full(p, np.inf), np.full(p, np.inf)
    for choice in range(len(REGRESSORS)):
        for block, basis, sizes in regression.blocks(choice, np.arange(p)):
            for penalty in PENALTIES:
                fit, predicted = left_out_fit(regression.x[:, block].T, basis, sizes / (sizes + penalty))
                loss = np.square(regression.x[:, block].T - predicted).mean(axis=1)
                better = loss < error[block]
                error[block[better]], left_out[:, block[better]] = loss[better], predicted[better].T
                if penalty == 0:
                    better = loss < error_of_mean[block]
                    chosen[block[better]], error_of_mean[block[better]] = choice, loss[better]
                    mean[:, block[better]] = fit[better].T
    residual = x - mean
    return ConditionalLaw(regression, mean, residual, left_out, row_spread(residual), np.clip(1 - error, 0, 1))


def left_out_fit(target: Basis, basis: Basis, shares: Basis) -> tuple[Basis, Basis]:
    """Ridge fits (b, n) of targets (b, n), and each row told from the others; shares (b, m) are 1 without ridge."""
    fit = (((target[:, None] @ basis) * shares[:, None]) @ basis.swapaxes(1, 2))[:, 0]
    leverage = np.minimum((np.square(basis) @ shares[..., None])[..., 0], np.float32(1 - 1e-3))
    return np.asarray(fit), np.asarray(target - (target - fit) / (1 - leverage))


def project(basis: NDArray[np.float32], values: NDArray[np.float32]) -> NDArray[np.float32]:
    """QQᵀv for vectors (b, k, n) and orthonormal bases (b, n, m)."""
    return np.asarray((values @ basis) @ basis.swapaxes(1, 2))


def nearest_neighbours(x: Floats, count: int, group: Indices) -> Indices:
    """The `count` columns of other groups that each column of x is most correlated with, nearest first: (p, count)."""
    p = x.shape[1]
    single = x.astype(np.float32)
    nearest = np.empty((p, count), dtype=np.intp)
    for block in np.array_split(np.arange(p), max(1, 4 * p * p // BLOCK)):
        r = np.abs(single[:, block].T @ single)  # (b, p)
        r[group[block][:, None] == group] = -1
        near = np.argpartition(-r, count - 1, axis=1)[:, :count]
        nearest[block] = np.take_along_axis(near, np.argsort(-np.take_along_axis(r, near, axis=1), axis=1), axis=1)
    return nearest


def principal_components(x: Floats, count: int) -> tuple[Floats, Floats]:
    """Scores (n, count) and loadings (count, p) of the leading components of x."""
    if count < 1:
        return np.zeros((len(x), 0)), np.zeros((0, x.shape[1]))
    wide = len(x) <= x.shape[1]
    values, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
    lead, sizes = vectors[:, ::-1][:, :count], np.sqrt(np.maximum(values[::-1][:count], 1e-12))
    return (lead * sizes, (x.T @ lead / sizes).T) if wide else (x @ lead, lead.T)


def row_spread(residual: Floats) -> Floats:
    """How large a column's residual is in each row, told by the other columns' residuals: s² = 1 + b (v − 1).

    v is the mean square of the others' residuals in the row and b, within [0, 1], the slope of a column's squared
    residual on it over all rows and columns: about 0 for normal data, and 1 where rows are large or small as a whole.
    """
    squares = residual**2 / np.maximum((residual**2).mean(axis=0), 1e-12)
    p = squares.shape[1]
    others = (squares.sum(axis=1, keepdims=True) - squares) / max(1, p - 1)
    about = others - others.mean(axis=0)
    slope = float(np.clip((squares * about).sum() / max(float((about**2).sum()), 1e-12), 0, 1))
    variance = np.maximum(1 + slope * (others - 1), 0.02)
    return np.asarray(np.sqrt(variance / variance.mean(axis=0)))


def draw_copies(
    law: ConditionalLaw, x: Floats, n_copies: int, generators: list[np.random.Generator], group: Indices
) -> NDArray[np.float32]:
    """X̃_j^1..K of every column, (columns, K, n). Columns of one group are drawn together."""
    copies = np.empty((x.shape[1], n_copies, len(x)), dtype=np.float32)
    discrete: dict[int, list[Indices]] = {}  # by number of levels: the columns of each feature of few values
    turned = np.zeros(x.shape[1], dtype=bool)  # columns whose residuals are drawn
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    for first, last in zip(starts, [*starts[1:], x.shape[1]], strict=True):
        columns = np.arange(first, last)
        if _few_values(x[:, first]) if len(columns) == 1 else _is_category(x[:, columns]):
            discrete.setdefault(len(np.unique(x[:, columns], axis=0)), []).append(columns)
        else:
            orders = generators[first].permuted(np.tile(np.arange(len(x)), (n_copies, 1)), axis=1)  # (K, n)
            spread = law.row_spread[:, columns]
            drawn = spread[None] * (law.residual[:, columns] / spread)[orders]  # (K, n, c)
            copies[columns], turned[columns] = drawn.transpose(2, 0, 1), True
    for levels, features in discrete.items():
        for chunk in _chunks(features, levels):
            for columns, values in zip(chunk, _draw_values(law, x, chunk, n_copies, generators), strict=True):
                copies[columns] = values.transpose(2, 0, 1)
    for choice in range(len(REGRESSORS)):
        mine = np.flatnonzero(turned & (law.regression.choice == choice))
        for block, basis, _ in law.regression.blocks(choice, mine):
            rest = copies[block] - project(basis, copies[block])
            length = np.linalg.norm(law.residual[:, block], axis=0)[:, None, None]
            rest *= length / np.maximum(np.linalg.norm(rest, axis=2, keepdims=True), 1e-12)
            copies[block] = law.mean[:, block].T[:, None] + rest
    return copies


def _few_values(column: Floats) -> bool:
    return len(np.unique(column[:200])) <= FEW_VALUES and len(np.unique(column)) <= FEW_VALUES


def _is_category(columns: Floats) -> bool:
    """Whether the columns are indicators of the levels of one category: two values each, never two of them high."""
    high = columns > columns.mean(axis=0)
    two = all(len(np.unique(column)) == 2 for column in columns.T)
    return two and bool((high.sum(axis=1) <= 1).all())


def _chunks(features: list[Indices], levels: int, at_once: int = 200) -> Iterator[list[Indices]]:
    """Features of as many columns, some at a time, so that their laws are fitted together."""
    for width in sorted({len(columns) for columns in features}):
        alike = [columns for columns in features if len(columns) == width]
        yield from (alike[start : start + at_once] for start in range(0, len(alike), at_once))


def _draw_values(
    law: ConditionalLaw, x: Floats, features: list[Indices], n_copies: int, generators: list[np.random.Generator]
) -> Iterator[Floats]:
    """For each feature, rows of its values (K, n, c) drawn from a multinomial logistic law.

    It is given the mean in rows left out and nothing else: beside the neighbours that the mean is made of, what leaving
    a row out changes would tell the value of X_j in that row.
    """
    found = [np.unique(x[:, columns], axis=0, return_inverse=True) for columns in features]
    predictors = np.stack([standardised(law.left_out[:, columns]) for columns in features])  # (b, n, c)
    codes = np.stack([code.ravel() for _, code in found])
    chances = level_probabilities(codes, predictors, len(found[0][0]))  # (b, n, L)
    for columns, (values, _), chance in zip(features, found, chances, strict=True):
        bounds = chance.cumsum(axis=1)[:, :-1]  # (n, L−1)
        levels = (generators[columns[0]].random((n_copies, len(x), 1)) > bounds).sum(axis=2)
        yield values[levels]


def level_probabilities(codes: Indices, predictors: Floats, n_levels: int, steps: int = 15) -> Floats:
    """P(level | predictors), (b, n, levels), of a batch of multinomial logistic regressions with a trace of a penalty.

    `codes` (b, n) are the levels seen and `predictors` are (b, n, d); Newton's method for all of them at once.
    """
    batch, n = codes.shape
    design = np.concatenate([np.ones((batch, n, 1)), predictors], axis=2)  # (b, n, d)
    d, others = design.shape[2], n_levels - 1
    seen = (codes[:, :, None] == np.arange(1, n_levels)).astype(float)  # (b, n, L−1)
    weights = np.zeros((batch, others, d))
    curvature = np.empty((batch, others * d, others * d))
    for _ in range(steps):
        chance = _chances(design, weights)[:, :, 1:]
        slope = (seen - chance).swapaxes(1, 2) @ design - PENALTY * weights  # (b, L−1, d)
        for one in range(others):
            for two in range(one + 1):
                share = chance[:, :, one] * ((one == two) - chance[:, :, two])  # (b, n)
                block = (design * share[..., None]).swapaxes(1, 2) @ design
                curvature[:, one * d : (one + 1) * d, two * d : (two + 1) * d] = block
                curvature[:, two * d : (two + 1) * d, one * d : (one + 1) * d] = block
        curvature += PENALTY * np.eye(others * d)
        step = np.linalg.solve(curvature, slope.reshape(batch, -1, 1))
        weights = weights + np.clip(step, -3, 3).reshape(weights.shape)
    return _chances(design, weights)


def _chances(design: Floats, weights: Floats) -> Floats:
    """Softmax of 0 for the first level and a line for each other."""
    lines = design @ weights.swapaxes(1, 2)
    return np.asarray(softmax(np.concatenate([np.zeros_like(lines[..., :1]), lines], axis=2), axis=2))
