"""The trial bench: any selector on named data-generating processes with a known truth, many times over.

Rows live in trials.toml, results in a file of JSON lines, one per fit. A line that is there is never computed again,
so a killed trial goes on where it stopped. Replicate r of a row has the same data for every method.
"""

from __future__ import annotations

import os
import time
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from neuralmirror import _checks
from neuralmirror.base import ControlledSelector, SelectionWarning
from neuralmirror.designs import Simulation
from neuralmirror.mirrors import sort_columns
from neuralmirror.records import Record, Task, complete
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.selectors import NeuralGaussianMirror, fit_together

Maker = Callable[[], ControlledSelector]
Sample = tuple[NDArray[np.float64], NDArray[Any], NDArray[np.bool_]]

TOMATO = Path("../shared/data/tomato_bauchet/tomato_bauchet.npz")
BATCH = 50  # replicates whose networks are trained as one on a GPU


class Source(Protocol):
    """Where X, y and the truth come from; simulations draw them, measured data are the same for every seed."""

    def sample(self, random_state: int, /) -> Sample:
        """X (n, p), y (n,) and the truth (p,)."""


Measure = Callable[[Source, ControlledSelector, Sample], Record]


@dataclass(frozen=True)
class Row:
    """One data-generating process, the level of its selections, and the power that a selector should reach.

    `labels` go into every record as they are, and `measures` say what else is kept of a fit.
    """

    name: str
    simulation: Source
    fdr: float
    target: float | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()


def load_rows(names: Iterable[str] | None = None, tomato: Path = TOMATO) -> list[Row]:
    """Rows of trials.toml by name, or all of them; those on real columns only where the data are."""
    content = tomllib.loads(files("neuralmirror").joinpath("trials.toml").read_text())
    table = content["rows"]
    wanted = [_checks.check_choice("row", name, table) for name in names] if names is not None else list(table)
    settings = {name: {**content["defaults"], **table[name]} for name in wanted}
    absent = [name for name in wanted if settings[name]["design"] == "tomato" and not tomato.exists()]
    if names is not None and absent:
        raise ValueError(f"row {absent[0]!r} needs the tomato genotypes, but {tomato} is not there; name the file")
    return [_row(name, settings[name], tomato) for name in wanted if name not in absent]


def _row(name: str, settings: dict[str, Any], tomato: Path) -> Row:
    level, target = settings.pop("fdr"), settings.pop("power", None)
    if settings["design"] == "tomato":
        pruned = np.load(tomato.with_name("prune_idx.npz"))["r95"]
        settings |= {"design": "columns", "source": np.load(tomato)["X"][:, pruned].astype(float)}
    return Row(name, simulation(settings), level, target)


def simulation(settings: Mapping[str, Any]) -> Simulation:
    """What the settings say of a simulation."""
    known = {field.name for field in fields(Simulation)}
    return Simulation(**{key: value for key, value in settings.items() if key in known})


def record(row: Row, method: str, seed: int, selector: ControlledSelector, sample: Sample, seconds: float) -> Record:
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


def run_one(row: Row, method: str, make: Maker, seed: int) -> Record:
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


def run_batch(row: Row, method: str, make: Maker, seeds: Sequence[int], n_jobs: int | None = None) -> list[Record]:
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
    rows: Sequence[Row],
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


def _fits(row: Row, name: str, make: Maker, n_jobs: int | None, seeds: list[int]) -> Iterable[list[Record]]:
    """Batches on a GPU, single fits on the cores otherwise."""
    selector = make()
    if isinstance(selector, NeuralGaussianMirror) and selector.trains_in_batches():
        for start in range(0, len(seeds), BATCH):
            yield run_batch(row, name, make, seeds[start : start + BATCH], n_jobs)
        return
    jobs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for one in jobs(delayed(run_one)(row, name, make, seed) for seed in seeds):
        yield [one]


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


def as_markdown(summaries: Sequence[Summary], rows: Sequence[Row]) -> str:
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
