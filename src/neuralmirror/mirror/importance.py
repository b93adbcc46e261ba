"""How strongly a network's output follows each input direction, and the mirror statistic made of it.

All three depend on the first-layer rows w_j, the skip's θ_j, κ_j and γ_jk, and what lies behind the first layer:

    path       L(X_j) = ⟨C, w_j⟩ + θ_j with C = Ω^(1)···Ω^(k)       (eq. importance)
    gradient   mean over rows i of g_ij = ⟨w_j, δ_i⟩ + θ_j + 2κ_jx_ij + Σ_k γ_jkx_ik
    field      root mean square over rows of g_ij

where g_ij is ∂f/∂X_j at row i, and δ = ∂MLP/∂preactivation.

The field sees squares and products, whose slopes average to zero. For a linear network the three agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from neuralmirror.learner.networks import Networks

FLOATS = 2**24  # slopes held at once


def path_strengths(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    """|L| of each own input, (m, o); with several outputs the Euclidean norm over them."""
    behind = networks.layers[0][0]  # (m, h, h')
    for weight, _ in networks.layers[1:]:
        behind = behind @ weight
    return _length(centred_outputs(networks.own @ behind + networks.skip_own))


def gradient_strengths(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    """|mean_i g_i| of each own input, (m, o)."""
    total = sum(slopes.sum(dim=1) for slopes in slope_blocks(networks, shared, own))
    return _length(torch.as_tensor(total) / own.shape[1])


def field_strengths(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    """rms_i g_i of each own input, (m, o)."""
    total = sum(slopes.square().sum(dim=(1, 3)) for slopes in slope_blocks(networks, shared, own))
    return torch.sqrt(torch.as_tensor(total) / own.shape[1])


def slope_blocks(networks: Networks, shared: Tensor, own: Tensor) -> Iterator[Tensor]:
    """g_i = ⟨w, δ_i⟩ + θ + 2κx_i + Σ γx_i′ of each own input, in blocks of rows (m, b, o, q)."""
    m, n, inputs = own.shape
    size = max(1, FLOATS // (m * inputs * networks.skip_own.shape[-1]))
    for rows in torch.arange(n, device=own.device).split(size):
        hidden = hidden_slopes(networks, shared[rows], own[:, rows])  # (m, b, h, q)
        slopes = torch.einsum("moh,mbhq->mboq", networks.own, hidden) + networks.skip_own[:, None]
        if networks.curve_own is not None:
            slopes = slopes + 2 * own[:, rows, :, None] * networks.curve_own[:, None]
        if networks.pairs is not None and networks.products is not None:
            factors = networks.factors(shared[rows], own[:, rows])  # (m, b, t) each
            for place, other in zip((networks.pairs - shared.shape[1]).unbind(dim=2), reversed(factors), strict=True):
                mine = (place >= 0)[:, None] * other  # slopes along shared inputs are not asked for
                steps = mine[..., None] * networks.products[:, None]  # (m, b, t, q)
                slopes = slopes.scatter_add(2, place.clamp(min=0)[:, None, :, None].expand_as(steps), steps)
        yield centred_outputs(slopes)


def hidden_slopes(networks: Networks, shared: Tensor, own: Tensor) -> Tensor:
    """δ_i = ∂MLP/∂preactivation at each row, (m, b, h, q)."""
    with torch.enable_grad():
        first = networks.preactivation(shared, own).detach().requires_grad_()
        outputs = networks.after_first(first).sum(dim=(0, 1))  # (q,): rows and networks do not mix
        grads = [torch.autograd.grad(out, first, retain_graph=True)[0] for out in outputs]
    return torch.stack(grads, dim=-1)


def centred_outputs(slopes: Tensor) -> Tensor:
    """Slopes of logits about their mean over classes: a constant added to all logits changes no probability."""
    return slopes - slopes.mean(dim=-1, keepdim=True) if slopes.shape[-1] > 1 else slopes


def _length(slopes: Tensor) -> Tensor:
    return slopes.square().sum(dim=-1).sqrt()


def mirror_statistics(strengths: ArrayLike, contrast: str = "difference") -> NDArray[np.float64]:
    """What a feature's winning direction among its K+1 is worth, (..., K+1) to (...,): its margin, or its strength.

    Positive when X_j (the first) wins, negative when one of its noises does, zero for a tie. With K = 1 the
    "difference" is M_j = |L⁺ + L⁻| − |L⁺ − L⁻| (eq. mstat), as L⁺ ± L⁻ are the strengths along X_j and along c_jZ_j.
    The "maximum" has the same sign and the same symmetry, and ranks a feature by how strong the winner is.
    """
    s = np.asarray(strengths, dtype=float)
    ordered = np.sort(s, axis=-1)
    margin = ordered[..., -1] - ordered[..., -2]
    worth = margin if contrast == "difference" else np.where(margin > 0, ordered[..., -1], 0.0)
    return np.asarray(np.where(s[..., 0] == ordered[..., -1], worth, -worth))


def paired_statistics(plus: ArrayLike, minus: ArrayLike) -> NDArray[np.float64]:
    """|L⁺ + L⁻| − |L⁺ − L⁻| per feature (eq. mstat)."""
    plus, minus = np.asarray(plus, dtype=float), np.asarray(minus, dtype=float)
    return np.asarray(np.abs(plus + minus) - np.abs(plus - minus))


IMPORTANCES: dict[str, Callable[[Networks, Tensor, Tensor], Tensor]] = {
    "field": field_strengths,
    "gradient": gradient_strengths,
    "path": path_strengths,
}
