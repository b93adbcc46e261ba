"""Mirrors in turns: in each learner only some of the features have opponents, and the others stand for themselves.

A copy of X_j is close to what its neighbours are, so where all features have copies at once the learner is unsure of
every neighbour, and of X_j because of them. Features whose copies take part in the same turn are few, and by their
order, which has nothing to do with their correlations, they are hardly ever neighbours. One feature a turn are the
individual mirrors of the paper (Algorithm 1).

The common fit is a piece of work, and so are some turns side by side: kept on disk as they are completed, and learnt by
the workers that the caller has chosen through joblib, else by threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.cache import cached, load, store
from neuralmirror._internal.pieces import elsewhere, run_pieces
from neuralmirror._internal.threads import at_once
from neuralmirror.learner import terms
from neuralmirror.learner.blocks import joined_products
from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network_part import Turns
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.sampler import Chain, sample
from neuralmirror.learner.sparse import Effort, Products, SparseFit, fit_sparse
from neuralmirror.learner.stacking import Beside, LearnerFit, fit_beside, stacked
from neuralmirror.learner.structure import Structure, build_terms, main_term, pair_term, triple_term
from neuralmirror.learner.terms import Option, Terms
from neuralmirror.learner.weighing import Weighed, weigh
from neuralmirror.mirror.directions import Directions, blinded, unblinded
from neuralmirror.mirror.simultaneous import simultaneous

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Stored = TypeVar("Stored")
Kept = TypeVar("Kept", Structure, Chain)

TURNS = 16
SEARCH = Effort(chains=1, rounds=2, work=2e9, least=200, most=600)  # of the common fit
PIECE = 1e10  # multiplications of a piece: some seconds
PIECES = 64  # at least, where there are as many turns: enough to share among workers


class Sweeps(NamedTuple):
    """The length of a chain, and how much of its start is not counted."""

    all: int
    burn_in: int


def in_turns(
    directions: Directions, response: Response, engine: Engine, seed: int, draw: Path | None = None
) -> tuple[LearnerFit, Floats]:
    """The common fit, and the strengths (p, K+1) of all directions by turns; networks alone see all at once."""
    if engine.learner == "network":
        return simultaneous(directions, response, engine, seed)
    p = directions.n_features
    return by_turns(directions, response, engine, seed, _turns(p, min(p, TURNS)), Sweeps(600, 200), draw)


def by_turns(
    directions: Directions,
    response: Response,
    engine: Engine,
    seed: int,
    turns: list[Indices],
    sweeps: Sweeps,
    draw: Path | None = None,
) -> tuple[LearnerFit, Floats]:
    """What the learners have in common comes from a fit that sees all directions alike; strengths from the turns.

    Pieces of the work are kept beside the file `draw` of the whole as they are completed.
    """
    inputs, order = blinded(directions)
    plain = Inputs(
        directions.values[:, :1], directions.feature, directions.covariates, inputs.n_seen, inputs.picked_from
    )
    together = Turns(plain, _turn_of_feature(turns))

    def by_sparse() -> tuple[SparseFit, Floats]:
        common = _common_fit(inputs, response, engine, seed, draw)
        chains = Chains(inputs, plain, response, common.structure, seed, turns, sweeps)
        return common, sparse_strengths(chains, engine.n_jobs, draw)

    def by_halves() -> Weighed:
        return _kept(draw, "weights", Weighed, partial(weigh, inputs, response, engine, seed, together))

    (common, strengths), weighed = at_once(by_sparse, by_halves, engine.n_jobs)
    fitted = partial(fit_beside, inputs, response, common, weighed, together, engine, seed)
    beside = _kept(draw, "beside", Beside, fitted)
    return stacked(common, weighed, beside), unblinded(beside.with_sparse(strengths, weighed.weights), order)


def _turns(p: int, count: int) -> list[Indices]:
    """Features in `count` turns: the columns are in an order that follows from their values and looks random."""
    return [np.arange(first, p, count) for first in range(count)]


def _turn_of_feature(turns: list[Indices]) -> Indices:
    """The turn of each feature, (p,)."""
    of_feature = np.empty(sum(map(len, turns)), dtype=np.intp)
    of_feature[np.concatenate(turns)] = np.arange(len(turns)).repeat([len(turn) for turn in turns])
    return of_feature


@dataclass(frozen=True)
class Common:
    """The fit of the sparse part to all directions as it is kept: its structure and its chain, which tell its terms."""

    curved: Indices
    pairs: Indices
    waves: Indices
    triples: Indices
    sizes: Floats
    probabilities: Floats
    coefficients: Floats
    fitted: Floats
    residual: Floats
    noise_variance: float

    @classmethod
    def of(cls, fit: SparseFit) -> Common:
        """What is kept of a fit."""
        return cls(**vars(fit.structure), **vars(fit.chain))

    def fit(self, inputs: Inputs) -> SparseFit:
        """The fit again."""
        structure = self._part(Structure)
        every = terms.assemble(build_terms(inputs, structure), inputs.n_possible, inputs.n_seen)
        return SparseFit(every, self._part(Chain), structure, (inputs.n_features, inputs.n_directions))

    def _part(self, kind: type[Kept]) -> Kept:
        return kind(**{field.name: getattr(self, field.name) for field in fields(kind)})


def _common_fit(inputs: Inputs, response: Response, engine: Engine, seed: int, draw: Path | None) -> SparseFit:
    """The sparse fit that sees all directions alike; from disk where it was kept."""
    device, n_jobs = engine.device, engine.n_jobs - engine.n_jobs // 2
    compute = partial(fit_sparse, inputs, response, seed, effort=SEARCH, device=device, n_jobs=n_jobs)
    return compute() if draw is None else _kept(draw, "common", Common, lambda: Common.of(compute())).fit(inputs)


def _kept(draw: Path | None, part: str, kind: type[Stored], compute: Callable[[], Stored]) -> Stored:
    """A part of the work of a draw; from disk where it was kept."""
    return compute() if draw is None else cached(draw.parent, f"{part}-of-{draw.name}", kind, compute)


def sparse_strengths(chains: Chains, n_jobs: int, draw: Path | None = None) -> Floats:
    """The strengths (p, K+1) of all directions, each in the chain of its feature's turn."""
    turns = chains.turns
    work = chains.sweeps.all * len(turns) * chains.plain.directions.size  # of the lines alone
    learnt = partial(chains.strengths, shared=None if elsewhere() else chains.shared(n_jobs))
    parts = in_pieces(learnt, chunks(len(turns), max(PIECES, int(work / PIECE))), n_jobs, draw)
    found = np.empty_like(parts)
    found[np.concatenate(turns)] = parts
    return found


def chunks(turns: int, number: int) -> list[Indices]:
    """The numbers of turns side by side, in so many chunks or as many as there are turns; whoever computes them."""
    return np.array_split(np.arange(turns), min(turns, max(1, number)))


@dataclass(frozen=True)
class Piece:
    """The strengths (m, K+1) of the features of some turns, as they are kept on disk."""

    strengths: Floats


def in_pieces(
    strengths_of: Callable[[Indices], Floats], chunks: Sequence[Indices], n_jobs: int, draw: Path | None
) -> Floats:
    """The strengths of all chunks of turns: those on disk are taken from there, the others are computed and kept."""
    folder, whole = (None, "") if draw is None else (draw.parent, draw.name)
    names = [f"turns-{chunk[0]}-{chunk[-1]}-of-{whole}" for chunk in chunks]
    found = {name: load(folder, name, Piece) for name in names}
    waiting = [(name, chunk) for name, chunk in zip(names, chunks, strict=True) if found[name] is None]
    pieces = [(chunk,) for _, chunk in waiting]
    for number, strengths in run_pieces(strengths_of, pieces, n_jobs=n_jobs, prefer="threads", folder=folder):
        name, piece = waiting[number][0], Piece(strengths)
        store(folder, name, piece)
        found[name] = piece
    return np.concatenate([piece.strengths for piece in found.values() if piece is not None])


class Shared(NamedTuple):
    """The terms of all features with options for X alone, and the products of their columns."""

    terms: list[list[Option]]
    term_of_column: Indices
    products: Products | None


@dataclass(frozen=True)
class Chains:
    """A chain for each turn: terms have options for all directions of the turn's features, and for X of the others."""

    inputs: Inputs
    plain: Inputs  # X alone
    response: Response
    structure: Structure
    seed: int
    turns: list[Indices]
    sweeps: Sweeps

    def shared(self, n_jobs: int = 1) -> Shared:
        """What all chains have in common: little work, so that each worker does it again and is sent none of it."""
        every = build_terms(self.plain, self.structure)
        flat = terms.assemble(every, self.inputs.n_possible)
        products = None if self.response.classes else flat.columns.products(self.inputs.n_seen, n_jobs)
        return Shared(every, flat.term_of_option[flat.option_of_column], products)

    def strengths(self, numbers: Indices, shared: Shared | None = None) -> Floats:
        """Strengths (m, K+1) of the directions of all features of some turns."""
        known = self.shared() if shared is None else shared
        return np.concatenate([self._strengths_in(int(number), known) for number in numbers])

    def _strengths_in(self, number: int, shared: Shared) -> Floats:
        inputs, response, turn = self.inputs, self.response, self.turns[number]
        own_list = own_terms(inputs, self.plain, shared.terms, self.structure, set(turn.tolist()))
        own = terms.assemble(own_list, inputs.n_possible)
        kept = np.array([mine is theirs for mine, theirs in zip(own_list, shared.terms, strict=True)])
        products = shared.products
        known = None if products is None else _own_products(own, kept, products, kept[shared.term_of_column])
        start = self.seed * 1009 + number
        chain = sample(own, response.values, response.classes, start, *self.sweeps, products=known)
        return np.asarray(terms.strengths(own, chain.sizes, (inputs.n_features, inputs.n_directions))[turn])


def own_terms(
    inputs: Inputs, plain: Inputs, shared: list[list[Option]], structure: Structure, mirrored: set[int]
) -> list[list[Option]]:
    """The shared terms, with options for all directions of some features wherever these take part."""
    every, p = list(shared), inputs.n_features
    curved = set(structure.curved.tolist())
    for feature in mirrored:
        every[1 + feature] = main_term(inputs, feature, feature in curved)
    for place, (pair, waves) in enumerate(structure.pairs_with_waves()):
        if mirrored & set(pair):
            every[1 + p + place] = pair_term(_sources(inputs, plain, pair, mirrored), pair, waves)
    for place, triple in enumerate(structure.triples.tolist()):
        if mirrored & set(triple):
            sources = _sources(inputs, plain, triple, mirrored)
            every[1 + p + len(structure.pairs) + place] = triple_term(sources, triple)
    return every


def _sources(inputs: Inputs, plain: Inputs, features: list[int], mirrored: set[int]) -> list[Inputs]:
    """All directions of the features that are mirrored, X alone of the others."""
    return [inputs if feature in mirrored else plain for feature in features]


def _own_products(own: Terms, kept_terms: Flags, products: Products, kept_columns: Flags) -> Products:
    """The products of a turn's own columns with all, beside those of the columns that are shared."""
    is_kept = kept_terms[own.term_of_option[own.option_of_column]]
    kept, others = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
    of_others = own.columns.products_of(others, own.columns.rows.shape[1])
    return joined_products(kept, products, others, of_others, np.flatnonzero(kept_columns))
