"""Many multilayer perceptrons at once, each with a mirrored pair among its inputs.

All m networks of a batch share one input matrix, and each has inputs of its own:

    network i sees  (shared, own_i)        shared: (n, s)    own: (m, n, o)

Simultaneous mirrors (SNGM): one network per draw of the noise; nothing shared, own = (X, cZ).
Individual mirrors (INGM): one network per feature; shared = X, own = (X_j, cZ_j), with the row of X_j in the
shared weights held at zero. So the first layer of p networks is one product (n × p)(p × m·h) and a thin batched one.

Beside its perceptron every network has a fixed sparse part, the skip of `sparse_part`.

Inputs are directions: X_j and c_j Z_j^1..K rather than X_j ± c_j Z_j. As x⁺w⁺ + x⁻w⁻ = X(w⁺ + w⁻) + cZ(w⁺ − w⁻), this
is the same network with weights u = w⁺ + w⁻ and v = w⁺ − w⁻.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    skip_shared: Tensor  # (m, s, q): θ of the fixed sparse part Σ θx + κ(x² − 1) + Σ γx′x″
    skip_own: Tensor  # (m, o, q)
    activation: Callable[[Tensor], Tensor]
    curve_shared: Tensor | None = None  # (m, s, q): its κ, where it has squares
    curve_own: Tensor | None = None  # (m, o, q)
    intercept: Tensor | None = None  # (m, q): its constant
    pairs: Tensor | None = None  # (m, t, 2): inputs, shared and then own, whose products it has, where it has some
    products: Tensor | None = None  # (m, t, q): its γ

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

    def _tensors(self) -> list[Tensor]:
        """All tensors; the first has its networks on the second axis, the others on the first."""
        layers = [tensor for layer in self.layers for tensor in layer]
        rest = [
            part
            for part in (self.curve_shared, self.curve_own, self.intercept, self.pairs, self.products)
            if part is not None
        ]
        return [self.shared, self.own, self.bias, *layers, self.skip_shared, self.skip_own, *rest]

    def _rebuilt(self, tensors: Sequence[Tensor]) -> Networks:
        depth = 3 + 2 * len(self.layers)
        shared, own, bias = tensors[:3]
        layers = list(zip(tensors[3:depth:2], tensors[4:depth:2], strict=True))
        skip_shared, skip_own, *rest = tensors[depth:]
        return Networks(shared, own, bias, layers, skip_shared, skip_own, self.activation, *rest)

    def _each(
        self, change: Callable[[Tensor], Tensor], change_shared: Callable[[Tensor], Tensor] | None = None
    ) -> Networks:
        shared, *rest = self._tensors()
        return self._rebuilt([(change_shared or change)(shared), *map(change, rest)])

    def preactivation(self, shared: Tensor, own: Tensor) -> Tensor:
        """The first hidden layer before its activation, (m, n, h): one product for all networks, plus the own."""
        if not len(self.shared):
            return torch.baddbmm(self.bias[:, None], own, self.own)
        common = torch.addmm(self.bias.flatten(), shared, self.shared.flatten(1)).unflatten(1, self.bias.shape)
        return torch.baddbmm(common.transpose(0, 1), own, self.own)

    def after_first(self, preactivation: Tensor) -> Tensor:
        """From the first preactivation to the outputs of the perceptron, (m, n, q)."""
        hidden = preactivation
        for weight, bias in self.layers:
            hidden = torch.baddbmm(bias[:, None], self.activation(hidden), weight)
        return hidden

    def perceptron(self, shared: Tensor, own: Tensor) -> Tensor:
        """MLP(x), (m, n, q)."""
        return self.after_first(self.preactivation(shared, own))

    def skip(self, shared: Tensor, own: Tensor) -> Tensor:
        """The sparse part Σ θx + κ(x² − 1) + Σ γx′x″ and its constant, (m, n, q)."""
        total = torch.baddbmm(torch.einsum("ns,msq->mnq", shared, self.skip_shared), own, self.skip_own)
        if self.curve_shared is not None and self.curve_own is not None:
            total = total + torch.einsum("ns,msq->mnq", shared**2 - 1, self.curve_shared)
            total = torch.baddbmm(total, own**2 - 1, self.curve_own)
        if self.products is not None:
            first, second = self.factors(shared, own)
            total = torch.baddbmm(total, first * second, self.products)
        return total if self.intercept is None else total + self.intercept[:, None]

    def factors(self, shared: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """The two inputs of every product of the sparse part, each (m, n, t)."""
        assert self.pairs is not None
        first, second = (_inputs_at(side, shared, own) for side in self.pairs.unbind(dim=2))
        return first, second

    def __call__(self, shared: Tensor, own: Tensor) -> Tensor:
        """f(x) = skip(x) + MLP(x), (m, n, q)."""
        return self.skip(shared, own) + self.perceptron(shared, own)

    def scaled(self, factor: Tensor) -> Networks:
        """The same networks with their perceptrons, not their skips, multiplied by factor (m,)."""
        weight, bias = self.layers[-1]
        last = (weight * factor[:, None, None], bias * factor[:, None])
        return replace(self, layers=[*self.layers[:-1], last])

    def select(self, index: Tensor) -> Networks:
        """Some of the networks."""
        return self._each(lambda tensor: tensor[index], lambda shared: shared[:, index])

    @staticmethod
    def cat(parts: Sequence[Networks]) -> Networks:
        """Several batches as one."""
        shared, *others = zip(*(part._tensors() for part in parts), strict=True)
        return parts[0]._rebuilt([torch.cat(shared, dim=1), *map(torch.cat, others)])

    def joined(self, members: int) -> Networks:
        """Sums of `members` perceptrons as single, wider ones: of m networks, those m/members apart are added up.

        They see the same inputs and share one skip, that of the first.
        """
        shared = self.shared.unflatten(1, (members, -1)).transpose(1, 2).flatten(2)
        own = self.own.unflatten(0, (members, -1)).permute(1, 2, 0, 3).flatten(2)
        layers = [(_block_diagonal(weight, members), _side_by_side(bias, members)) for weight, bias in self.layers[:-1]]
        weight, bias = self.layers[-1]
        last = weight.unflatten(0, (members, -1)).transpose(0, 1).flatten(1, 2), bias.unflatten(0, (members, -1)).sum(0)
        one = self.select(torch.arange(len(self) // members))
        return replace(one, shared=shared, own=own, bias=_side_by_side(self.bias, members), layers=[*layers, last])


def _inputs_at(places: Tensor, shared: Tensor, own: Tensor) -> Tensor:
    """The inputs at places (m, t) among the shared and then the own ones, (m, n, t)."""
    s = shared.shape[1]
    mine = own.gather(2, (places - s).clamp(min=0)[:, None].expand(-1, own.shape[1], -1))
    if not s:
        return mine
    return torch.where((places < s)[:, None], shared[:, places.clamp(max=s - 1)].transpose(0, 1), mine)


def _side_by_side(bias: Tensor, members: int) -> Tensor:
    """(members·m, h) to (m, members·h)."""
    return torch.flatten(bias.unflatten(0, (members, -1)).transpose(0, 1), 1)


def _block_diagonal(weight: Tensor, members: int) -> Tensor:
    """(members·m, a, b) to (m, members·a, members·b)."""
    blocks = weight.unflatten(0, (members, -1)).transpose(0, 1)  # (m, members, a, b)
    places = torch.eye(members, device=weight.device, dtype=weight.dtype)[:, None, :, None]
    return torch.flatten((blocks[:, :, :, None] * places).flatten(3), 1, 2)


def hidden_sizes(p: int) -> tuple[int, int]:
    """[20 log p] and [10 log p], the paper's choice."""
    return max(4, round(20 * np.log(p))), max(2, round(10 * np.log(p)))


def initial_rows(generators: Sequence[np.random.Generator], *shape: int) -> Tensor:
    """First-layer weights of each feature, (p, ..., directions, width): all directions drawn alike."""
    draws = [g.standard_normal(shape, dtype=np.float32) for g in generators]
    return torch.from_numpy(np.stack(draws))


def initial_layers(rng: np.random.Generator, sizes: Sequence[int], outputs: int) -> list[tuple[Tensor, Tensor]]:
    """(weight, bias) of the layers after the first, He-scaled, for one network: (h, h') and (h',)."""
    return [
        (
            torch.from_numpy(rng.standard_normal((a, b), dtype=np.float32)) * (2 / a) ** 0.5,
            torch.zeros(b),
        )
        for a, b in pairwise([*sizes, outputs])
    ]
