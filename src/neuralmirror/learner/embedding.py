"""The numeric embedding that curves, surfaces and networks share: waves of a feature's normal scores.

    φ_b(x) = cos(π b (z + 3) / 6),  b = 1, 2, …          z: normal score of x among all directions of its feature, in ±3

Odd b are odd functions and even b even ones; b waves resolve what repeats within 12/b standard deviations. Scores
are taken over X_j and its copies together, so all of them see one embedding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

RANGE = 3.0  # normal scores beyond are set to it
SMOOTH_WAVES, ROUGH_WAVES = 4, 12


def normal_scores(directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rank-normal scores of (..., K+1, n) over the last two axes together, within ±3."""
    pooled = directions.reshape(*directions.shape[:-2], -1)
    ranks = rankdata(pooled, axis=-1)
    scores = np.clip(ndtri((ranks - 0.5) / pooled.shape[-1]), -RANGE, RANGE)
    return np.asarray(scores.reshape(directions.shape), dtype=np.float32)


def waves(scores: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """φ_1..φ_count of scores (..., K+1, n), standardised over all directions: (..., K+1, count, n)."""
    first = np.cos(np.float32(np.pi / (2 * RANGE)) * (scores + np.float32(RANGE)))
    values = np.empty((*scores.shape[:-1], count, scores.shape[-1]), dtype=np.float32)
    before, now = np.ones_like(first), first
    for wave in range(count):  # cos((b+1)θ) = 2 cos θ cos(bθ) − cos((b−1)θ)
        values[..., wave, :] = now
        before, now = now, 2 * first * now - before
    values -= values.mean(axis=(-3, -1), keepdims=True)
    spread = values.std(axis=(-3, -1), keepdims=True)
    return np.asarray(values / np.where(spread > 1e-6, spread, 1.0), dtype=np.float32)
