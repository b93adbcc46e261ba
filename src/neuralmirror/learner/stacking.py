"""The learner as a whole: a sparse part, networks and trees beside it, and how much each counts on unseen rows.

    f = (1 − t) · (sparse + w · (network − its line)) + t · trees

All are fitted on half of the rows and predict the other half, which none has seen; the weight w is the least-squares
slope there of what the sparse part leaves on what the network says beyond lines, shrunk towards zero by what chance
alone would give (James and Stein, 1961), and t that of what both leave on what trees say instead. What is weighed is
one network and one set of trees, which read each plausible feature in the direction that the sparse part follows most,
whichever that is; where they do not help there are none, so a truth without a use for them costs little. Where they
help, the halves change places, and both tell the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import norm

from neuralmirror._internal.threads import at_once
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network import Network
from neuralmirror.learner.network_part import (
    ROUNDS,
    Readers,
    Turns,
    fit_readers,
    further_features,
    plausible,
)
from neuralmirror.learner.perceptron import Goal, NetworkFit, fit_network, fit_networks
from neuralmirror.learner.sparse import FULL, QUICK, Effort, Response, SparseFit, fit_sparse
from neuralmirror.learner.terms import COVARIATE, PARTS
from neuralmirror.learner.trees import outputs_of_trees, trees_strengths

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEARNERS = ("auto", "sparse", "network")
LOGIT = 1.7  # times a probit is about a logit


@dataclass(frozen=True)
class Engine:
    """Where and how the learners run."""

    learner: str = "auto"
    network: Network = field(default_factory=Network)
    device: str = "cpu"
    n_jobs: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "network", self.network.suited_to(self.learner))


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
    sparse, unseen = fit_all_and_halves(inputs, response, engine, seed, effort)
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
    order, half = _halves(inputs, seed)[0]
    part = replace(goal, targets=goal.targets[order])
    trial = fit_followed(inputs.rows(order, half), part, engine, seed)[1].fitted()[0]
    shares = _expected(trial, response.classes)[half:]
    share = _explained(part.targets[half:], shares, goal.targets.mean(axis=0))
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


def network_strengths(
    inputs: Inputs, response: Response, sparse: SparseFit, turns: Turns, engine: Engine, seed: int
) -> Floats:
    """Strengths (p, K+1) of networks on all rows, with the features that they find they should read too."""
    goal, settings = goal_beside(sparse, response), (engine.network, seed, engine.device)
    readers = Readers.of(plausible(sparse), np.zeros(len(turns), dtype=np.intp), turns)
    for number in range(ROUNDS + 1):
        fit = fit_readers(inputs, turns, readers, goal, *settings)
        if number == ROUNDS:
            break
        residual = goal.targets - _outcomes(fit.fitted(), goal)
        found = further_features(inputs, readers, fit, residual)
        if not found.any():
            break
        readers = Readers.of(readers.reads | found, readers.of_turn, turns)
    scale = LOGIT if response.classes else 1.0  # the sparse part's latent outcomes are probits
    return fit.strengths_beyond_lines(inputs.n_features, inputs.n_seen) / scale


def goal_beside(sparse: SparseFit, response: Response) -> Goal:
    """What networks learn: the outcome, with all that the sparse part says of it but its lines as a known offset."""
    known = sparse.part((COVARIATE,)) + sum(sparse.part(PARTS[name]) for name in ("curves", "interactions"))
    offset = LOGIT * known if response.classes else known
    return Goal(codes(response), response.classes, np.asarray(offset), sparse.chain.noise_variance)


def _outcomes(outputs: Floats, goal: Goal) -> Floats:
    """What networks with these outputs (m, n, q) expect of the outcome."""
    assert goal.offset is not None
    return _expected(outputs + goal.offset, goal.classes)


def _expected(outputs: Floats, classes: int) -> Floats:
    """What outputs say of the outcome: numbers as they are; of logits, the chances of the classes."""
    return _probabilities(outputs / LOGIT if classes else outputs, classes)


class Weights(NamedTuple):
    """How much networks and trees count."""

    network: float
    trees: float


@dataclass(frozen=True)
class Half:
    """A fit on half of the rows, and what it predicts of the others, which nothing fitted has seen."""

    inputs: Inputs
    response: Response
    sparse: SparseFit
    network: Floats | float = 0.0  # what a network says of the unseen rows beyond its line, (n, q)
    trees: Floats | float = 0.0  # what trees say of them beyond the sparse part, (n, q)

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
        return self.outcome() - self.expected()

    def expected(self) -> Floats:
        """What the sparse part expects of the unseen rows."""
        return _probabilities(self.predicted(), self.response.classes)

    def beside_it(self, asked: Weights, engine: Engine, seed: int) -> Half:
        """The same with what is asked for of networks and trees; features have the direction followed most."""
        plain, reads = self.inputs.one_direction(self.sparse.strengths().argmax(axis=1)), plausible(self.sparse)
        network, trees, seen = self.network, self.trees, self.inputs.n_seen
        if asked.network:
            goal, settings = goal_beside(self.sparse, self.response), (engine.network, seed, engine.device)
            fit = fit_networks(self.inputs, plain, reads, np.zeros_like(reads), goal, *settings)
            network = (_outcomes(fit.fitted(), goal) - _outcomes(fit.line(seen), goal))[0, seen:]
        if asked.trees:
            outputs = outputs_of_trees(plain, self.response, reads[0])[seen:]
            trees = _expected(outputs, self.response.classes) - self.expected()
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
        """The slope of what the sparse part leaves on what networks say, and of what both leave on what trees say."""
        left, network, trees = (
            self._of_all(Half.left),
            self._of_all(lambda half: half.network),
            self._of_all(lambda half: half.trees),
        )
        of_network = shrunken_slope(left, network)
        return Weights(of_network, shrunken_slope(left - of_network * network, trees - of_network * network))

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
            totals[name] = _probabilities(self._of_all(partial(Half.predicted, names=tuple(names))), classes)
        sparse, network = totals["interactions"], weights.network * self._of_all(lambda half: half.network)
        if weights.network:
            totals["network"] = sparse + network
        if weights.trees:
            trees = self._of_all(lambda half: half.trees)
            totals["trees"] = sparse + network + weights.trees * (trees - network)
        shares = [_explained(outcome, total, base) for total in totals.values()]
        return dict(zip(totals, np.diff(shares, prepend=0.0).tolist(), strict=True))


def fit_half(
    inputs: Inputs, response: Response, engine: Engine, seed: int, number: int, asked: Weights, n_jobs: int = 1
) -> Half:
    """Fit the sparse part on one half of the rows, and what is asked for beside it."""
    order, half = _halves(inputs, seed)[number]
    seen, goal = inputs.rows(order, half), response.rows(order)
    sparse = fit_sparse(seen, goal, seed + 17 * (number + 1), effort=QUICK, device=engine.device, n_jobs=n_jobs)
    return Half(seen, goal, sparse).beside_it(asked, engine, seed + number)


def fit_all_and_halves(
    inputs: Inputs, response: Response, engine: Engine, seed: int, effort: Effort
) -> tuple[SparseFit, Unseen]:
    """The sparse part on all rows, and what fits on half of them predict of the other half."""

    def whole() -> SparseFit:
        return fit_sparse(inputs, response, seed, effort=effort, device=engine.device, n_jobs=engine.n_jobs)

    def first() -> Unseen:
        asked = Weights(*[float(engine.learner == "auto")] * 2)
        return Unseen((fit_half(inputs, response, engine, seed, 0, asked),))

    sparse, unseen = at_once(whole, first, engine.n_jobs)
    may_count = unseen.weights()
    if not any(may_count):
        return sparse, unseen
    return sparse, Unseen((*unseen.halves, fit_half(inputs, response, engine, seed, 1, may_count, engine.n_jobs)))


def _halves(inputs: Inputs, seed: int) -> list[tuple[Indices, int]]:
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


def codes(response: Response) -> Floats:
    """Numbers as they are; 0/1 for two classes; one column a class for more."""
    if response.classes <= 2:
        return response.values
    return np.asarray(np.eye(response.classes)[response.values[:, 0].astype(int)])


def _probabilities(values: Floats, classes: int) -> Floats:
    """Numbers as they are; of latent values, the chances of the classes."""
    if classes == 0:
        return values
    if classes == 2:
        return np.asarray(norm.cdf(values))
    return np.asarray(softmax(LOGIT * values, axis=-1))


def _explained(targets: Floats, predicted: Floats, base: Floats) -> float:
    """1 − Σ(y − ŷ)² / Σ(y − ȳ)², with ȳ the mean of the rows that were learnt from."""
    return float(1 - ((targets - predicted) ** 2).sum() / max(float(((targets - base) ** 2).sum()), 1e-300))
