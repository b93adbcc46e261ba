"""The trial bench: any selector on named data-generating processes with a known truth, many times over.

Scenarios live in scenarios.toml, results in a file of JSON lines, one per fit. A line that is there is never computed
again, so a killed trial goes on where it stopped. Replicate r of a scenario has the same data for every method.
"""

from __future__ import annotations

import os
import time
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from neuralmirror._internal import checks
from neuralmirror._internal.columns import sort_columns
from neuralmirror.base import SelectionWarning
from neuralmirror.evaluation import Maker, Record, Scenario, Summary, record, run_one
from neuralmirror.mirror.estimator import NeuralGaussianMirror, fit_together
from neuralmirror.simulation.designs import Simulation
from neuralmirror.studies.records import Task, complete

TOMATO = Path("../shared/data/tomato_bauchet/tomato_bauchet.npz")


BATCH = 50  # replicates whose networks are trained as one on a GPU


def load_scenarios(names: Iterable[str] | None = None, tomato: Path = TOMATO) -> list[Scenario]:
    """Scenarios of scenarios.toml by name, or all of them; those on real columns only where the data are."""
    content = tomllib.loads(files("neuralmirror").joinpath("studies", "scenarios.toml").read_text())
    table = content["rows"]
    wanted = [checks.check_choice("row", name, table) for name in names] if names is not None else list(table)
    settings = {name: {**content["defaults"], **table[name]} for name in wanted}
    absent = [name for name in wanted if settings[name]["design"] == "tomato" and not tomato.exists()]
    if names is not None and absent:
        raise ValueError(f"row {absent[0]!r} needs the tomato genotypes, but {tomato} is not there; name the file")
    return [_scenario(name, settings[name], tomato) for name in wanted if name not in absent]


def _scenario(name: str, settings: dict[str, Any], tomato: Path) -> Scenario:
    level, target = settings.pop("fdr"), settings.pop("power", None)
    if settings["design"] == "tomato":
        pruned = np.load(tomato.with_name("prune_idx.npz"))["r95"]
        settings |= {"design": "columns", "source": np.load(tomato)["X"][:, pruned].astype(float)}
    return Scenario(name, simulation(settings), level, target)


def simulation(settings: Mapping[str, Any]) -> Simulation:
    """What the settings say of a simulation."""
    known = {field.name for field in fields(Simulation)}
    return Simulation(**{key: value for key, value in settings.items() if key in known})


def run_batch(row: Scenario, method: str, make: Maker, seeds: Sequence[int], n_jobs: int | None = None) -> list[Record]:
    """Fit several replicates of simultaneous mirrors as one batch; each is charged its share of the time.

    Copies of columns are no inputs, so real columns may give networks of several widths: those are fitted one by one.
    """
    samples = Parallel(n_jobs=available_cores(), prefer="threads")(delayed(row.simulation.sample)(s) for s in seeds)
    if len({len(sort_columns(x).usable) for x, _, _ in samples}) > 1:
        return list(Parallel(n_jobs=n_jobs)(delayed(run_one)(row, method, make, seed) for seed in seeds))
    selectors = [make().set_params(fdr=row.fdr, random_state=seed, n_jobs=n_jobs) for seed in seeds]
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        fit_together(selectors, [(x, y) for x, y, _ in samples])
    share = (time.perf_counter() - started) / len(seeds)
    return [
        record(row, method, seed, selector, sample, share)
        for seed, selector, sample in zip(seeds, selectors, samples, strict=True)
    ]


def run_trials(
    rows: Sequence[Scenario],
    methods: Mapping[str, Maker],
    replicates: int | Mapping[str, int],
    path: Path,
    n_jobs: int | None = None,
    show: bool | None = None,
) -> list[Record]:
    """Every method on every row, `replicates` times; appends to `path` what is not there yet and returns all."""
    times = dict.fromkeys(methods, replicates) if isinstance(replicates, int) else replicates
    tasks = [
        Task(row.name, name, times[name], partial(_fits, row, name, make, n_jobs))
        for row in rows
        for name, make in methods.items()
    ]
    return complete(path, tasks, "Trials", show)


def _fits(row: Scenario, name: str, make: Maker, n_jobs: int | None, seeds: list[int]) -> Iterable[list[Record]]:
    """Batches on a GPU, single fits on the cores otherwise."""
    selector = make()
    if isinstance(selector, NeuralGaussianMirror) and selector.trains_in_batches():
        for start in range(0, len(seeds), BATCH):
            yield run_batch(row, name, make, seeds[start : start + BATCH], n_jobs)
        return
    jobs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for one in jobs(delayed(run_one)(row, name, make, seed) for seed in seeds):
        yield [one]


def as_markdown(summaries: Sequence[Summary], rows: Sequence[Scenario]) -> str:
    """The table of docs/results/trials.md."""
    targets = {row.name: row.target for row in rows}
    lines = [
        "| row | method | level | fits | FDR | power | to reach | nulls won | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for s in summaries:
        target = targets.get(s.row)
        reached = "" if target is None else f"{target:g}{' ✓' if s.power >= target else ' ✗'}"
        lines.append(
            f"| {s.row} | {s.method} | {s.level:g} | {s.replicates} "
            f"| {s.fdr:.3f} ± {s.fdr_error:.3f}{'' if s.controlled else ' ✗'} | {s.power:.3f} ± {s.power_error:.3f} "
            f"| {reached} | {s.balance:.2f} | {s.seconds:.1f} |"
        )
    return "\n".join(lines) + "\n"


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
