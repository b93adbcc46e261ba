"""The sparse skips of individual mirrors: p pair-adaptive lassos that differ by a few columns.

The j-th sees the terms of all features, which are X, squares and some products, and those of its own noises: Z_j,
squares, and products with the partners of X_j. So noise has every term that its feature has.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.standardised import standardised
from neuralmirror.learner.proximal import Neighbours
from neuralmirror.learner.solvers import Steps
from neuralmirror.learner.sparse_part import (
    Choice,
    Floats,
    Groups,
    Skip,
    adaptive_stages,
    as_skip,
    beside,
    onto_logits,
    scores_of,
    weights_of_sizes,
    with_squares,
)

NO_PAIRS: Groups = np.zeros((0, 2), dtype=np.intp)
PARTNERS = 8  # of a feature at most: every lasso has room for the products of the feature that has most


class ProductTerms(NamedTuple):
    """Products X_aX_b (n, t) of pairs of features, and those of each feature's noises with its partners (n, p, e).

    `groups` (p, e) names the pair of each of the latter and `places` (p, e, 2) the noise and the partner; features with
    fewer partners than others are filled up with zeros.
    """

    common: Floats
    own: Floats
    groups: Groups
    places: Groups


def strongest_pairs(skip: Skip, each: int) -> Groups:
    """Pairs (t, 2) of features whose products a skip over all directions, `each` a feature, has; strongest first."""
    pairs, number = np.unique(skip.pairs // each, axis=0, return_inverse=True)
    sizes = np.bincount(number.ravel(), np.abs(skip.products).sum(axis=1), minlength=len(pairs))
    partners: Counter[int] = Counter()
    kept = []
    for a, b in pairs[np.argsort(-sizes, kind="stable")].tolist():
        if max(partners[a], partners[b]) < PARTNERS:
            kept.append((a, b))
            partners.update((a, b))
    return np.array(kept, dtype=np.intp).reshape(-1, 2)


def individual_skips(
    choice: Choice, noise: Floats, device: str = "cpu", pairs: Groups = NO_PAIRS
) -> Steps[tuple[Skip, Skip]]:
    """θ, κ and γ of p networks: shared (p, p + c, q) and own (p, K+1, q), with products of pairs (t, 2) of features."""
    problem = choice.problem
    fits = []
    for code in problem.codes().T:
        fits.append((yield from individual_lassos(choice, noise, code, device, pairs)))
    shared, own = (_stacked([fit[side] for fit in fits]) for side in (0, 1))
    if not problem.classes:
        return shared, used_products(own)
    inputs, t = np.hstack([problem.x, problem.covariates]), len(pairs)
    scores = scores_of(shared.linear.mean(axis=0), shared.curve.mean(axis=0), inputs)
    scores = scores + product_terms(problem.x, noise, pairs).common @ own.products[:, :t].mean(axis=0)
    to_logits, constant = onto_logits(scores, problem.y.astype(int))
    one, two = (
        Skip(
            linear=part.linear @ to_logits.T,
            curve=part.curve @ to_logits.T,
            intercept=part.intercept @ to_logits.T + constant,
            pairs=part.pairs,
            products=part.products @ to_logits.T,
        )
        for part in (shared, own)
    )
    return one, used_products(two)


def _stacked(fits: list[Skip]) -> Skip:
    """The skips of single outputs as one, outputs last; all have the same products."""
    linear, curve, intercept, products = (
        np.stack(parts, axis=-1)
        for parts in zip(*((fit.linear, fit.curve, fit.intercept, fit.products) for fit in fits), strict=True)
    )
    return Skip(linear, curve, intercept, fits[0].pairs, products)


def individual_lassos(
    choice: Choice, noise: Floats, y: Floats, device: str = "cpu", pairs: Groups = NO_PAIRS
) -> Steps[tuple[Skip, Skip]]:
    """p lassos, the j-th on the terms of (X, covariates, c_jZ_j^1..K): shared (p, p + c) and own (p, K+1) coefficients.

    The penalties of all stages are cross-validated once, without noise; the p problems differ by a few columns, so
    all start from the common solution and share its inner products.
    """
    problem, degree, (_, p, k) = choice.problem, choice.degree, noise.shape
    products = product_terms(problem.x, noise, pairs)
    common = np.hstack([with_squares(problem.x, degree), standardised(products.common)])
    groups = np.append(np.tile(np.arange(p), degree), p + np.arange(len(pairs)))
    singles = np.stack([with_squares(noise[:, j], degree) for j in range(p)], axis=1)
    extra = np.concatenate([singles, standardised(products.own)], axis=2)  # (n, p, e)
    own_groups = np.hstack([np.arange(p)[:, None].repeat(k * degree, axis=1), p + products.groups])
    (_, design), (_, rest) = beside(problem.covariates, common), beside(problem.covariates, y)
    stages = yield from adaptive_stages(design, rest, groups)
    flat = beside(problem.covariates, extra.reshape(len(extra), -1))[1]
    lassos = Neighbours(design, flat.reshape(extra.shape), rest, device)
    shared, own = np.zeros((p, len(groups))), np.zeros((p, own_groups.shape[1]))
    weights = np.ones((p, len(groups) + own_groups.shape[1]))
    for stage in stages:
        shared, own = np.split(lassos.solve(weights, stage.penalty, stage.coefficients), [len(groups)], axis=1)
        weights = neighbour_weights(shared, own, groups, own_groups)
    slopes, _ = beside(problem.covariates, y[:, None] - common @ shared.T - np.einsum("npe,pe->np", extra, own))
    (shared, gamma), (own, own_gamma) = (
        np.split(values, [degree * count], axis=1) for values, count in ((shared, p), (own, k))
    )
    one, two = _split(as_skip(shared, problem.x), as_skip(own, noise), slopes.T)
    return one, _with_products(two, products, gamma, own_gamma, pairs, one.linear.shape[1])


def product_terms(x: Floats, noise: Floats, pairs: Groups) -> ProductTerms:
    """All products that the lassos of individual mirrors have for some pairs of features."""
    (_, p, k), features = noise.shape, np.arange(noise.shape[1])
    mine = [np.flatnonzero((pairs == j).any(axis=1)) for j in features]
    most = max(map(len, mine), default=0)
    slots = np.stack([np.pad(some, (0, most - len(some)), constant_values=-1) for some in mine])  # (p, most)
    filled = slots >= 0
    partners = np.where(filled, pairs.sum(axis=1)[slots] - features[:, None], 0) if most else slots
    own = noise[:, :, None] * (x[:, partners] * filled)[..., None]  # (n, p, most, K)
    noises, partners = np.broadcast_arrays(1 + np.arange(k), partners[..., None])
    places = np.stack([noises, partners], axis=-1).reshape(p, -1, 2)
    groups = np.where(filled, slots, 0).repeat(k, axis=1)
    return ProductTerms(x[:, pairs[:, 0]] * x[:, pairs[:, 1]], own.reshape(len(x), p, -1), groups, places)


def neighbour_weights(shared: Floats, own: Floats, groups: Groups, own_groups: Groups) -> Floats:
    """`group_weights` of p lassos with common columns of some groups and own columns of groups of their own."""
    lassos = np.arange(len(shared))[:, None]
    sizes = np.zeros((len(shared), groups.max() + 1))
    np.add.at(sizes, (lassos, groups), np.abs(shared))
    np.add.at(sizes, (lassos, own_groups), np.abs(own))
    weights = weights_of_sizes(sizes)
    return np.hstack([weights[:, groups], weights[lassos, own_groups]])


def _split(common: Skip, mine: Skip, slopes: Floats) -> tuple[Skip, Skip]:
    """Coefficients of p lassos as shared and own skips; X_j's own pass from the shared to the own ones."""
    parts = []
    sides = (common.linear, mine.linear, slopes), (common.curve, mine.curve, np.zeros_like(slopes))
    for matrix, extras, rest in sides:  # (p, p), (p, K), (p, c)
        pairs = np.column_stack([matrix.diagonal(), extras])  # (p, K+1)
        parts.append((np.hstack([matrix - np.diag(matrix.diagonal()), rest]), pairs))
    nothing = np.zeros(len(slopes)), NO_PAIRS, np.zeros((len(slopes), 0))
    return Skip(parts[0][0], parts[1][0], *nothing), Skip(parts[0][1], parts[1][1], *nothing)


def _with_products(
    own: Skip, products: ProductTerms, gamma: Floats, own_gamma: Floats, pairs: Groups, inputs: int
) -> Skip:
    """An own skip (p, ·) with the γ of all products (p, t + e) and their places among shared and then own inputs."""
    features = np.arange(len(gamma))
    common = np.where(pairs == features[:, None, None], inputs, pairs)  # X_j is the first of the own inputs
    mine = products.places + np.array([inputs, 0])
    values = [(gamma, products.common), (own_gamma, products.own)]
    coefficients = [g / np.where(v.std(axis=0) > 0, v.std(axis=0), 1.0) for g, v in values]
    constant = -sum((g * v.mean(axis=0)).sum(axis=-1) for g, (_, v) in zip(coefficients, values, strict=True))
    return own._replace(
        intercept=np.asarray(constant), pairs=np.concatenate([common, mine], axis=1), products=np.hstack(coefficients)
    )


def used_products(own: Skip) -> Skip:
    """An own skip without the products that a network does not use, filled up with some of them to equal numbers."""
    used: NDArray[np.bool_] = (own.products != 0).any(axis=-1)
    order = np.argsort(~used, axis=1, kind="stable")[:, : used.sum(axis=1).max(), None]
    return own._replace(
        pairs=np.take_along_axis(own.pairs, order, axis=1), products=np.take_along_axis(own.products, order, axis=1)
    )
