"""Screening: which features are worth a full fit.

With conditional copies all rows rank the features and all rows are used again: the directions were drawn given all
features, and a feature is kept by its best direction, X_j or a copy, so that nothing is learnt about which of them is
X_j. That is done where a user asks for it, and where there are more features than the learner's budget of memory and
multiplications allows. With independent noise the paper's way is taken (Section 4.2): a network on a third of the rows
ranks the features, and the best are mirrored on the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.standardised import StandardisedData, rank_normal, response_columns
from neuralmirror._internal.threads import in_threads
from neuralmirror.learner import scan
from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import MOST_BYTES, Inputs
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.perceptron import Goal, fit_network
from neuralmirror.learner.sparse import QUICK, fit_sparse
from neuralmirror.mirror.directions import Directions, blinded
from neuralmirror.mirror.response import standard_response
from neuralmirror.mirror.turns import TURNS

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

SCAN_WORK = 1e12  # multiplications that a scan of all pairs of lines may take: some ten seconds
BLOCK = 2**21  # bytes of the directions whose waves a thread holds at once


def screen_size(screen: int | str, n: int, p: int) -> int:
    """m = [n/2] ("half"), [2n/log n] ("log") or a number; the words never ask for more than all p features."""
    if isinstance(screen, str):
        return min(p, int(n / 2 if screen == "half" else 2 * n / np.log(n)))
    if screen > p:
        raise ValueError(f"screen={screen} asks for more features than the {p} that X has to offer; lower it")
    return int(screen)


def best_by_any_direction(directions: Directions, response: Response, size: int, engine: Engine, seed: int) -> Indices:
    """The `size` features whose best direction is strongest in a fit of lines alone."""
    inputs, _ = blinded(directions)
    fit = fit_sparse(inputs, response, seed, scans=False, n_jobs=engine.n_jobs)
    return np.sort(np.argsort(-fit.strengths().max(axis=1), kind="stable")[:size])


def most_features(n: int, n_directions: int) -> int:
    """As many features as the learner has room for.

    That is by the pairs of lines that it scans, and by the products of lines that the chain of a turn keeps; but no
    fewer than those whose products of all lines are kept at once.
    """
    by_work = (SCAN_WORK / n) ** 0.5 / n_directions
    lines = (MOST_BYTES / 4) ** 0.5
    return max(int(lines / n_directions), int(min(by_work, lines / (1 + (n_directions - 1) / TURNS))))


def closest_relations(directions: Directions, data: StandardisedData, size: int, engine: Engine, seed: int) -> Indices:
    """The `size` features with the closest relation to y, to its ranks or to what lines leave of it.

    A relation is what the learner could use: a line or waves of X_j or of any copy. What lines leave is found by a fit
    of the features that are best as lines, with all of their directions.
    """
    y = response_columns(data)
    ranked = y if data.classes else np.hstack([y, rank_normal(data.y)[:, None]])
    best_lines = _highest(_relations(directions, ranked, lines_only=True, engine=engine), size)
    inputs, _ = blinded(directions.features(best_lines))
    left = fit_sparse(inputs, standard_response(data), seed, scans=False, effort=QUICK).chain.residual
    goals = np.hstack([ranked, left])
    return _highest(_relations(directions, goals, lines_only=False, engine=engine), size)


def _highest(scores: Floats, size: int) -> Indices:
    """The places of the highest scores, in order."""
    return np.sort(np.argsort(-scores, kind="stable")[:size])


def _relations(directions: Directions, goals: Floats, lines_only: bool, engine: Engine) -> Floats:
    """The closest relation of each feature to some goals, a block of features at a time."""
    first = np.searchsorted(directions.feature, np.arange(directions.n_features + 1))
    count = int(directions.values.nbytes // BLOCK) + 1
    bounds = np.linspace(0, directions.n_features, min(count, directions.n_features) + 1).astype(int)

    def of_block(number: int) -> Floats:
        start, end = bounds[number : number + 2]
        columns = slice(first[start], first[end])
        inputs, _ = blinded(directions.block(columns))
        return scan.best_relations(inputs, goals, lines_only)

    return np.concatenate(in_threads(of_block, range(len(bounds) - 1), engine.n_jobs))


def split_rows(data: StandardisedData, seed: int) -> tuple[Indices, Indices]:
    """[n/3] random rows for the ranking, and the others; of each class about a third, and at least one."""
    rng = np.random.default_rng([seed, 2])
    strata = [np.flatnonzero(data.y == c) for c in range(data.classes)] or [np.arange(len(data.y))]
    if min(map(len, strata)) < 2:
        raise ValueError("screening needs at least 2 rows of every class, got 1; merge rare classes or drop screen")
    ranking = [rng.permutation(rows)[: max(1, len(rows) // 3)] for rows in strata]
    chosen = np.sort(np.concatenate(ranking))
    return chosen, np.setdiff1d(np.arange(len(data.y)), chosen)


def best_on_a_third(data: StandardisedData, goal: Response, size: int, engine: Engine, seed: int) -> Indices:
    """The `size` features that one network without mirrors, trained on the rows of `data`, follows most."""
    inputs = Inputs(data.x.T[:, None].astype(np.float32), data.group, data.covariates, len(data.x))
    network = type(engine.network)(**{**engine.network.get_params(), "mirrored_pairs": False})
    learnt = Goal(data.codes() if data.classes else goal.values, data.classes)
    strengths = fit_network(inputs, learnt, network, seed, engine.device).strengths(inputs.n_features)[:, 0]
    return np.sort(np.argsort(-strengths, kind="stable")[:size])
