"""The second pass: the groups that were kept, with their copies, before the sparse learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.genome.copies import draw_group
from neuralmirror.genome.scan import Groups, Window
from neuralmirror.genome.windows import Columns, Panel, Stretch
from neuralmirror.learner.single_effects import single_effects
from neuralmirror.learner.sparse import Response
from neuralmirror.mirror.directions import Directions, blinded, unblinded
from neuralmirror.mirror.statistic import mirror_statistics

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Learnt:
    """Mirror statistics of the groups of one chromosome, and how strongly the fit follows each marker."""

    markers: NDArray[np.int64]  # (m,): those of the groups that were kept
    statistics: Floats  # (m,): of each marker's group
    leads: Floats  # (m,)


def learn(
    panel: Panel,
    response: Columns,
    labels: Response,
    stretches: Sequence[Stretch],
    groups: NDArray[np.int64],
    blocks: NDArray[np.int64],
    kept: NDArray[np.bool_],
    n_mirrors: int,
    seed: int,
    device: str = "cpu",
) -> Learnt:
    """Copy the groups that were kept, learn from them without knowing which is which, and compare."""
    if not kept.any():
        return Learnt(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    directions, markers = _directions(panel, response, stretches, groups, kept, n_mirrors, seed, device)
    inputs, places = blinded(directions)
    fit = single_effects(inputs, blocks[markers - stretches[0].first], labels, seed, possible=len(np.unique(blocks)))
    statistics = mirror_statistics(unblinded(fit.strengths, places))[directions.feature]
    return Learnt(markers, statistics, unblinded(fit.by_column, places[directions.feature])[:, 0])


def _directions(
    panel: Panel,
    response: Columns,
    stretches: Sequence[Stretch],
    groups: NDArray[np.int64],
    kept: NDArray[np.bool_],
    n_mirrors: int,
    seed: int,
    device: str,
) -> tuple[Directions, NDArray[np.int64]]:
    """The markers of the kept groups with their copies, groups side by side, and which markers they are."""
    start, filled, number = stretches[0].first, 0, 0
    values = np.empty((int(kept.sum()), n_mirrors + 1, len(panel.rows)), dtype=np.float32)
    feature, markers = np.zeros(len(values), dtype=np.intp), np.zeros(len(values), dtype=np.int64)
    for stretch in stretches:
        here = slice(stretch.first - start, stretch.last - start)
        if not kept[here].any():
            continue
        window = Window.read(panel, stretch, response, device)
        chosen = Groups.of_labels(stretch, groups[here], kept[here])
        laws = window.laws(chosen)
        for group, code in enumerate(chosen.codes):
            drawn = draw_group(window.columns, panel.known, laws, group, int(code), n_mirrors, seed)
            rows = slice(filled, filled + len(drawn))
            values[rows], feature[rows] = drawn, number
            members = chosen.members[chosen.starts[group] : chosen.starts[group + 1]]
            markers[rows] = members + stretch.low
            filled, number = filled + len(drawn), number + 1
    covariates = panel.known[1:].T.astype(np.float64) * len(panel.rows) ** 0.5
    return Directions(values, feature, covariates, np.ones(len(values))), markers
