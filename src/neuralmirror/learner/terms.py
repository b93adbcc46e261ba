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
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.columns import NONE, Columns

Floats = NDArray[np.float64]
Block = NDArray[np.float32]  # (..., columns, n)

COVARIATE, LINE, SMOOTH, ROUGH, PRODUCT, SURFACE, FINE, TRIPLE, CUBE = range(9)
FAMILY_OF_KIND = np.array([0, 1, 1, 1, 2, 2, 2, 3, 3])
WIDTHS = np.array([1.0, 1.0, 4.0, 12.0, 1.0, 16.0, 64.0, 1.0, 15.0])  # columns of an option of each kind
LEAST_SQUARE = 1e-6  # of a column, relative to the longest of its option; what is shorter vanishes
BYTES = 2**25  # of crosses that are written down at a time
EFFECT_SHARE = 0.05  # of the response's variance: the weak prior guess for one effect
PARTS = {"lines": (LINE,), "curves": (SMOOTH, ROUGH), "interactions": (PRODUCT, SURFACE, FINE, TRIPLE, CUBE)}


@dataclass(frozen=True)
class Crosses:
    """Orthogonal columns that are never written down: combinations of products of rows, one row of each block."""

    blocks: tuple[Block, ...]  # two or three, (w, n) each
    chosen: NDArray[np.int64]  # (crosses, blocks): the row of each block
    means: Floats  # (crosses,): over the rows seen
    turn: Floats  # (columns, crosses)
    squares: Floats  # (columns,): ‖column‖² over the rows seen

    def __len__(self) -> int:
        return len(self.turn)


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
    columns = _joined([option.columns for option in options])
    return Terms(
        columns=columns,
        squares=_squares(columns, options, n_seen),
        option_kind=np.array([option.kind for option in options]),
        option_directions=places,
        term_start=_starts([len(term) for term in terms]),
        possible=np.array([1, n_features, pairs, pairs * max(0, n_features - 2) // 3]),
    )


def _joined(blocks: list[Block | Crosses]) -> Columns:
    """The columns of all options: each row once, those that are columns first."""
    made = [(place, block) for place, block in enumerate(blocks) if isinstance(block, Crosses)]
    widths = np.array([len(block) for block in blocks])
    is_row = np.ones(len(blocks), dtype=bool)
    is_row[[place for place, _ in made]] = False
    plain = [block for block in blocks if not isinstance(block, Crosses)]
    crossed = {id(block): block for _, crosses in made for block in crosses.blocks}
    rows = np.concatenate([*plain, *crossed.values()]).astype(np.float32, copy=False)
    first = sum(map(len, plain)) + _starts([len(block) for block in crossed.values()])
    first_row = dict(zip(crossed, first.tolist(), strict=False))
    n_crosses, turn_sizes = np.zeros((2, len(blocks)), dtype=np.int64)
    for place, crosses in made:
        n_crosses[place], turn_sizes[place] = len(crosses.means), crosses.turn.size
    row = np.where(np.repeat(is_row, widths), np.cumsum(np.repeat(is_row, widths)) - 1, NONE)
    factors = np.full((int(n_crosses.sum()), 3), NONE)
    for (_, crosses), end in zip(made, np.cumsum(n_crosses[~is_row]).tolist(), strict=True):
        starts = [first_row[id(block)] for block in crosses.blocks]
        factors[end - len(crosses.means) : end, : len(starts)] = crosses.chosen + starts
    return Columns(
        rows=np.ascontiguousarray(rows),
        row=row,
        option_start=_starts(widths),
        cross_start=_starts(n_crosses),
        factors=factors,
        means=np.concatenate([np.zeros(0), *(crosses.means for _, crosses in made)]),
        turn_start=_starts(turn_sizes)[:-1],
        turns=np.concatenate([np.zeros(0), *(crosses.turn.ravel() for _, crosses in made)]),
    )


def _squares(columns: Columns, options: list[Option], n_seen: int | None) -> Floats:
    """‖column‖² of all columns over the rows seen."""
    plain = columns.rows[: np.count_nonzero(columns.row != NONE), :n_seen]
    squares = np.empty(len(columns.row))
    squares[columns.row != NONE] = np.einsum("cn,cn->c", plain, plain, dtype=np.float64)
    known = [option.columns.squares for option in options if isinstance(option.columns, Crosses)]
    squares[columns.row == NONE] = np.concatenate([np.zeros(0), *known])
    return squares


def _starts(lengths: Any) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def orthogonal(block: Block, n_seen: int | None = None) -> list[Block]:
    """Each block (c, n) of a batch (..., c, n) turned so that its columns are orthogonal over the rows seen.

    An isotropic prior does not notice the turn, and orthogonal columns have independent coefficients. Columns that
    vanish, as those of a feature with few values do, are left out.
    """
    flat = block.reshape(-1, *block.shape[-2:]).astype(np.float64)
    seen = flat[..., :n_seen]
    turns = [turn for turn, _ in _turns(seen @ seen.swapaxes(-1, -2))]
    return [(turn @ part).astype(np.float32) for turn, part in zip(turns, flat, strict=True)]


def _turns(products: Floats) -> list[tuple[Floats, Floats]]:
    """Of vectors with these products (b, r, r) with each other, the turns (c, r) to orthogonal ones, and their squares.

    Those that vanish are left out.
    """
    sizes, vectors = np.linalg.eigh(products)
    kept = sizes > LEAST_SQUARE * sizes.max(axis=-1, keepdims=True)
    turns = vectors.swapaxes(-1, -2)
    return [(turn[keep], size[keep]) for turn, size, keep in zip(turns, sizes, kept, strict=True)]


def orthogonal_crosses(factors: list[list[Block]], chosen: NDArray[np.int64], n_seen: int) -> list[Crosses]:
    """Columns for each combination of one block (w, n) of every factor, the last factor's changing fastest.

    They are made of products of one row of each block, `chosen` (crosses, factors), about their means.
    """
    count = int(np.prod([len(blocks) for blocks in factors]))
    sums, squares = np.zeros((count, len(chosen))), np.zeros((count, len(chosen), len(chosen)))
    step = max(1, BYTES // (8 * sums.size))
    for start in range(0, n_seen, step):
        part = slice(start, min(start + step, n_seen))
        values = np.ones((1, 1, 1))
        for blocks, rows in zip(factors, chosen.T, strict=True):
            every = np.stack([block[rows, part] for block in blocks]).astype(np.float64)  # (directions, crosses, .)
            values = (values[:, None] * every).reshape(-1, *every.shape[1:])
        sums += values.sum(axis=2)
        squares += values @ values.swapaxes(1, 2)
    means = sums / n_seen
    turns = _turns(squares - n_seen * means[:, :, None] * means[:, None])
    combinations = product(*factors)
    return [
        Crosses(blocks, chosen, mean, turn, sizes)
        for blocks, mean, (turn, sizes) in zip(combinations, means, turns, strict=True)
    ]


def centred(block: Block, n_seen: int | None = None) -> Block:
    """Columns about their means over the rows seen."""
    return np.asarray(block - block[..., :n_seen].mean(axis=-1, keepdims=True, dtype=np.float64), dtype=np.float32)


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
