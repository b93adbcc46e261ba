"""Gram matrices, bandwidths and the kernel measure of conditional dependence (Section 3.3 of the paper).

All functions take a batch: the last two axes are rows and coordinates, anything before them is carried along.
The measure exists twice: exactly, from n × n Gram matrices, and from features whose products approximate those
matrices, at a cost linear in n.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Landmarks of the one-dimensional features, in bandwidths around the centre. At this spacing the spectrum that a
# Gaussian kernel has beyond the grid's resolution is 2e-3 of the whole.
NODES = torch.linspace(-3.6, 3.6, 9, dtype=torch.float64)
WHITEN = torch.linalg.inv(torch.linalg.cholesky(torch.exp(-(NODES[:, None] - NODES).square() / 2)))
ROWS = 2048  # rows whose products of features are held at a time


def squared_distances(x: Tensor, y: Tensor | None = None) -> Tensor:
    """‖x_i − y_k‖² between rows, (..., n, d) and (..., m, d) to (..., n, m)."""
    return torch.cdist(x, x if y is None else y, compute_mode="donot_use_mm_for_euclid_dist").square()


def median_bandwidth(x: Tensor) -> Tensor:
    """The median distance between two different rows; the mean distance where the median is zero."""
    n = x.shape[-2]
    above = torch.triu_indices(n, n, offset=1)
    distances = squared_distances(x).sqrt()[..., above[0], above[1]]
    return positive_width(distances.median(dim=-1).values, distances.mean(dim=-1))


def positive_width(width: Tensor, fallback: Tensor) -> Tensor:
    """Discrete data can have a zero median; rows that are all equal have no scale, and 1 serves."""
    width = torch.where(width > 0, width, fallback)
    return torch.where(width > 0, width, torch.ones_like(width))


def gaussian_gram(x: Tensor, bandwidth: Tensor | float | None = None) -> Tensor:
    """K_ik = exp(−‖x_i − x_k‖² / 2σ²), with σ the median distance unless given."""
    sigma = median_bandwidth(x) if bandwidth is None else torch.as_tensor(bandwidth, dtype=x.dtype)
    return torch.exp(-squared_distances(x) / (2 * sigma.square())[..., None, None])


def polynomial_gram(x: Tensor, degree: int = 2, constant: float = 1.0) -> Tensor:
    """K_ik = (⟨x_i, x_k⟩ + constant)^degree."""
    return (x @ x.mT + constant) ** degree


def linear_gram(x: Tensor, constant: float = 1.0) -> Tensor:
    """K_ik = ⟨x_i, x_k⟩ + constant, the linear kernel with an intercept."""
    return polynomial_gram(x, degree=1, constant=constant)


def centred(gram: Tensor) -> Tensor:
    """H K H with H = I − 11ᵀ/n."""
    gram = gram - gram.mean(dim=-1, keepdim=True)
    return gram - gram.mean(dim=-2, keepdim=True)


def conditional_dependence(gram_u: Tensor, gram_v: Tensor, gram_w: Tensor) -> Tensor:
    """[I^K]² = n⁻² Σ (H K^U H) ∘ (H K^V H) ∘ K^W (eq. snmatrix)."""
    n = gram_u.shape[-1]
    return (centred(gram_u) * centred(gram_v) * gram_w).sum(dim=(-2, -1)) / n**2


def scalar_features(t: Tensor) -> Tensor:
    """Nystroem features φ of the one-dimensional Gaussian kernel, (..., n) in bandwidths to (..., n, 9).

    φ(s)·φ(t) ≈ exp(−(s − t)²/2). The landmarks sit on a fixed grid, so one small factor serves all columns. In memory
    the rows come last: products of features then run along long, contiguous lines.
    """
    to_nodes = t[..., None, :] - NODES.to(t)[:, None]  # (..., 9, n)
    return torch.matmul(WHITEN.to(t), to_nodes.square_().mul_(-0.5).exp_()).mT


def landmark_features(to_landmarks: Tensor, among_landmarks: Tensor) -> tuple[Tensor, Tensor]:
    """Features φ with φφᵀ ≈ K from K's landmark columns (..., n, m), and the diagonal 1 − ‖φ_i‖² that they miss.

    In many dimensions a Gaussian Gram matrix is nearly constant plus a multiple of the identity; landmarks catch
    the first part and the diagonal the second.
    """
    m = among_landmarks.shape[-1]
    jitter = 1e-4 * torch.eye(m, dtype=among_landmarks.dtype, device=among_landmarks.device)
    factor = torch.linalg.cholesky(among_landmarks + jitter)
    features = torch.linalg.solve_triangular(factor, to_landmarks.mT, upper=False).mT
    return features, (1 - features.square().sum(dim=-1)).clamp(min=0)


def conditional_dependence_from_features(u: Tensor, v: Tensor, w: Tensor, w_diagonal: Tensor) -> Tensor:
    """The same measure with K^U ≈ uuᵀ, K^V ≈ vvᵀ and K^W ≈ wwᵀ + diag(w_diagonal), in time linear in n.

    Σ_ik (u_i·u_k)(v_i·v_k)(w_i·w_k) is the squared norm of Σ_i u_i ⊗ v_i ⊗ w_i. Where u and v (..., C, n, r) have axes
    that w (..., n, m) lacks, one product with w serves all their entries, a block of rows at a time.
    """
    u, v = u - u.mean(dim=-2, keepdim=True), v - v.mean(dim=-2, keepdim=True)
    n, shared = u.shape[-2], w.dim() - 2
    candidates = u.shape[shared:-2]
    total = u.new_zeros(())
    for some_u, some_v, some_w in zip(u.split(ROWS, dim=-2), v.split(ROWS, dim=-2), w.split(ROWS, dim=-2), strict=True):
        products = some_u.mT[..., :, None, :] * some_v.mT[..., None, :, :]  # (..., C, r, r, rows)
        total = total + products.flatten(shared, -2) @ some_w  # (..., C·r², m)
    smooth = total.square().sum(dim=-1).unflatten(shared, (*candidates, -1)).sum(dim=-1)
    sizes = u.square().sum(dim=-1) * v.square().sum(dim=-1)  # (..., C, n): Σ_ab (u_a v_b)²
    rough = (w_diagonal.unflatten(-1, (*[1] * len(candidates), n)) * sizes).sum(dim=-1)
    return torch.div(smooth + rough, n**2)
