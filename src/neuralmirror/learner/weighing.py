"""How much networks and trees count beside the sparse part: as far as they help to predict rows that none has seen.

All are fitted on half of the rows and predict the other half. The weight of networks is the least-squares slope there
of what the sparse part leaves on what a network says beyond its line, shrunk towards zero by what chance alone would
give (James and Stein, 1961); that of trees the slope of what both leave on what trees say instead. What is weighed is
one network and one set of trees, which read each plausible feature in the direction that the sparse part follows most,
whichever that is. Where they help, the halves change places, and both tell the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network_part import Turns, goal_beside, outcomes, plausible
from neuralmirror.learner.outcome import Response, codes, expected, explained, probabilities
from neuralmirror.learner.perceptron import fit_networks
from neuralmirror.learner.sparse import QUICK, SparseFit, fit_sparse
from neuralmirror.learner.terms import COVARIATE, PARTS
from neuralmirror.learner.trees import in_company, outputs_of_trees

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Weights(NamedTuple):
    """How much networks and trees count."""

    network: float
    trees: float


@dataclass(frozen=True)
class Weighed:
    """What each part counts, and the share of the outcome's variance that it explains: on rows that none has seen."""

    weights: dict[str, float]
    explained: dict[str, float]


@dataclass(frozen=True)
class Half:
    """A fit on half of the rows, and what it predicts of the others, which nothing fitted has seen."""

    inputs: Inputs
    response: Response
    sparse: SparseFit
    network: Floats | float = 0.0  # what a network says of the unseen rows beyond its line, (n, q)
    trees: Floats | float = 0.0  # what trees say of them beyond the sparse part

    def predicted(self, names: tuple[str, ...] = ("covariates", *PARTS)) -> Floats:
        """What parts of the sparse part predict of the unseen rows, (n, q) on its own scale."""
        kinds = {"covariates": (COVARIATE,), **PARTS}
        return np.asarray(sum(self.sparse.part(kinds[name]) for name in names))[self.inputs.n_seen :]

    def outcome(self) -> Floats:
        """The codes of the unseen rows, (n, q)."""
        return codes(self.response)[self.inputs.n_seen :]

    def base(self) -> Floats:
        """The mean of the rows seen, (q,)."""
        return np.asarray(codes(self.response)[: self.inputs.n_seen].mean(axis=0))

    def left(self) -> Floats:
        """What the sparse part leaves of the unseen rows."""
        return self.outcome() - self.by_sparse()

    def by_sparse(self) -> Floats:
        """What the sparse part expects of the unseen rows."""
        return probabilities(self.predicted(), self.response.classes)

    def beside_it(self, asked: Weights, engine: Engine, seed: int, company: int) -> Half:
        """The same with what is asked for of networks and trees; features have the direction followed most.

        The company of the features that trees read are others, as many as a turn has directions.
        """
        plain, reads = self.inputs.one_direction(self.sparse.strengths().argmax(axis=1)), plausible(self.sparse)
        network, trees, seen = self.network, self.trees, self.inputs.n_seen
        if asked.network:
            goal, settings = goal_beside(self.sparse, self.response), (engine.network, seed, engine.device)
            fit = fit_networks(self.inputs, plain, reads, np.zeros_like(reads), goal, *settings)
            network = (outcomes(fit.fitted(), goal) - outcomes(fit.line(seen), goal))[0, seen:]
        if asked.trees:
            outputs = outputs_of_trees(plain, self.response, in_company(reads[0], company))[seen:]
            trees = expected(outputs, self.response.classes) - self.by_sparse()
        return replace(self, network=network, trees=trees)


@dataclass(frozen=True)
class Unseen:
    """What a fit on half of the rows predicts of the other; where more than the sparse part may count, both halves."""

    halves: tuple[Half, ...]

    def weight_of_sparse(self) -> float:
        """The slope of the outcome on the sparse part's prediction, by the first half, which is always there."""
        half = self.halves[0]
        effects = half.predicted(tuple(PARTS))
        return shrunken_slope(half.left() + effects, effects) or 1.0

    def weights(self) -> Weights:
        """The slope of what the sparse part leaves on what networks say, and of what both leave on what trees say.

        They are used as they are told, to two decimals: a weight of less than that is not worth a fit on all rows.
        """
        left, network, trees = (
            self._of_all(Half.left),
            self._of_all(lambda half: half.network),
            self._of_all(lambda half: half.trees),
        )
        of_network = round(shrunken_slope(left, network), 2)
        of_trees = round(shrunken_slope(left - of_network * network, trees - of_network * network), 2)
        return Weights(of_network, of_trees)

    def _of_all(self, values: Callable[[Half], Floats | float]) -> Floats:
        """Values (n, q) of the unseen rows of all halves."""
        return np.concatenate([np.broadcast_to(values(half), half.outcome().shape) for half in self.halves])

    def explained(self, weights: Weights) -> dict[str, float]:
        """The share of the outcome that each part adds to those before it."""
        classes = self.halves[0].response.classes
        outcome, base = self._of_all(Half.outcome), np.mean([half.base() for half in self.halves], axis=0)
        names, totals = ["covariates"], {}
        for name in PARTS:
            names.append(name)
            totals[name] = probabilities(self._of_all(partial(Half.predicted, names=tuple(names))), classes)
        sparse, network = totals["interactions"], weights.network * self._of_all(lambda half: half.network)
        if weights.network:
            totals["network"] = sparse + network
        if weights.trees:
            trees = self._of_all(lambda half: half.trees)
            totals["trees"] = sparse + network + weights.trees * (trees - network)
        shares = [explained(outcome, total, base) for total in totals.values()]
        return dict(zip(totals, np.diff(shares, prepend=0.0).tolist(), strict=True))


def fit_half(
    inputs: Inputs,
    response: Response,
    engine: Engine,
    seed: int,
    number: int,
    asked: Weights,
    company: int = 0,
    n_jobs: int = 1,
) -> Half:
    """Fit the sparse part on one half of the rows, and what is asked for beside it."""
    order, half = two_halves(inputs, seed)[number]
    seen, goal = inputs.rows(order, half), response.rows(order)
    sparse = fit_sparse(seen, goal, seed + 17 * (number + 1), effort=QUICK, device=engine.device, n_jobs=n_jobs)
    return Half(seen, goal, sparse).beside_it(asked, engine, seed + number, company)


def weigh(inputs: Inputs, response: Response, engine: Engine, seed: int, turns: Turns) -> Weighed:
    """Fit one half of the rows and predict the other; the same with both exchanged where more than the sparse part
    may count. Half of the threads are left for fits on all rows.
    """
    n_jobs = max(1, engine.n_jobs // 2)
    company = int(np.bincount(turns.of_feature).max()) * inputs.n_directions
    asked = Weights(*[float(engine.learner == "auto")] * 2)
    first = fit_half(inputs, response, engine, seed, 0, asked, company, n_jobs)
    unseen = Unseen((first,))
    may_count = unseen.weights()
    if any(may_count):
        unseen = Unseen((first, fit_half(inputs, response, engine, seed, 1, may_count, company, n_jobs)))
    counts = unseen.weights()
    weights = {"sparse": unseen.weight_of_sparse()}
    return Weighed(weights | counts._asdict() if any(asked) else weights, unseen.explained(counts))


def two_halves(inputs: Inputs, seed: int) -> list[tuple[Indices, int]]:
    """Two orders of the rows with how many come first: each half first once."""
    order = np.random.default_rng([seed, 3]).permutation(inputs.n_seen)
    half = inputs.n_seen // 2
    return [(order, inputs.n_seen - half), (np.roll(order, half), half)]


def shrunken_slope(goal: Floats, prediction: Floats) -> float:
    """Slope of goal on prediction through zero, times the positive part of 1 − 1/z², within [0, 1]."""
    along, size = float((goal * prediction).sum()), float((prediction**2).sum())
    if along <= 0 or size <= 0:
        return 0.0
    slope = along / size
    noise = max(float((goal**2).sum()) - slope * along, 0.0) / goal.size
    chance = noise * size / along**2  # 1/z²
    return min(1.0, slope * max(0.0, 1 - chance))
