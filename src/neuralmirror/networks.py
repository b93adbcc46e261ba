"""Many multilayer perceptrons at once, each with a mirrored pair among its inputs.

All m networks of a batch share one input matrix, and each has inputs of its own:

    network i sees  (shared, own_i)        shared: (n, s)    own: (m, n, o)

Simultaneous mirrors (SNGM): one network per draw of the noise; nothing shared, own = (X, cZ).
Individual mirrors (INGM): one network per feature; shared = X, own = (X_j, cZ_j), with the row of X_j in the
shared weights held at zero. So the first layer of p networks is one product (n × p)(p × m·h) and a thin batched one.

Inputs are directions: X_j and c_j Z_j^1..K rather than X_j ± c_j Z_j. As x⁺w⁺ + x⁻w⁻ = X(w⁺ + w⁻) + cZ(w⁺ − w⁻), this
is the same network with weights u = w⁺ + w⁻ and v = w⁺ − w⁻.
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
    skip_shared: Tensor  # (m, s, q): the fixed linear part
    skip_own: Tensor  # (m, o, q)
    activation: Callable[[Tensor], Tensor]

    def __len__(self) -> int:
        return len(self.bias)

    def parameters(self) -> list[Tensor]:
        """The trainable tensors: everything but the skip."""
        return [self.shared, self.own, self.bias, *(tensor for layer in self.layers for tensor in layer)]

    def to(self, device: str) -> Networks:
        """The same networks on another device; always fresh tensors."""
        return self._each(lambda tensor: tensor.detach().to(device, copy=True))

    def detached(self) -> Networks:
        """The same networks, free of the autograd graph."""
        return self._each(torch.Tensor.detach)

    def _each(self, change: Callable[[Tensor], Tensor]) -> Networks:
        first = change(self.shared), change(self.own), change(self.bias)
        layers = [(change(weight), change(bias)) for weight, bias in self.layers]
        return Networks(*first, layers, change(self.skip_shared), change(self.skip_own), self.activation)

    def preactivation(self, shared: Tensor, own: Tensor) -> Tensor:
        """The first hidden layer before its activation, (m, n, h): one product for all networks, plus the own."""
        mine = torch.baddbmm(self.bias[:, None], own, self.own)  # (m, n, h)
        if not len(self.shared):
            return mine
        common = (shared @ self.shared.flatten(1)).unflatten(1, self.bias.shape)  # (n, m, h)
        return torch.add(mine, common.transpose(0, 1))

    def after_first(self, preactivation: Tensor) -> Tensor:
        """From the first preactivation to the outputs of the perceptron, (m, n, q)."""
        hidden = preactivation
        for weight, bias in self.layers:
            hidden = torch.baddbmm(bias[:, None], self.activation(hidden), weight)
        return hidden

    def perceptron(self, shared: Tensor, own: Tensor) -> Tensor:
        """MLP(x), (m, n, q)."""
        return self.after_first(self.preactivation(shared, own))

    def linear(self, shared: Tensor, own: Tensor) -> Tensor:
        """The skip xᵀθ, (m, n, q)."""
        return torch.baddbmm(torch.einsum("ns,msq->mnq", shared, self.skip_shared), own, self.skip_own)

    def __call__(self, shared: Tensor, own: Tensor) -> Tensor:
        """f(x) = xᵀθ + MLP(x), (m, n, q)."""
        return self.linear(shared, own) + self.perceptron(shared, own)


def hidden_sizes(p: int) -> tuple[int, int]:
    """[20 log p] and [10 log p], the paper's choice."""
    return max(4, round(20 * np.log(p))), max(2, round(10 * np.log(p)))


def initial_rows(generators: Sequence[np.random.Generator], directions: int, width: int) -> Tensor:
    """First-layer weights of each feature's directions, (p, directions, width): all directions drawn alike."""
    draws = [g.standard_normal((directions, width), dtype=np.float32) for g in generators]
    return torch.from_numpy(np.stack(draws))


def initial_layers(
    rng: np.random.Generator, sizes: Sequence[int], outputs: int
) -> list[tuple[Tensor, Tensor]]:
    """(weight, bias) of the layers after the first, He-scaled, for one network: (h, h') and (h',)."""
    return [
        (
            torch.from_numpy(rng.standard_normal((a, b), dtype=np.float32)) * (2 / a) ** 0.5,
            torch.zeros(b),
        )
        for a, b in pairwise([*sizes, outputs])
    ]
