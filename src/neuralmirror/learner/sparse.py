"""The sparse learner: lines, curves, pairs and triples of directions, found by scans and weighed by the sampler.

lines first; then, until nothing new stands out in the residual: scan for curves, pairs and triples, sample again
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner import scan, terms
from neuralmirror.learner.blocks import joined_products
from neuralmirror.learner.embedding import CUBE_WAVES, ROUGH_WAVES, SMOOTH_WAVES
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.sampler import Chain, sample
from neuralmirror.learner.terms import (
    COVARIATE,
    CUBE,
    FINE,
    LINE,
    PRODUCT,
    ROUGH,
    SMOOTH,
    SURFACE,
    TRIPLE,
    Option,
    Terms,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Products = NDArray[np.float32]  # (columns, columns)

ONE_ROW = np.zeros((1, 3), dtype=np.intp)  # of each factor: the product of lines
# Products of three waves, the first with the second of each feature, and the first with the third.
CUBES = np.array(sorted({*product((0, 1), repeat=3), *product((0, 2), repeat=3)}))
RARE = 0.02  # terms beyond lines that are in use less often leave before the last chains


class Effort(NamedTuple):
    """How many chains and rounds of scans, and the work of a chain: the more terms, the fewer sweeps, within limits."""

    chains: int
    rounds: int
    work: float  # multiplications
    least: int
    most: int

    def sweeps(self, every: Terms, products_known: bool) -> int:
        """The sweeps of one chain, of which the first third is not counted."""
        return self.most if products_known else int(np.clip(self.work / every.size, self.least, self.most))


FULL, QUICK = Effort(2, 2, 8e9, 400, 1500), Effort(1, 1, 1e9, 60, 250)


@dataclass(frozen=True)
class Response:
    """What is to be predicted: standardised numbers (n, 1), or labels (n, 1) of so many classes."""

    values: Floats
    classes: int = 0

    def rows(self, order: Indices) -> Response:
        """The rows in another order."""
        return Response(self.values[order], self.classes)


@dataclass(frozen=True)
class Structure:
    """Beyond lines: the features that may be curved, the pairs and the triples that may act together."""

    curved: Indices
    pairs: Indices  # (t, 2), each once and in order
    waves: Indices  # (t, 2): how many of each feature a pair's surface has
    triples: Indices  # (t, 3)

    @classmethod
    def of_lines(cls) -> Structure:
        """Nothing but lines."""
        return cls(*(np.zeros(shape, dtype=np.intp) for shape in (0, (0, 2), (0, 2), (0, 3))))

    def joined(self, other: Structure) -> Structure:
        """What is in either, with the finer surface of a pair."""
        pairs, place = np.unique(np.concatenate([self.pairs, other.pairs]), axis=0, return_inverse=True)
        waves = np.zeros_like(pairs)
        np.maximum.at(waves, place, np.concatenate([self.waves, other.waves]))
        triples = np.unique(np.concatenate([self.triples, other.triples]), axis=0)
        return Structure(np.union1d(self.curved, other.curved), pairs, waves, triples)

    def pairs_with_waves(self) -> list[tuple[list[int], list[int]]]:
        """Each pair, and how many waves of either its surface has."""
        return list(zip(self.pairs.tolist(), self.waves.tolist(), strict=True))

    def size(self) -> int:
        """How many terms it adds to the lines."""
        return len(self.curved) + len(self.pairs) + len(self.triples)


@dataclass(frozen=True)
class SparseFit:
    """The terms, what the chains made of them, and the structure that the scans found."""

    terms: Terms
    chain: Chain
    structure: Structure
    shape: tuple[int, int]  # p, K+1

    def strengths(self) -> Floats:
        """How strongly the fitted function follows each direction, (p, K+1)."""
        return terms.strengths(self.terms, self.chain.sizes, self.shape)

    def expected_active(self) -> float:
        """The expected number of terms in use."""
        return float(self.chain.probabilities[1:].sum())

    def in_use(self) -> Structure:
        """The structure without the curves, pairs and triples that the chain hardly ever used."""
        curves, pairs = len(self.structure.curved), len(self.structure.pairs)
        mains, others = self._used_beyond_lines()
        return Structure(
            self.structure.curved[mains[self.structure.curved]] if curves else self.structure.curved,
            self.structure.pairs[others[:pairs]],
            self.structure.waves[others[:pairs]],
            self.structure.triples[others[pairs:]],
        )

    def _used_beyond_lines(self) -> tuple[Flags, Flags]:
        """Of which features the chain used curves, and which pairs and triples it used, more than hardly ever."""
        beyond_lines = np.where(np.isin(self.terms.option_kind, (COVARIATE, LINE)), 0.0, self.chain.probabilities)
        used = np.bincount(self.terms.term_of_option, beyond_lines, minlength=len(self.terms)) > RARE
        return used[1 : 1 + self.shape[0]], used[1 + self.shape[0] :]

    def pairs_in_use(self) -> tuple[Indices, Floats]:
        """The pairs (t, 2) that the chain used more than hardly ever, and what each does together, (t, n, q)."""
        first, used = 1 + self.shape[0], self._used_beyond_lines()[1][: len(self.structure.pairs)]
        together = np.empty((np.count_nonzero(used), *self.chain.fitted.shape))
        for place, pair in enumerate(np.flatnonzero(used)):
            together[place] = self.of_options(np.arange(*self.terms.term_start[first + pair : first + pair + 2]))
        return self.structure.pairs[used], together

    def part(self, kinds: tuple[int, ...]) -> Floats:
        """What the terms of some kinds contribute to the fit, (n, q)."""
        return self.of_options(np.flatnonzero(np.isin(self.terms.option_kind, kinds)))

    def of_options(self, options: Indices) -> Floats:
        """What some options contribute to the fit, (n, q)."""
        return self.terms.columns.sum(self.chain.coefficients, options)


def fit_sparse(
    inputs: Inputs,
    response: Response,
    seed: int,
    *,
    scans: bool = True,
    effort: Effort = FULL,
    device: str = "cpu",
    n_jobs: int = 1,
) -> SparseFit:
    """Sample lines, scan what they leave, and sample again with what was found."""
    lines = None if response.classes else inputs.products_of_lines(n_jobs)
    sampled = partial(_sampled, inputs, response, lines, n_jobs=n_jobs)
    fit = sampled(Structure.of_lines(), seed, effort=QUICK if scans else effort)
    if not scans:
        return fit

    def extended(found: Structure, number: int) -> SparseFit:
        every = fit.structure.joined(found)
        if every.size() == fit.structure.size():
            return fit
        return sampled(fit.in_use().joined(found), seed + number, effort=QUICK)

    rounds = range(effort.rounds)
    for place, scanned in enumerate((_curves_and_pairs, _triples)):
        for number in rounds:
            in_use = fit.in_use().size()
            fit = extended(scanned(inputs, fit, device, n_jobs), 1 + place * len(rounds) + number)
            if fit.in_use().size() == in_use:
                break  # the residual is what it was, and so would be what stands out in it
    return sampled(fit.in_use(), seed, effort=effort)


def _curves_and_pairs(inputs: Inputs, fit: SparseFit, device: str, n_jobs: int) -> Structure:
    """Curves and pairs that stand out in the residual."""
    residual, ranking = fit.chain.residual, fit.strengths().max(axis=1)
    curved = scan.curved_features(inputs, residual)
    pairs, waves = scan.outstanding_pairs(inputs, residual, ranking, device, n_jobs)
    return replace(Structure.of_lines(), curved=curved, pairs=pairs, waves=waves)


def _triples(inputs: Inputs, fit: SparseFit, device: str, n_jobs: int) -> Structure:
    """Triples that stand out in the residual, which are only worth a look when curves and pairs are in."""
    residual = fit.chain.residual
    triples = scan.outstanding_triples(inputs, residual, device, n_jobs)
    with_pairs = scan.outstanding_thirds(inputs, residual, *fit.pairs_in_use())
    return replace(Structure.of_lines(), triples=np.concatenate([triples, with_pairs]))


def _sampled(
    inputs: Inputs,
    response: Response,
    products_of_lines: Products | None,
    structure: Structure,
    seed: int,
    effort: Effort,
    n_jobs: int,
) -> SparseFit:
    """The mean of several chains over all terms of a structure."""
    every = terms.assemble(build_terms(inputs, structure), inputs.n_possible, inputs.n_seen)
    products = None if response.classes else products_of_columns(every, inputs.n_seen, products_of_lines, effort.most)
    sweeps = effort.sweeps(every, products is not None)

    def chain(number: int) -> Chain:
        values, own_seed = response.values, seed * 1009 + number
        return sample(every, values, response.classes, own_seed, sweeps, sweeps // 3, inputs.n_seen, products)

    chains = in_threads(chain, range(effort.chains), n_jobs)
    return SparseFit(every, Chain.mean(chains), structure, (inputs.n_features, inputs.n_directions))


def products_of_columns(every: Terms, n_seen: int, of_lines: Products | None, sweeps: int) -> Products | None:
    """The products of all columns over the rows seen, given those of the lines; None where they would not pay.

    Where lines are not most of the columns, and in a short chain, products with the residual are better taken anew:
    that is columns · rows for each sweep, where products are columns · rows for each column beyond the lines, of which
    a matrix product does two in the time of one.
    """
    known = np.flatnonzero(np.isin(every.option_kind[every.option_of_column], (COVARIATE, LINE)))
    others = np.setdiff1d(np.arange(len(every.squares)), known)
    if of_lines is None or len(others) > min(len(known), 2 * sweeps):
        return None
    if not len(others):
        return of_lines
    return joined_products(known, of_lines, others, every.columns.products_of(others, n_seen))


def build_terms(inputs: Inputs, structure: Structure) -> list[list[Option]]:
    """The covariates, a term for each feature, and one for each pair and triple."""
    mains = list(inputs.line_terms)
    for feature in structure.curved.tolist():
        mains[feature] = main_term(inputs, feature, curved=True)
    return [
        terms.covariate_term(inputs.covariates, inputs.directions.shape[2], inputs.n_seen),
        *mains,
        *(pair_term([inputs] * 2, pair, waves) for pair, waves in structure.pairs_with_waves()),
        *(triple_term([inputs] * 3, triple) for triple in structure.triples.tolist()),
    ]


def main_term(inputs: Inputs, feature: int, curved: bool) -> list[Option]:
    """The line of each direction and, where the feature may be curved, its waves."""
    options = list(inputs.line_terms[feature])
    if curved:
        for kind, count in ((SMOOTH, SMOOTH_WAVES), (ROUGH, ROUGH_WAVES)):
            values = terms.orthogonal(terms.centred(inputs.waves(feature, count), inputs.n_seen), inputs.n_seen)
            options += [Option(kind, columns, ((feature, k),)) for k, columns in enumerate(values)]
    return options


def pair_term(sources: list[Inputs], pair: list[int], waves: list[int]) -> list[Option]:
    """The product and the surface of each pair of directions; each feature's directions come from its source."""
    kind = FINE if max(waves) > SMOOTH_WAVES else SURFACE
    return _together(PRODUCT, sources, pair, None, ONE_ROW) + _together(kind, sources, pair, waves, _every_row(waves))


def triple_term(sources: list[Inputs], triple: list[int]) -> list[Option]:
    """The product and the cube of each triple of directions; each feature's directions come from its source."""
    return _together(TRIPLE, sources, triple, None, ONE_ROW) + _together(CUBE, sources, triple, [CUBE_WAVES] * 3, CUBES)


def _together(
    kind: int, sources: list[Inputs], features: list[int], waves: list[int] | None, chosen: Indices
) -> list[Option]:
    """An option for each choice of a direction of every feature: products of their lines, or of chosen waves."""
    given = list(zip(sources, features, strict=True))
    if waves is None:
        factors = [source.first_lines(feature) for source, feature in given]
    else:
        factors = [source.wave_blocks(feature, count) for (source, feature), count in zip(given, waves, strict=True)]
    chosen = chosen[:, : len(features)]
    chosen = chosen[[all(row < len(blocks[0]) for row, blocks in zip(rows, factors, strict=True)) for rows in chosen]]
    places = product(*([(feature, k) for k in range(source.n_directions)] for source, feature in given))
    columns = terms.orthogonal_crosses(factors, chosen, sources[0].n_seen)
    return [Option(kind, block, place) for block, place in zip(columns, places, strict=True)]


def _every_row(counts: list[int]) -> Indices:
    """All choices of a row out of blocks of so many."""
    return np.array(list(product(*map(range, counts))))
