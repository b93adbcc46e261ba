"""Latent responses of classes: two have the sign of one, of more the largest has the label (Albert and Chib, 1993)."""

from __future__ import annotations

import math

import numpy as np

from neuralmirror.learner.compiled import compiled_step


@compiled_step
def normal_above(bound):  # type: ignore[no-untyped-def]
    """A standard normal given that it exceeds `bound` (Robert, 1995)."""
    if bound < 0.4:
        while True:
            z = np.random.standard_normal()
            if z > bound:
                return z
    rate = 0.5 * (bound + math.sqrt(bound * bound + 4.0))
    while True:
        z = bound + np.random.standard_exponential() / rate
        if np.random.random() < math.exp(-0.5 * (z - rate) ** 2):
            return z


@compiled_step
def draw_latent(residual, latent, labels, n_seen):  # type: ignore[no-untyped-def]
    """Latent responses given the fit and the labels; their residuals move with them."""
    outputs = latent.shape[0]
    for i in range(n_seen):
        if outputs == 1:
            fit = latent[0, i] - residual[0, i]
            sign = 1.0 if labels[i] == 1 else -1.0
            latent[0, i] = fit + sign * normal_above(-sign * fit)
            residual[0, i] = latent[0, i] - fit
            continue
        for c in range(outputs):
            fit = latent[c, i] - residual[c, i]
            if c == labels[i]:
                bound = -1e30
                for other in range(outputs):
                    if other != c:
                        bound = max(bound, latent[other, i])
                latent[c, i] = fit + normal_above(bound - fit)
            else:
                latent[c, i] = fit - normal_above(fit - latent[labels[i], i])
            residual[c, i] = latent[c, i] - fit
