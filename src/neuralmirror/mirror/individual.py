"""Individual mirrors (Algorithm 1): one learner for each feature, in which only that feature has opponents.

Given X_-j and y, X_j and its copies are exchangeable, so the strengths of a null feature's directions are too: exactly,
whatever the learner. What the learners have in common (which features may be curved, which pairs may act together) is
found by a simultaneous fit, which sees all directions alike.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.outcome import Response, codes
from neuralmirror.learner.perceptron import Goal, fit_networks
from neuralmirror.learner.stacking import LearnerFit
from neuralmirror.mirror.directions import Directions, blinded, unblinded
from neuralmirror.mirror.turns import Sweeps, by_turns, chunks, in_pieces

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

NETWORK_FLOATS = 2**26  # weights, gradients and moments of the networks that are trained at once


def individual(
    directions: Directions, response: Response, engine: Engine, seed: int, draw: Path | None = None
) -> tuple[LearnerFit, Floats]:
    """The common fit, and the strengths (p, K+1) of each feature's directions in a learner of its own."""
    if engine.learner != "network":
        turns = list(np.arange(directions.n_features)[:, None])
        return by_turns(directions, response, engine, seed, turns, Sweeps(240, 80), draw)
    inputs, order = blinded(directions)
    found = _networks(directions, inputs, response, engine, seed, draw)
    return LearnerFit(found, {"network": 1.0}, {}, None), unblinded(found, order)


def _networks(
    directions: Directions, inputs: Inputs, response: Response, engine: Engine, seed: int, draw: Path | None
) -> Floats:
    """A network for each feature, as many at once as memory allows."""
    p, plain = inputs.n_features, replace(inputs, directions=directions.values[:, :1])
    width = (engine.network.sizes() or (20 * int(np.log(p) + 1),))[0]
    each = 4 * len(inputs.feature) * (1 + engine.network.waves) * width
    goal = Goal(codes(response), response.classes)

    def strengths_of(features: Indices) -> Floats:
        mirrored = np.arange(p) == features[:, None]
        fit = fit_networks(inputs, plain, np.ones_like(mirrored), mirrored, goal, engine.network, seed, engine.device)
        return fit.strengths(p)[features]

    # One after the other in this process, for each fills all cores.
    return in_pieces(strengths_of, chunks(p, p * each // NETWORK_FLOATS), 1, draw)
