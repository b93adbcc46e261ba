"""The learner as a whole: a sparse part, with networks and trees beside it as far as they help to predict unseen rows.

    f = (1 − t) · (sparse + w · (network − its line)) + t · trees

Where networks or trees have no weight (see `weighing`) there are none, so a truth without a use for them costs little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.threads import at_once
from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network_part import Turns, network_strengths, plausible
from neuralmirror.learner.outcome import LOGIT, Response, codes, expected, explained
from neuralmirror.learner.perceptron import Goal, NetworkFit, fit_network
from neuralmirror.learner.sparse import SparseFit, fit_sparse
from neuralmirror.learner.trees import trees_strengths
from neuralmirror.learner.weighing import Weighed, two_halves, weigh

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Beside:
    """How strongly networks and trees follow each direction, (p, K+1); zero where they do not count."""

    network: Floats
    trees: Floats

    def with_sparse(self, sparse: Floats, weights: dict[str, float]) -> Floats:
        """The strengths (p, K+1) of all parts, given those of the sparse one.

        What a network says beyond lines has next to nothing in common with the sparse part; trees say the same again.
        """
        of_trees = weights.get("trees", 0.0)
        both = np.hypot(weights["sparse"] * sparse, weights.get("network", 0.0) * self.network)
        return np.asarray((1 - of_trees) * both + of_trees * self.trees)


@dataclass(frozen=True)
class LearnerFit:
    """Strengths of all directions, the parts they come from, and what each part is worth on unseen rows."""

    strengths: Floats  # (p, K+1)
    weights: dict[str, float]
    explained: dict[str, float]  # share of the outcome's variance on rows that nothing fitted has seen
    sparse: SparseFit | None


def learn(inputs: Inputs, response: Response, engine: Engine, seed: int) -> LearnerFit:
    """Fit the parts that `engine.learner` names, which see all directions at once, and weigh them."""
    if engine.learner == "network":
        return _network_alone(inputs, response, engine, seed)
    whole = partial(fit_sparse, inputs, response, seed, device=engine.device, n_jobs=engine.n_jobs)
    turns = Turns.together(inputs)
    halves = partial(weigh, inputs, response, engine, seed, turns)
    sparse, weighed = at_once(whole, halves, engine.n_jobs)
    beside = fit_beside(inputs, response, sparse, weighed, turns, engine, seed)
    return stacked(sparse, weighed, beside)


def fit_beside(
    inputs: Inputs, response: Response, sparse: SparseFit, weighed: Weighed, turns: Turns, engine: Engine, seed: int
) -> Beside:
    """Networks and trees on all rows, as far as they count."""
    network = trees = np.zeros((inputs.n_features, inputs.n_directions))
    if weighed.weights.get("network"):
        network = network_strengths(inputs, response, sparse, turns, engine, seed)
    if weighed.weights.get("trees"):
        found = trees_strengths(inputs, response, plausible(sparse)[0], turns, engine.n_jobs)
        trees = found / (LOGIT if response.classes else 1.0)
    return Beside(network, trees)


def stacked(sparse: SparseFit, weighed: Weighed, beside: Beside) -> LearnerFit:
    """All parts of a fit together."""
    strengths = beside.with_sparse(sparse.strengths(), weighed.weights)
    return LearnerFit(strengths, weighed.weights, weighed.explained, sparse)


def _network_alone(inputs: Inputs, response: Response, engine: Engine, seed: int) -> LearnerFit:
    """Networks and nothing else; the share explained is that of networks trained on half of the rows."""
    goal, strengths = Goal(codes(response), response.classes), np.zeros((inputs.n_features, inputs.n_directions))
    kept, fit = fit_followed(inputs, goal, engine, seed)
    strengths[kept] = fit.strengths(len(kept))
    order, half = two_halves(inputs, seed)[0]
    part = replace(goal, targets=goal.targets[order])
    trial = fit_followed(inputs.rows(order, half), part, engine, seed)[1].fitted()[0]
    shares = expected(trial, response.classes)[half:]
    share = explained(part.targets[half:], shares, goal.targets.mean(axis=0))
    return LearnerFit(strengths, {"network": 1.0}, {"network": share}, None)


def fit_followed(inputs: Inputs, goal: Goal, engine: Engine, seed: int) -> tuple[Indices, NetworkFit]:
    """A network on the [2n/log n] features of which some direction is followed most by one on all; which, and itself.

    Whether a feature is kept depends on its best direction alone, whichever that is. Networks that are not shrunk, as
    the paper's, see all features.
    """
    most = int(2 * inputs.n_seen / np.log(inputs.n_seen))
    every = np.arange(inputs.n_features)
    fit = fit_network(inputs, goal, engine.network, seed, engine.device)
    if not engine.network.shrinkage or inputs.n_features <= most:
        return every, fit
    followed = fit.strengths(inputs.n_features).max(axis=1)
    kept = np.sort(np.argsort(-followed, kind="stable")[:most])
    return kept, fit_network(inputs.features(kept), goal, engine.network, seed, engine.device)
