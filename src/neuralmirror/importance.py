"""How strongly a network's output follows each input direction, and the mirror statistic made of it.

All three measures depend on the first-layer rows w_j, the skip θ_j and what lies behind the first layer:

    path       L(X_j) = ⟨C, w_j⟩ + θ_j with C = Ω^(1)···Ω^(k)       (eq. importance)
    gradient   mean over rows i of g_ij = ⟨w_j, δ_i⟩ + θ_j           (∂f/∂X_j at row i, δ = ∂MLP/∂preactivation)
    field      root mean square over rows of g_ij

The field sees squares and products, whose slopes average to zero. For a linear network the three agree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from neuralmirror.networks import Networks

ROWS = 4096  # rows whose slopes are held at once


def path_strengths(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    """|L| of each own input, (m, o); with several outputs the Euclidean norm over them."""
    behind = networks.layers[0][0]  # (m, h, h')
    for weight, _ in networks.layers[1:]:
        behind = behind @ weight
    return _length(networks.own @ behind + networks.skip_own)


def gradient_strengths(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    """|mean_i g_i| of each own input, (m, o)."""
    mean, _ = slope_moments(networks, shared, own)
    return _length(networks.own @ mean + networks.skip_own)


def field_strengths(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    """rms_i g_i of each own input, (m, o): mean_i (⟨w, δ_i⟩ + θ)² = wᵀΔw + 2θ⟨w, δ̄⟩ + θ², Δ = mean δδᵀ."""
    mean, second = slope_moments(networks, shared, own)
    skip = centred_outputs(networks.skip_own)  # (m, o, q)
    curved = ((networks.own @ second) * networks.own).sum(dim=-1)
    straight = (skip * (skip + 2 * (networks.own @ mean))).sum(dim=-1)
    return (curved + straight).clamp(min=0).sqrt()


def centred_outputs(slopes: Tensor) -> Tensor:
    """Slopes of logits about their mean over classes: a constant added to all logits changes no probability."""
    return slopes - slopes.mean(dim=-1, keepdim=True) if slopes.shape[-1] > 1 else slopes


def _length(slopes: Tensor) -> Tensor:
    return centred_outputs(slopes).square().sum(dim=-1).sqrt()


def slope_moments(networks: Networks, shared: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """δ̄ (m, h, q) and Σ_q mean_i δ_iq δ_iqᵀ (m, h, h) over the rows, δ_i = ∂MLP_q/∂preactivation at row i."""
    m, n, _ = own.shape
    width, outputs = networks.bias.shape[1], networks.skip_own.shape[-1]
    mean, second = own.new_zeros(m, width, outputs), own.new_zeros(m, width, width)
    for rows in torch.arange(n, device=own.device).split(ROWS):
        slopes = centred_outputs(_slopes(networks, shared[rows], own[:, rows]))  # (m, b, h, q)
        mean += slopes.sum(dim=1) / n
        stacked = slopes.movedim(-1, 1).flatten(1, 2)  # (m, q·b, h)
        second += stacked.mT @ stacked / n
    return mean, second


def _slopes(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    with torch.enable_grad():
        first = networks.preactivation(shared, own).detach().requires_grad_()
        outputs = networks.after_first(first).sum(dim=(0, 1))  # (q,): rows and networks do not mix
        grads = [torch.autograd.grad(out, first, retain_graph=True)[0] for out in outputs]
    return torch.stack(grads, dim=-1)


def mirror_statistics(strengths: ArrayLike) -> NDArray[np.float64]:
    """The signed margin of the winner among a feature's K+1 directions, (..., K+1) to (...,).

    Positive when X_j (the first) wins, negative when one of its noises does. With K = 1 this is
    M_j = |L⁺ + L⁻| − |L⁺ − L⁻| (eq. mstat), as L⁺ ± L⁻ are the strengths along X_j and along c_jZ_j.
    """
    s = np.asarray(strengths, dtype=float)
    ordered = np.sort(s, axis=-1)
    margin = ordered[..., -1] - ordered[..., -2]
    return np.asarray(np.where(s[..., 0] == ordered[..., -1], margin, -margin))


def paired_statistics(plus: ArrayLike, minus: ArrayLike) -> NDArray[np.float64]:
    """|L⁺ + L⁻| − |L⁺ − L⁻| per feature (eq. mstat)."""
    plus, minus = np.asarray(plus, dtype=float), np.asarray(minus, dtype=float)
    return np.asarray(np.abs(plus + minus) - np.abs(plus - minus))


IMPORTANCES: dict[str, Callable[[Networks, Tensor, Tensor], Tensor]] = {
    "field": field_strengths,
    "gradient": gradient_strengths,
    "path": path_strengths,
}
