"""Simultaneous mirrors (Algorithm 2): one learner sees the directions of all features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.engine import Engine
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.stacking import LearnerFit, learn
from neuralmirror.mirror.directions import Directions, blinded, unblinded

Floats = NDArray[np.float64]


def simultaneous(
    directions: Directions, response: Response, engine: Engine, seed: int, draw: Path | None = None
) -> tuple[LearnerFit, Floats]:
    """The learner's fit, and the strengths (p, K+1) of all directions with X_j first; nothing is kept beside `draw`."""
    inputs, order = blinded(directions)
    fit = learn(inputs, response, engine, seed)
    return fit, unblinded(fit.strengths, order)
