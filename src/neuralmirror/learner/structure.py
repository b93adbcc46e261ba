"""What a sparse fit may hold beyond lines, and its terms: options for all directions of their features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner import terms
from neuralmirror.learner.embedding import CUBE_WAVES, ROUGH_WAVES, SMOOTH_WAVES
from neuralmirror.learner.inputs import LINES, Inputs
from neuralmirror.learner.orthogonal import centred, orthogonal, orthogonal_crosses
from neuralmirror.learner.terms import CUBE, FINE, PRODUCT, ROUGH, SMOOTH, SURFACE, TRIPLE, Option

Indices = NDArray[np.intp]

ONE_ROW = np.zeros((1, 3), dtype=np.intp)  # of each factor: the product of lines
# Products of three waves, the first with the second of each feature, and the first with the third.
CUBES = np.array(sorted({*product((0, 1), repeat=3), *product((0, 2), repeat=3)}))


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
            values = orthogonal(centred(inputs.waves(feature, count), inputs.n_seen), inputs.n_seen)
            options += [Option(kind, columns, ((feature, k),)) for k, columns in enumerate(values)]
    return options


def pair_term(sources: list[Inputs], pair: list[int], waves: list[int]) -> list[Option]:
    """The product and the surface of each pair of directions; each feature's directions come from its source."""
    kind = FINE if max(waves) > SMOOTH_WAVES else SURFACE
    surfaces = np.array(list(product(*map(range, waves))))
    return _together(PRODUCT, sources, pair, [LINES] * 2, ONE_ROW) + _together(kind, sources, pair, waves, surfaces)


def triple_term(sources: list[Inputs], triple: list[int]) -> list[Option]:
    """The product and the cube of each triple of directions; each feature's directions come from its source."""
    lines = _together(TRIPLE, sources, triple, [LINES] * 3, ONE_ROW)
    return lines + _together(CUBE, sources, triple, [CUBE_WAVES] * 3, CUBES)


def _together(kind: int, sources: list[Inputs], features: list[int], waves: list[int], chosen: Indices) -> list[Option]:
    """An option for each choice of a direction of every feature: chosen products of their waves, or of their lines."""
    given = list(zip(sources, features, strict=True))
    factors = [source.blocks(feature, count) for (source, feature), count in zip(given, waves, strict=True)]
    rows = chosen[:, : len(factors)]
    rows = rows[(rows < [len(blocks[0]) for blocks in factors]).all(axis=1)]  # a group may have fewer columns
    places = product(*([(feature, k) for k in range(source.n_directions)] for source, feature in given))
    columns = orthogonal_crosses(factors, rows, sources[0].n_seen)
    return [Option(kind, block, place) for block, place in zip(columns, places, strict=True)]
