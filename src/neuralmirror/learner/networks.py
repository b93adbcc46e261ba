"""Many multilayer perceptrons at once.

All m networks of a batch share one input matrix, and each has inputs of its own:

    network i sees  (shared, own_i)        shared: (n, s)    own: (m, n, o)

Simultaneous mirrors are one network with own = all directions. Individual mirrors are one network per feature, with
shared = X and own = the directions of X_j, and the rows of X_j in the shared weights held at zero: so the first layer
of p networks is one product (n × p)(p × m·h) and a thin batched one. Mirrors in turns are in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
}


@dataclass
class Networks:
    """The weights of m networks; `layers` hold (weight, bias) of all layers after the first."""

    shared: Tensor  # (s, m, h)
    own: Tensor  # (m, o, h)
    bias: Tensor  # (m, h)
    layers: list[tuple[Tensor, Tensor]]  # (m, h, h'), (m, h')
    activation: Callable[[Tensor], Tensor]

    def __len__(self) -> int:
        return len(self.bias)

    def parameters(self) -> list[Tensor]:
        """All weights."""
        return [self.shared, self.own, self.bias, *(tensor for layer in self.layers for tensor in layer)]

    def copy(self) -> Networks:
        """The same weights, free of any gradient."""
        layers = [(weight.detach().clone(), bias.detach().clone()) for weight, bias in self.layers]
        shared, own, bias = (tensor.detach().clone() for tensor in (self.shared, self.own, self.bias))
        return Networks(shared, own, bias, layers, self.activation)

    def take(self, other: Networks, chosen: Tensor) -> None:
        """Take over the weights of some networks, a mask (m,), of another batch."""
        self.shared[:, chosen] = other.shared[:, chosen]
        mine, theirs = self.parameters()[1:], other.parameters()[1:]
        for tensor, source in zip(mine, theirs, strict=True):
            tensor[chosen] = source[chosen]

    def first_layer(self, shared: Tensor, own: Tensor) -> Tensor:
        """The first hidden layer before its activation, (m, n, h): one product for all networks, plus the own."""
        if not len(self.shared):
            return torch.baddbmm(self.bias[:, None], own, self.own)
        common = torch.addmm(self.bias.flatten(), shared, self.shared.flatten(1)).unflatten(1, self.bias.shape)
        return torch.baddbmm(common.transpose(0, 1), own, self.own)

    def after_first(self, hidden: Tensor) -> Tensor:
        """From the first layer before its activation to the outputs, (m, n, q)."""
        for weight, bias in self.layers:
            hidden = torch.baddbmm(bias[:, None], self.activation(hidden), weight)
        return hidden

    def __call__(self, shared: Tensor, own: Tensor) -> Tensor:
        """f(x), (m, n, q)."""
        return self.after_first(self.first_layer(shared, own))


def hidden_sizes(p: int) -> tuple[int, int]:
    """[20 log p] and [10 log p], the paper's choice."""
    return max(4, round(20 * np.log(p))), max(2, round(10 * np.log(p)))


def initial_layers(rng: np.random.Generator, sizes: Sequence[int], outputs: int) -> list[tuple[Tensor, Tensor]]:
    """(weight, bias) of the layers after the first, He-scaled, for one network: (h, h') and (h',)."""
    return [
        (torch.from_numpy(rng.standard_normal((a, b), dtype=np.float32)) * (2 / a) ** 0.5, torch.zeros(b))
        for a, b in pairwise([*sizes, outputs])
    ]
