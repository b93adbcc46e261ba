"""How strongly a network's output follows each direction among its own inputs.

    path      L(X_j) = ⟨C, w_j⟩ with C = Ω^(1)···Ω^(k)          (eq. importance)
    gradient  mean over rows of ∂f/∂X_j
    redraw    √(E (f(x) − f(x′))² / 2), x′ with the direction redrawn

The first two are the paper's. The third sees squares and products too, whose slopes average to zero: it is the square
root of the direction's total Sobol index, the standard deviation of an effect that acts alone.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from neuralmirror.learner.networks import Networks
from neuralmirror.learner.training import NetworkInputs

ROWS = 1024  # rows on which outputs are compared
CHUNK = 2**26  # bytes of the hidden layers of directions that are redrawn at once


def path_strengths(networks: Networks, inputs: NetworkInputs) -> Tensor:
    """|L| of each direction, (m, blocks)."""
    behind = networks.layers[0][0]  # (m, h, h')
    for weight, _ in networks.layers[1:]:
        behind = behind @ weight
    return _by_block(_length(centred_outputs(networks.own @ behind)), inputs)


def gradient_strengths(networks: Networks, inputs: NetworkInputs) -> Tensor:
    """|mean slope| along each direction, (m, blocks)."""
    hidden = networks.first_layer(inputs.shared, inputs.own).detach().requires_grad_()
    outputs = networks.after_first(hidden).mean(dim=1).sum(dim=0)  # (q,): networks do not mix
    slopes = [torch.autograd.grad(output, hidden, retain_graph=True)[0].sum(dim=1) for output in outputs]
    along = torch.stack([(networks.own @ slope[..., None])[..., 0] for slope in slopes], dim=-1)
    return _by_block(_length(centred_outputs(along)), inputs)


@torch.no_grad()
def redraw_strengths(networks: Networks, inputs: NetworkInputs, lines: Tensor | None = None) -> Tensor:
    """What changes in f, less `lines` (m, o, q) of its own inputs, when each direction has values of other rows."""
    shared, own = inputs.shared[:ROWS], inputs.own[:, :ROWS]
    m, n, _ = own.shape
    redrawn = pad(torch.roll(own, n // 2, dims=1) - own, (0, 1))  # (m, n, o + 1): the last fills up short blocks
    weights = pad(networks.own, (0, 0, 0, 1))
    slopes = None if lines is None else pad(lines, (0, 0, 0, 1))
    hidden = networks.first_layer(shared, own)
    before, found = centred_outputs(networks.after_first(hidden)), []
    for rows in inputs_of_blocks(inputs).split(max(1, CHUNK // (4 * hidden.numel()))):  # (b, widest)
        moves = redrawn[:, :, rows].permute(0, 2, 1, 3)  # (m, b, n, widest)
        after = networks.after_first((hidden[:, None] + moves @ weights[:, rows]).flatten(1, 2)).unflatten(1, (-1, n))
        moved = centred_outputs(after) - before[:, None]  # (m, b, n, q)
        if slopes is not None:
            moved = moved - centred_outputs(moves @ slopes[:, rows])
        found.append((moved.square().sum(dim=3).mean(dim=2) / 2).sqrt())
    return torch.cat(found, dim=1) if found else own.new_zeros(m, 0)


def inputs_of_blocks(inputs: NetworkInputs) -> Tensor:
    """The inputs of each direction, (blocks, widest); the number of inputs where a direction has fewer."""
    blocks, every = len(inputs.direction_feature), len(inputs.own_direction)
    order = inputs.own_direction.argsort(stable=True)
    block = inputs.own_direction[order]
    count = torch.bincount(block, minlength=blocks + 1)
    within = torch.arange(every, device=block.device) - (count.cumsum(0) - count)[block]
    widest = int(count[:blocks].max()) if blocks else 0
    table = torch.full((blocks, widest), every, device=block.device)
    held = block < blocks
    table[block[held], within[held]] = order[held]
    return table


def centred_outputs(values: Tensor) -> Tensor:
    """Logits about their mean over classes: a constant added to all logits changes no probability."""
    return values - values.mean(dim=-1, keepdim=True) if values.shape[-1] > 1 else values


def _length(values: Tensor) -> Tensor:
    return values.square().sum(dim=-1).sqrt()


def _by_block(values: Tensor, inputs: NetworkInputs) -> Tensor:
    """Sums over the inputs of each direction, (m, o) to (m, blocks)."""
    total = values.new_zeros(len(values), len(inputs.direction_feature) + 1)
    return total.index_add(1, inputs.own_direction, values)[:, :-1]
