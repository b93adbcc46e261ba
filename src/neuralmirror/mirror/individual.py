"""Individual mirrors (Algorithm 1): one learner for each feature, in which only that feature has opponents.

Given X_-j and y, X_j and its copies are exchangeable, so the strengths of a null feature's directions are too: exactly,
whatever the learner. What the learners have in common (which features may be curved, which pairs may act together) is
found by a simultaneous fit, which sees all directions alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.cache import load, store
from neuralmirror._internal.pieces import run_pieces
from neuralmirror.learner import terms
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.perceptron import individual_strengths
from neuralmirror.learner.sampler import sample
from neuralmirror.learner.sparse import Response, Structure, build_terms, main_term, pair_term, triple_term
from neuralmirror.learner.stacking import Engine, LearnerFit, codes, learn
from neuralmirror.learner.terms import Option
from neuralmirror.mirror.directions import Directions, blinded, unblinded

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BURN_IN, SWEEPS = 80, 240
NETWORK_FLOATS = 2**26  # weights, gradients and moments of the networks that are trained at once
PIECE = 1e10  # multiplications of a piece: some seconds
PIECES = 64  # at least, where there are as many features: enough to share among workers


@dataclass(frozen=True)
class Piece:
    """The strengths (m, K+1) of some features' directions, as they are kept on disk."""

    strengths: Floats


def individual(
    directions: Directions, response: Response, engine: Engine, seed: int, draw: Path | None = None
) -> tuple[LearnerFit, Floats]:
    """The common fit, and the strengths (p, K+1) of each feature's directions in a learner of its own.

    Features are learnt in pieces, which are kept beside the file `draw` of this work as they are completed.
    """
    inputs, order = blinded(directions)
    if engine.learner == "network":
        found = _networks(directions, inputs, response, engine, seed, draw)
        return LearnerFit(found, {"network": 1.0}, {}, None), unblinded(found, order)
    common = learn(inputs, response, engine, seed)
    assert common.sparse is not None
    found = sparse_strengths(directions, inputs, response, common.sparse.structure, engine, seed, draw)
    from_network = common.strengths - common.weights["sparse"] * common.sparse.strengths()
    return common, unblinded(common.weights["sparse"] * found + from_network, order)


def sparse_strengths(
    directions: Directions,
    inputs: Inputs,
    response: Response,
    structure: Structure,
    engine: Engine,
    seed: int,
    draw: Path | None = None,
) -> Floats:
    """A chain for each feature: its terms have options for all its directions, those of the others for X alone."""
    plain = Inputs(directions.values[:, :1], directions.feature, directions.covariates, inputs.n_seen)
    chains, p = Chains(inputs, plain, response, structure, seed), inputs.n_features
    work = SWEEPS * p * plain.directions.size  # of the lines alone
    return _in_pieces(chains.strengths, _chunks(p, max(PIECES, int(work / PIECE))), engine.n_jobs, draw)


def _chunks(p: int, number: int) -> list[Indices]:
    """Features side by side, in so many chunks or as many as there are features; whoever computes them."""
    return np.array_split(np.arange(p), min(p, max(1, number)))


def _in_pieces(
    strengths_of: Callable[[Indices], Floats], chunks: Sequence[Indices], n_jobs: int, draw: Path | None
) -> Floats:
    """The strengths of all chunks: those on disk are taken from there, the others are computed and kept."""
    folder, name = (None, "") if draw is None else (draw.parent, draw.name)
    names = [f"features-{chunk[0]}-{chunk[-1]}-of-{name}" for chunk in chunks]
    found = {name: load(folder, name, Piece) for name in names}
    waiting = [(name, chunk) for name, chunk in zip(names, chunks, strict=True) if found[name] is None]
    pieces = [(chunk,) for _, chunk in waiting]
    for number, strengths in run_pieces(strengths_of, pieces, n_jobs=n_jobs, prefer="threads", folder=folder):
        name, piece = waiting[number][0], Piece(strengths)
        store(folder, name, piece)
        found[name] = piece
    return np.concatenate([piece.strengths for piece in found.values() if piece is not None])


@dataclass(frozen=True)
class Chains:
    """What the chains of all features have in common."""

    inputs: Inputs
    plain: Inputs  # X alone
    response: Response
    structure: Structure
    seed: int

    @cached_property
    def shared(self) -> list[list[Option]]:
        """The terms of all features, with options for X alone."""
        return build_terms(self.plain, self.structure)

    def strengths(self, features: Indices) -> Floats:
        """Strengths (m, K+1) of the directions of some features."""
        return np.array([self._strengths_of(int(feature)) for feature in features])

    def _strengths_of(self, feature: int) -> Floats:
        inputs, response = self.inputs, self.response
        own = terms.assemble(own_terms(inputs, self.plain, self.shared, self.structure, feature), inputs.n_features)
        chain = sample(own, response.values, response.classes, self.seed * 1009 + feature, SWEEPS, BURN_IN)
        return np.asarray(terms.strengths(own, chain.sizes, (inputs.n_features, inputs.n_directions))[feature])


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


def _networks(
    directions: Directions, inputs: Inputs, response: Response, engine: Engine, seed: int, draw: Path | None = None
) -> Floats:
    """A network for each feature, as many at once as memory allows."""
    if not inputs.single.all():
        raise ValueError("individual networks take single columns, got groups of columns; use scheme='simultaneous'")
    p, x = inputs.n_features, directions.values[:, 0]
    width = (engine.network.sizes() or (20 * int(np.log(p) + 1),))[0]
    each = 4 * p * (1 + engine.network.waves) * width
    goal, settings = codes(response), (response.classes, engine.network, seed, engine.device)
    strengths_of = partial(individual_strengths, inputs, x, goal, *settings)
    chunks = _chunks(p, p * each // NETWORK_FLOATS)
    return _in_pieces(strengths_of, chunks, 1, draw)  # one after the other here, for each fills all cores
