"""One replicate measured against a known truth: FDP, power, the signs of the nulls, what the ranking would allow."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
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
        selector.fit(sample[0], _response(sample[1]))
    return record(scenario, method, seed, selector, sample, time.perf_counter() - started)


def _response(y: NDArray[Any]) -> NDArray[Any]:
    """Class labels as words: a column of whole numbers would be taken as numbers."""
    return np.char.add("class ", y.astype(str)) if y.dtype.kind in "iub" else y


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
