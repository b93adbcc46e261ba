"""The law of a group of markers given those near it, from products alone.

The mean of a group is least squares on markers outside it, chosen one after the other by how much each adds to what is
known of the group; how many, the leave-one-out error decides, as far as products tell it (Craven and Wahba, 1979). It
is what `mirror.group_law` does with the columns themselves; here the number of people costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.compiled import add, compiled
from neuralmirror.mirror.group_law import CANDIDATES, COUNTS, OWN_SHARE

Columns = NDArray[np.float32]

MOST = COUNTS[-1]  # regressors of a group


@dataclass(frozen=True)
class Laws:
    """Regressors and least squares coefficients of the groups of one stretch."""

    starts: NDArray[np.int64]  # (g + 1,): first member of each group
    members: NDArray[np.int64]  # (m,): places in the window, group after group
    counts: NDArray[np.int64]  # (g,): regressors
    regressors: NDArray[np.int64]  # (g, MOST): places in the window, the first `counts` of them
    coefficients: Columns  # (m, MOST): of each member on its group's regressors
    of_response: Columns  # (g, MOST): of the response on them
    explained: Columns  # (g,): share of the group's variance that the regressors predict

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def group_of_member(self) -> NDArray[np.int64]:
        """The group of each member, (m,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def dense(self, width: int) -> Columns:
        """The coefficients of each member on all columns of the window, (m, w)."""
        return _spread(
            self.coefficients, self.regressors[self.group_of_member], self.counts[self.group_of_member], width
        )

    def dense_of_response(self, width: int) -> Columns:
        """The coefficients of the response on all columns of the window, for the regressors of each group, (g, w)."""
        return _spread(self.of_response, self.regressors, self.counts, width)

    def inflation(self, n: int, n_known: int) -> Columns:
        """1/√(1 − r/n): what residuals lose when they are freed of r regressors once more, (g,)."""
        return np.asarray(1 / np.sqrt(1 - (self.counts + n_known) / n), dtype=np.float32)


def _spread(values: Columns, places: NDArray[np.int64], counts: NDArray[np.int64], width: int) -> Columns:
    """The first values of each row at their places in a row of zeros."""
    wide = np.zeros((len(values), width), dtype=np.float32)
    row, place = np.nonzero(np.arange(values.shape[1]) < counts[:, None])
    wide[row, places[row, place]] = values[row, place]
    return wide


def find_laws(
    products: Columns, along: Columns, starts: NDArray[np.int64], members: NDArray[np.int64], n: int, n_known: int
) -> Laws:
    """The laws of groups within a window, from the products of its columns and those `along` the response."""
    groups, most = len(starts) - 1, max(1, min(MOST, n // 4))
    counts, explained = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.float32)
    regressors = np.zeros((groups, MOST), dtype=np.int64)
    coefficients = np.zeros((len(members), MOST), dtype=np.float32)
    of_response = np.zeros((groups, MOST), dtype=np.float32)
    _find_laws(
        products, along, starts, members, n, n_known, most, counts, regressors, coefficients, of_response, explained
    )
    return Laws(starts, members, counts, regressors, coefficients, of_response, explained)


@compiled
def _find_laws(  # type: ignore[no-untyped-def]
    products, along, starts, members, n, n_known, most, counts, regressors, coefficients, of_response, explained
):
    """Group after group."""
    for group in range(len(starts) - 1):
        own = members[starts[group] : starts[group + 1]]
        near = _nearness(products, own)
        candidates = np.argsort(-near, kind="mergesort")[:CANDIDATES]
        candidates = candidates[near[candidates] >= 0.0]
        chosen, factor, shares, count, left = _choose(products, along, own, candidates, most, n, n_known)
        counts[group], regressors[group, :count] = count, candidates[chosen[:count]]
        explained[group] = 1.0 - left
        for member in range(len(own)):
            _solve(factor, chosen, shares[member], count, coefficients[starts[group] + member])
        _solve(factor, chosen, shares[len(own)], count, of_response[group])


@compiled
def _nearness(products, own):  # type: ignore[no-untyped-def]
    """The largest absolute product of each column with a member of the group; −1 for the members."""
    near = np.zeros(products.shape[0], dtype=np.float32)
    for member in own:
        for c in range(len(near)):
            near[c] = max(near[c], abs(products[member, c]))
    for member in own:
        near[member] = -1.0
    return near


@compiled
def _choose(products, along, own, candidates, most, n, n_known):  # type: ignore[no-untyped-def]
    """A Cholesky decomposition of the candidates' products with pivots chosen by the group.

    Returns the pivots, the factor (steps, candidates), what each step explains of every member and, in the last row, of
    the response, how many steps have the least error, and the share that is then left of the group.
    """
    c, m = len(candidates), len(own)
    steps = min(most, c)
    shared, whole = np.zeros((m + 1, c), dtype=np.float32), np.zeros(c, dtype=np.float32)
    for i in range(c):
        whole[i], shared[m, i] = products[candidates[i], candidates[i]], along[candidates[i]]
    total = 0.0
    for member in range(m):
        total += products[own[member], own[member]]
        for i in range(c):
            shared[member, i] = products[own[member], candidates[i]]
    left, factor = whole.copy(), np.zeros((steps, c), dtype=np.float32)
    chosen, shares = np.zeros(steps, dtype=np.int64), np.zeros((m + 1, steps), dtype=np.float32)
    rest, count, least_rest = total, 0, total
    least_error = rest / (1.0 - n_known / n) ** 2
    for step in range(steps):
        best, gain = _best_candidate(shared[:m], left, whole)
        if best < 0:
            break
        row, root = factor[step], math.sqrt(left[best])
        for i in range(c):
            row[i] = products[candidates[best], candidates[i]]
        for before in range(step):
            add(-factor[before, best], factor[before], row)
        row /= root
        for member in range(m + 1):
            shares[member, step] = shared[member, best] / root
            add(-shares[member, step], row, shared[member])
        for i in range(c):
            left[i] -= row[i] * row[i]
        chosen[step], rest = best, rest - gain
        error = rest / (1.0 - (step + 1.0 + n_known) / n) ** 2
        if error < least_error:
            least_error, count, least_rest = error, step + 1, rest
    return chosen, factor, shares, count, max(least_rest, 0.0) / total


@compiled
def _best_candidate(shared, left, whole):  # type: ignore[no-untyped-def]
    """The candidate that adds most to what is known of the group, and how much; −1 where none adds anything."""
    gains = np.zeros(len(left), dtype=np.float32)
    for member in range(len(shared)):
        for i in range(len(left)):
            gains[i] += shared[member, i] * shared[member, i]
    best, highest = -1, 0.0
    for i in range(len(left)):
        if left[i] > OWN_SHARE * whole[i] and gains[i] > highest * left[i]:
            best, highest = i, gains[i] / left[i]
    return best, highest


@compiled
def _solve(factor, chosen, shares, count, coefficients):  # type: ignore[no-untyped-def]
    """Coefficients of the chosen columns from those of the orthonormal ones that the decomposition made of them."""
    for step in range(count - 1, -1, -1):
        value = np.float64(shares[step])
        for later in range(step + 1, count):
            value -= factor[step, chosen[later]] * coefficients[later]
        coefficients[step] = value / factor[step, chosen[step]]
