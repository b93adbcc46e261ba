"""A study is data: definitions/NAME.toml holds its grid, its methods with their replicates, and the paper's values.

Every fit is one line of the records. Replicate r of a cell has the same data for every method.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror._internal import checks
from neuralmirror.evaluation import Record, Scenario, Source
from neuralmirror.studies.construction_times import BUILDERS, timing
from neuralmirror.studies.methods import maker
from neuralmirror.studies.metrics import MEASURES
from neuralmirror.studies.real_data import find_data, prune, read_genotypes, read_resistance
from neuralmirror.studies.records import Job, complete
from neuralmirror.studies.scenarios import run_trials, simulation

Cell = dict[str, Any]
SMOKE_REPLICATES = 2


@dataclass(frozen=True)
class Published:
    """What the paper prints: FDR and power of each column in a cell, or only a power that its text claims."""

    columns: tuple[str, ...] = ()
    cells: Mapping[str, list[float]] = field(default_factory=dict)
    power: float | None = None

    def value(self, cell: str, column: str) -> tuple[float, float] | None:
        """FDR and power of one column in one cell."""
        if cell not in self.cells or column not in self.columns:
            return None
        at = 2 * self.columns.index(column)
        return self.cells[cell][at], self.cells[cell][at + 1]

    def best(self, cell: str) -> float | None:
        """The largest power of the neural mirrors in one cell, whatever their FDR."""
        values = [self.value(cell, column) for column in self.columns if column != "DeepPINK"]
        return max((value[1] for value in values if value), default=self.power)


@dataclass(frozen=True)
class Study:
    """One table or figure of the paper."""

    name: str
    title: str
    place: str  # where it stands in the paper
    about: str
    time: str
    grid: Mapping[str, list[Any]]
    methods: Mapping[str, int]  # and their replicates
    settings: Mapping[str, Any] = field(default_factory=dict)
    fdr: float = 0.1
    data: str | None = None
    keep: tuple[str, ...] = ()
    render: str = "selections"
    figure: Mapping[str, str] = field(default_factory=dict)
    published: Published = field(default_factory=Published)

    @property
    def cells(self) -> list[Cell]:
        """Every combination of the grid."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]


def study_names() -> list[str]:
    """The studies there are."""
    return sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml"))


def load_study(name: str, smoke: bool = False) -> Study:
    """One study, or its tiny version."""
    checks.check_choice("study", name, study_names())
    content = tomllib.loads(_folder().joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    tiny = content.pop("smoke")
    if smoke:
        content["grid"] = tiny["grid"]
        content["settings"] = {**content.get("settings", {}), **tiny.get("settings", {})}
        content["methods"] = dict.fromkeys(content["methods"], SMOKE_REPLICATES)
    published = content.pop("published", {})
    if "columns" in published:
        published["columns"] = tuple(published["columns"])
    content["keep"] = tuple(content.get("keep", ()))
    return Study(name=name, published=Published(**published), **content)


def _folder() -> Any:
    return files("neuralmirror").joinpath("studies", "definitions")


def cell_name(cell: Cell) -> str:
    """design=toeplitz p=500, say: the key of published values, and the name of a scenario."""
    return " ".join(f"{key}={value}" for key, value in cell.items())


def scenarios(study: Study, data: Path | None = None) -> list[Scenario]:
    """A scenario of the trial bench for each cell."""
    path = find_data(study.data, data) if study.data is not None else None
    measures = tuple(MEASURES[name] for name in study.keep)
    return [
        Scenario(
            cell_name(cell),
            _source(study, cell, path),
            study.fdr,
            labels={"study": study.name, **cell},
            measures=measures,
        )
        for cell in study.cells
    ]


def _source(study: Study, cell: Cell, path: Path | None) -> Source:
    settings = {**study.settings, **cell}
    if path is None:
        return simulation(settings)
    if study.data == "hiv":
        return read_resistance(path, cell["drug"])
    return simulation({**settings, "design": "columns", "source": _genotypes(path, settings["columns"])})


@cache
def _genotypes(path: Path, columns: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return prune(read_genotypes(path)) if columns == "r95" else read_genotypes(path)


def run_study(
    study: Study,
    path: Path,
    *,
    methods: Mapping[str, int] | None = None,
    device: str = "auto",
    n_jobs: int | None = None,
    data: Path | None = None,
    smoke: bool = False,
    show: bool | None = None,
) -> list[Record]:
    """Run what the records at `path` do not hold yet, and return all of them."""
    replicates = study.methods if methods is None else methods
    cells = scenarios(study, data)
    if set(replicates) <= set(BUILDERS):
        jobs = [
            Job(cell.name, name, seed, partial(timing, cell, name, device, seed))
            for cell in cells
            for name, times in replicates.items()
            for seed in range(times)
        ]
        return complete(path, jobs, study.title, show=show, alone=True)  # so that they do not share the cores
    makers = {name: maker(name, device, smoke) for name in replicates}
    return run_trials(cells, makers, replicates, path, n_jobs, show)


def chosen_methods(study: Study, names: list[str] | None, replicates: int | None) -> dict[str, int]:
    """The study's methods with their replicates, or only some of them, or with another number."""
    wanted = [checks.check_choice("method", name, study.methods) for name in names or study.methods]
    if replicates is not None:
        checks.check_count("replicates", replicates)
    return {name: replicates or study.methods[name] for name in wanted}
