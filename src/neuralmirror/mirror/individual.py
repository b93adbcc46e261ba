"""Individual mirrors (Algorithm 1): one learner for each feature, in which only that feature has opponents.

Given X_-j and y, X_j and its copies are exchangeable, so the strengths of a null feature's directions are too: exactly,
whatever the learner. What the learners have in common (which features may be curved, which pairs may act together) is
found by a simultaneous fit, which sees all directions alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner import terms
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.perceptron import individual_strengths
from neuralmirror.learner.sampler import sample
from neuralmirror.learner.sparse import (
    Products,
    Response,
    Structure,
    build_terms,
    joined_products,
    main_term,
    pair_term,
    triple_term,
)
from neuralmirror.learner.stacking import Engine, LearnerFit, codes, learn
from neuralmirror.learner.terms import Option, Terms
from neuralmirror.mirror.directions import Directions, blinded, unblinded

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

BURN_IN, SWEEPS = 80, 240
NETWORK_FLOATS = 2**28  # weights, gradients and moments of the networks that are trained at once


def individual(directions: Directions, response: Response, engine: Engine, seed: int) -> tuple[LearnerFit, Floats]:
    """The common fit, and the strengths (p, K+1) of each feature's directions in a learner of its own."""
    inputs, order = blinded(directions)
    if engine.learner == "network":
        found = _networks(directions, inputs, response, engine, seed)
        return LearnerFit(found, {"network": 1.0}, {}, None), unblinded(found, order)
    common = learn(inputs, response, engine, seed)
    assert common.sparse is not None
    found = sparse_strengths(directions, inputs, response, common.sparse.structure, engine, seed)
    from_network = common.strengths - common.weights["sparse"] * common.sparse.strengths()
    return common, unblinded(common.weights["sparse"] * found + from_network, order)


def sparse_strengths(
    directions: Directions, inputs: Inputs, response: Response, structure: Structure, engine: Engine, seed: int
) -> Floats:
    """A chain for each feature: its terms have options for all its directions, those of the others for X alone."""
    plain = Inputs(directions.values[:, :1], directions.feature, directions.covariates, inputs.n_seen)
    shared = build_terms(plain, structure)
    common = terms.assemble(shared, inputs.n_features)
    products = None if response.classes else common.columns @ common.columns.T
    term_of_column = common.term_of_option[common.option_of_column]
    shape = inputs.n_features, inputs.n_directions

    def strengths_of(feature: int) -> Floats:
        own_list = own_terms(inputs, plain, shared, structure, feature)
        own = terms.assemble(own_list, shape[0])
        kept = np.array([mine is theirs for mine, theirs in zip(own_list, shared, strict=True)])
        chain = sample(
            own,
            response.values,
            response.classes,
            seed * 1009 + feature,
            SWEEPS,
            BURN_IN,
            products=None if products is None else _own_products(own, kept, products, kept[term_of_column]),
        )
        return np.asarray(terms.strengths(own, chain.sizes, shape)[feature])

    return np.array(in_threads(strengths_of, range(shape[0]), engine.n_jobs))


def _own_products(own: Terms, kept_terms: Flags, products: Products, kept_columns: Flags) -> Products:
    """The products of a feature's own columns with all, beside those of the columns that are shared."""
    kept = np.flatnonzero(kept_terms[own.term_of_option[own.option_of_column]])
    return joined_products(own.columns, kept, products[np.ix_(kept_columns, kept_columns)])


def own_terms(
    inputs: Inputs, plain: Inputs, shared: list[list[Option]], structure: Structure, feature: int
) -> list[list[Option]]:
    """The shared terms, with options for all directions of one feature wherever it takes part."""
    every, p = list(shared), inputs.n_features
    every[1 + feature] = main_term(inputs, feature, feature in structure.curved)
    for place, pair in enumerate(structure.pairs.tolist()):
        if feature in pair:
            every[1 + p + place] = pair_term(_sources(inputs, plain, pair, feature), *pair)
    for place, triple in enumerate(structure.triples.tolist()):
        if feature in triple:
            every[1 + p + len(structure.pairs) + place] = triple_term(_sources(inputs, plain, triple, feature), *triple)
    return every


def _sources(inputs: Inputs, plain: Inputs, features: list[int], own: int) -> list[Inputs]:
    """All directions of the own feature, X alone of the others."""
    return [inputs if feature == own else plain for feature in features]


def _networks(directions: Directions, inputs: Inputs, response: Response, engine: Engine, seed: int) -> Floats:
    """A network for each feature, as many at once as memory allows."""
    if not inputs.single.all():
        raise ValueError("individual networks take single columns, got groups of columns; use scheme='simultaneous'")
    p, x = inputs.n_features, directions.values[:, 0]
    width = (engine.network.sizes() or (20 * int(np.log(p) + 1),))[0]
    each = 4 * p * (1 + engine.network.waves) * width
    chunks = np.array_split(np.arange(p), max(1, p * each // NETWORK_FLOATS))
    goal = codes(response)
    parts = [
        individual_strengths(inputs, x, goal, response.classes, engine.network, seed, engine.device, chunk)
        for chunk in chunks
    ]
    return np.concatenate(parts)
