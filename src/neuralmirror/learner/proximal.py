"""Many lassos at once by accelerated proximal gradient descent: matrix products and thresholds, nothing else.

    θ ← S(v − ∇/L, λ/L),    v ← θ + momentum · (θ − θ_before)          S(t, λ) = sign(t) · max(0, |t| − λ)

The momentum of a lasso starts anew where it points uphill (O'Donoghue and Candès, 2015). All stop together, when every
duality gap is a small share both of ‖y‖² and of the objective.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralmirror._internal.cuda_graphs import recorded

Floats = NDArray[np.float64]

STEPS = 3000  # at most
LOOK = 25  # steps between two looks at the duality gap
POWERS = 50  # products that approach the largest eigenvalue
MARGIN = 1.05  # for what is missing of it
GAP = 1e-4  # the largest duality gap at the end, as a share of ‖y‖²
RELATIVE_GAP = 1e-2  # and as a share of the objective
RECORDED = 2**22  # coefficients up to which a step on a GPU waits for launches, and not for numbers


def soft(values: Tensor, threshold: Tensor) -> Tensor:
    """S(t, λ), the proximal map of λ|·|."""
    return values - values.clamp(-threshold, threshold)


def largest_eigenvalues(product: Callable[[Tensor], Tensor], start: Tensor) -> Tensor:
    """Of each positive semi-definite matrix behind `product` (b, d, 1) → (b, d, 1), slightly above, (b,)."""
    vector = start
    for _ in range(POWERS):
        vector = product(vector / vector.norm(dim=1, keepdim=True).clamp(min=1e-30))
    return MARGIN * vector.square().sum(dim=(1, 2)).sqrt().clamp(min=1e-12)


def uneven(values: Tensor, *shape: int) -> Tensor:
    """A start for power iteration that no pattern of signs is orthogonal to, the same on every run."""
    return torch.from_numpy(np.random.default_rng(0).standard_normal(shape)).to(values)


@torch.no_grad()
def descend(
    descent: Callable[[Tensor], Tensor], threshold: Tensor, start: Tensor, settled: Callable[[Tensor], bool]
) -> Tensor:
    """θ (b, d, c): c lassos for each of b designs; `descent` is a step against the gradient."""
    state = _Descent(descent, threshold, start)
    advance = state.step
    for number in range(1, STEPS + 1):
        advance()
        if number == 1 and start.is_cuda and start.numel() <= RECORDED:
            advance = recorded(state.step)
        if number % LOOK == 0 and settled(state.theta):
            break
    return state.theta


class _Descent:
    """Accelerated steps on tensors that stay in place, so that CUDA can record one and replay it."""

    def __init__(self, descent: Callable[[Tensor], Tensor], threshold: Tensor, start: Tensor) -> None:
        self.descent, self.threshold = descent, threshold
        self.theta, self.point = start.clone(), start.clone()
        self.time = start.new_ones(start.shape[0], 1, start.shape[2])

    def step(self) -> None:
        """θ and v move; where a lasso went uphill its time, and so its momentum, starts anew."""
        after = soft(self.point + self.descent(self.point), self.threshold)
        change = after - self.theta
        uphill = ((self.point - after) * change).sum(dim=1, keepdim=True) > 0
        time = self.time.masked_fill(uphill, 1.0)
        self.time.copy_((1 + (1 + 4 * time.square()).sqrt()) / 2)
        torch.addcmul(after, (time - 1) / self.time, change, out=self.point)
        self.theta.copy_(after)


def small_gaps(size: Tensor, rest: Tensor, along: Tensor, excess: Tensor, penalty: Tensor) -> bool:
    """Whether ½‖r‖² + penalty is close to the dual at r shrunk into its feasible set.

    For ‖y‖², ‖r‖², y·r, and by how many times the largest slope exceeds its bound.
    """
    shrink = 1 / excess.clamp(min=1)
    primal = rest / 2 + penalty
    gap = primal - (shrink * along - shrink.square() * rest / 2)
    return bool((gap <= torch.minimum(GAP * size, RELATIVE_GAP * primal)).all())


def curvatures(design: Tensor) -> Tensor:
    """The largest eigenvalue of DᵀD, slightly above, of each design (b, n, d)."""
    return largest_eigenvalues(lambda v: design.mT @ (design @ v), uneven(design, design.shape[2], 1)[None])


def folded_lassos(
    design: Tensor, y: Tensor, rows: Tensor, penalties: Tensor, start: Tensor, curvature: Tensor
) -> Tensor:
    """θ (b, d, c) of lassos with an intercept: designs (b, n, d), the rows (n, c) each one sees, penalties (b, c)."""
    counts = rows.sum(dim=0)  # (c,)
    seen = rows * (y[..., None] - (y @ rows / counts)[:, None])  # (b, n, c): the response about its mean
    size = seen.square().sum(dim=1)  # (b, c)
    rate = 1 / curvature[:, None, None]
    penalties = counts * penalties  # of ½‖y − Dθ‖²

    def residual(theta: Tensor) -> Tensor:
        rest = rows * (y[..., None] - design @ theta)
        return torch.addcmul(rest, rows, -rest.sum(dim=1, keepdim=True) / counts)

    def settled(theta: Tensor) -> bool:
        rest = residual(theta)
        squares, along = rest.square().sum(dim=1), (rest * seen).sum(dim=1)
        excess = (design.mT @ rest).abs().amax(dim=1) / penalties
        return small_gaps(size, squares, along, excess, penalties * theta.abs().sum(dim=1))

    return descend(lambda theta: (design.mT @ residual(theta)).mul_(rate), rate * penalties[:, None], start, settled)


class Neighbours:
    """p lassos that differ by a few columns: the j-th on a common design (n, d) and its own columns (n, p, e)."""

    def __init__(self, design: Floats, own: Floats, y: Floats, device: str) -> None:
        def centred(values: Floats) -> Tensor:
            return torch.from_numpy(values - values.mean(axis=0)).to(device, torch.float32)

        x, z, target = centred(design), centred(own), centred(y)
        n, self.shape = len(x), (x.shape[1] + z.shape[2], z.shape[1])
        self.gram = x.mT @ x / n  # (d, d)
        self.cross = torch.einsum("nd,npe->ped", x, z) / n  # (p, e, d)
        self.own = torch.einsum("npe,npf->pef", z, z) / n
        shared = (x.mT @ target / n)[:, None].expand(-1, self.shape[1])
        self.response = torch.cat([shared, torch.einsum("npe,n->ep", z, target) / n])  # (d + e, p)
        self.size = target.square().mean()
        top = largest_eigenvalues(lambda v: self.gram @ v, uneven(x, x.shape[1], 1)[None])
        self.curvature = top + MARGIN * self.own.diagonal(dim1=1, dim2=2).sum(dim=1).max()

    def slopes(self, theta: Tensor) -> Tensor:
        """Dᵀ(y − Dθ)/n of every lasso, (d + e, p)."""
        d = len(self.gram)
        shared, own = theta[:d], theta[d:].mT  # (d, p), (p, e)
        fitted = self.gram @ shared + torch.einsum("ped,pe->dp", self.cross, own)
        mine = torch.einsum("ped,dp->ep", self.cross, shared) + torch.einsum("pef,pf->ep", self.own, own)
        return self.response - torch.cat([fitted, mine])

    def solve(self, weights: Floats, penalty: float, start: Floats) -> Floats:
        """θ (p, d + e) at one penalty, from a common start of the d shared columns."""
        w = torch.from_numpy(weights.T).to(self.response)
        theta = self.response.new_zeros(self.shape)
        theta[: len(start)] = torch.from_numpy(start).to(self.response)[:, None]

        def settled(theta: Tensor) -> bool:
            slopes, (theta,) = self.slopes(theta[0]), theta
            along = self.size - (self.response * theta).sum(dim=0)
            rest = along - (theta * slopes).sum(dim=0)
            excess = (w * slopes).abs().amax(dim=0) / penalty
            return small_gaps(self.size, rest, along, excess, penalty * (theta / w).abs().sum(dim=0))

        found = descend(
            lambda theta: self.slopes(theta[0])[None] / self.curvature,
            penalty / w[None] / self.curvature,
            theta[None],
            settled,
        )[0]
        return found.mT.double().cpu().numpy()
