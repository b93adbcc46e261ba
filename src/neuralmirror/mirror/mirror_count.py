"""K, the noises per feature, from what a sparse fit of X alone tells of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner import sparse_part
from neuralmirror.learner.solvers import Steps
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.fitting import choose_sparse, solve_all
from neuralmirror.mirror.scales import correlation_scales

LITTLE = 0.05  # share of variance out of sample below which a sparse fit says nothing about the number of features


@dataclass(frozen=True)
class Preview:
    """A sparse fit of X alone: the share of the response it explains out of sample, and how many features it keeps."""

    explained: float
    relevant: int


def preview(problem: StandardisedData, settings: Settings) -> Steps[Preview]:
    """What can be known of a problem before any noise is drawn, so that it cannot favour a direction."""
    choice = yield from choose_sparse(problem, problem.x[:, :, None], settings)
    first = choice.first or (yield from sparse_part.first_stage(choice, problem.x))
    relevant = yield from sparse_part.relevant_count(replace(choice, first=None if problem.classes else first))
    return Preview(float(np.clip(first.explained, 0, 1)), relevant)


def with_mirrors(
    problems: Sequence[StandardisedData], n_mirrors: int | str, levels: Sequence[float], settings: Settings
) -> list[StandardisedData]:
    """The problems with K of each, and with what a sparse fit of X alone leaves of them where that matters.

    `levels` are those of the selections that "auto" serves.
    """
    if not isinstance(n_mirrors, str) and settings.scale is not correlation_scales:
        return [replace(problem, n_mirrors=n_mirrors) for problem in problems]
    seen = solve_all([partial(preview, problem, settings) for problem in problems], settings)
    return [
        replace(
            problem,
            unexplained=1 - one.explained,
            n_mirrors=mirrors_needed(one, level) if isinstance(n_mirrors, str) else n_mirrors,
        )
        for problem, one, level in zip(problems, seen, levels, strict=True)
    ]


def mirrors_needed(seen: Preview, fdr: float, most: int = 4) -> int:
    """K = ⌈5 / (fdr · s)⌉ up to `most`, for s features kept by a sparse fit of X alone.

    Offset 1 needs 1 / (K · fdr) discoveries, and such a fit keeps up to three times the relevant features. Where it
    explains next to nothing it tells nothing of their number, and 2 serves.
    """
    if seen.explained < LITTLE:
        return 2
    return int(np.clip(np.ceil(5 / (fdr * max(1, seen.relevant)) - 1e-9), 1, most))
