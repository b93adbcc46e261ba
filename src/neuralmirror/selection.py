"""From mirror statistics to a selected set: estimated FDP, thresholds, q-values, BH and BY.

Every function takes plain NumPy arrays. A mirror statistic is a signed margin: positive when a feature's own
direction won against its K opponents, negative when an opponent won (see `mirror.statistic`). A null
feature loses K times as often as it wins, so K negatives stand for one false
positive; K = 1 is the paper's mirror.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


def estimated_fdp(statistics: ArrayLike, threshold: ArrayLike, *, offset: int = 1, n_mirrors: int = 1) -> Floats:
    """(offset + #{M ≤ −t}) / (K · max(1, #{M ≥ t})) for each threshold t (eq. fdphat; the paper has offset 0)."""
    ordered = np.sort(np.asarray(statistics, dtype=float))
    t = np.asarray(threshold, dtype=float)
    negatives = np.searchsorted(ordered, -t, side="right")
    positives = ordered.size - np.searchsorted(ordered, t, side="left")
    return np.asarray((offset + negatives) / (n_mirrors * np.maximum(positives, 1)))


def _candidates(statistics: ArrayLike) -> Floats:
    """The thresholds at which the estimated FDP can change: the distinct positive |M|, increasing."""
    sizes = np.unique(np.abs(np.asarray(statistics, dtype=float)))
    return np.asarray(sizes[sizes > 0])


def mirror_threshold(statistics: ArrayLike, fdr: float, *, offset: int = 1, n_mirrors: int = 1) -> float:
    """τ_q = min{t > 0 : estimated FDP(t) ≤ q}; infinite when no t passes, which selects nothing."""
    t = _candidates(statistics)
    passing = t[estimated_fdp(statistics, t, offset=offset, n_mirrors=n_mirrors) <= fdr]
    return float(passing.min(initial=np.inf))


def select(statistics: ArrayLike, fdr: float, *, offset: int = 1, n_mirrors: int = 1) -> Mask:
    """{j : M_j ≥ τ_q}."""
    threshold = mirror_threshold(statistics, fdr, offset=offset, n_mirrors=n_mirrors)
    return np.asarray(np.asarray(statistics) >= threshold)


def mirror_q_values(statistics: ArrayLike, *, offset: int = 1, n_mirrors: int = 1) -> Floats:
    """The smallest level at which each feature is selected: min over t ≤ M_j of the estimated FDP(t).

    A feature with M_j ≤ 0 is selected at no level and gets 1.
    """
    m = np.asarray(statistics, dtype=float)
    t = _candidates(m)
    lowest = np.minimum.accumulate(estimated_fdp(m, t, offset=offset, n_mirrors=n_mirrors))
    reached = np.searchsorted(t, m, side="right") - 1
    q = np.where(m > 0, np.append(lowest, 1.0)[reached], 1.0)
    return np.minimum(q, 1.0)


def repeated_q_values(draws: ArrayLike, *, offset: int = 1, n_mirrors: int = 1) -> Floats:
    """The smallest level at which at least half of the draws (draws, p) select each feature: the lower median of q.

    Statistics are never averaged over draws, which would break their symmetry.
    """
    statistics = np.atleast_2d(np.asarray(draws, dtype=float))
    q = [mirror_q_values(m, offset=offset, n_mirrors=n_mirrors) for m in statistics]
    return np.asarray(np.sort(q, axis=0)[(len(q) - 1) // 2])


def select_repeated(draws: ArrayLike, fdr: float, *, offset: int = 1, n_mirrors: int = 1) -> Mask:
    """The features that at least half of the draws (draws, p) of the mirrors select: q ≤ fdr."""
    return np.asarray(repeated_q_values(draws, offset=offset, n_mirrors=n_mirrors) <= fdr)


def benjamini_hochberg(p_values: ArrayLike, fdr: float) -> Mask:
    """The Benjamini-Hochberg step-up procedure."""
    return np.asarray(false_discovery_control(p_values, method="bh") <= fdr)


def benjamini_yekutieli(p_values: ArrayLike, fdr: float) -> Mask:
    """The Benjamini-Yekutieli procedure, valid under any dependence."""
    return np.asarray(false_discovery_control(p_values, method="by") <= fdr)


def false_discovery_proportion(selected: ArrayLike, truth: ArrayLike) -> float:
    """|selected and null| / max(1, |selected|) (eq. fdp)."""
    s, relevant = np.asarray(selected, dtype=bool), np.asarray(truth, dtype=bool)
    return float((s & ~relevant).sum() / max(1, s.sum()))


def power(selected: ArrayLike, truth: ArrayLike) -> float:
    """|selected and relevant| / max(1, |relevant|)."""
    s, relevant = np.asarray(selected, dtype=bool), np.asarray(truth, dtype=bool)
    return float((s & relevant).sum() / max(1, relevant.sum()))


def explain_empty(draws: ArrayLike, fdr: float, *, offset: int = 1, n_mirrors: int = 1) -> str:
    """Why nothing was selected at this level, by one draw or several, and the nearest level that selects something."""
    nearest = float(repeated_q_values(draws, offset=offset, n_mirrors=n_mirrors).min(initial=1.0))
    reason = f"No feature was selected at fdr={fdr:g}."
    if offset:
        needed = int(np.ceil(offset / (fdr * n_mirrors) - 1e-9))
        won = round(float(np.median(np.sum(np.atleast_2d(draws) > 0, axis=1))))
        reason += (
            f" offset={offset} with {n_mirrors} mirror{'s' * (n_mirrors > 1)} per feature needs at least {needed}"
            f" features to stand out together; {won} had a positive mirror statistic."
        )
    if nearest < 1:
        return reason + f" The nearest level at which something would be selected is fdr={nearest:.3g}."
    return reason + " No level below 1 would select anything: the data show no sign of a relevant feature."
