"""The scale c_j of mirrored pairs X_j ± c_j Z_j, by four rules.

Every rule treats X_j + cZ_j and X_j − cZ_j alike and all K noise vectors of a feature alike: c_j minimises (or
solves) a criterion summed over them. `x` is (n, p), `z` is (n, p, K) and scales are (p,).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from sklearn.covariance import ledoit_wolf_shrinkage
from torch import Tensor

from neuralmirror.mirror import kernels

ScaleRule = Callable[[Tensor, Tensor], Tensor]  # x (n, p) and z (n, p, K) to scales (p,)
Measure = Callable[[Tensor], Tensor]  # scales (features, candidates) to dependence of the same shape


EXACT_ROWS = 256  # up to here exact Gram matrices are cheap enough


LANDMARKS = 32


PAIRS = 1024  # pairs of rows from which bandwidths are read


# Bytes of one block of products: what caches like on a CPU, what fills a GPU.
MEMORY = {"cpu": 8 * 2**20, "cuda": 2**30}


COARSE = torch.linspace(-2.5, 1.5, 9)  # log₂ c / sd of the first candidates


def marginal_scales(x: Tensor, z: Tensor) -> Tensor:
    """c_j = sd(X_j)."""
    return x.std(dim=0, correction=0)


def linear_scales(x: Tensor, z: Tensor) -> Tensor:
    """The closed form of the linear kernel (eq. kernelc): c_j² = ⟨a, b⟩/⟨a, a⟩, a = Wᵀz², b = Wᵀx², W = (1, X_-j).

    With u = x + cz and v = x − cz the measure is ‖Σ_i u_i v_i w_i‖² = ‖b − c²a‖², a parabola in c². A negative
    minimiser, which only strongly skewed columns show, falls back to the marginal scale.
    """
    x = x - x.mean(dim=0)
    squares = (z - z.mean(dim=0)).square()  # (n, p, K)
    b = x.mT @ x.square()  # (p, p): coordinate by feature
    top, bottom = torch.zeros_like(b[0]), torch.zeros_like(b[0])
    for z2 in squares.unbind(dim=-1):
        a = x.mT @ z2
        constant = z2.sum(dim=0)
        top += constant * x.square().sum(dim=0) + (a * b).sum(dim=0) - (a * b).diagonal()
        bottom += constant.square() + a.square().sum(dim=0) - a.square().diagonal()
    return torch.where(top > 0, top / bottom, x.var(dim=0, correction=0)).sqrt()


def residual_scales(x: Tensor, z: Tensor) -> Tensor:
    """c_j^GM = ‖(I − P_W)X_j‖ / ‖(I − P_W)Z_j‖ with W = X_-j (eq. gmc), all features from one inverse.

    With G = (XᵀX + λI)⁻¹ the residual of X_j on the others is XG_j/G_jj, and the projection on the others is
    XGXᵀ − (XG_j)(XG_j)ᵀ/G_jj. λ is zero when n > p and the Ledoit-Wolf amount otherwise.
    """
    x = (x - x.mean(dim=0)).double()
    n, p = x.shape
    gram = x.mT @ x
    ridge = _ridge(x) if n <= p + 1 else 1e-10 * float(gram.diagonal().mean())
    inverse = torch.linalg.inv(gram + ridge * torch.eye(p, dtype=x.dtype, device=x.device))
    directions = x @ inverse  # (n, p): XG
    own = inverse.diagonal()
    top = (directions / own).square().sum(dim=0)
    bottom = torch.zeros_like(top)
    for noise in (z - z.mean(dim=0)).double().unbind(dim=-1):
        along = (directions * noise).sum(dim=0)
        rest = noise - directions @ (x.mT @ noise) + directions * (along / own)
        bottom += rest.square().sum(dim=0) / z.shape[-1]
    return torch.sqrt(top / bottom).to(z.dtype)


def _ridge(x: Tensor) -> float:
    """λ that turns XᵀX/n into the Ledoit-Wolf estimate, up to a factor."""
    shrinkage = float(ledoit_wolf_shrinkage(x.cpu().numpy(), assume_centered=True))
    mean_variance = float(x.square().mean())
    return len(x) * mean_variance * shrinkage / max(1 - shrinkage, 1e-3)


def kernel_scales(x: Tensor, z: Tensor, exact: bool | None = None) -> Tensor:
    """c_j = argmin_c [I_j^K(c)]² with Gaussian kernels at median bandwidths, batched over features."""
    n, p, k = z.shape
    exact = n <= EXACT_ROWS if exact is None else exact
    floats = 4 * k * n**2 if exact else k * min(n, kernels.ROWS) * len(kernels.NODES) ** 2  # of one candidate
    chunk = max(1, MEMORY[x.device.type] // (4 * len(COARSE) * floats))
    search, sd = _MirrorDependence(x, z, exact), x.std(dim=0, correction=0)
    features = torch.arange(p, device=x.device).split(chunk)
    return torch.cat([minimise_scale(search.measure(block), sd[block]) for block in features])


def minimise_scale(measure: Measure, sd: Tensor) -> Tensor:
    """Coarse grid, finer grid, parabola, all in log₂ c and for a block of features at once.

    The measure is large at both ends (U = V as c → 0, U = −V as c → ∞) and flat between, so a grid comes first.
    """
    exponents = COARSE.to(sd).expand(len(sd), -1)
    values = measure(sd[:, None] * 2**exponents)
    best = exponents.gather(1, values.argmin(dim=1, keepdim=True))
    step = 0.2
    around = best + step * torch.arange(-2, 3, dtype=sd.dtype, device=sd.device)
    values = measure(sd[:, None] * 2**around)
    middle = values.argmin(dim=1, keepdim=True).clamp(1, 3)
    left, centre, right = (values.gather(1, middle + d)[:, 0] for d in (-1, 0, 1))
    curvature = (left - 2 * centre + right).clamp(min=1e-30)
    shift = (0.5 * (left - right) / curvature).clamp(-1, 1)
    return torch.mul(sd, 2 ** (around.gather(1, middle)[:, 0] + step * shift))


class _MirrorDependence:
    """[I_j^K(c)]² for blocks of features j, with what they share: distances, pairs of rows, landmarks.

    K^W of W = X_-j comes from the distances of X less those of column j, never recomputed.
    """

    def __init__(self, x: Tensor, z: Tensor, exact: bool) -> None:
        self.x, self.z, self.exact = x.mT.contiguous(), z.permute(1, 2, 0).contiguous(), exact  # (p, n), (p, K, n)
        rng = np.random.default_rng(0)  # fixed rows: the rule is a function of (x, z) alone
        n = len(x)
        first = rng.integers(n, size=PAIRS)
        second = (first + rng.integers(1, n, size=PAIRS)) % n
        rows = np.arange(n) if exact else np.sort(rng.permutation(n)[:LANDMARKS])
        self.first, self.second, self.rows = (torch.from_numpy(index).to(x.device) for index in (first, second, rows))
        self.to_landmarks = kernels.squared_distances(x, x[self.rows])  # (n, m)
        self.pair_distances = (x[self.first] - x[self.second]).square().sum(dim=1)  # (pairs,)

    def measure(self, block: Tensor) -> Measure:
        x, z = self.x[block], self.z[block]  # (b, n), (b, K, n)
        steps = self._steps(x), self._steps(z)
        gram_w = self._gram_of_others(x, steps[0])  # (b, n, m)
        if not self.exact:
            # In one dimension many landmarks coincide; the jitter of the factor covers it.
            w, diagonal = kernels.landmark_features(gram_w, gram_w[:, self.rows])

        def dependence(c: Tensor) -> Tensor:  # (b, C) to (b, C)
            u, v = (  # (b, C, K, n)
                _in_bandwidths(*(a[:, None, None] + signed[..., None, None] * b[:, None] for a, b in ((x, z), steps)))
                for signed in (c, -c)
            )
            if self.exact:
                gram_u, gram_v = (torch.exp(-(t[..., :, None] - t[..., None, :]).square() / 2) for t in (u, v))
                return kernels.conditional_dependence(gram_u, gram_v, gram_w[:, None, None]).sum(dim=2)
            phi_u, phi_v = kernels.scalar_features(u), kernels.scalar_features(v)
            return kernels.conditional_dependence_from_features(phi_u, phi_v, w, diagonal).sum(dim=2)

        return dependence

    def _steps(self, values: Tensor) -> Tensor:
        """Differences within the pairs of rows, (..., n) to (..., pairs)."""
        return values[..., self.first] - values[..., self.second]

    def _gram_of_others(self, x: Tensor, steps: Tensor) -> Tensor:
        """K^W between all rows and the landmarks for each feature of a block, (b, n, m)."""
        own = (x[:, :, None] - x[:, None, self.rows]).square()
        squared_width = (self.pair_distances - steps.square()).clamp(min=0)
        width = kernels.positive_width(squared_width.median(dim=1).values, squared_width.mean(dim=1))
        return torch.exp(-(self.to_landmarks - own).clamp(min=0) / (2 * width[:, None, None]))


def _in_bandwidths(u: Tensor, steps: Tensor) -> Tensor:
    """u about its mean, in units of its median distance."""
    sizes = steps.abs()
    width = kernels.positive_width(sizes.median(dim=-1).values, sizes.mean(dim=-1))
    return (u - u.mean(dim=-1, keepdim=True)) / width[..., None]


SCALES: dict[str, ScaleRule] = {
    "kernel": kernel_scales,
    "linear": linear_scales,
    "residual": residual_scales,
    "marginal": marginal_scales,
}
