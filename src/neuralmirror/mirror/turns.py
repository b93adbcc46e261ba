"""Mirrors in turns: in each learner only some of the features have opponents, and the others stand for themselves.

A copy of X_j is close to what its neighbours are, so where all features have copies at once the learner is unsure of
every neighbour, and of X_j because of them. Features whose copies take part in the same turn are few, and by their
order, which has nothing to do with their correlations, they are hardly ever neighbours. One feature a turn are the
individual mirrors of the paper (Algorithm 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner import terms
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.sampler import sample
from neuralmirror.learner.sparse import (
    Effort,
    Products,
    Response,
    Structure,
    build_terms,
    joined_products,
    main_term,
    pair_term,
    triple_term,
)
from neuralmirror.learner.stacking import Engine, LearnerFit, learn
from neuralmirror.learner.terms import Option, Terms
from neuralmirror.mirror.directions import Directions, blinded, unblinded
from neuralmirror.mirror.simultaneous import simultaneous

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

TURNS = 16
SEARCH = Effort(chains=1, rounds=2, work=2e9, least=200, most=600)  # of the common fit


class Sweeps(NamedTuple):
    """The length of a chain, and how much of its start is not counted."""

    all: int
    burn_in: int


def in_turns(directions: Directions, response: Response, engine: Engine, seed: int) -> tuple[LearnerFit, Floats]:
    """The common fit, and the strengths (p, K+1) of all directions by turns; networks alone see all at once."""
    if engine.learner == "network":
        return simultaneous(directions, response, engine, seed)
    p = directions.n_features
    return by_turns(directions, response, engine, seed, _turns(p, min(p, TURNS)), Sweeps(600, 200))


def by_turns(
    directions: Directions, response: Response, engine: Engine, seed: int, turns: list[Indices], sweeps: Sweeps
) -> tuple[LearnerFit, Floats]:
    """What the learners have in common comes from a fit that sees all directions alike; strengths from the turns."""
    inputs, order = blinded(directions)
    common = learn(inputs, response, engine, seed, SEARCH)
    assert common.sparse is not None
    found = sparse_strengths(directions, inputs, response, common.sparse.structure, engine, seed, turns, sweeps)
    from_network = common.strengths - common.weights["sparse"] * common.sparse.strengths()
    return common, unblinded(common.weights["sparse"] * found + from_network, order)


def _turns(p: int, count: int) -> list[Indices]:
    """Features in `count` turns: the columns are in an order that follows from their values and looks random."""
    return [np.arange(first, p, count) for first in range(count)]


def sparse_strengths(
    directions: Directions,
    inputs: Inputs,
    response: Response,
    structure: Structure,
    engine: Engine,
    seed: int,
    turns: list[Indices],
    sweeps: Sweeps,
) -> Floats:
    """A chain for each turn: terms have options for all directions of the turn's features, and for X of the others."""
    plain = Inputs(directions.values[:, :1], directions.feature, directions.covariates, inputs.n_seen)
    shared = build_terms(plain, structure)
    common = terms.assemble(shared, inputs.n_features)
    products = None if response.classes else common.columns @ common.columns.T
    term_of_column = common.term_of_option[common.option_of_column]
    shape = inputs.n_features, inputs.n_directions

    def strengths_in(number: int) -> Floats:
        mirrored = set(turns[number].tolist())
        own_list = own_terms(inputs, plain, shared, structure, mirrored)
        own = terms.assemble(own_list, shape[0])
        kept = np.array([mine is theirs for mine, theirs in zip(own_list, shared, strict=True)])
        known = None if products is None else _own_products(own, kept, products, kept[term_of_column])
        start = seed * 1009 + number
        chain = sample(own, response.values, response.classes, start, sweeps.all, sweeps.burn_in, products=known)
        return np.asarray(terms.strengths(own, chain.sizes, shape)[turns[number]])

    found = np.zeros(shape)
    for turn, strengths in zip(turns, in_threads(strengths_in, range(len(turns)), engine.n_jobs), strict=True):
        found[turn] = strengths
    return found


def own_terms(
    inputs: Inputs, plain: Inputs, shared: list[list[Option]], structure: Structure, mirrored: set[int]
) -> list[list[Option]]:
    """The shared terms, with options for all directions of some features wherever these take part."""
    every, p = list(shared), inputs.n_features
    curved = set(structure.curved.tolist())
    for feature in mirrored:
        every[1 + feature] = main_term(inputs, feature, feature in curved)
    for place, pair in enumerate(structure.pairs.tolist()):
        if mirrored & set(pair):
            every[1 + p + place] = pair_term(_sources(inputs, plain, pair, mirrored), *pair)
    for place, triple in enumerate(structure.triples.tolist()):
        if mirrored & set(triple):
            sources = _sources(inputs, plain, triple, mirrored)
            every[1 + p + len(structure.pairs) + place] = triple_term(sources, *triple)
    return every


def _sources(inputs: Inputs, plain: Inputs, features: list[int], mirrored: set[int]) -> list[Inputs]:
    """All directions of the features that are mirrored, X alone of the others."""
    return [inputs if feature in mirrored else plain for feature in features]


def _own_products(own: Terms, kept_terms: Flags, products: Products, kept_columns: Flags) -> Products:
    """The products of a turn's own columns with all, beside those of the columns that are shared."""
    kept = np.flatnonzero(kept_terms[own.term_of_option[own.option_of_column]])
    return joined_products(own.columns, kept, products[np.ix_(kept_columns, kept_columns)])
