"""The learner as a whole: a sparse part, a network for what it leaves, and how much each counts on unseen rows.

    f = w_s · sparse + w_n · network

Both are fitted on half of the rows and predict the other half, which neither has seen; the weights are the
least-squares slopes there, shrunk towards zero by what chance alone would give (James and Stein, 1961). A network
that does not help there after a quarter of its steps on the first half, or after all of them, is dropped at once, so a
truth without a use for it costs little.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import norm
from sklearn.base import clone

from neuralmirror._internal.device import torch_threads
from neuralmirror._internal.threads import at_once
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network import Network
from neuralmirror.learner.perceptron import NetworkFit, fit_network
from neuralmirror.learner.sparse import FULL, QUICK, Effort, Response, SparseFit, fit_sparse
from neuralmirror.learner.terms import COVARIATE, PARTS

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEARNERS = ("auto", "sparse", "network")


@dataclass(frozen=True)
class Engine:
    """Where and how the learners run."""

    learner: str = "auto"
    network: Network = field(default_factory=Network)
    device: str = "cpu"
    n_jobs: int = 1

    def with_steps(self, steps: int) -> Engine:
        """The same with networks trained for so many steps."""
        return replace(self, network=clone(self.network).set_params(steps=max(1, steps)))


@dataclass(frozen=True)
class LearnerFit:
    """Strengths of all directions, the parts they come from, and what each part is worth on unseen rows."""

    strengths: Floats  # (p, K+1)
    weights: dict[str, float]
    explained: dict[str, float]  # share of the outcome's variance on rows that nothing fitted has seen
    sparse: SparseFit | None


def learn(inputs: Inputs, response: Response, engine: Engine, seed: int, effort: Effort = FULL) -> LearnerFit:
    """Fit the parts that `engine.learner` names and weigh them."""
    if engine.learner == "network":
        return _network_alone(inputs, response, engine, seed)
    sparse, unseen = fit_all_and_halves(inputs, response, engine, seed, effort)
    weights = {"sparse": unseen.weight_of_sparse(), "network": unseen.weight_of_network()}
    strengths = weights["sparse"] * sparse.strengths()
    if weights["network"] > 0:
        fit, chosen = residual_network(inputs, sparse, engine, seed)
        own = fit.strengths().reshape(len(chosen), -1) * _size(sparse.chain.residual)
        strengths[chosen] += weights["network"] * own
    if engine.learner == "sparse":
        del weights["network"]
    return LearnerFit(strengths, weights, unseen.explained(weights), sparse)


def _network_alone(inputs: Inputs, response: Response, engine: Engine, seed: int) -> LearnerFit:
    """Networks and nothing else; the share explained is that of a network trained on half of the rows."""
    targets = codes(response)
    fit = fit_network(inputs, targets, response.classes, engine.network, seed, engine.device)
    strengths = fit.strengths().reshape(inputs.n_features, -1)
    order, half = _halves(inputs, seed)[0]
    trial = fit_network(inputs.rows(order, half), targets[order], response.classes, engine.network, seed, engine.device)
    shares = _probabilities(trial.fitted(), response.classes, logits=True)[half:]
    share = _explained(targets[order][half:], shares, targets.mean(axis=0))
    return LearnerFit(strengths, {"network": 1.0}, {"network": share}, None)


def residual_network(inputs: Inputs, sparse: SparseFit, engine: Engine, seed: int) -> tuple[NetworkFit, Indices]:
    """A network for what the sparse part leaves, on the features that part finds most plausible.

    It sees all directions of as many features as the sparse part expects to be active, and five more. Its outputs are
    in standard deviations of the residual.
    """
    count = min(inputs.n_features, int(np.ceil(sparse.expected_active())) + 5)
    chosen = np.sort(np.argsort(-sparse.strengths().max(axis=1), kind="stable")[:count])
    targets = sparse.chain.residual / _size(sparse.chain.residual[: inputs.n_seen])
    with torch_threads(1 if engine.device == "cpu" else None):  # too small to share
        return fit_network(inputs.features(chosen), targets, 0, engine.network, seed, engine.device), chosen


@dataclass(frozen=True)
class Unseen:
    """Predictions of rows that nothing fitted has seen, and what was to be predicted: codes (n, q)."""

    targets: Floats
    base: Floats  # (q,): the mean
    parts: dict[str, Floats]  # lines, curves, interactions, network: (n, q) each, on the scale of the fit
    residual: Floats  # (n, q): what the sparse part leaves
    classes: int

    @property
    def sparse(self) -> Floats:
        """What the sparse part predicts."""
        return np.asarray(sum(self.parts[name] for name in ("covariates", *PARTS)))

    def weight_of_sparse(self) -> float:
        """The slope of the outcome on the sparse part's prediction."""
        goal = self.residual + self.sparse
        return shrunken_slope(goal, self.sparse - self.parts["covariates"]) or 1.0

    def weight_of_network(self) -> float:
        """The slope of what the sparse part leaves on the network's prediction."""
        return shrunken_slope(self.residual, self.parts["network"]) if "network" in self.parts else 0.0

    def joined(self, other: Unseen) -> Unseen:
        """These rows and others; a part that one of them lacks predicts nothing there."""
        both = {
            name: np.concatenate([half.parts.get(name, np.zeros_like(half.residual)) for half in (self, other)])
            for name in self.parts
        }
        targets, residual = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("targets", "residual")
        )
        return Unseen(targets, (self.base + other.base) / 2, both, residual, self.classes)

    def explained(self, weights: dict[str, float]) -> dict[str, float]:
        """The share of the outcome that each part adds to those before it."""
        total, before, shares = self.parts["covariates"], 0.0, {}
        for name in (*PARTS, "network"):
            if name in self.parts:
                total = total + self.parts[name] * (weights.get("network", 0.0) if name == "network" else 1.0)
                now = _explained(self.targets, _probabilities(total, self.classes), self.base)
                shares[name], before = now - before, now
        return shares


@dataclass(frozen=True)
class Half:
    """A fit on half of the rows, and what it predicts of the others."""

    inputs: Inputs
    sparse: SparseFit
    unseen: Unseen

    def with_network(self, engine: Engine, seed: int, trainings: list[int]) -> Unseen:
        """The predictions with those of networks of so many steps, one after the other while they help."""
        half = self.inputs.n_seen
        for steps in trainings:
            fit, _ = residual_network(self.inputs, self.sparse, engine.with_steps(steps), seed)
            self.unseen.parts["network"] = (fit.fitted() * _size(self.sparse.chain.residual[:half]))[half:]
            if self.unseen.weight_of_network() == 0:
                break
        return self.unseen


def fit_half(inputs: Inputs, response: Response, engine: Engine, seed: int, number: int) -> Half:
    """Fit the sparse part on one half of the rows."""
    order, half = _halves(inputs, seed)[number]
    seen, goal = inputs.rows(order, half), response.rows(order)
    sparse = fit_sparse(seen, goal, seed + 17 * (number + 1), effort=QUICK, device=engine.device)
    return Half(seen, sparse, _of_sparse(sparse, goal, half))


def fit_all_and_halves(
    inputs: Inputs, response: Response, engine: Engine, seed: int, effort: Effort
) -> tuple[SparseFit, Unseen]:
    """The sparse part on all rows, and what fits on each half of them predict of the other.

    The first half has a network of a quarter of the steps, and the whole ones follow while they help. All rows and the
    second half take about as long as the first half with its network, so these are done at once.
    """
    steps = engine.network.steps

    def first() -> Unseen:
        trainings = [steps // 4, steps] if engine.learner == "auto" else []
        return fit_half(inputs, response, engine, seed, 0).with_network(engine, seed, trainings)

    def others() -> tuple[SparseFit, Half]:
        whole = fit_sparse(inputs, response, seed, effort=effort, device=engine.device, n_jobs=engine.n_jobs)
        return whole, fit_half(inputs, response, engine, seed, 1)

    (sparse, second), one = at_once(others, first, engine.n_jobs)
    trainings = [steps] if engine.learner == "auto" and one.weight_of_network() > 0 else []
    return sparse, one.joined(second.with_network(engine, seed + 1, trainings))


def _of_sparse(sparse: SparseFit, goal: Response, half: int) -> Unseen:
    """What the sparse part predicts of the rows from `half` on, which it has not seen."""
    parts = {"covariates": sparse.part((COVARIATE,)), **{name: sparse.part(kinds) for name, kinds in PARTS.items()}}
    total, values = np.asarray(sum(parts.values())), codes(goal)
    residual = values - (_probabilities(total, goal.classes) if goal.classes else total)
    unseen = {name: part[half:] for name, part in parts.items()}
    return Unseen(values[half:], values[:half].mean(axis=0), unseen, residual[half:], goal.classes)


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
    noise = float(((goal - slope * prediction) ** 2).mean())
    chance = noise * size / along**2  # 1/z²
    return float(np.clip(slope * max(0.0, 1 - chance), 0.0, 1.0))


def codes(response: Response) -> Floats:
    """Numbers as they are; 0/1 for two classes; one column a class for more."""
    if response.classes <= 2:
        return response.values
    return np.asarray(np.eye(response.classes)[response.values[:, 0].astype(int)])


def _probabilities(values: Floats, classes: int, logits: bool = False) -> Floats:
    """Numbers as they are; of latent values or logits, the chances of the classes."""
    if classes == 0:
        return values
    if classes == 2:
        return np.asarray(norm.cdf(values / 1.7 if logits else values))
    return np.asarray(softmax(values if logits else 1.7 * values, axis=1))


def _explained(targets: Floats, predicted: Floats, base: Floats) -> float:
    """1 − Σ(y − ŷ)² / Σ(y − ȳ)², with ȳ the mean of the rows that were learnt from."""
    return float(1 - ((targets - predicted) ** 2).sum() / max(float(((targets - base) ** 2).sum()), 1e-300))


def _size(residual: Floats) -> float:
    return max(float(residual.std()), 1e-6)
