"""Screening (Section 4.2): rank all features on a third of the rows, mirror the best ones on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner.initial_weights import Seed
from neuralmirror.learner.training import Tick
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.simultaneous import simultaneous


def screen(
    problems: Sequence[StandardisedData],
    seeds: Sequence[Seed],
    size: int | str,
    settings: Settings,
    tick: Tick | None = None,
) -> list[tuple[StandardisedData, NDArray[np.intp]]]:
    """The best features of every problem, ranked on [n/3] rows, with the problem that they make on the other rows."""
    count = screen_size(size, *problems[0].x.shape)
    splits = [split_rows(problem, seed) for problem, seed in zip(problems, seeds, strict=True)]
    ranking = [problem.rows(rows) for problem, (rows, _) in zip(problems, splits, strict=True)]
    orders = rank_features(ranking, seeds, settings, tick)
    best = [np.sort(order[:count]) for order in orders]
    return [
        (problem.rows(others).columns(chosen), chosen)
        for problem, (_, others), chosen in zip(problems, splits, best, strict=True)
    ]


def screen_size(screen: int | str, n: int, p: int) -> int:
    """m = [n/2] ("half"), [2n/log n] ("log") or a number; the words never ask for more than all p features."""
    if isinstance(screen, str):
        return min(p, int(n / 2 if screen == "half" else 2 * n / np.log(n)))
    if screen > p:
        raise ValueError(f"screen={screen} asks for more features than the {p} that X has to offer; lower it")
    return int(screen)


def split_rows(problem: StandardisedData, seed: Seed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """[n/3] random rows for the ranking, and the others; of each class about a third, and at least one."""
    rng = np.random.default_rng([*seed, 2])
    strata = [np.flatnonzero(problem.y == c) for c in range(problem.classes)] or [np.arange(len(problem.y))]
    if min(map(len, strata)) < 2:
        raise ValueError("screening needs at least 2 rows of every class, got 1; merge rare classes or drop screen")
    ranking = [rng.permutation(rows)[: max(1, len(rows) // 3)] for rows in strata]
    chosen = np.sort(np.concatenate(ranking))
    return chosen, np.setdiff1d(np.arange(len(problem.y)), chosen)


def rank_features(
    problems: Sequence[StandardisedData], seeds: Sequence[Seed], settings: Settings, tick: Tick | None = None
) -> list[NDArray[np.intp]]:
    """Features by decreasing |L| in one network without mirrors for each problem."""
    plain = replace(settings, choose_shrinkage=False, recipe=replace(settings.recipe, coordinates="directions"))
    outcomes = simultaneous([replace(problem, n_mirrors=0) for problem in problems], seeds, plain, tick)
    return [np.argsort(-outcome.strengths[0, :, 0], kind="stable") for outcome in outcomes]
