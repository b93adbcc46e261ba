"""Signs that a result can be trusted, read off the fit: do the features left out win and lose as nulls do?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from neuralmirror.mirror.estimator import NeuralGaussianMirror

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Balance:
    """How many of some features won and lost against their copies, and how surprising that is in either direction."""

    won: int
    lost: int
    expected: float  # share of wins among features that do not matter, 1 / (K + 1)
    p_value: float  # two-sided

    def as_record(self) -> dict[str, float]:
        """For run.json."""
        return asdict(self)


def balance(statistics: ArrayLike, n_mirrors: int = 1) -> Balance:
    """Wins and losses of one draw (p,) or of several (draws, p), whose counts are averaged."""
    draws = np.atleast_2d(np.asarray(statistics, dtype=float))
    won, lost = round(float((draws > 0).sum(axis=1).mean())), round(float((draws < 0).sum(axis=1).mean()))
    share = 1 / (n_mirrors + 1)
    surprise = float(binomtest(won, won + lost, share).pvalue) if won + lost else 1.0
    return Balance(won, lost, share, surprise)


def left_out(draws: Floats, selected: ArrayLike) -> Floats:
    """The statistics of the features not selected; zero beyond the size that a winner could not have without selection.

    Beyond the weakest selected feature only losers are left, and counting them would look like too many losses.
    """
    chosen = np.asarray(selected, dtype=bool)
    kept = np.where(chosen, 0.0, draws)
    weakest = np.where(chosen & (draws > 0), draws, np.inf).min(axis=1, keepdims=True)
    return np.asarray(np.where(np.abs(kept) < weakest, kept, 0.0))


def upper_half(draws: Floats) -> Floats:
    """The larger half of each draw's statistics; the others are zero."""
    halves = [np.median(np.abs(m[m != 0])) if (m != 0).any() else 0.0 for m in draws]
    return np.asarray(np.where(np.abs(draws) >= np.array(halves)[:, None], draws, 0.0))


def diagnose(mirror: NeuralGaussianMirror, rows: Sequence[int], columns: Sequence[str]) -> dict[str, Any]:
    """Whether nulls are symmetric and copies look like features; `columns` names the feature of each column."""
    rest = left_out(mirror._draws[:, mirror._leaders[list(rows)]], mirror.support_[list(rows)])
    place = {str(name): j for j, name in enumerate(mirror.feature_names_in_)}
    close = [
        columns[place[str(name)]] for name in mirror.indistinguishable_features_ if place[str(name)] < len(columns)
    ]
    return {
        "sign_balance": balance(rest, mirror._n_mirrors).as_record(),
        "sign_balance_upper": balance(upper_half(rest), mirror._n_mirrors).as_record(),
        "law_checks": {name: dict(found) for name, found in mirror.law_checks_.items()},
        "indistinguishable": list(dict.fromkeys(close)),
    }
