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
from neuralmirror.truth import null_signs, oracle_power, truth_first, win_share

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

    `target` is a power. `labels` go into every record as they are, and `measures` say what else is kept of a fit.
    """

    name: str
    simulation: Source
    fdr: float
    target: float | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()


def run_one(scenario: Scenario, method: str, make: Maker, seed: int) -> Record:
    """Fit one replicate."""
    sample = scenario.simulation.sample(seed)
    selector = make().set_params(fdr=scenario.fdr)
    if "random_state" in selector.get_params():
        selector.set_params(random_state=seed)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)  # an empty selection is counted, not announced
        selector.fit(sample[0], sample[1])
    return record(scenario, method, seed, selector, sample, time.perf_counter() - started)


def run_or_refuse(scenario: Scenario, method: str, make: Maker, seed: int) -> Record:
    """Fit one replicate; a method that does not apply to these data is recorded with its reason under "refused"."""
    try:
        return run_one(scenario, method, make, seed)
    except ValueError as reason:
        return {**_fields(scenario, method, seed), "refused": str(reason)}


def record(
    scenario: Scenario, method: str, seed: int, selector: ControlledSelector, sample: Sample, seconds: float
) -> Record:
    """What is kept of one fit; the scenario's name stands under "row"."""
    kept = {
        key: value
        for measure in scenario.measures
        for key, value in measure(scenario.simulation, selector, sample).items()
    }
    return {
        **_fields(scenario, method, seed),
        **_against_truth(selector, sample[2], scenario.fdr),
        "seconds": round(seconds, 2),
        "part_weights": _numbers(getattr(selector, "part_weights_", {})),
        "explained": _numbers(getattr(selector, "explained_", {})),
        **kept,
    }


def _fields(scenario: Scenario, method: str, seed: int) -> Record:
    known = {"row": scenario.name, "method": method, "seed": seed, "fdr": scenario.fdr}
    return {**scenario.labels, **known, "version": version("neuralmirror")}


def _against_truth(selector: ControlledSelector, truth: NDArray[np.bool_], level: float) -> Record:
    """FDP, power, the signs of the nulls beside their expectation, and what the ranking would allow."""
    statistics = getattr(selector, "mirror_statistics_", np.zeros(len(truth)))  # p-values have no signs
    signs = null_signs(statistics, truth)
    mirrors = int(getattr(selector, "n_mirrors_", 1))
    ranks = ranking(selector)
    return {
        "fdp": round(false_discovery_proportion(selector.support_, truth), 5),
        "power": round(power(selector.support_, truth), 5),
        "selected": int(selector.support_.sum()),
        **signs,
        "null_share": _rounded(win_share(signs["null_won"], signs["null_lost"])),
        "tail_share": _rounded(win_share(signs["tail_won"], signs["tail_lost"])),
        "expected_share": round(1 / (mirrors + 1), 5),
        "mirrors": mirrors,
        "oracle_power": round(oracle_power(ranks, truth, level), 5),
        "truth_first": truth_first(ranks, truth),
    }


def ranking(selector: ControlledSelector) -> NDArray[np.float64]:
    """What a selection may cut: M_j where it is positive, else −∞; without mirrors minus the p-value."""
    if not hasattr(selector, "mirror_statistics_"):
        return -np.asarray(getattr(selector, "p_values_", selector.q_values_), dtype=np.float64)
    statistics = np.asarray(selector.mirror_statistics_, dtype=np.float64)
    return np.where(statistics > 0, statistics, -np.inf)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 5)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Named numbers; of an array its mean."""
    return {str(name): round(float(np.mean(value)), 5) for name, value in values.items()}


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
