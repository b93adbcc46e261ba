"""Stretches of a chromosome: where they are cut, and what is held of one while it is looked at.

A stretch is a few hundred neighbouring markers, cut where correlation across the cut is weakest. It is looked at
together with a margin of markers on either side, which may be regressors of its groups but are in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = NDArray[np.float32]
Indices = NDArray[np.intp]

STRETCH, MARGIN = 512, 128  # markers
MOVE = 96  # markers by which a cut may move to where correlation across it is weakest


class Counts(Protocol):
    """Allele counts that are read in pieces, −1 where missing."""

    def counts(self, first: int, last: int) -> NDArray[np.int8]:
        """Markers from `first` up to but not including `last`, (m, n)."""


@dataclass(frozen=True)
class Panel:
    """The markers and people that take part, and what is adjusted for."""

    genotypes: Counts
    markers: Indices  # (p,): those in use, in order
    rows: Indices  # (n,): people in use
    known: Columns  # (f, n): an orthonormal basis of a constant and the covariates

    def columns(self, first: int, last: int) -> Columns:
        """Markers in use from `first` up to `last`, (m, n): free of what is adjusted for, with mean square 1."""
        chosen = self.markers[first:last]
        counts = self.genotypes.counts(int(chosen[0]), int(chosen[-1]) + 1)[chosen - chosen[0]][:, self.rows]
        values, absent = counts.astype(np.float32), counts < 0
        if absent.any():
            values[absent] = 0
            means = values.sum(axis=1) / np.maximum((~absent).sum(axis=1), 1)
            values += absent * means[:, None].astype(np.float32)
        values -= values.mean(axis=1, keepdims=True)
        values -= (values @ self.known.T) @ self.known
        sizes = np.sqrt(np.einsum("mn,mn->m", values, values) / values.shape[1])
        return np.asarray(values / np.maximum(sizes, 1e-6)[:, None])


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
    move = min(MOVE, size // 4)
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
