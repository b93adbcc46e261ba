"""Lines of groups of correlated columns: a term for each block of neighbours, of which one column acts at a time.

Where columns are near-copies of each other, several terms of one column each would hold on to whichever entered first.
A term whose options are all columns of a block, in all K+1 directions, moves between them freely (as single effects do
in Wang, Sarkar, Carbonetto and Stephens, 2020). A direction of a group has the strength of all options that hold it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner import terms
from neuralmirror.learner.inputs import MOST_BYTES, Inputs
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.sampler import Chain, sample
from neuralmirror.learner.terms import LINE, Option

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

CHAINS, WORK, LEAST, MOST = 2, 8e9, 300, 800  # multiplications, and sweeps, of one chain


@dataclass(frozen=True)
class SingleEffects:
    """How strongly the fit follows each group's directions, and the columns within them."""

    strengths: Floats  # (groups, K+1)
    by_column: Floats  # (columns, K+1)
    chain: Chain


def single_effects(
    inputs: Inputs, block: Indices, response: Response, seed: int, n_jobs: int = 1, possible: int | None = None
) -> SingleEffects:
    """Sample one effect for each block; `block` (columns,) is that of each column, of whatever groups.

    `possible` is the number of blocks before those at hand were picked out: their share of effects is judged by it.
    """
    n, shape = inputs.directions.shape[2], (inputs.n_features, inputs.n_directions)
    blocks = [np.flatnonzero(block == number) for number in dict.fromkeys(block.tolist())]
    options = [_options(inputs, columns) for columns in blocks]
    flat = terms.assemble([terms.covariate_term(inputs.covariates, n), *options], possible or len(blocks))
    products = None
    if not response.classes and 4 * len(flat.squares) ** 2 <= MOST_BYTES:
        products = flat.columns.products(n, n_jobs)
    sweeps = MOST if products is not None else int(np.clip(WORK / flat.size, LEAST, MOST))
    given = flat, response.values, response.classes
    seeds = [seed * 1009 + number for number in range(CHAINS)]
    chains = in_threads(lambda s: sample(*given, s, sweeps, sweeps // 3, products=products), seeds, n_jobs)
    chain = Chain.mean(chains)
    by_column = np.zeros((len(block), shape[1]))
    for columns, start in zip(blocks, flat.term_start[1:], strict=False):
        by_column[columns] = chain.sizes[start : start + len(columns) * shape[1]].reshape(shape[1], -1).T
    return SingleEffects(terms.strengths(flat, chain.sizes, shape), by_column, chain)


def _options(inputs: Inputs, columns: Indices) -> list[Option]:
    """Each column of a block, in each direction of its group."""
    return [
        Option(LINE, inputs.directions[j, k][None], ((int(inputs.feature[j]), k),))
        for k in range(inputs.n_directions)
        for j in columns
    ]
