"""Compiled passes over large matrices: each number is read and written once, where NumPy would take several passes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner.compiled import compiled

Matrix = NDArray[np.float32]
Indices = NDArray[np.intp]
Number = TypeVar("Number", np.float32, np.float64)

STRIP = 64  # rows that are transposed at a time
PRODUCTS_AT_ONCE = 256  # rows whose products one thread takes at a time


@compiled
def largest_of_blocks(values, each):  # type: ignore[no-untyped-def]
    """The largest absolute value in each block of `each` rows and columns."""
    largest = np.zeros((values.shape[0] // each, values.shape[1] // each), dtype=np.float32)
    for row in range(largest.shape[0] * each):
        for block in range(largest.shape[1]):
            best = largest[row // each, block]
            for column in range(block * each, (block + 1) * each):
                best = max(best, abs(values[row, column]))
            largest[row // each, block] = best
    return largest


@compiled
def places_beyond(values, bound):  # type: ignore[no-untyped-def]
    """Rows and columns (t, 2) of the values that exceed a bound in size."""
    count = 0
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            count += abs(values[row, column]) > bound
    places, place = np.empty((count, 2), dtype=np.int64), 0
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            if place < count and abs(values[row, column]) > bound:
                places[place, 0], places[place, 1] = row, column
                place += 1
    return places


@compiled
def _copy_known(joined, known, products, places):  # type: ignore[no-untyped-def]
    """Write products among some columns to where these columns are."""
    for row in range(len(known)):
        to, source = joined[known[row]], products[places[row]]
        for column in range(len(known)):
            to[known[column]] = source[places[column]]


@compiled
def _copy_others(joined, others, products):  # type: ignore[no-untyped-def]
    """Write the products of other columns (o, c) with all to their rows and, transposed, to their columns."""
    for start in range(0, joined.shape[0], STRIP):
        end = min(start + STRIP, joined.shape[0])
        for place in range(len(others)):
            for row in range(start, end):
                joined[row, others[place]] = products[place, row]
    for place in range(len(others)):
        joined[others[place]] = products[place]


def products_of_rows(rows: NDArray[Number], n_jobs: int = 1) -> NDArray[Number]:
    """The products of all rows with each other (c, c), to the last bit the same on any number of threads.

    A product that a library shares among its threads is rounded otherwise with each number of them; here strips are
    shared, each of which is the work of one thread.
    """
    products = np.empty((len(rows), len(rows)), dtype=rows.dtype)

    def fill(first: int) -> None:
        last = first + PRODUCTS_AT_ONCE
        products[first:last, first:] = rows[first:last] @ rows[first:].T
        products[last:, first:last] = products[first:last, last:].T

    in_threads(fill, range(0, len(rows), PRODUCTS_AT_ONCE), n_jobs)
    return products


def joined_products(
    known: Indices, products: Matrix, others: Indices, of_others: Matrix, places: Indices | None = None
) -> Matrix:
    """The products of all columns: those among the `known` are `products`, or at `places` of them; those of the others
    with all are given.
    """
    joined = np.empty((of_others.shape[1], of_others.shape[1]), dtype=np.float32)
    _copy_known(joined, known, products, np.arange(len(known)) if places is None else places)
    _copy_others(joined, others, of_others)
    return joined
