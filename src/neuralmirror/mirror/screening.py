"""Screening: which features are worth a full fit.

With conditional copies all rows rank the features and all rows are used again: the directions were drawn given all
features, and a feature is kept by its best direction, X_j or a copy, so that nothing is learnt about which of them is
X_j. With independent noise the paper's way is taken (Section 4.2): a network on a third of the rows ranks the
features, and the best are mirrored on the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.perceptron import fit_network
from neuralmirror.learner.sparse import Response, fit_sparse
from neuralmirror.learner.stacking import Engine
from neuralmirror.mirror.directions import Directions, blinded

Indices = NDArray[np.intp]


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
    targets = data.codes() if data.classes else goal.values
    strengths = fit_network(inputs, targets, data.classes, network, seed, engine.device).strengths()[0]
    return np.sort(np.argsort(-strengths, kind="stable")[:size])
