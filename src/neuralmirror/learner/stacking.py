"""The learner as a whole: a sparse part, with networks and trees beside it as far as they help to predict unseen rows.

    f = (1 − t) · (sparse + w · (network − its line)) + t · trees

Where networks or trees have no weight (see `weighing`) there are none, so a truth without a use for them costs little.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network_part import Turns, network_strengths, plausible
from neuralmirror.learner.outcome import LOGIT, codes, expected, explained
from neuralmirror.learner.perceptron import Goal, NetworkFit, fit_network
from neuralmirror.learner.sparse import FULL, Effort, Response, SparseFit
from neuralmirror.learner.trees import trees_strengths
from neuralmirror.learner.weighing import fit_all_and_halves, halves

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """How strongly networks, or trees, follow each direction, and how much they count."""

    strengths: Floats = field(default_factory=lambda: np.zeros((1, 1)))  # (p, K+1); anything where they do not count
    weight: float = 0.0


@dataclass(frozen=True)
class Beside:
    """The parts beside the sparse one."""

    network: Part = field(default_factory=Part)
    trees: Part = field(default_factory=Part)

    def with_sparse(self, strengths: Floats) -> Floats:
        """The strengths (p, K+1) of all parts, given those of the sparse one.

        What a network says beyond lines has next to nothing in common with the sparse part; trees say the same again.
        """
        both = np.hypot(strengths, self.network.weight * self.network.strengths)
        return np.asarray((1 - self.trees.weight) * both + self.trees.weight * self.trees.strengths)


@dataclass(frozen=True)
class LearnerFit:
    """Strengths of all directions, the parts they come from, and what each part is worth on unseen rows."""

    strengths: Floats  # (p, K+1)
    weights: dict[str, float]
    explained: dict[str, float]  # share of the outcome's variance on rows that nothing fitted has seen
    sparse: SparseFit | None
    beside: Beside = field(default_factory=Beside)


def learn(
    inputs: Inputs, response: Response, engine: Engine, seed: int, effort: Effort = FULL, turns: Turns | None = None
) -> LearnerFit:
    """Fit the parts that `engine.learner` names and weigh them; in one turn for all features unless told otherwise."""
    if engine.learner == "network":
        return _network_alone(inputs, response, engine, seed)
    turns = Turns.together(inputs) if turns is None else turns
    sparse, unseen = fit_all_and_halves(inputs, response, engine, seed, effort, turns)
    weights, counts = {"sparse": unseen.weight_of_sparse()}, unseen.weights()
    network, trees = Part(), Part()
    if counts.network:
        network = Part(network_strengths(inputs, response, sparse, turns, engine, seed), counts.network)
    if counts.trees:
        found = trees_strengths(inputs, response, plausible(sparse)[0], turns, engine.n_jobs)
        trees = Part(found / (LOGIT if response.classes else 1.0), counts.trees)
    if engine.learner == "auto":
        weights |= counts._asdict()
    beside = Beside(network, trees)
    strengths = beside.with_sparse(weights["sparse"] * sparse.strengths())
    return LearnerFit(strengths, weights, unseen.explained(counts), sparse, beside)


def _network_alone(inputs: Inputs, response: Response, engine: Engine, seed: int) -> LearnerFit:
    """Networks and nothing else; the share explained is that of networks trained on half of the rows."""
    goal, strengths = Goal(codes(response), response.classes), np.zeros((inputs.n_features, inputs.n_directions))
    kept, fit = fit_followed(inputs, goal, engine, seed)
    strengths[kept] = fit.strengths(len(kept))
    order, half = halves(inputs, seed)[0]
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
