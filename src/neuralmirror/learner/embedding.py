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

from neuralmirror.learner.compiled import compiled, dot

BLOCK = 2**24  # bytes of ranks at a time
RANGE = 3.0  # normal scores beyond are set to it
CUBE_WAVES = 3  # of triples
SMOOTH_WAVES, FINE_WAVES, ROUGH_WAVES = 4, 8, 12  # of a smooth curve or surface, a fine surface, a rough curve
LEAST_SPREAD = 1e-6  # of a wave; what varies less does not vary


def normal_scores(directions: NDArray[np.float32], n_seen: int | None = None) -> NDArray[np.float32]:
    """Rank-normal scores of (columns, K+1, n) among all directions of a column in the rows seen, within ±3."""
    seen, unseen = np.split(directions, [directions.shape[-1] if n_seen is None else n_seen], axis=-1)
    count = seen.shape[1] * seen.shape[2]
    ranks = np.arange(1, 2 * count + 2) / 2
    table = np.concatenate([[0], np.clip(ndtri((ranks - 0.5) / count), -RANGE, RANGE)]).astype(np.float32)
    scores = np.empty(directions.shape, dtype=np.float32)
    for block in np.array_split(np.arange(len(seen)), max(1, len(seen) * count * 8 // BLOCK)):
        pooled = seen[block].reshape(len(block), -1)
        order = np.argsort(pooled, axis=-1)
        known = np.empty_like(pooled)
        _scores_of_seen(pooled, order, table, known)
        scores[block, :, : seen.shape[2]] = known.reshape(seen[block].shape)
        if unseen.shape[-1]:
            ordered, values = np.take_along_axis(pooled, order, axis=-1), unseen[block].reshape(len(block), -1)
            found = np.empty_like(values)
            _scores_of_unseen(ordered, values, table, found)
            scores[block, :, seen.shape[2] :] = found.reshape(unseen[block].shape)
    return scores


@compiled
def _scores_of_seen(pooled, order, table, scores):  # type: ignore[no-untyped-def]
    """The score of each value of each row by its rank, which equals share; `table` is by twice the rank."""
    for row in range(len(pooled)):
        first = 0
        while first < pooled.shape[1]:
            last = first
            while last + 1 < pooled.shape[1] and pooled[row, order[row, last + 1]] == pooled[row, order[row, first]]:
                last += 1
            for place in range(first, last + 1):
                scores[row, order[row, place]] = table[first + last + 2]
            first = last + 1


@compiled
def _scores_of_unseen(ordered, values, table, scores):  # type: ignore[no-untyped-def]
    """The scores of the ranks that values have, or would have, in an ordered sample."""
    for row in range(len(values)):
        below = np.searchsorted(ordered[row], values[row], side="left")
        up_to = np.searchsorted(ordered[row], values[row], side="right")
        for place in range(values.shape[1]):
            scores[row, place] = table[below[place] + up_to[place] + 1]


def products_with_waves(scores: NDArray[np.float32], goals: NDArray[np.float32], count: int) -> NDArray[np.float64]:
    """The products of φ_1..φ_count of scores (c, K+1, n) with goals (g, n) of mean zero: (c, K+1, count, g).

    As with `waves`, but no wave is kept.
    """
    first = np.cos(np.float32(np.pi / (2 * RANGE)) * (scores + np.float32(RANGE)))
    products = np.zeros((*scores.shape[:2], count, len(goals)))
    sums, squares = np.zeros((2, len(scores), count))
    _products_with_waves(first, goals, products, sums, squares)
    rows = scores.shape[1] * scores.shape[2]
    spread = np.sqrt(np.maximum(squares / rows - (sums / rows) ** 2, 0.0))
    return products / np.where(spread > LEAST_SPREAD, spread, 1.0)[:, None, :, None]


@compiled
def _products_with_waves(first, goals, products, sums, squares):  # type: ignore[no-untyped-def]
    """Products of waves with goals, and the sums of the waves and of their squares over all directions of a column."""
    n = first.shape[2]
    before, now = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    for column in range(len(first)):
        for direction in range(first.shape[1]):
            step = first[column, direction]
            for i in range(n):
                before[i], now[i] = 1.0, step[i]
            for wave in range(products.shape[2]):
                total, square = np.float32(0.0), np.float32(0.0)
                for i in range(n):
                    total += now[i]
                    square += now[i] * now[i]
                sums[column, wave] += total
                squares[column, wave] += square
                for goal in range(len(goals)):
                    products[column, direction, wave, goal] = dot(now, goals[goal], n)
                for i in range(n):
                    following = 2 * step[i] * now[i] - before[i]
                    before[i] = now[i]
                    now[i] = following


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
    values /= np.where(spread > LEAST_SPREAD, spread, np.float32(1.0))
    return values
