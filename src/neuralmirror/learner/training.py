"""The optimisation loop: Adam on a cosine schedule, with group shrinkage of the directions that are to be told apart.

One step, for every network of the batch at once:

    weights ← Adam(weights, ∇ loss(f(x), y) on a minibatch)
    block   ← prox(block − η·g, η·s·median‖g‖)              for the first-layer rows of each direction, where s > 0

g is the running mean of a block's gradient, and the median is that over all directions, most of which are copies: the
size of a gradient that means nothing. η is one step size for all blocks; Adam, which gives each weight a step of its
own, would make as much of such a gradient as of any other. All directions are treated alike, so nothing here prefers
X_j to a copy or one feature to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from neuralmirror._internal.precision import tensor_cores
from neuralmirror.learner.networks import Networks

Loss = Callable[[Tensor, Tensor], Tensor]  # outputs (m, b, q) and targets (b, q) to the loss of each network (m,)
Tick = Callable[[int], None]

CHECKS = 20  # looks at the held-out rows, where training may stop early


@dataclass(frozen=True)
class Recipe:
    """How networks are trained; `shrinkage` 0 and `mirrored_pairs` leave the paper's plain perceptron."""

    steps: int = 1000
    batch_size: int = 128
    learning_rate: float = 3e-3
    shrinkage: float = 0.0  # s
    mirrored_pairs: bool = False  # weights for X_j ± c_jZ_j instead of X_j and c_jZ_j
    early_stopping: bool = False
    prior: float = 0.0  # times Σ fan-in · ‖weights‖² / n, which is added to the loss


@dataclass(frozen=True)
class NetworkInputs:
    """What the networks see, and to which direction and feature each of their own inputs belongs."""

    shared: Tensor  # (n, s)
    own: Tensor  # (m, n, o): blocks of inputs, one a direction; then covariates
    own_direction: Tensor  # (o,): the block of each input; the number of blocks for what is never shrunk
    direction_feature: Tensor  # (blocks,): the feature of each direction
    reads: Tensor | None = None  # (s, m): 1 where a network reads a shared input, 0 where its weights are held at zero
    count: Tensor | None = None  # (m,): inputs of each network, where some of its own are only there to fill up


def squared_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean of (f − y)² summed over outputs."""
    return (outputs - targets).square().sum(dim=-1).mean(dim=-1)


def logistic_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood of a target in {0, 1} under the logit f."""
    return (functional.softplus(outputs) - targets * outputs).sum(dim=-1).mean(dim=-1)


def softmax_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood of one-hot targets under logits f."""
    return -(targets * outputs.log_softmax(dim=-1)).sum(dim=-1).mean(dim=-1)


def loss_of(classes: int) -> Loss:
    """The loss of numbers (0 classes), of two classes, and of more."""
    return {0: squared_loss, 2: logistic_loss}.get(classes, softmax_loss)


def cosine_rates(recipe: Recipe) -> NDArray[np.float64]:
    """lr_t = lr · (1 + cos(π t/T)) / 2."""
    return recipe.learning_rate * 0.5 * (1 + np.cos(np.pi * np.arange(recipe.steps) / recipe.steps))


def minibatches(n: int, recipe: Recipe, rng: np.random.Generator) -> NDArray[np.int64]:
    """Row indices (steps, b): passes over shuffled rows, the same for every network of a batch."""
    size = min(recipe.batch_size, n)
    passes = -(-recipe.steps * size // n)
    order = np.concatenate([rng.permutation(n) for _ in range(passes)])
    return order[: recipe.steps * size].reshape(recipe.steps, size)


def block_norms(rows: Tensor, inputs: NetworkInputs) -> Tensor:
    """‖first-layer rows‖ of each direction's block, (m, blocks + 1); the last is what is never shrunk."""
    squares = rows.square().sum(dim=2)  # (m, o)
    total = squares.new_zeros(len(rows), len(inputs.direction_feature) + 1)
    return total.index_add_(1, inputs.own_direction, squares).sqrt_()


def shrink_blocks(rows: Tensor, inputs: NetworkInputs, amount: Tensor) -> None:
    """block ← block · max(0, 1 − amount/‖block‖), the proximal step of a group lasso, by (m,); covariates stay."""
    factor = (1 - amount[:, None] / block_norms(rows, inputs).clamp_(min=1e-12)).clamp_(min=0)  # (m, blocks + 1)
    factor[:, -1] = 1
    rows.mul_(factor[:, inputs.own_direction, None])


def add_prior(gradients: Sequence[Tensor], networks: Networks, inputs: Tensor, weight: float) -> None:
    """Add the slopes of weight · Σ over layers of fan-in · ‖w‖², a normal law N(0, 1/fan-in) of all weights but biases.

    The gradients are those of `networks.parameters()`; `inputs` (m,) are the fan-in of the first layer.
    """
    held: list[tuple[Tensor, Tensor | int]] = [
        (networks.shared, inputs[:, None]),
        (networks.own, inputs[:, None, None]),
        *((matrix, matrix.shape[1]) for matrix, _ in networks.layers),
    ]
    for gradient, (tensor, fan_in) in zip([*gradients[:2], *gradients[3::2]], held, strict=True):
        if tensor.numel():
            gradient.add_(tensor * fan_in, alpha=2 * weight)


def from_pairs(networks: Networks, pairs: int) -> Networks:
    """Own rows held as (w⁺, w⁻) of mirrored pairs turned into those of the directions: w⁺ + w⁻ and w⁺ − w⁻."""
    plus, minus = networks.own[:, :pairs].unflatten(1, (-1, 2)).unbind(dim=2)
    directions = torch.stack([plus + minus, plus - minus], dim=2).flatten(1, 2)
    own = torch.cat([directions, networks.own[:, pairs:]], dim=1)
    return Networks(networks.shared, own, networks.bias, networks.layers, networks.activation)


@tensor_cores()
def train(
    networks: Networks,
    inputs: NetworkInputs,
    targets: Tensor,
    loss: Loss,
    recipe: Recipe,
    rng: np.random.Generator,
    tick: Tick | None = None,
    offset: Tensor | None = None,
) -> Networks:
    """Train all networks on the rows of the targets (n, q); return them with weights for the directions.

    An `offset` (n, q) is added to what all of them say before it is compared with the targets.
    With `early_stopping` a fifth of the rows is held out, and each network's weights of its smallest loss are returned.
    """
    n = len(targets)
    kept = rng.permutation(n)[: n - n // 5] if recipe.early_stopping else np.arange(n)
    held_out = torch.from_numpy(np.setdiff1d(np.arange(n), kept)).to(targets.device)
    batches = torch.from_numpy(kept[minibatches(len(kept), recipe, rng)]).to(targets.device)
    blocks = len(inputs.direction_feature)
    pairs = int((inputs.own_direction < blocks).sum()) if recipe.mirrored_pairs else 0
    weights = [tensor.requires_grad_() for tensor in networks.parameters()]
    shrinks = bool(recipe.shrinkage and networks.own.numel())
    shrunk = ShrunkenBlocks(networks.own, inputs, recipe.shrinkage) if shrinks else None
    by_adam = [place for place in range(len(weights)) if weights[place].numel() and not (shrinks and place == 1)]
    adam = Adam([weights[place] for place in by_adam])
    best, lowest = networks.copy(), torch.full((len(networks),), float("inf"), device=targets.device)

    count = torch.full((len(networks),), inputs.shared.shape[1] + inputs.own.shape[2], device=targets.device)
    count = count if inputs.count is None else inputs.count

    def predicted(rows: Tensor) -> Tensor:
        current = from_pairs(networks, pairs) if pairs else networks
        outputs = current(inputs.shared.index_select(0, rows), inputs.own.index_select(1, rows))
        return outputs if offset is None else outputs + offset[rows]

    for number, (rows, rate) in enumerate(zip(batches, cosine_rates(recipe), strict=True)):
        gradients = torch.autograd.grad(loss(predicted(rows), targets[rows]).sum(), weights, allow_unused=True)
        with torch.no_grad():
            if recipe.prior:
                add_prior(gradients, networks, count, recipe.prior / len(kept))
            adam.step([gradients[place] for place in by_adam], float(rate))
            if shrunk is not None:
                shrunk.step(gradients[1], float(rate))
            if inputs.reads is not None:
                networks.shared.mul_(inputs.reads[..., None])
            if recipe.early_stopping and number % max(1, recipe.steps // CHECKS) == 0:
                current = loss(predicted(held_out), targets[held_out])  # (m,)
                best.take(networks, current < lowest)
                lowest = torch.minimum(lowest, current)
        if tick is not None:
            tick(1)
    chosen = best if recipe.early_stopping else networks.copy()
    return from_pairs(chosen, pairs) if pairs else chosen


class Adam:
    """w ← w − rate · m̂ / (√v̂ + ε) with m and v the running means of g and g², less their bias to zero."""

    def __init__(self, parameters: list[Tensor], betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> None:
        self.parameters, self.betas, self.eps, self.steps = parameters, betas, eps, 0
        self.means = [torch.zeros_like(tensor, requires_grad=False) for tensor in parameters]
        self.squares = [torch.zeros_like(tensor, requires_grad=False) for tensor in parameters]

    def step(self, gradients: Sequence[Tensor], rate: float) -> None:
        """One step along the gradients."""
        self.steps += 1
        first, second = self.betas
        size, root = rate / (1 - first**self.steps), (1 - second**self.steps) ** 0.5
        for tensor, gradient, mean, square in zip(self.parameters, gradients, self.means, self.squares, strict=True):
            mean.lerp_(gradient, 1 - first)
            square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
            tensor.addcdiv_(mean, square.sqrt().div_(root).add_(self.eps), value=-size)


class ShrunkenBlocks:
    """Proximal steps of the first-layer rows of all directions, by one step size: Adam's for the largest gradient."""

    def __init__(
        self, rows: Tensor, inputs: NetworkInputs, shrinkage: float, betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        self.rows, self.inputs, self.shrinkage, self.betas, self.steps = rows, inputs, shrinkage, betas, 0
        self.mean = torch.zeros_like(rows, requires_grad=False)
        self.square = rows.new_zeros(len(rows))  # (m,): of the largest gradient
        blocks = len(inputs.direction_feature)
        in_blocks = (inputs.own_direction < blocks).sum() * rows.shape[2]
        self.length = float(in_blocks / blocks) ** 0.5  # of a block of ones

    def step(self, gradient: Tensor, rate: float) -> None:
        """One step along the gradient, and the proximal step of the same size."""
        self.steps += 1
        first, second = self.betas
        self.mean.lerp_(gradient, 1 - first)
        self.square.lerp_(self._sizes(gradient).amax(dim=1).square(), 1 - second)
        largest = (self.square / (1 - second**self.steps)).sqrt().clamp(min=1e-12)
        size = rate * self.length / (1 - first**self.steps) / largest  # η, (m,)
        self.rows.addcmul_(size[:, None, None], self.mean, value=-1)
        shrink_blocks(self.rows, self.inputs, self.shrinkage * size * self._sizes(self.mean).median(dim=1).values)

    def _sizes(self, rows: Tensor) -> Tensor:
        """The norms of all blocks, (m, blocks)."""
        return block_norms(rows, self.inputs)[:, :-1]
