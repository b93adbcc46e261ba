"""The columns of terms: rows as they are, or orthogonal combinations of crosses of rows, which are never written down.

    column = Σ_x turn_x (x − its mean)          x: the crosses of an option, each the product of two or three rows

A surface of two features has a column for each pair of their waves, in each pair of their directions: hundreds of
columns from a few rows. So memory grows with the rows alone, and a pass over a term reads rows that a cache holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.blocks import products_of_rows
from neuralmirror.learner.compiled import add, compiled, compiled_step, dot
from neuralmirror.learner.orthogonal import Block, Crosses

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NONE = -1
TILE = 1024  # rows of the data that a pass over crosses takes at a time, so that a cache holds the factors
BYTES = 2**27  # of columns that are written down at a time


class Columns(NamedTuple):
    """The columns of all options, one option after the other; those that are rows have their rows in the same order."""

    rows: Block  # (b, n)
    row: Indices  # (columns,): the row that a column is; NONE where it is made of crosses
    option_start: Indices  # (options + 1,): first column of each option
    cross_start: Indices  # (options + 1,): first cross of each option
    factors: Indices  # (crosses, 3): the rows of each cross; NONE for the third where it has two
    means: Floats  # (crosses,): over the rows seen
    turn_start: Indices  # (options,): first number of the turn of each option
    turns: Floats  # the turn of each option (columns, crosses), one after the other

    @classmethod
    def of(cls, blocks: list[Block | Crosses]) -> Columns:
        """The columns of all options: each row once, those that are columns first."""
        plain = [block for block in blocks if not isinstance(block, Crosses)]
        made = [block for block in blocks if isinstance(block, Crosses)]
        crossed = {id(block): block for crosses in made for block in crosses.blocks}
        places = sum(map(len, plain)) + starts([len(block) for block in crossed.values()])
        first_row = dict(zip(crossed, places.tolist(), strict=False))
        sizes = [(len(block.means), block.turn.size) if isinstance(block, Crosses) else (0, 0) for block in blocks]
        n_crosses, turn_sizes = np.array(sizes).T
        widths = np.array([len(block) for block in blocks])
        row = np.full(int(widths.sum()), NONE)
        row[np.repeat(n_crosses == 0, widths)] = np.arange(places[0])
        return cls(
            rows=np.concatenate([*plain, *crossed.values()]).astype(np.float32, copy=False),
            row=row,
            option_start=starts(widths),
            cross_start=starts(n_crosses),
            factors=np.concatenate([np.zeros((0, 3), dtype=np.int64), *(_factors(one, first_row) for one in made)]),
            means=np.concatenate([np.zeros(0), *(crosses.means for crosses in made)]),
            turn_start=starts(turn_sizes)[:-1],
            turns=np.concatenate([np.zeros(0), *(crosses.turn.ravel() for crosses in made)]),
        )

    def squares(self, blocks: list[Block | Crosses], n_seen: int | None) -> Floats:
        """‖column‖² of all columns over the rows seen, given the blocks that they are of."""
        plain = self.rows[: np.count_nonzero(self.row != NONE), :n_seen]
        squares = np.empty(len(self.row))
        squares[self.row != NONE] = np.einsum("cn,cn->c", plain, plain, dtype=np.float64)
        known = [block.squares for block in blocks if isinstance(block, Crosses)]
        squares[self.row == NONE] = np.concatenate([np.zeros(0), *known])
        return squares

    def written_down(self, part: slice) -> Block:
        """All columns in a part of the rows of the data."""
        if not len(self.factors):
            return self.rows[:, part]
        start, end, _ = part.indices(self.rows.shape[1])
        values = np.empty((len(self.row), end - start), dtype=np.float32)
        _write_down(self, start, values)
        return values

    def sum(self, coefficients: Floats, options: Indices) -> Floats:
        """Σ coefficient · column over the columns of some options, (n, q); `coefficients` (columns, q) are of all."""
        total = np.zeros((coefficients.shape[1], self.rows.shape[1]), dtype=np.float32)
        _add_options(self, coefficients, options, total)
        return np.asarray(total.T, dtype=np.float64)

    def products(self, n_seen: int, n_jobs: int = 1) -> Block:
        """The products of all columns with each other over the rows seen."""
        first, *others = self._parts(n_seen)
        found = products_of_rows(self.written_down(first), n_jobs)
        for part in others:
            found += products_of_rows(self.written_down(part), n_jobs)
        return found

    def products_of(self, which: Indices, n_seen: int) -> Block:
        """The products of some columns with all over the rows seen, (len(which), columns)."""
        found = np.zeros((len(which), len(self.row)), dtype=np.float32)
        for part in self._parts(n_seen):
            values = self.written_down(part)
            found += values[which] @ values.T
        return found

    def _parts(self, n_seen: int) -> list[slice]:
        """Parts of the rows seen, in which all columns may be written down."""
        step = max(TILE, BYTES // (4 * max(1, len(self.row))))
        return [slice(start, min(start + step, n_seen)) for start in range(0, n_seen, step)]


def _factors(crosses: Crosses, first_row: dict[int, int]) -> Indices:
    """The rows of each cross, (crosses, 3), given the first row of each block; NONE for the third where it has two."""
    factors = np.full((len(crosses.means), 3), NONE)
    factors[:, : len(crosses.blocks)] = crosses.chosen + [first_row[id(block)] for block in crosses.blocks]
    return factors


def starts(lengths: Any) -> Indices:
    """Where each begins that follows those before it, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@compiled_step
def take_products(first, last, columns, residual, along, sums, n_seen):  # type: ignore[no-untyped-def]
    """The products of the columns of some options with each residual: `along` (q, columns); `sums` is for notes."""
    low, high = columns.cross_start[first], columns.cross_start[last]
    for q in range(residual.shape[0]):
        for c in range(columns.option_start[first], columns.option_start[last]):
            if columns.row[c] != NONE:
                along[q, c] = dot(columns.rows[columns.row[c]], residual[q], n_seen)
        if low < high:
            _take_sums(low, high, columns, residual[q], sums, n_seen)
            for option in range(first, last):
                _turn_sums(option, low, columns, sums, along[q])


@compiled_step
def _take_sums(low, high, columns, residual, sums, n_seen):  # type: ignore[no-untyped-def]
    """The products of some crosses, about their means, with the residual."""
    total = 0.0
    for cross in range(high - low):
        sums[cross] = 0.0
    for start in range(0, n_seen, TILE):
        part = residual[start : min(start + TILE, n_seen)]
        total += _sum(part)
        for cross in range(low, high):
            sums[cross - low] += _along_cross(columns, cross, start, part)
    for cross in range(low, high):
        sums[cross - low] -= columns.means[cross] * total


@compiled_step
def _turn_sums(option, low, columns, sums, along):  # type: ignore[no-untyped-def]
    """The products of an option's columns from those of its crosses."""
    width = columns.cross_start[option + 1] - columns.cross_start[option]
    place, turn = columns.cross_start[option] - low, columns.turn_start[option]
    if width:
        for c in range(columns.option_start[option], columns.option_start[option + 1]):
            value = 0.0
            for k in range(width):
                value += columns.turns[turn + k] * sums[place + k]
            along[c] = value
            turn += width


@compiled_step
def add_option(sign, option, coefficients, columns, to):  # type: ignore[no-untyped-def]
    """Add sign · Σ coefficient · column of an option to each of (q, n)."""
    first, last = columns.option_start[option], columns.option_start[option + 1]
    low, high = columns.cross_start[option], columns.cross_start[option + 1]
    for q in range(to.shape[0]):
        if low == high:
            for c in range(first, last):
                add(np.float32(sign * coefficients[c, q]), columns.rows[columns.row[c]], to[q])
            continue
        level = 0.0
        for cross in range(low, high):
            level -= sign * _weight(option, cross, q, coefficients, columns) * columns.means[cross]
        for start in range(0, to.shape[1], TILE):
            part = to[q, start : start + TILE]
            for i in range(len(part)):
                part[i] += np.float32(level)
            for cross in range(low, high):
                weight = np.float32(sign * _weight(option, cross, q, coefficients, columns))
                one = columns.rows[columns.factors[cross, 0], start : start + TILE]
                two = columns.rows[columns.factors[cross, 1], start : start + TILE]
                if columns.factors[cross, 2] == NONE:
                    for i in range(len(part)):
                        part[i] += weight * one[i] * two[i]
                else:
                    three = columns.rows[columns.factors[cross, 2], start : start + TILE]
                    for i in range(len(part)):
                        part[i] += weight * one[i] * two[i] * three[i]


@compiled_step
def _weight(option, cross, q, coefficients, columns):  # type: ignore[no-untyped-def]
    """What a cross of an option counts, given the coefficients of the option's columns."""
    width = columns.cross_start[option + 1] - columns.cross_start[option]
    place, weight = columns.turn_start[option] + cross - columns.cross_start[option], 0.0
    for c in range(columns.option_start[option], columns.option_start[option + 1]):
        weight += columns.turns[place] * coefficients[c, q]
        place += width
    return weight


@compiled_step
def _sum(values):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for i in range(len(values)):
        total += values[i]
    return total


@compiled_step
def _along_cross(columns, cross, start, values):  # type: ignore[no-untyped-def]
    """Σ values · cross over the rows of the data from `start` on."""
    one, two = columns.rows[columns.factors[cross, 0], start:], columns.rows[columns.factors[cross, 1], start:]
    total = np.float32(0.0)
    if columns.factors[cross, 2] == NONE:
        for i in range(len(values)):
            total += one[i] * two[i] * values[i]
    else:
        three = columns.rows[columns.factors[cross, 2], start:]
        for i in range(len(values)):
            total += one[i] * two[i] * three[i] * values[i]
    return total


@compiled
def _add_options(columns, coefficients, options, to):  # type: ignore[no-untyped-def]
    """Add the columns of some options, each times its coefficient."""
    for option in options:
        add_option(1.0, option, coefficients, columns, to)


@compiled
def _write_down(columns, start, values):  # type: ignore[no-untyped-def]
    """All columns in the rows of the data from `start` on, as many as `values` (columns, rows) has room for."""
    count = values.shape[1]
    cross, values[:] = np.empty(count, dtype=np.float32), 0.0
    for option in range(len(columns.option_start) - 1):
        first, last = columns.option_start[option], columns.option_start[option + 1]
        low, high = columns.cross_start[option], columns.cross_start[option + 1]
        if low == high:
            for c in range(first, last):
                values[c] = columns.rows[columns.row[c], start : start + count]
        for k in range(low, high):
            one, two = columns.rows[columns.factors[k, 0], start:], columns.rows[columns.factors[k, 1], start:]
            for i in range(count):
                cross[i] = one[i] * two[i]
            if columns.factors[k, 2] != NONE:
                three = columns.rows[columns.factors[k, 2], start:]
                for i in range(count):
                    cross[i] *= three[i]
            for c in range(first, last):
                place = columns.turn_start[option] + (c - first) * (high - low) + k - low
                weight, mean, to = np.float32(columns.turns[place]), np.float32(columns.means[k]), values[c]
                for i in range(count):
                    to[i] += weight * (cross[i] - mean)
