"""The numeric embedding that curves, surfaces and networks share: waves of a feature's normal scores.

    φ_b(x) = cos(π b (z + 3) / 6),  b = 1, 2, …          z: normal score of x among all directions of its feature, in ±3

Odd b are odd functions and even b even ones; b waves resolve what repeats within 12/b standard deviations. Scores
are taken over X_j and its copies together, so all of them see one embedding, and over the rows that may be learnt from,
so that the others are never seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

RANGE = 3.0  # normal scores beyond are set to it
SMOOTH_WAVES, ROUGH_WAVES = 4, 12


def normal_scores(directions: NDArray[np.float32], n_seen: int | None = None) -> NDArray[np.float32]:
    """Rank-normal scores of (columns, K+1, n) among all directions of a column in the rows seen, within ±3."""
    seen, unseen = np.split(directions, [directions.shape[-1] if n_seen is None else n_seen], axis=-1)
    pooled = seen.reshape(len(seen), -1)
    ranks = [rankdata(pooled, axis=-1).reshape(seen.shape)]
    if unseen.shape[-1]:
        ordered = np.sort(pooled, axis=-1)
        ranks.append(np.stack([_ranks_among(known, values) for known, values in zip(ordered, unseen, strict=True)]))
    chances = (np.concatenate(ranks, axis=-1) - 0.5) / pooled.shape[-1]
    return np.asarray(np.clip(ndtri(chances), -RANGE, RANGE), dtype=np.float32)


def _ranks_among(ordered: NDArray[np.float32], values: NDArray[np.float32]) -> NDArray[np.float64]:
    """The ranks that values have, or would have, in an ordered sample; equals share the mean of theirs."""
    below, up_to = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return np.asarray((below + up_to + 1) / 2)


def waves(scores: NDArray[np.float32], count: int, n_seen: int | None = None) -> NDArray[np.float32]:
    """φ_1..φ_count of scores (..., K+1, n), standardised over all directions of the rows seen: (..., K+1, count, n)."""
    first = np.cos(np.float32(np.pi / (2 * RANGE)) * (scores + np.float32(RANGE)))
    values = np.empty((*scores.shape[:-1], count, scores.shape[-1]), dtype=np.float32)
    before, now = np.ones_like(first), first
    for wave in range(count):  # cos((b+1)θ) = 2 cos θ cos(bθ) − cos((b−1)θ)
        values[..., wave, :] = now
        before, now = now, 2 * first * now - before
    values -= values[..., :n_seen].mean(axis=(-3, -1), keepdims=True)
    seen = values[..., :n_seen]
    squares = np.einsum("...kbn,...kbn->...b", seen, seen) / (seen.shape[-3] * seen.shape[-1])
    spread = np.sqrt(squares)[..., None, :, None]
    values /= np.where(spread > 1e-6, spread, np.float32(1.0))
    return values
