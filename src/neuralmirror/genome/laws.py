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

    def some(self, chosen: NDArray[np.intp]) -> Laws:
        """Some of the groups."""
        parts = [np.arange(self.starts[g], self.starts[g + 1]) for g in chosen]
        rows = np.concatenate([np.zeros(0, dtype=np.intp), *parts])
        return Laws(
            np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64),
            self.members[rows],
            self.counts[chosen],
            self.regressors[chosen],
            self.coefficients[rows],
            self.of_response[chosen],
            self.explained[chosen],
        )


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
    shared, among = np.zeros((m + 1, c)), np.zeros((c, c))
    for i in range(c):
        shared[m, i] = along[candidates[i]]
        for member in range(m):
            shared[member, i] = products[own[member], candidates[i]]
        for j in range(c):
            among[i, j] = products[candidates[i], candidates[j]]
    steps = min(most, c)
    whole, left, factor = np.diag(among).copy(), np.diag(among).copy(), np.zeros((steps, c))
    chosen, shares = np.zeros(steps, dtype=np.int64), np.zeros((m + 1, steps))
    total = 0.0
    for member in own:
        total += products[member, member]
    rest = total
    best_error, count, best_rest = rest / (1.0 - n_known / n) ** 2, 0, rest
    for step in range(steps):
        best, most_gain = -1, 0.0
        for i in range(c):
            if left[i] > OWN_SHARE * whole[i]:
                gain = 0.0
                for member in range(m):
                    gain += shared[member, i] ** 2
                if gain / left[i] > most_gain:
                    best, most_gain = i, gain / left[i]
        if best < 0:
            break
        root = math.sqrt(left[best])
        row = factor[step]
        row[:] = among[best]
        for before in range(step):
            add(-factor[before, best], factor[before], row)
        row /= root
        for member in range(m + 1):
            shares[member, step] = shared[member, best] / root
            add(-shares[member, step], row, shared[member])
        left -= row**2
        chosen[step], rest = best, rest - most_gain
        error = rest / (1.0 - (step + 1.0 + n_known) / n) ** 2
        if error < best_error:
            best_error, count, best_rest = error, step + 1, rest
    return chosen, factor, shares, count, max(best_rest, 0.0) / total


@compiled
def _solve(factor, chosen, shares, count, coefficients):  # type: ignore[no-untyped-def]
    """Coefficients of the chosen columns from those of the orthonormal ones that the decomposition made of them."""
    for step in range(count - 1, -1, -1):
        value = shares[step]
        for later in range(step + 1, count):
            value -= factor[step, chosen[later]] * coefficients[later]
        coefficients[step] = value / factor[step, chosen[step]]
