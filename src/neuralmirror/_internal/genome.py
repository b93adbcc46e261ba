"""Where variants lie: chromosome after chromosome on one line, and the spans of groups of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ticks = list[tuple[str, float]]


def genome_places(chromosomes: ArrayLike, positions: ArrayLike) -> tuple[Floats, Ticks]:
    """A place on one line for every position, and each chromosome's label with its centre; numbers before letters."""
    labels = np.asarray(chromosomes).astype(str)
    where = np.asarray(positions, dtype=float)
    places, ticks, start = np.zeros(len(where)), [], 0.0
    for label in sorted(set(labels), key=lambda word: (not word.isdigit(), int(word) if word.isdigit() else 0, word)):
        here = labels == label
        low, span = where[here].min(), max(float(np.ptp(where[here])), 1.0)
        places[here] = start + where[here] - low
        ticks.append((label, start + span / 2))
        start += span * 1.02
    return places, ticks


def column_places(count: int, chromosomes: ArrayLike | None, positions: ArrayLike | None) -> tuple[Floats, Ticks]:
    """The place of every column and labels of the axis: along the genome, or in their order where that is not known."""
    if positions is None:
        return np.arange(count, dtype=float), []
    if chromosomes is None:
        return np.asarray(positions, dtype=float), []
    return genome_places(chromosomes, positions)


def spans(members: Sequence[int], places: Floats, whole: bool = True) -> list[tuple[float, float]]:
    """From the first to the last place of a group; or, where columns lie in no order, of each run of neighbours."""
    chosen = np.sort(places[list(members)])
    breaks = np.flatnonzero((np.diff(chosen) > 1) & (not whole)) + 1
    return [(float(run[0]), float(run[-1])) for run in np.split(chosen, breaks)]
