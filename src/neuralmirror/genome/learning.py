"""The second pass: the groups that were kept, with their copies, before the sparse learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.genome.copies import draw_group
from neuralmirror.genome.scan import Groups, Window
from neuralmirror.genome.windows import Columns, Panel, Stretch
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.single_effects import single_effects
from neuralmirror.mirror.directions import Directions, blinded, unblinded
from neuralmirror.mirror.statistic import mirror_statistics

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Learnt:
    """Mirror statistics of the groups of one chromosome, and how strongly the fit follows each marker."""

    statistics: Floats  # (resolutions, draws, markers): of each marker's group; zero where it was not kept
    leads: Floats  # (resolutions, draws, markers)


def learn(
    panel: Panel,
    response: Columns,
    labels: Response,
    stretches: Sequence[Stretch],
    groups: NDArray[np.int64],
    blocks: NDArray[np.int64],
    kept: Mask,
    n_mirrors: int,
    seeds: Sequence[int],
    device: str = "cpu",
) -> Learnt:
    """Copy the groups that were kept, learn from them without knowing which is which, and compare.

    `groups` (resolutions, markers) and `kept` (resolutions, draws, markers) are of the chromosome.
    """
    fits = {
        (row, draw): Kept(int(kept[row, draw].sum()), n_mirrors, len(panel.rows))
        for row in range(kept.shape[0])
        for draw in range(kept.shape[1])
    }
    start = stretches[0].first
    for stretch in stretches:
        here = slice(stretch.first - start, stretch.last - start)
        if not kept[..., here].any():
            continue
        window = Window.read(panel, stretch, response, device)
        for (row, draw), one in fits.items():
            chosen = Groups.of_labels(stretch, groups[row, here], kept[row, draw, here])
            one.add(window, panel, stretch, chosen, seeds[draw])
    statistics, leads = np.zeros((2, *kept.shape))
    covariates = panel.known[1:].T.astype(np.float64) * len(panel.rows) ** 0.5
    for (row, draw), one in fits.items():
        if len(one.markers):
            place = one.markers - start
            found = one.compared(blocks[place], len(np.unique(blocks)), covariates, labels, seeds[draw])
            statistics[row, draw, place], leads[row, draw, place] = found
    return Learnt(statistics, leads)


class Kept:
    """The kept markers of one chromosome, resolution and draw with their copies, groups side by side."""

    def __init__(self, size: int, n_mirrors: int, n: int) -> None:
        self.values = np.empty((size, n_mirrors + 1, n), dtype=np.float32)
        self.group, self.markers = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.int64)
        self._filled, self._groups = 0, 0

    def add(self, window: Window, panel: Panel, stretch: Stretch, chosen: Groups, seed: int) -> None:
        """The groups of one more stretch."""
        laws = window.laws(chosen)
        for group in range(len(laws)):
            drawn = draw_group(
                window.columns, window.products, panel.known, laws, group, chosen.names, self.values.shape[1] - 1, seed
            )
            rows = slice(self._filled, self._filled + len(drawn))
            self.values[rows], self.group[rows] = drawn, self._groups
            self.markers[rows] = chosen.members[chosen.starts[group] : chosen.starts[group + 1]] + stretch.low
            self._filled, self._groups = rows.stop, self._groups + 1

    def compared(
        self, blocks: NDArray[np.int64], possible: int, covariates: Floats, labels: Response, seed: int
    ) -> tuple[Floats, Floats]:
        """M of each marker's group, and how strongly the fit follows the marker itself."""
        directions = Directions(self.values, self.group, covariates, np.ones(len(self.values)))
        inputs, places = blinded(directions)
        fit = single_effects(inputs, blocks, labels, seed, possible=possible)
        statistics = mirror_statistics(unblinded(fit.strengths, places))[self.group]
        return statistics, unblinded(fit.by_column, places[self.group])[:, 0]
