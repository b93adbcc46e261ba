"""The trial bench: any selector on named data-generating processes with a known truth, many times over.

Scenarios live in scenarios.toml, results in a file of JSON lines, one per fit. A line that is there is never computed
again, so a killed trial goes on where it stopped. Replicate r of a scenario has the same data for every method.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from neuralmirror._internal import checks
from neuralmirror.evaluation import Maker, Record, Scenario, run_one
from neuralmirror.io.tables import DataError
from neuralmirror.simulation.designs import Simulation
from neuralmirror.studies.panels import PANELS, available, panel
from neuralmirror.studies.records import Job, complete


def load_scenarios(names: Iterable[str] | None = None, data: Path | None = None) -> list[Scenario]:
    """Scenarios of scenarios.toml by name, or all of them; of all, those on measured columns only where data are."""
    table = _table()
    if names is None:
        left_out = without_data(data)
        return [_scenario(name, table[name], data) for name in table if name not in left_out]
    wanted = [checks.check_choice("scenario", name, table) for name in names]
    return [_scenario(name, table[name], data) for name in wanted]


class Aim(NamedTuple):
    """What a selector should reach: a power, and a share of fits that rank all true features first."""

    power: float | None = None
    first: float | None = None


def aims() -> dict[str, Aim]:
    """What is to be reached in each scenario, in their order; needs no data."""
    return {name: Aim(settings.get("power"), settings.get("first")) for name, settings in _table().items()}


def without_data(data: Path | None = None) -> list[str]:
    """The scenarios whose measured columns are not there."""
    absent = {name for name in PANELS if not available(name, data)}
    return [name for name, settings in _table().items() if settings["design"] in absent]


def _table() -> dict[str, dict[str, Any]]:
    content = tomllib.loads(files("neuralmirror").joinpath("studies", "scenarios.toml").read_text(encoding="utf-8"))
    return {name: {**content["defaults"], **settings} for name, settings in content["scenarios"].items()}


def _scenario(name: str, settings: dict[str, Any], data: Path | None) -> Scenario:
    try:
        source = simulation(settings, data)
    except DataError as error:
        raise DataError(f"scenario {name!r}: {error}") from error
    return Scenario(name, source, settings["fdr"], settings.get("power"))


def simulation(settings: Mapping[str, Any], data: Path | None = None) -> Simulation:
    """What the settings say of a simulation; a design may name measured columns."""
    known = {field.name for field in fields(Simulation)}
    chosen = {key: value for key, value in settings.items() if key in known}
    if chosen.get("design") in PANELS:
        chosen |= {"design": "columns", "source": panel(chosen["design"], data)}
    return Simulation(**chosen)


def run_trials(
    scenarios: Sequence[Scenario],
    methods: Mapping[str, Maker],
    replicates: int | Mapping[str, int],
    path: Path,
    n_jobs: int | None = None,
    show: bool | None = None,
    fit: Callable[[Scenario, str, Maker, int], Record] | None = None,
) -> list[Record]:
    """Every method on every scenario, `replicates` times; appends to `path` what is not there yet and returns all."""
    fit = run_one if fit is None else fit
    times = dict.fromkeys(methods, replicates) if isinstance(replicates, int) else replicates
    jobs = [
        Job(scenario.name, name, seed, partial(fit, scenario, name, make, seed))
        for scenario in scenarios
        for name, make in methods.items()
        for seed in range(times[name])
    ]
    return complete(path, jobs, "Trials", n_jobs, show)


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
