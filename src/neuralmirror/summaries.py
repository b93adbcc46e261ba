"""Means over many replicates, with their standard errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.evaluation import Record
from neuralmirror.truth import win_share


@dataclass(frozen=True)
class Summary:
    """Means over the fits of one method on one scenario, with standard errors."""

    scenario: str
    method: str
    level: float
    replicates: int
    fdr: float
    fdr_error: float
    power: float
    power_error: float
    selecting: float  # share of fits that selected anything
    balance: float  # share of nulls with a sign whose own direction won
    seconds: float
    expected: float = 0.5  # what that share should be: 1/(K+1)
    tail: float | None = None  # the same share among the nulls with large |M|
    oracle: float | None = None  # mean power of the best cut of the rankings
    first: float | None = None  # share of fits that rank the truth first
    network: float | None = None  # mean weight of networks on unseen rows
    trees: float | None = None  # and of trees

    @property
    def controlled(self) -> bool:
        """FDR at most the level and two standard errors."""
        return self.fdr <= self.level + 2 * self.fdr_error

    @property
    def row(self) -> str:
        """The scenario, by its key in the records."""
        return self.scenario


def summarise(records: Iterable[Record]) -> list[Summary]:
    """One summary for each scenario and method."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for one in records:
        groups[one["row"], one["method"]].append(one)
    return [_summary(scenario, method, fits) for (scenario, method), fits in groups.items()]


def _summary(scenario: str, method: str, fits: list[Record]) -> Summary:
    won, lost, seconds = (_column(fits, key) for key in ("null_won", "null_lost", "seconds"))
    tail_won, tail_lost = (_column(fits, key, 0) for key in ("tail_won", "tail_lost"))
    expected = 1 / (_column(fits, "mirrors", 1) + 1)
    signs = (won + lost).sum()
    return Summary(
        scenario,
        method,
        fits[0]["fdr"],
        len(fits),
        *mean_and_error(_column(fits, "fdp")),
        *mean_and_error(_column(fits, "power")),
        float((_column(fits, "selected") > 0).mean()),
        won.sum() / max(1.0, signs),
        float(np.median(seconds)),
        float(((won + lost) * expected).sum() / signs if signs else expected.mean()),
        win_share(tail_won.sum(), tail_lost.sum()),
        _mean(fits, "oracle_power"),
        _mean(fits, "truth_first"),
        *(_mean([fit.get("part_weights") or {} for fit in fits], part) for part in ("network", "trees")),
    )


def _column(fits: Sequence[Record], key: str, missing: float = np.nan) -> NDArray[np.float64]:
    return np.array([fit.get(key, missing) for fit in fits], dtype=float)


def _mean(fits: Sequence[Record], key: str) -> float | None:
    """Of the fits that hold the key; records of earlier versions do not."""
    values = [fit[key] for fit in fits if key in fit]
    return float(np.mean(values)) if values else None


def mean_and_error(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    """The mean and its standard error; one value alone has none and counts as certain."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(np.mean(values)), float(error)
