"""One replicate measured against a known truth: FDP, power, null wins; and the means over many replicates."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuralmirror.base import ControlledSelector, SelectionWarning
from neuralmirror.selection import false_discovery_proportion, power

Record = dict[str, Any]  # what is kept of one fit
Maker = Callable[[], ControlledSelector]


Sample = tuple[NDArray[np.float64], NDArray[Any], NDArray[np.bool_]]


class Source(Protocol):
    """Where X, y and the truth come from; simulations draw them, measured data are the same for every seed."""

    def sample(self, random_state: int, /) -> Sample:
        """X (n, p), y (n,) and the truth (p,)."""


Measure = Callable[[Source, ControlledSelector, Sample], Record]


@dataclass(frozen=True)
class Scenario:
    """One data-generating process, the level of its selections, and the power that a selector should reach.

    `labels` go into every record as they are, and `measures` say what else is kept of a fit.
    """

    name: str
    simulation: Source
    fdr: float
    target: float | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()


def record(
    row: Scenario, method: str, seed: int, selector: ControlledSelector, sample: Sample, seconds: float
) -> Record:
    """What is kept of one fit."""
    truth = sample[2]
    nulls = getattr(selector, "mirror_statistics_", np.zeros(len(truth)))[~truth]  # p-values have no signs
    kept = {key: value for measure in row.measures for key, value in measure(row.simulation, selector, sample).items()}
    return {
        **row.labels,
        "row": row.name,
        "method": method,
        "seed": seed,
        "fdr": row.fdr,
        "version": version("neuralmirror"),
        "fdp": round(false_discovery_proportion(selector.support_, truth), 5),
        "power": round(power(selector.support_, truth), 5),
        "selected": int(selector.support_.sum()),
        "null_won": int((nulls > 0).sum()),
        "null_lost": int((nulls < 0).sum()),
        "mirrors": int(getattr(selector, "n_mirrors_", 1)),
        "seconds": round(seconds, 2),
        **kept,
    }


def run_one(row: Scenario, method: str, make: Maker, seed: int) -> Record:
    """Fit one replicate."""
    sample = row.simulation.sample(seed)
    selector = make().set_params(fdr=row.fdr)
    if "random_state" in selector.get_params():
        selector.set_params(random_state=seed)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)  # an empty selection is counted, not announced
        selector.fit(sample[0], sample[1])
    return record(row, method, seed, selector, sample, time.perf_counter() - started)


@dataclass(frozen=True)
class Summary:
    """Mean FDP and power of one method on one row, with their standard errors."""

    row: str
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

    @property
    def controlled(self) -> bool:
        """FDR at most the level and two standard errors."""
        return self.fdr <= self.level + 2 * self.fdr_error


def summarise(records: Iterable[Record]) -> list[Summary]:
    """One summary for each row and method."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for one in records:
        groups[one["row"], one["method"]].append(one)
    return [_summary(row, method, fits) for (row, method), fits in groups.items()]


def _summary(row: str, method: str, fits: list[Record]) -> Summary:
    fdp, found, won, lost, selected, seconds = (
        np.array([fit[key] for fit in fits], dtype=float)
        for key in ("fdp", "power", "null_won", "null_lost", "selected", "seconds")
    )
    return Summary(
        row,
        method,
        fits[0]["fdr"],
        len(fits),
        *mean_and_error(fdp),
        *mean_and_error(found),
        (selected > 0).mean(),
        won.sum() / max(1.0, (won + lost).sum()),
        float(np.median(seconds)),
    )


def mean_and_error(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    """The mean and its standard error; one value alone has none and counts as certain."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(np.mean(values)), float(error)
