"""Copies about the conditional mean: X̃_j = E[X_j | X_-j] + a residual drawn anew.

Given the other features X_j and its copies then have one distribution, and for a feature that y does not depend on they
have it given y too: no learner that treats them alike can tell which is which.

The mean is least squares on a column's nearest neighbours (by correlation), leading principal components and the
covariates; how many, rows that did not find them decide for each column. A copy takes the residuals of its own column
in random order, less what they share with the regressors, and in their original length. So X_j and its copies have the
same products with every regressor, and skewed and heavy-tailed columns keep their shape. Were the residual of a normal
column turned at random instead of put in random order, and the regressors given, the draw would be exact. Columns of
few values are drawn from a multinomial logistic law given neighbours and components instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import softmax

from neuralmirror._internal.single import single
from neuralmirror._internal.standardised import standardised
from neuralmirror._internal.threads import in_threads
from neuralmirror.learner.blocks import products_of_rows
from neuralmirror.mirror.neighbours import nearest_neighbours

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Basis = NDArray[np.float32]

NEIGHBOURS = (4, 16, 64)  # how many of the nearest a column may be predicted from
COMPONENTS = 20  # principal components, taken up between 16 and 64 neighbours
JITTER = 1e-4  # added to the squares of regressors of length 1, so that some may depend on others
PENALTY = 0.1  # of the squared weights of a logistic law
NEAREST, LEADING = 8, 5  # neighbours and principal components that predict a column of few values
FEW_VALUES = 10  # columns of at most so many distinct values are discrete
BLOCK = 2**23  # bytes of the regressors that a thread holds at once: what a cache holds


@dataclass(frozen=True)
class ConditionalLaw:
    """E[X_j | X_-j] of standardised columns, what is left of them, and how large that is in each row."""

    regression: Regression
    mean: Floats  # (n, columns)
    residual: Floats  # (n, columns)
    row_spread: Floats  # (n, columns): standard deviation of the residual in each row, of mean square 1
    explained: Floats  # (columns,): share of the variance that the others predict in rows left out

    @property
    def scales(self) -> Floats:
        """c_j: the standard deviation of X_j given the others."""
        return np.asarray(self.residual.std(axis=0))


@dataclass(frozen=True)
class Regression:
    """The regressors of every column, in the order in which they are taken up, and how many each column takes.

    The constant and the covariates first, then the 16 nearest neighbours, the components, and further neighbours.
    """

    x: NDArray[np.float32]  # (p, n)
    nearest: Indices  # (p, most), nearest first
    scores: NDArray[np.float32]  # (r, n): principal components
    loadings: NDArray[np.float32]  # (p, r)
    fixed: NDArray[np.float32]  # (c, n): constant and covariates
    group: Indices  # (p,): the feature of each column
    taken: Indices  # (p,); 0 where that is not known yet

    @cached_property
    def choices(self) -> list[int]:
        """How many regressors a column may take: each choice holds those before it."""
        few, some, many = (len(self.fixed) + min(count, self.nearest.shape[1]) for count in NEIGHBOURS)
        return sorted({few, some, some + len(self.scores), many + len(self.scores)})

    @cached_property
    def group_size(self) -> Indices:
        """How many columns each group has."""
        return np.bincount(self.group)

    def for_blocks(self, columns: Indices, work: Callable[[Indices], None], n_jobs: int) -> None:
        """Do some work for all columns, a block at a time: of as many regressors each, and few enough for memory."""
        blocks: list[Indices] = []
        for count in np.unique(self.taken[columns]):
            alike = columns[self.taken[columns] == count]
            pieces = 4 * self.x.shape[1] * len(alike) * (int(count) or self.choices[-1]) // BLOCK + 1
            blocks += np.array_split(alike, min(pieces, len(alike)))
        in_threads(work, blocks, n_jobs)

    def basis(self, block: Indices, count: int) -> Basis:
        """An orthonormal basis (b, count, n) of some columns' first regressors; its first m rows span the first m."""
        regressors = self.regressors(block, count)
        return triangular_turn(regressors) @ regressors

    def regressors(self, block: Indices, count: int) -> Basis:
        """The first regressors of some columns, (b, count, n)."""
        before = len(self.fixed) + min(NEIGHBOURS[1], self.nearest.shape[1])  # regressors before the components
        near = self.x[self.nearest[block, : min(count, before) - len(self.fixed)]]
        parts = [np.broadcast_to(self.fixed, (len(block), *self.fixed.shape)), near]
        if count > before:
            parts.append(self.scores - self._own_scores(block))
        if count > before + len(self.scores):
            parts.append(self.x[self.nearest[block, NEIGHBOURS[1] : count - len(self.fixed) - len(self.scores)]])
        return np.concatenate(parts, axis=1)

    def _own_scores(self, block: Indices) -> NDArray[np.float32]:
        """What the columns of each column's own group add to the principal components, (b, r, n)."""
        own = self.loadings[block][:, :, None] * self.x[block][:, None]
        for place in np.flatnonzero(self.group_size[self.group[block]] > 1):
            columns = np.flatnonzero(self.group == self.group[block[place]])
            own[place] = self.loadings[columns].T @ self.x[columns]
        return np.asarray(own)

    def predictors(self, column: int) -> Floats:
        """What a column of few values is predicted from: its nearest neighbours, squares of the nearest, components."""
        near = self.x[self.nearest[column, :NEAREST]].T.astype(np.float64)
        components = (self.scores - self._own_scores(np.array([column]))[0])[:LEADING].T
        return standardised(np.hstack([near, near[:, : NEAREST // 2] ** 2, components, self.fixed[1:].T]))


def triangular_turn(vectors: Basis) -> Basis:
    """Lower triangular matrices (b, m, m) that make vectors (b, m, n) orthonormal one after the other.

    What depends on the vectors before it is turned into nothing.
    """
    factor, lengths = triangular_factor(vectors)
    return np.asarray(np.linalg.inv(factor) / lengths[:, None], dtype=np.float32)


def triangular_factor(vectors: Basis) -> tuple[Floats, Floats]:
    """Lower triangular factors (b, m, m) of the products of vectors (b, m, n) of length 1, and their lengths (b, m)."""
    products = (vectors @ vectors.swapaxes(1, 2)).astype(np.float64)
    lengths = np.sqrt(np.maximum(np.diagonal(products, axis1=1, axis2=2), 1e-12))
    products /= lengths[:, :, None] * lengths[:, None]
    return np.asarray(np.linalg.cholesky(products + JITTER * np.eye(products.shape[1])), dtype=np.float64), lengths


def conditional_law(x: Floats, covariates: Floats, group: Indices, n_jobs: int = 1) -> ConditionalLaw:
    """The law of every column given those of other groups; `group` (columns,) is that of each column."""
    rows = np.ascontiguousarray(x.T, dtype=np.float32)
    scores, loadings = principal_components(x, min(COMPONENTS, min(x.shape) // 10), n_jobs)
    fixed = np.vstack([np.ones(len(x)), covariates.T]).astype(np.float32)
    taken, error = choose_regressors(rows, scores, loadings, fixed, group, n_jobs)
    nearest = nearest_neighbours(rows, _most_neighbours(rows, group), group, n_jobs)
    regression = Regression(rows, nearest, scores, loadings, fixed, group, taken)
    mean = np.empty(x.shape)

    def fit_block(block: Indices) -> None:
        basis = regression.basis(block, taken[block[0]])
        mean[:, block] = project(basis, rows[block][:, None])[:, 0].T

    regression.for_blocks(np.arange(len(rows)), fit_block, n_jobs)
    residual = x - mean
    return ConditionalLaw(regression, mean, residual, row_spread(residual), np.clip(1 - error, 0, 1))


def choose_regressors(
    rows: NDArray[np.float32],
    scores: NDArray[np.float32],
    loadings: NDArray[np.float32],
    fixed: NDArray[np.float32],
    group: Indices,
    n_jobs: int,
) -> tuple[Indices, Floats]:
    """How many regressors predict each column best, and the expected square of their error.

    Neighbours are found among one half of the rows and tried on the other, each half once: those that are near by
    chance alone are no help there. What is left with m regressors, per degree of freedom, times n/(n − m), is the error
    to be expected when all n rows are used.
    """
    p, n = rows.shape
    order, half = np.random.default_rng(0).permutation(n), n // 2
    count = min(_most_neighbours(rows, group), half // 4)
    choices: list[int] = []
    error = np.zeros((0, p))
    for finding, trying in ((order[:half], order[half:]), (order[half:], order[:half])):
        nearest = nearest_neighbours(rows[:, finding], max(1, count), group, n_jobs)
        parts = (np.ascontiguousarray(part[:, trying]) for part in (rows, scores, fixed))
        part_rows, part_scores, part_fixed = parts
        trial = Regression(part_rows, nearest, part_scores, loadings, part_fixed, group, np.zeros(p, dtype=np.intp))
        choices = trial.choices
        error = error if len(error) else np.zeros((len(choices), p))

        def add_errors(block: Indices, trial: Regression = trial, error: Floats = error) -> None:
            left = unexplained(trial.x[block], trial.regressors(block, trial.choices[-1]), trial.choices)
            m, n_trying = np.array(trial.choices)[:, None], trial.x.shape[1]
            error[:, block] += left / np.maximum(n_trying - m, 1) * n / np.maximum(n - m, 1) / 2

        trial.for_blocks(np.arange(p), add_errors, n_jobs)
    best = error.argmin(axis=0)
    return np.array(choices)[best], error.min(axis=0)


def _most_neighbours(rows: NDArray[np.float32], group: Indices) -> int:
    """None of a column's own group, and no more than a quarter of the rows."""
    p, n = rows.shape
    return int(max(1, min(NEIGHBOURS[-1], p - np.bincount(group).max(), n // 4)))


def unexplained(target: Basis, regressors: Basis, counts: list[int]) -> Floats:
    """What the first so many of the regressors (b, m, n) leave of the squares of targets (b, n): (counts, b).

    The target comes last, so its row of the factor says how much of it lies along each regressor after those before.
    """
    factor, lengths = triangular_factor(np.concatenate([regressors, target[:, None]], axis=1))
    explained = np.square(factor[:, -1, :-1]).cumsum(axis=1)[:, np.array(counts) - 1]
    return np.asarray(np.square(lengths[:, -1]) * (1 - explained.T))


def project(basis: Basis, values: Basis) -> Basis:
    """The part of vectors (b, k, n) within the span of orthonormal ones (b, m, n)."""
    return np.asarray((values @ basis.swapaxes(1, 2)) @ basis)


def principal_components(x: Floats, count: int, n_jobs: int = 1) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scores (count, n) and loadings (p, count) of the leading components of x (n, p)."""
    (n, p), size = x.shape, min(x.shape)
    if count < 1:
        return np.zeros((0, n), dtype=np.float32), np.zeros((p, 0), dtype=np.float32)
    products = products_of_rows(x if n <= p else x.T, n_jobs)
    with single:  # NumPy and SciPy each have threads of their own, which would wait for each other
        values, vectors = eigh(products, subset_by_index=[size - count, size - 1])
        lead, sizes = vectors[:, ::-1], np.sqrt(np.maximum(values[::-1], 1e-12))
        scores, loadings = (lead * sizes, x.T @ lead / sizes) if n <= p else (x @ lead, lead)
    return np.ascontiguousarray(scores.T, dtype=np.float32), np.asarray(loadings, dtype=np.float32)


def row_spread(residual: Floats) -> Floats:
    """How large a column's residual is in each row, told by the other columns' residuals: s² = 1 + b (v − 1).

    v is the mean square of the others' residuals in the row and b, within [0, 1], the slope of a column's squared
    residual on it over all rows and columns: about 0 for normal data, and 1 where rows are large or small as a whole.
    """
    squares = residual**2  # as large as X, and so is what follows: in place
    squares /= np.maximum(squares.mean(axis=0), 1e-12)
    others = squares.sum(axis=1, keepdims=True) - squares
    others /= max(1, squares.shape[1] - 1)
    about = others - others.mean(axis=0)
    along = float(np.multiply(squares, about, out=squares).sum())
    slope = float(np.clip(along / max(float(np.square(about, out=about).sum()), 1e-12), 0, 1))
    variance = np.subtract(others, 1, out=others)
    variance *= slope
    variance += 1
    np.maximum(variance, 0.02, out=variance)
    variance /= variance.mean(axis=0)
    return np.asarray(np.sqrt(variance, out=variance))


def draw_copies(
    law: ConditionalLaw,
    x: Floats,
    copies: NDArray[np.float32],
    generators: list[np.random.Generator],
    group: Indices,
    n_jobs: int = 1,
) -> None:
    """X̃_j^1..K of every column into `copies` (columns, K, n). Columns of one group are drawn together."""
    n_copies = copies.shape[1]
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

    def match(block: Indices) -> None:
        rest = copies[block] - project(law.regression.basis(block, law.regression.taken[block[0]]), copies[block])
        length = np.linalg.norm(law.residual[:, block], axis=0)[:, None, None]
        rest *= length / np.maximum(np.linalg.norm(rest, axis=2, keepdims=True), 1e-12)
        copies[block] = law.mean[:, block].T[:, None] + rest

    law.regression.for_blocks(np.flatnonzero(turned), match, n_jobs)


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

    It is fitted to the rows it is drawn for, as least squares is to columns of many values, so that X_j and its copies
    have the same products with every predictor but for chance.
    """
    found = [np.unique(x[:, columns], axis=0, return_inverse=True) for columns in features]
    predictors = np.stack([law.regression.predictors(columns[0]) for columns in features])  # (b, n, d)
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
