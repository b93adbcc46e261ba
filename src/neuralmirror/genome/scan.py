"""The first pass over the markers: groups of every resolution, and how far their directions follow the response.

A group's score is the largest product of any direction of any member with the response, so that nothing is learnt about
which of the directions is the group itself. The groups with the highest scores go on to the learner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from neuralmirror.genome.copies import TURNS, Names, direction_products
from neuralmirror.genome.laws import Laws, find_laws
from neuralmirror.genome.windows import Columns, Panel, Stretch, products
from neuralmirror.mirror.clusters import cut_tree

Indices = NDArray[np.intp]

BLOCK = 0.5  # |r| from which markers share one effect in the learner


@dataclass(frozen=True)
class Scan:
    """What the first pass found out about neighbouring markers."""

    groups: NDArray[np.int64]  # (resolutions, m): the first marker of each marker's group
    blocks: NDArray[np.int64]  # (m,): the first marker of those that share one effect
    scores: Columns  # (resolutions, draws, m): of each group, at its first marker; zero elsewhere
    explained: Columns  # (resolutions, m): the share of its group's variance that the others predict

    @staticmethod
    def joined(parts: Sequence[Scan]) -> Scan:
        """Scans of one stretch after the other."""
        names = ("groups", "blocks", "scores", "explained")
        return Scan(*(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in names))


@dataclass(frozen=True)
class Groups:
    """The members of groups within a window, group after group, and the marker that names each group."""

    starts: NDArray[np.int64]  # (g + 1,)
    members: NDArray[np.int64]  # (m,): places in the window
    names: Names

    @staticmethod
    def of_labels(stretch: Stretch, labels: NDArray[np.int64], chosen: NDArray[np.bool_] | None = None) -> Groups:
        """The groups of a stretch by the first marker of each of its markers' groups; or those that are chosen."""
        places = np.arange(len(labels)) if chosen is None else np.flatnonzero(chosen)
        order = places[np.argsort(labels[places], kind="stable")]
        codes, starts = np.unique(labels[order], return_index=True)
        turns = np.searchsorted(np.unique(labels), codes) % TURNS
        members = order + (stretch.first - stretch.low)
        return Groups(
            np.append(starts, len(order)).astype(np.int64), members.astype(np.int64), Names(stretch.first, codes, turns)
        )


@dataclass(frozen=True)
class Window:
    """What is held of a stretch while it is looked at."""

    columns: Columns  # (w, n)
    products: Columns  # (w, w)
    along: Columns  # (w,): products with the response
    n_known: int

    @staticmethod
    def read(panel: Panel, stretch: Stretch, response: Columns, device: str) -> Window:
        """Read a stretch with its margins."""
        columns = panel.columns(stretch.low, stretch.high)
        return Window(columns, products(columns, device), columns @ response, len(panel.known))

    def laws(self, groups: Groups) -> Laws:
        """The law of each group given what is near."""
        return find_laws(self.products, self.along, groups.starts, groups.members, self.columns.shape[1], self.n_known)


def scan(
    panel: Panel,
    response: Columns,
    stretches: Sequence[Stretch],
    cuts: Sequence[float],
    partitions: NDArray[np.int64] | None,
    n_mirrors: int,
    seeds: Sequence[int],
    device: str = "cpu",
) -> Scan:
    """The first pass over some stretches; `partitions` (resolutions, markers) take the place of cuts."""
    found = []
    for stretch in stretches:
        window = Window.read(panel, stretch, response, device)
        labels, blocks = _clusters(window, stretch, cuts, partitions)
        columns = torch.from_numpy(window.columns).to(device)
        scores = np.zeros((len(labels), len(seeds), stretch.last - stretch.first), dtype=np.float32)
        explained = np.zeros(labels.shape, dtype=np.float32)
        for row, of_markers in enumerate(labels):
            groups = Groups.of_labels(stretch, of_markers)
            laws = window.laws(groups)
            first = groups.names.codes - stretch.first
            explained[row, first] = laws.explained
            explained[row] = explained[row, of_markers - stretch.first]
            for draw, seed in enumerate(seeds):
                along = direction_products(
                    columns, torch.from_numpy(response).to(device), laws, groups.names, n_mirrors, seed, window.n_known
                )
                scores[row, draw, first] = np.maximum.reduceat(np.abs(along).max(axis=1), groups.starts[:-1])
        found.append(Scan(labels, blocks, scores, explained))
    return Scan.joined(found)


def _clusters(
    window: Window, stretch: Stretch, cuts: Sequence[float], partitions: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first marker of the group of each marker at each resolution, and of the block that shares one effect."""
    correlations = window.products[stretch.own, stretch.own] / window.columns.shape[1]
    *groups, blocks = (stretch.first + _first_of(labels) for labels in cut_tree(correlations, [*cuts, BLOCK]))
    if partitions is None:
        return np.array(groups), blocks
    return partitions[:, stretch.first : stretch.last], blocks


def _first_of(labels: Indices) -> NDArray[np.int64]:
    """The place of the first of those with the same label, for each."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[place], dtype=np.int64)


def best_groups(scores: Columns, groups: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """The markers of the groups with the highest scores, as many as make up `size` markers: (markers,)."""
    first, sizes = np.unique(groups, return_counts=True)
    order = np.argsort(-scores[first], kind="stable")
    kept = first[order[: int(np.searchsorted(np.cumsum(sizes[order]), size, side="right"))]]
    return np.isin(groups, kept)
