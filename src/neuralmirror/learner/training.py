"""The optimisation loop: Adam on a cosine schedule with decoupled, pair-adaptive group shrinkage.

One step, for every network of the batch at once:

    weights ← Adam(weights, ∇ loss(skip(x) + MLP(x), y) on a minibatch)
    row     ← row · max(0, 1 − lr·g·a_j / ‖row‖)       for each input's first-layer row

The group weights a_j are 1 until `adapt_at` of the steps are done and then follow the sizes of the rows. All
directions of a feature (X_j and its noise) share one a_j, so nothing here prefers one to another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from neuralmirror._internal.cuda_graphs import recorded
from neuralmirror._internal.precision import tensor_cores
from neuralmirror.learner.networks import Networks

Loss = Callable[[Tensor, Tensor], Tensor]  # outputs (m, b, q) and targets (m or 1, b, q) to row losses (m, b)
Tick = Callable[[int], None]

WARM_UP = 3  # steps before CUDA records one: allocations and kernel choices settle first
ROWS = 4096  # rows whose values are computed at once
CACHE = 32 * 2**20  # bytes
CHECKS = 50  # points of a loss curve, and looks at the held-out rows


@dataclass(frozen=True)
class Recipe:
    """How the networks are trained. `shrinkage=0` and `coordinates="pair"` leave the paper's plain perceptron."""

    steps: int = 2500
    batch_size: int = 128
    learning_rate: float = 2e-3
    shrinkage: float = 0.8  # g
    adapt_at: float = 0.4  # share of the steps after which the group weights adapt; 1 switches it off
    adapt_power: float = 1.0  # γ
    adapt_floor: float = 0.01  # ε
    coordinates: str = "directions"


@dataclass(frozen=True)
class Inputs:
    """What the networks see, and which rows of the first layer belong to one feature."""

    shared: Tensor  # (n, s)
    own: Tensor  # (m, n, o): blocks of K+1 directions (X_j, cZ_j^1..K), then covariates; or (d, n, o), see source
    shared_group: Tensor  # (s,) feature of each shared input; −1 marks a covariate, which is never shrunk
    own_group: Tensor  # (o,) feature of each own input, likewise
    held: Tensor | None = None  # (m,) the shared row that each network holds at zero
    source: Tensor | None = None  # (m,) which of d data sets each network sees, where several see one

    def rows(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs of some rows, (b, s) and (m, b, o)."""
        return self.shared.index_select(0, index), self.each(self.own, index)

    def networks(self, index: Tensor) -> Inputs:
        """What some of the networks see."""
        held = None if self.held is None else self.held[index]
        if self.source is None:
            return replace(self, own=self.own[index], held=held)
        return replace(self, held=held, source=self.source[index])

    def each(self, values: Tensor, index: Tensor) -> Tensor:
        """Some rows of values (d, n, ·), for each network."""
        chosen = values.index_select(1, index)
        if self.source is None:
            return chosen
        if len(values) == 1:  # nothing to copy
            return chosen.expand(len(self.source), -1, -1)
        return chosen.index_select(0, self.source)


def squared_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """(f − y)² summed over outputs."""
    return (outputs - targets).square().sum(dim=-1)


def logistic_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """The negative log-likelihood of a target in {0, 1} under the logit f."""
    return (functional.softplus(outputs) - targets * outputs).sum(dim=-1)


def softmax_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """The negative log-likelihood of one-hot targets under logits f."""
    return -(targets * outputs.log_softmax(dim=-1)).sum(dim=-1)


def cosine_rates(recipe: Recipe) -> NDArray[np.float64]:
    """lr_t = lr · (1 + cos(π t/T)) / 2."""
    return recipe.learning_rate * 0.5 * (1 + np.cos(np.pi * np.arange(recipe.steps) / recipe.steps))


def minibatches(n: int, recipe: Recipe, rng: np.random.Generator) -> NDArray[np.int64]:
    """Row indices (steps, b): passes over shuffled rows, the same for every network of a batch."""
    size = min(recipe.batch_size, n)
    passes = -(-recipe.steps * size // n)
    order = np.concatenate([rng.permutation(n) for _ in range(passes)])
    return order[: recipe.steps * size].reshape(recipe.steps, size)


def equal_weights(networks: Networks, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """a_j = 1 for every feature and 0 for covariates, as (s, m) and (m, o)."""
    shared, own = (inputs.shared_group >= 0).to(networks.bias), (inputs.own_group >= 0).to(networks.bias)
    return shared[:, None].repeat(1, len(networks)), own.repeat(len(networks), 1)


def adaptive_weights(networks: Networks, inputs: Inputs, recipe: Recipe) -> tuple[Tensor, Tensor]:
    """a_j = ((½ + ε)/(r_j + ε))^γ with r_j = Σ_directions ‖row‖ / max over features, as (s, m) and (m, o)."""
    free_shared, free_own = equal_weights(networks, inputs)
    shared = (networks.shared.norm(dim=2) * free_shared).mT  # (m, s)
    own = networks.own.norm(dim=2) * free_own  # (m, o)
    shared_group, own_group = inputs.shared_group.clamp(min=0), inputs.own_group.clamp(min=0)
    groups = int(torch.cat([shared_group, own_group]).max()) + 1
    sizes = own.new_zeros(len(networks), groups)
    sizes = sizes.index_add(1, shared_group, shared).index_add(1, own_group, own)
    share = sizes / sizes.amax(dim=1, keepdim=True).clamp(min=1e-12)
    weights = ((0.5 + recipe.adapt_floor) / (share + recipe.adapt_floor)) ** recipe.adapt_power
    return weights[:, shared_group].mT * free_shared, weights[:, own_group] * free_own


def shrink_rows(rows: Tensor, amount: Tensor) -> None:
    """row ← row · max(0, 1 − amount/‖row‖), the proximal step of a group lasso."""
    norms = rows.norm(dim=2).clamp(min=1e-12)
    rows.mul_((1 - amount / norms).clamp(min=0)[..., None])


def from_pairs(networks: Networks, pairs: int) -> Networks:
    """Own rows held as (w⁺, w⁻) of mirrored pairs turned into those of the directions: w⁺ + w⁻ and w⁺ − w⁻."""
    plus, minus = networks.own[:, :pairs].unflatten(1, (-1, 2)).unbind(dim=2)
    directions = torch.stack([plus + minus, plus - minus], dim=2).flatten(1, 2)
    return replace(networks, own=torch.cat([directions, networks.own[:, pairs:]], dim=1))


@tensor_cores()
def train(
    networks: Networks,
    inputs: Inputs,
    targets: Tensor,
    loss: Loss,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    row_weights: Tensor | None = None,
    unit: Tensor | None = None,
    shrinkage: Tensor | None = None,
    early_stopping: bool = False,
    tick: Tick | None = None,
) -> tuple[Networks, Tensor]:
    """Train all networks; return them in direction coordinates with their loss curves, (m, about 50).

    Rows of weight 0 in `row_weights` (m, n) are held out of a network's training; with `early_stopping` its weights
    are those of its best held-out loss. `unit` (m,) is the size of what a perceptron has to predict: it learns in that
    unit and is returned in the unit of the targets. `shrinkage` (m,) is each network's own where they differ.
    """
    batches = torch.from_numpy(minibatches(targets.shape[1], recipe, rng)).to(targets.device)
    task, at_once = _Task(networks, inputs, targets, row_weights, unit, shrinkage), networks_at_once(networks)
    if at_once >= len(networks):
        return _run(_Step(task, loss, recipe), batches, early_stopping, tick)
    parts = torch.arange(len(networks), device=targets.device).split(at_once)
    tick = tick and _one_call_in(tick, len(parts))
    steps = (_Step(task.part(index), loss, recipe) for index in parts)
    fitted, curves = zip(*(_run(step, batches, early_stopping, tick) for step in steps), strict=True)
    return Networks.cat(fitted), torch.cat(curves)


def networks_at_once(networks: Networks) -> int:
    """On a GPU all; on a CPU as many as its cache holds with gradients and moments, which every step passes over."""
    if networks.bias.is_cuda:
        return len(networks)
    each = sum(4 * tensor.element_size() * tensor.numel() for tensor in networks.parameters()) // len(networks)
    return max(1, CACHE // each)


def _run(step: _Step, batches: Tensor, early_stopping: bool, tick: Tick | None) -> tuple[Networks, Tensor]:
    """All steps of some networks; the networks and their loss curves."""
    recipe, task = step.recipe, step.task
    rates = torch.from_numpy(cosine_rates(recipe)).to(batches.device, torch.float32)
    adapt_step, check_every = round(recipe.adapt_at * recipe.steps), max(1, recipe.steps // CHECKS)
    curve, best, advance = [], _Best(task.networks), step.run
    for number, (rows, rate) in enumerate(zip(batches, rates, strict=True)):
        step.rows.copy_(rows)
        step.rate.copy_(rate)
        if number == WARM_UP and batches.is_cuda:
            advance = recorded(step.run)
        advance()
        if number + 1 == adapt_step < recipe.steps:
            step.adapt()
        if number % check_every == 0:
            curve.append(step.losses.clone())
            if early_stopping and task.row_weights is not None:
                best.offer(held_out_loss(step.fitted(), task.inputs, task.targets, step.loss, task.row_weights))
        if tick is not None:
            tick(1)
    best.restore()
    return step.fitted(), torch.stack(curve, dim=1)


def _one_call_in(tick: Tick, several: int) -> Tick:
    """A tick that passes on every so many-th call."""
    calls = count(1)
    return lambda steps: None if next(calls) % several else tick(steps)


@dataclass(frozen=True)
class _Task:
    """Networks with what they see, what they are to predict and in which unit, and how each is shrunk."""

    networks: Networks
    inputs: Inputs
    targets: Tensor
    row_weights: Tensor | None
    unit: Tensor | None
    shrinkage: Tensor | None

    def part(self, index: Tensor) -> _Task:
        """The task of some of the networks."""
        common = self.inputs.source is not None or len(self.targets) == 1
        return _Task(
            self.networks.select(index),
            self.inputs.networks(index),
            self.targets if common else self.targets[index],
            *(None if each is None else each[index] for each in (self.row_weights, self.unit, self.shrinkage)),
        )


class _Step:
    """One optimisation step on tensors that stay in place, so that CUDA can record it once and replay it."""

    def __init__(self, task: _Task, loss: Loss, recipe: Recipe) -> None:
        self.task, self.loss, self.recipe = task, loss, recipe
        networks, inputs, targets = task.networks, task.inputs, task.targets
        self.pairs = int((inputs.own_group >= 0).sum()) if recipe.coordinates == "pair" else 0
        self.adam = Adam([tensor.requires_grad_() for tensor in networks.parameters() if tensor.numel()])
        self.rows = torch.zeros(min(recipe.batch_size, targets.shape[1]), dtype=torch.int64, device=targets.device)
        self.rate = targets.new_tensor(recipe.learning_rate)
        self.losses = targets.new_zeros(len(networks))
        self.unit = targets.new_ones(len(networks), 1, 1) if task.unit is None else task.unit[:, None, None]
        common = targets.new_full((len(networks),), recipe.shrinkage)
        self.shrinkage = common if task.shrinkage is None else task.shrinkage
        self.shrinks = bool(self.shrinkage.any())
        self.weights = equal_weights(networks, inputs)
        with torch.no_grad():
            self.skip = skip_values(networks, inputs)  # (m, n, q)

    def directions(self) -> Networks:
        """The networks with weights for X_j and c_jZ_j."""
        return from_pairs(self.task.networks, self.pairs) if self.pairs else self.task.networks

    def fitted(self) -> Networks:
        """The networks as they are now, in direction coordinates and in the unit of the targets."""
        return self.directions().detached().scaled(self.unit[:, 0, 0])

    def run(self) -> None:
        """Predict a minibatch, step Adam, shrink the rows."""
        rows, networks, inputs, weights = self.rows, self.task.networks, self.task.inputs, self.task.row_weights
        outputs = self.unit * self.directions().perceptron(*inputs.rows(rows))
        losses = self.loss(self.skip.index_select(1, rows) + outputs, inputs.each(self.task.targets, rows))  # (m, b)
        losses = (losses if weights is None else losses * weights.index_select(1, rows)).mean(dim=1)
        gradients = torch.autograd.grad(losses.sum(), self.adam.parameters)
        with torch.no_grad():
            self.adam.step(gradients, self.rate)
            self.losses.copy_(losses)
            if self.shrinks:
                shrink(networks, self.rate * self.shrinkage, self.weights)
            if inputs.held is not None:
                own = torch.arange(len(networks), device=rows.device)
                networks.shared.index_put_((inputs.held, own), self.rate.new_zeros(()))  # `= 0` no graph can record

    def adapt(self) -> None:
        """Let the group weights follow the sizes that the rows have reached."""
        with torch.no_grad():
            adapted = adaptive_weights(self.task.networks, self.task.inputs, self.recipe)
            for kept, new in zip(self.weights, adapted, strict=True):
                kept.copy_(new)


class Adam:
    """Adam in one pass over weights, gradients and moments.

    It is the kernel of torch.optim.Adam(fused=True) by itself: the class around it loads a compiler at its first use,
    which takes longer than many a fit, and adds a tenth of a millisecond to every step.
    """

    def __init__(self, parameters: list[Tensor], betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> None:
        self.parameters, self.betas, self.eps = parameters, betas, eps
        self.means = [torch.zeros_like(tensor, requires_grad=False) for tensor in parameters]
        self.squares = [torch.zeros_like(tensor, requires_grad=False) for tensor in parameters]
        self.counts = [torch.zeros((), device=tensor.device) for tensor in parameters]

    def step(self, gradients: tuple[Tensor, ...], rate: Tensor) -> None:
        """w ← w − rate · m̂ / (√v̂ + ε) with m and v the running means of g and g², less their bias to zero."""
        torch._foreach_add_(self.counts, 1)
        torch._fused_adam_(
            self.parameters,
            gradients,
            self.means,
            self.squares,
            [],
            self.counts,
            lr=rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=0.0,
            eps=self.eps,
            amsgrad=False,
            maximize=False,
        )


def shrink(networks: Networks, amount: Tensor, weights: tuple[Tensor, Tensor]) -> None:
    """Shrink each first-layer row by its network's amount (m,) times its group weight."""
    shared, own = weights
    if len(networks.shared):  # simultaneous mirrors share nothing
        shrink_rows(networks.shared, amount * shared)
    shrink_rows(networks.own, amount[:, None] * own)


def skip_values(networks: Networks, inputs: Inputs) -> Tensor:
    """The sparse part at every row, (m, n, q)."""
    every = torch.arange(inputs.own.shape[1], device=inputs.own.device)
    return torch.cat([networks.skip(*inputs.rows(rows)) for rows in every.split(ROWS)], dim=1)


def perceptron_values(networks: Networks, inputs: Inputs) -> Tensor:
    """The perceptron at every row, (m, n, q)."""
    every = torch.arange(inputs.own.shape[1], device=inputs.own.device)
    return torch.cat([networks.perceptron(*inputs.rows(rows)) for rows in every.split(ROWS)], dim=1)


def held_out_loss(networks: Networks, inputs: Inputs, targets: Tensor, loss: Loss, row_weights: Tensor) -> Tensor:
    """Mean loss over each network's rows of weight 0, (m,)."""
    out = (row_weights == 0).to(targets.dtype)
    every = torch.arange(targets.shape[1], device=targets.device)
    outputs = skip_values(networks, inputs) + perceptron_values(networks, inputs)
    return (loss(outputs, inputs.each(targets, every)) * out).sum(dim=1) / out.sum(dim=1)


class _Best:
    """Remembers, network by network, the weights of the lowest loss offered so far."""

    def __init__(self, networks: Networks) -> None:
        self.networks = networks
        self.loss = networks.bias.new_full((len(networks),), float("inf"))
        self.kept: list[Tensor] = []

    def offer(self, loss: Tensor) -> None:
        now = [self.networks.shared.transpose(0, 1), *self.networks.parameters()[1:]]  # all (m, ...)
        better = loss < self.loss
        self.loss = torch.minimum(loss, self.loss)
        self.kept = self.kept or [tensor.detach().clone() for tensor in now]
        for kept, tensor in zip(self.kept, now, strict=True):
            kept[better] = tensor.detach()[better]

    @torch.no_grad()
    def restore(self) -> None:
        now = [self.networks.shared.transpose(0, 1), *self.networks.parameters()[1:]]
        for kept, tensor in zip(self.kept, now, strict=False):
            tensor.copy_(kept)
