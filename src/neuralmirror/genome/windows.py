"""Stretches of a chromosome: where they are cut, and what is held of one while it is looked at.

A stretch is a few hundred neighbouring markers, cut where correlation across the cut is weakest. It is looked at
together with a margin of markers on either side, which may be regressors of its groups but are in none of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from neuralmirror.learner.compiled import compiled

Floats = NDArray[np.float64]
Columns = NDArray[np.float32]
Indices = NDArray[np.intp]

STRETCH, MARGIN = 512, 128  # markers
MOVE = 96  # markers by which a cut may move to where correlation across it is weakest
ENOUGH = 2000  # people, to see where that is


class Packed(Protocol):
    """Genotypes in PLINK 1's coding, four a byte, that are read in pieces."""

    def packed(self, first: int, last: int) -> NDArray[np.uint8]:
        """Markers from `first` up to but not including `last`, (m, ceil(n/4))."""


@dataclass(frozen=True)
class Panel:
    """The markers and people that take part, and what is adjusted for."""

    genotypes: Packed
    markers: Indices  # (p,): those in use, in order
    rows: Indices  # (n,): people in use
    known: Columns  # (f, n): an orthonormal basis of a constant and the covariates

    def columns(self, first: int, last: int) -> Columns:
        """Markers in use from `first` up to `last`, (m, n): free of what is adjusted for, with mean square 1."""
        chosen = self.markers[first:last]
        packed = self.genotypes.packed(int(chosen[0]), int(chosen[-1]) + 1)
        values = np.empty((len(chosen), len(self.rows)), dtype=np.float32)
        _unpack(packed, chosen - chosen[0], self.rows, values)
        if len(self.known) > 1:
            values -= (values @ self.known.T) @ self.known
            sizes = np.sqrt(np.einsum("mn,mn->m", values, values) / values.shape[1])
            values /= np.maximum(sizes, 1e-6)[:, None]
        return values

    def some_people(self, most: int) -> Panel:
        """Every so manieth person, at most this many, with nothing to adjust for but the mean."""
        rows = self.rows[:: -(-len(self.rows) // most)]
        return Panel(self.genotypes, self.markers, rows, np.full((1, len(rows)), len(rows) ** -0.5, dtype=np.float32))


@compiled
def _unpack(packed, markers, rows, values):  # type: ignore[no-untyped-def]
    """Allele counts with mean 0 and mean square 1 over the rows; missing ones stand at the mean."""
    n = len(rows)
    for m in range(len(markers)):
        line, seen = packed[markers[m]], np.zeros(4)
        for i in range(n):
            seen[(line[rows[i] >> 2] >> (2 * (rows[i] & 3))) & 3] += 1.0
        known = max(seen[0] + seen[2] + seen[3], 1.0)
        mean = (2.0 * seen[0] + seen[2]) / known
        square = seen[0] * (2.0 - mean) ** 2 + seen[2] * (1.0 - mean) ** 2 + seen[3] * mean**2
        scale = math.sqrt(n / square) if square > 0.0 else 0.0
        level = np.zeros(4, dtype=np.float32)
        level[0], level[2], level[3] = (2.0 - mean) * scale, (1.0 - mean) * scale, -mean * scale
        for i in range(n):
            values[m, i] = level[(line[rows[i] >> 2] >> (2 * (rows[i] & 3))) & 3]


def products(columns: Columns, device: str = "cpu") -> Columns:
    """x_i·x_j of all pairs of columns."""
    x = torch.from_numpy(columns).to(device)
    return np.asarray((x @ x.T).cpu().numpy())


@dataclass(frozen=True)
class Stretch:
    """Markers in use from `first` up to `last`, seen from `low` up to `high`."""

    first: int
    last: int
    low: int
    high: int

    @property
    def own(self) -> slice:
        """The stretch within what is seen of it."""
        return slice(self.first - self.low, self.last - self.low)


def cut_chromosome(
    panel: Panel,
    first: int,
    last: int,
    may_cut: NDArray[np.bool_] | None = None,
    size: int = STRETCH,
    margin: int = MARGIN,
) -> list[Stretch]:
    """Stretches of about `size` markers between two places, cut where correlation across the cut is weakest.

    `may_cut` (markers in use,) says where no given group would be torn; where it forbids all places near, none is cut.
    """
    move, panel = min(MOVE, size // 4), panel.some_people(ENOUGH)
    cuts = [_weakest_cut(panel, at, move, may_cut) for at in range(first + size, last - size // 2, size)]
    bounds = [first, *(cut for cut in cuts if cut is not None), last]
    return [Stretch(a, b, max(first, a - margin), min(last, b + margin)) for a, b in pairwise(bounds)]


def _weakest_cut(panel: Panel, at: int, move: int, may_cut: NDArray[np.bool_] | None) -> int | None:
    """The cut within `move` markers of a place across which the squared correlations add up to least."""
    x = panel.columns(at - 2 * move, at + 2 * move)
    squares = np.square(x @ x.T / x.shape[1])
    places = np.arange(at - move, at + move + 1)
    allowed = places if may_cut is None else places[may_cut[places]]
    if not len(allowed):
        return None
    across = [squares[:cut, cut:].sum() for cut in allowed - (at - 2 * move)]
    return int(allowed[int(np.argmin(across))])
