"""Copies of groups of markers that are made again whenever they are needed, and never stored.

    X̃_G = M + (I − Π) P E / √(1 − r/n)        M = Π X_G, E = X_G − M

Π projects on the r regressors of the group and on what is adjusted for, and P puts the people in a random order that
follows from a seed, the group's first marker and the number of the copy. So a copy has the products with all its
regressors that the group has, and the products of a copy with the response need no copy: they are those of M, and of E
with the response freed of the regressors and put in order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralmirror.genome.laws import Laws
from neuralmirror.genome.windows import Columns
from neuralmirror.learner.compiled import add, compiled, dot

CHUNK = 2048  # people at a time, so that what is worked on stays close to the processor


def direction_products(
    columns: Columns, response: Columns, laws: Laws, codes: NDArray[np.int64], n_mirrors: int, seed: int, n_known: int
) -> Columns:
    """x·response for every member and its K copies, (m, K+1); `codes` (g,) are the markers that name the groups."""
    found = np.zeros((len(laws.members), n_mirrors + 1), dtype=np.float32)
    _direction_products(
        columns, response, laws.starts, laws.members, laws.counts, laws.regressors, laws.coefficients,
        laws.of_response, codes, n_mirrors, seed, n_known, found,
    )  # fmt: skip
    return found


def draw_group(
    columns: Columns, known: Columns, laws: Laws, group: int, code: int, n_mirrors: int, seed: int
) -> Columns:
    """The members of one group and their copies, (m, K+1, n)."""
    members = laws.members[laws.starts[group] : laws.starts[group + 1]]
    places = laws.regressors[group, : laws.counts[group]]
    own, regressors = columns[members], columns[places]
    mean = laws.coefficients[laws.starts[group] : laws.starts[group + 1], : len(places)] @ regressors
    basis = np.vstack([known, _orthonormal(regressors)])
    n, drawn = own.shape[1], np.empty((len(own), n_mirrors + 1, own.shape[1]), dtype=np.float32)
    drawn[:, 0] = own
    for number in range(n_mirrors):
        order = shuffled(np.arange(n), seed, code, number)
        residuals = np.empty_like(own)
        residuals[:, order] = own - mean
        residuals -= (residuals @ basis.T) @ basis
        drawn[:, number + 1] = mean + residuals / np.float32(np.sqrt(1 - len(basis) / n))
    return drawn


def _orthonormal(rows: Columns) -> Columns:
    """Rows that span the same as the given ones, which are independent of each other."""
    factor = np.linalg.cholesky((rows @ rows.T).astype(np.float64))
    return np.asarray(np.linalg.inv(factor).astype(np.float32) @ rows)


@compiled
def shuffled(values, seed, code, number):  # type: ignore[no-untyped-def]
    """Values in a random order that follows from three numbers alone (Fisher and Yates)."""
    mixed = values.copy()
    state = _mix(_mix(_mix(np.uint64(seed)) ^ np.uint64(code)) ^ np.uint64(number))
    for last in range(len(mixed) - 1, 0, -1):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        other = int(((_mix(state) >> np.uint64(32)) * np.uint64(last + 1)) >> np.uint64(32))
        mixed[last], mixed[other] = mixed[other], mixed[last]
    return mixed


@compiled
def _mix(state):  # type: ignore[no-untyped-def]
    """A number whose bits look random (Steele, Lea and Flood, 2014)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@compiled
def _subtract(columns, places, count, coefficients, target):  # type: ignore[no-untyped-def]
    """Take Σ_k b_k x_k from each target row, some people and four columns at a time."""
    n = target.shape[1]
    for low in range(0, n, CHUNK):
        high = min(low + CHUNK, n)
        for k in range(0, count - count % 4, 4):
            a, b = columns[places[k], low:high], columns[places[k + 1], low:high]
            c, d = columns[places[k + 2], low:high], columns[places[k + 3], low:high]
            for row in range(target.shape[0]):
                _subtract_four(coefficients[row, k : k + 4], a, b, c, d, target[row, low:high])
        for k in range(count - count % 4, count):
            for row in range(target.shape[0]):
                add(-coefficients[row, k], columns[places[k], low:high], target[row, low:high])


@compiled
def _subtract_four(weights, a, b, c, d, target):  # type: ignore[no-untyped-def]
    """Take a sum of four columns from another."""
    w, x, y, z = weights[0], weights[1], weights[2], weights[3]
    for i in range(len(target)):
        target[i] -= w * a[i] + x * b[i] + y * c[i] + z * d[i]


@compiled
def _direction_products(  # type: ignore[no-untyped-def]
    columns, response, starts, members, counts, regressors, coefficients, of_response, codes, n_mirrors, seed,
    n_known, found,
):  # fmt: skip
    n = columns.shape[1]
    for group in range(len(starts) - 1):
        first, last, count = starts[group], starts[group + 1], counts[group]
        rest = np.empty((1, n), dtype=np.float32)
        rest[0] = response
        _subtract(columns, regressors[group], count, of_response[group : group + 1], rest)
        residuals = np.empty((last - first, n), dtype=np.float32)
        for member in range(last - first):
            residuals[member] = columns[members[first + member]]
        _subtract(columns, regressors[group], count, coefficients[first:last], residuals)
        scale = 1.0 / np.sqrt(1.0 - (count + n_known) / n)
        for member in range(last - first):
            found[first + member, 0] = dot(columns[members[first + member]], response, n)
        for number in range(n_mirrors):
            mixed = shuffled(rest[0], seed, codes[group], number)
            for member in range(last - first):
                own = found[first + member, 0] - dot(residuals[member], rest[0], n)
                found[first + member, number + 1] = own + scale * dot(residuals[member], mixed, n)
