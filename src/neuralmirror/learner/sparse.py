"""The sparse learner: lines, curves, pairs and triples of directions, found by scans and weighed by the sampler.

lines first; then, until nothing new stands out in the residual: scan for curves, pairs and triples, sample again
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise, product
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
    Block,
    Option,
    Terms,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Products = NDArray[np.float32]  # (columns, columns)

FIRST_WITH = slice(0, 2), slice(0, 3, 2)  # the first wave with the second, and with the third
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
        return self.most if products_known else int(np.clip(self.work / every.columns.size, self.least, self.most))


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
        options = self.terms.term_start[first : first + len(used) + 1]
        held = [slice(*ends) for ends in pairwise(self.terms.option_start[options])]
        weights = self.chain.coefficients.astype(np.float32)
        together = [self.terms.columns[held[pair]].T @ weights[held[pair]] for pair in np.flatnonzero(used)]
        shape = (-1, *self.chain.fitted.shape)
        return self.structure.pairs[used], np.array(together, dtype=np.float64).reshape(shape)

    def part(self, kinds: tuple[int, ...]) -> Floats:
        """What the terms of some kinds contribute to the fit, (n, q)."""
        held = np.isin(self.terms.option_kind[self.terms.option_of_column], kinds)
        weights = self.chain.coefficients[held].astype(np.float32)
        return np.asarray((weights.T @ self.terms.columns[held]).T, dtype=np.float64)


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
    if of_lines is None or len(every.columns) - len(known) > min(len(known), 2 * sweeps):
        return None
    if len(known) == len(every.columns):
        return of_lines
    return joined_products(every.columns[:, :n_seen], known, of_lines)


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
    (one, two), (first, second) = sources, pair
    places = [((first, k), (second, m)) for k in range(one.n_directions) for m in range(two.n_directions)]
    products = _outer(one.block(first)[:, :1], two.block(second)[:, :1], one.n_seen)
    values = one.waves(first, waves[0]), two.waves(second, waves[1])
    surfaces = terms.orthogonal(_outer(*values, one.n_seen), one.n_seen)
    kind = FINE if max(waves) > SMOOTH_WAVES else SURFACE
    lines = [Option(PRODUCT, columns, place) for columns, place in zip(products, places, strict=True)]
    return lines + [Option(kind, columns, place) for columns, place in zip(surfaces, places, strict=True)]


def triple_term(sources: list[Inputs], triple: list[int]) -> list[Option]:
    """The product and the cube of each triple of directions; each feature's directions come from its source."""
    given = list(zip(sources, triple, strict=True))
    one, two, three = (range(source.n_directions) for source in sources)
    places = [tuple(zip(triple, chosen, strict=True)) for chosen in product(one, two, three)]
    lines = [source.block(feature)[:, :1] for source, feature in given]
    waves = [source.waves(feature, CUBE_WAVES) for source, feature in given]
    outer = partial(reduce, partial(_outer, n_seen=sources[0].n_seen))
    cubes = np.concatenate([outer([every[:, two] for every in waves]) for two in FIRST_WITH], axis=1)
    found = [Option(TRIPLE, columns, place) for columns, place in zip(outer(lines), places, strict=True)]
    orthogonal = terms.orthogonal(cubes, sources[0].n_seen)
    return found + [Option(CUBE, columns, place) for columns, place in zip(orthogonal, places, strict=True)]


def _outer(first: Block, second: Block, n_seen: int) -> Block:
    """Products of all columns of all directions of two features: (a, c, n) and (b, d, n) to (ab, cd, n), centred."""
    values = first[:, None, :, None] * second[None, :, None, :]
    return terms.centred(values.reshape(len(first) * len(second), -1, first.shape[-1]), n_seen)
