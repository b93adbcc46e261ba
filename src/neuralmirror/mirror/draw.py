"""One draw of the opponents of all features: drawn, learnt and measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner.engine import Engine
from neuralmirror.learner.outcome import Response
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
    n_learnt: int  # features that the learner saw
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
        if self.noise == "independent":
            data, kept = (data, None) if self.screen is None else self._screened_on_a_third(data, engine, seed)
            directions = self._directions(data, engine, seed, kept)
            response, transform = standard_response(data), "standard"
            facts = self._facts(directions, kept)
        else:
            directions = self._directions(data, engine, seed)
            facts = self._facts(directions)
            directions, kept = self._within_budget(replace(directions, law=None), data, engine, seed)
            response, transform = choose_response(data, directions, seed, engine.n_jobs)
            if self.screen is not None:
                directions, kept = self._screened(directions, response, kept, engine, seed)
                facts = facts | {"scales": self._placed(directions.scales, kept)}
        fit, strengths = SCHEMES[self.scheme](directions, response, engine, seed, place)
        shapes = effects.curves_of(fit, directions)
        every = np.arange(len(strengths)) if kept is None else kept
        placed = np.zeros((int(self.feature[-1]) + 1, strengths.shape[1]))
        placed[every] = strengths
        return Draw(
            strengths=placed,
            weights=fit.weights,
            explained=fit.explained,
            transform=transform,
            n_learnt=len(every),
            curve_features=every[shapes.features],
            curve_x=shapes.x,
            curve_y=shapes.y,
            pairs=every[shapes.pairs],
            pair_strengths=shapes.pair_strengths,
            level_y=self._placed(shapes.levels, kept, np.nan),
            **facts,
        )

    def _facts(self, directions: Directions, kept: Indices | None = None) -> dict[str, Any]:
        """What a draw tells of the directions themselves, whatever is learnt from them."""
        return {
            "scales": self._placed(directions.scales, kept),
            "explained_by_others": self._placed(directions.explained_by_others, kept),
            "law": check_law(directions),
        }

    def _placed(self, values: Floats, kept: Indices | None, elsewhere: float = 0.0) -> Floats:
        """Values of the columns of some features in the places of all columns."""
        placed = np.full(len(self.feature), elsewhere)
        placed[self._columns_of(kept)] = values
        return placed

    def _within_budget(
        self, directions: Directions, data: StandardisedData, engine: Engine, seed: int
    ) -> tuple[Directions, Indices | None]:
        """The directions of as many features as the learner has room for, and which these are; None for all."""
        size = screening.most_features(len(data.x), directions.values.shape[1])
        asked = screening.screen_size(self.screen, len(data.x), directions.n_features) if self.screen is not None else 0
        if engine.learner == "network" or directions.n_features <= max(size, asked):
            return directions, None
        kept = screening.closest_relations(directions, data, max(size, asked), engine, seed)
        return directions.features(kept), kept

    def _screened(
        self, directions: Directions, response: Response, kept: Indices | None, engine: Engine, seed: int
    ) -> tuple[Directions, Indices]:
        """The directions of the features that a user's screening keeps, and which these are."""
        assert self.screen is not None
        size = screening.screen_size(self.screen, len(response.values), directions.n_features)
        best = screening.best_by_any_direction(directions, response, size, engine, seed)
        return directions.features(best), best if kept is None else kept[best]

    def _screened_on_a_third(
        self, data: StandardisedData, engine: Engine, seed: int
    ) -> tuple[StandardisedData, Indices]:
        """The paper's screening: rank on a third of the rows, go on with the others."""
        assert self.screen is not None
        ranking, others = screening.split_rows(data, seed)
        size = screening.screen_size(self.screen, len(data.x), int(data.group[-1]) + 1)
        part = data.rows(ranking)
        kept = screening.best_on_a_third(part, standard_response(part), size, engine, seed)
        return data.rows(others).columns(self._columns_of(kept)), kept

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
