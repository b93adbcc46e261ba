"""One draw of the opponents of all features: drawn, learnt and measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner.sparse import Response
from neuralmirror.learner.stacking import Engine, LearnerFit
from neuralmirror.mirror import effects, screening
from neuralmirror.mirror.directions import Directions, conditional_directions, independent_directions
from neuralmirror.mirror.individual import individual
from neuralmirror.mirror.law_check import check_law
from neuralmirror.mirror.response import choose_response, standard_response
from neuralmirror.mirror.scales import SCALES, ScaleRule
from neuralmirror.mirror.simultaneous import simultaneous
from neuralmirror.mirror.turns import in_turns

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
SCHEMES = {"turns": in_turns, "simultaneous": simultaneous, "individual": individual}


@dataclass(frozen=True)
class Draw:
    """One draw of the directions, learnt and measured."""

    strengths: Floats  # (p, K+1)
    scales: Floats  # (columns,)
    explained_by_others: Floats  # (columns,)
    weights: dict[str, float]
    explained: dict[str, float]
    transform: str
    law: dict[str, dict[str, float]]
    curve_features: Indices  # (f,): the features whose main effects are kept
    curve_x: Floats  # (f, points)
    curve_y: Floats  # (f, points)
    pairs: Indices  # (t, 2): features that act together
    pair_strengths: Floats  # (t,)
    level_y: Floats  # (columns,): the effect at each level of a category, NaN elsewhere


@dataclass(frozen=True)
class Plan:
    """What every draw of a fit has in common."""

    scheme: str
    noise: str
    screen: int | str | None
    n_mirrors: int
    scale: str | Floats  # the name of a rule, or c_j of each column in units of its standard deviation
    feature: Indices  # (columns,): the feature of each column, in the learner's order

    def draw(self, data: StandardisedData, engine: Engine, seed: int, place: Path | None = None) -> Draw:
        """Draw the directions, learn from them, and measure how strongly the learner follows each."""
        if self.noise == "independent" and self.screen is not None:
            data, response, kept = self._screened_on_a_third(data, engine, seed)
            directions, transform = self._directions(data, engine, seed, kept), "standard"
        else:
            directions, kept = self._directions(data, engine, seed), None
            response, transform = choose_response(data, directions, seed)
        law, others = check_law(directions), np.zeros(len(self.feature))
        others[self._columns_of(kept)] = directions.explained_by_others
        if self.noise == "conditional" and self.screen is not None:
            size = screening.screen_size(self.screen, len(data.x), directions.n_features)
            kept = screening.best_by_any_direction(directions, response, size, engine, seed)
            directions = directions.features(kept)
        fit, strengths = SCHEMES[self.scheme](directions, response, engine, seed, place)
        return self._measured(directions, kept, fit, strengths, others, transform, law)

    def _measured(
        self,
        directions: Directions,
        kept: Indices | None,
        fit: LearnerFit,
        strengths: Floats,
        others: Floats,
        transform: str,
        law: dict[str, dict[str, float]],
    ) -> Draw:
        """What a fit found, in the places of all features; those that were not kept have strength zero."""
        shapes, columns = effects.curves_of(fit, directions), self._columns_of(kept)
        every = np.arange(len(strengths)) if kept is None else kept
        placed, scales = np.zeros((int(self.feature[-1]) + 1, strengths.shape[1])), np.zeros(len(self.feature))
        levels = np.full(len(self.feature), np.nan)
        placed[every], scales[columns], levels[columns] = strengths, directions.scales, shapes.levels
        return Draw(
            strengths=placed,
            scales=scales,
            explained_by_others=others,
            weights=fit.weights,
            explained=fit.explained,
            transform=transform,
            law=law,
            curve_features=every[shapes.features],
            curve_x=shapes.x,
            curve_y=shapes.y,
            pairs=every[shapes.pairs],
            pair_strengths=shapes.pair_strengths,
            level_y=levels,
        )

    def _screened_on_a_third(
        self, data: StandardisedData, engine: Engine, seed: int
    ) -> tuple[StandardisedData, Response, Indices]:
        """The paper's screening: rank on a third of the rows, go on with the others."""
        assert self.screen is not None
        ranking, others = screening.split_rows(data, seed)
        size = screening.screen_size(self.screen, len(data.x), int(data.group[-1]) + 1)
        part = data.rows(ranking)
        kept = screening.best_on_a_third(part, standard_response(part), size, engine, seed)
        rest = data.rows(others).columns(self._columns_of(kept))
        return rest, standard_response(rest), kept

    def _columns_of(self, kept: Indices | None) -> Indices:
        """The columns, in the learner's order, of some features; None for all of them."""
        return np.flatnonzero(np.isin(self.feature, self.feature if kept is None else kept))

    def _directions(self, data: StandardisedData, engine: Engine, seed: int, kept: Indices | None = None) -> Directions:
        """The opponents of all features of the data, which are those kept by a screening."""
        if self.noise == "conditional":
            return conditional_directions(data, self.n_mirrors, (seed,), engine.n_jobs)
        rule = self._scale_rule(self._columns_of(kept))
        return independent_directions(data, self.n_mirrors, rule, (seed,), engine.device)

    def _scale_rule(self, columns: Indices) -> ScaleRule:
        """What gives the scales of some columns."""
        if isinstance(self.scale, str):
            return SCALES[self.scale]
        numbers = self.scale[columns]
        return lambda x, z: x.new_tensor(numbers)
