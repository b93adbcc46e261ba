"""What only a known truth can tell of a fit: the signs of its nulls, the ranking of the true features, the oracle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def null_signs(statistics: Floats, truth: Mask) -> dict[str, int]:
    """How many nulls have M > 0 and M < 0, overall and in the upper tail: |M| above the median of the nonzero |M|.

    Where the winner of a null is uniform over its K + 1 directions, both shares of M > 0 are 1/(K+1).
    """
    nulls = statistics[~truth]
    sizes = np.abs(nulls[nulls != 0])
    tail = nulls[np.abs(nulls) > (np.median(sizes) if len(sizes) else np.inf)]
    return {
        "null_won": int((nulls > 0).sum()),
        "null_lost": int((nulls < 0).sum()),
        "tail_won": int((tail > 0).sum()),
        "tail_lost": int((tail < 0).sum()),
    }


def win_share(won: float, lost: float) -> float | None:
    """won / (won + lost); None without any sign."""
    return won / (won + lost) if won + lost else None


def oracle_power(ranking: Floats, truth: Mask, level: float) -> float:
    """The largest power of a set {j : ranking_j ≥ t}, t > −∞, whose true FDP is at most the level."""
    order = np.argsort(-ranking, kind="stable")
    values, hits, sizes = ranking[order], np.cumsum(truth[order]), np.arange(1, len(truth) + 1)
    whole = np.append(values[1:] != values[:-1], True)[-len(values) :] & (values > -np.inf)  # ties enter together
    allowed = whole & (sizes - hits <= level * sizes)
    return float(hits[allowed].max(initial=0) / max(1, truth.sum()))


def truth_first(ranking: Floats, truth: Mask) -> bool:
    """Whether every true feature ranks above every null; nothing ranks first where nothing is true."""
    return bool(truth.any() and ranking[truth].min() > ranking[~truth].max(initial=-np.inf))
