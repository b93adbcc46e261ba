"""The sparse learner: lines, curves, pairs and triples of directions, found by scans and weighed by the sampler.

lines first; then, until nothing new stands out in the residual: scan for curves, pairs and triples, sample again
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner import scan, terms
from neuralmirror.learner.blocks import joined_products
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.sampler import Chain, sample
from neuralmirror.learner.structure import Structure, build_terms
from neuralmirror.learner.terms import COVARIATE, LINE, Terms

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Products = NDArray[np.float32]  # (columns, columns)

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
