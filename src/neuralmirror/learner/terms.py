"""Terms of the sparse learner: each is a place for one of several options, and an option is a block of columns.

    kind       columns of an option                                  family (what competes for one prior share)
    covariate  the covariates and a constant, always in              covariates
    line       x_d, or all columns of a group                        main effects
    smooth     4 waves of x_d                                        main effects
    rough      12 waves of x_d                                       main effects
    product    x_d x_e                                               pairs
    surface    4 × 4 waves of x_d and x_e                            pairs
    fine       the same with 8 waves of x_d, of x_e or of both       pairs
    triple     x_d x_e x_f                                           triples
    cube       2 × 2 × 2 waves of x_d, x_e and x_f: the first with   triples
               the second, and the first with the third

d, e and f are directions of different features. A term has the options of all K+1 directions of its features, so
whatever the learner does with a term it does to X_j and its copies alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.columns import Columns, starts
from neuralmirror.learner.orthogonal import Block, Crosses, orthogonal

Floats = NDArray[np.float64]

COVARIATE, LINE, SMOOTH, ROUGH, PRODUCT, SURFACE, FINE, TRIPLE, CUBE = range(9)
FAMILY_OF_KIND = np.array([0, 1, 1, 1, 2, 2, 2, 3, 3])
WIDTHS = np.array([1.0, 1.0, 4.0, 12.0, 1.0, 16.0, 64.0, 1.0, 15.0])  # columns of an option of each kind
EFFECT_SHARE = 0.05  # of the response's variance: the weak prior guess for one effect
PARTS = {"lines": (LINE,), "curves": (SMOOTH, ROUGH), "interactions": (PRODUCT, SURFACE, FINE, TRIPLE, CUBE)}


@dataclass(frozen=True)
class Option:
    """One block of orthogonal columns, and the directions (feature, direction) that it is made of."""

    kind: int
    columns: Block | Crosses  # (c, n)
    directions: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Terms:
    """All terms as flat arrays, in which options and columns follow each other."""

    columns: Columns
    squares: Floats  # (columns,): ‖column‖² over the rows that are seen
    option_kind: NDArray[np.int64]  # (options,)
    option_directions: NDArray[np.int64]  # (options, 3, 2): feature and direction, −1 where there is none
    term_start: NDArray[np.int64]  # (terms + 1,): first option of each term
    possible: NDArray[np.int64]  # (families,): how many terms of each family there could be

    def __len__(self) -> int:
        return len(self.term_start) - 1

    @property
    def option_start(self) -> NDArray[np.int64]:
        """The first column of each option, (options + 1,)."""
        return self.columns.option_start

    @property
    def size(self) -> int:
        """Numbers in all columns."""
        return len(self.squares) * int(self.columns.rows.shape[1])

    @property
    def term_of_option(self) -> NDArray[np.int64]:
        """The term that each option belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.term_start))

    @property
    def option_of_column(self) -> NDArray[np.int64]:
        """The option that each column belongs to."""
        return np.repeat(np.arange(len(self.option_kind)), np.diff(self.option_start))


def assemble(terms: list[list[Option]], n_features: int, n_seen: int | None = None) -> Terms:
    """Flat arrays of a list of terms."""
    options = [option for term in terms for option in term]
    pairs = n_features * (n_features - 1) // 2
    places = np.full((len(options), 3, 2), -1)
    held = [len(option.directions) for option in options]
    slots = np.arange(sum(held)) - np.repeat(np.cumsum(held) - held, held)
    directions = np.array([pair for option in options for pair in option.directions], dtype=np.int64).reshape(-1, 2)
    places[np.repeat(np.arange(len(options)), held), slots] = directions
    blocks = [option.columns for option in options]
    columns = Columns.of(blocks)
    return Terms(
        columns=columns,
        squares=columns.squares(blocks, n_seen),
        option_kind=np.array([option.kind for option in options]),
        option_directions=places,
        term_start=starts([len(term) for term in terms]),
        possible=np.array([1, n_features, pairs, pairs * max(0, n_features - 2) // 3]),
    )


def covariate_term(covariates: Floats, n: int, n_seen: int | None = None) -> list[Option]:
    """A constant and the covariates (n, c), always in."""
    columns = np.vstack([np.ones(n), covariates.T]).astype(np.float32)
    return [Option(COVARIATE, orthogonal(columns, n_seen)[0], ())]


def strengths(terms: Terms, sizes: Floats, shape: tuple[int, int]) -> Floats:
    """The strength (p, K+1) of every direction: √Σ_t (E ‖f_t‖)² over the terms t that hold it.

    For effects that are orthogonal, as lines, curves and interactions of independent features are, this is the standard
    deviation of what changes in f when the direction is redrawn (its total Sobol index), however f is written.
    """
    total = np.zeros(shape)
    owner = terms.term_of_option
    places = terms.option_directions
    for slot in range(3):
        held = np.flatnonzero(places[:, slot, 0] >= 0)
        feature, direction = places[held, slot].T
        key = (owner[held] * shape[0] + feature) * shape[1] + direction  # options of one term are alternatives
        values, place = np.unique(key, return_inverse=True)
        by_term = np.bincount(place, sizes[held], minlength=len(values))
        np.add.at(total, ((values // shape[1]) % shape[0], values % shape[1]), by_term**2)
    return np.asarray(np.sqrt(total))
