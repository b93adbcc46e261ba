"""What an analysis of whole genomes is asked for, and what it reads before it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal import checks
from neuralmirror._internal.responses import guess_task
from neuralmirror.io.formats import find_file
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.io.genotype_paths import genotype_paths
from neuralmirror.io.names import counted, few
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.io.people import People, read_people
from neuralmirror.io.polygenic import read_offsets
from neuralmirror.io.sources import Source
from neuralmirror.report.request import MOST_MIRRORS, Resolving, check_covariates
from neuralmirror.report.resolutions import labels_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GenomeRequest:
    """What was asked for."""

    genotypes: tuple[str, ...]  # files or patterns
    target: str | None = None
    pheno: Path | None = None
    covar: Path | None = None
    pred: Path | None = None
    scratch: Path | None = None
    resolving: Resolving = field(default_factory=Resolving)
    parameters: dict[str, Any] = field(default_factory=dict)  # of GenomeMirror
    sample_id: str | None = None
    na: tuple[str, ...] = ()
    command: str = ""

    @property
    def files(self) -> list[Path]:
        """All files that are read, those of the genotypes first."""
        beside = (self.pheno, self.covar, self.pred, self.resolving.partitions)
        return [*genotype_paths(self.genotypes), *(path for path in beside if path is not None)]

    @property
    def source(self) -> Source:
        """Where the trait and the covariates are."""
        first = genotype_paths(self.genotypes)[0]
        return Source(first, self.target, self.pheno, self.covar, (), (), None, self.sample_id, True, na=self.na)

    def check(self) -> None:
        """What can be refused before anything is read."""
        checks.check_fdr(self.parameters.get("fdr", 0.1))
        for name in ("n_mirrors", "n_repeats", "screen"):
            if name in self.parameters:
                checks.check_count(f"--{name.replace('_', '-')}", self.parameters[name])
        checks.check_count("--components", self.parameters.get("components", 0), 0)
        if (copies := self.parameters.get("n_mirrors", 1)) > MOST_MIRRORS:
            raise ValueError(f"--n-mirrors must be at most {MOST_MIRRORS}, got {copies}; a level of 0.1 needs no more")
        for option, name in (("--maf", "min_frequency"), ("--max-missing", "max_missing")):
            if not 0 <= self.parameters.get(name, 0) < 1:
                raise ValueError(
                    f"{option} is a share, from 0 up to but not including 1; got {self.parameters[name]:g}"
                )
        if self.pred is not None and not self.parameters.get("polygenic", True):
            raise ValueError("--pred gives predictions of the trait and --no-polygenic declines them; leave one out")
        self.resolving.check()
        for path in self.files:
            find_file(path)
        if self.scratch is not None and self.scratch.exists() and not self.scratch.is_dir():
            raise ValueError(f"{self.scratch} is a file, but --scratch names a folder; name another one")


@dataclass(frozen=True)
class Study:
    """What was read: genotypes, people, the resolutions, and predictions that were given."""

    genotypes: PackedGenotypes
    people: People
    resolutions: Sequence[float] | Mapping[str, Any]
    offsets: Mapping[str, Floats] | None
    decisions: list[str]

    @property
    def rows(self) -> NDArray[np.intp]:
        """The people in use."""
        return known_rows(self.people)


def known_rows(people: People) -> NDArray[np.intp]:
    """The people who have a trait and all covariates."""
    y = people.y
    known = ~np.isnan(y) if y.dtype.kind == "f" else y != ""
    return np.flatnonzero(known & np.isfinite(people.covariates).all(axis=1))


def read_study(request: GenomeRequest) -> Study:
    """Open the genotypes, join the files beside them, and say what was decided."""
    genotypes = open_genotypes(request.genotypes, request.scratch)
    chromosomes = list(genotypes.parts_by_chromosome())
    people = read_people(genotypes, request.source)
    check_covariates(people.target, people.covariate_names)
    resolutions: Sequence[float] | Mapping[str, Any] = request.resolving.cuts
    if request.resolving.partitions is not None:
        names = [str(name) for name in genotypes.names]
        plain = [str(name) for name in genotypes.chromosomes]
        resolutions = labels_of(request.resolving.partitions, names, plain, "every marker needs a row")
    offsets = None
    if request.pred is not None:
        offsets = _offsets(request.pred, genotypes, people, chromosomes)
    decisions = _decisions(request, genotypes, people, chromosomes)
    return Study(genotypes, people, resolutions, offsets, decisions)


def _offsets(path: Path, genotypes: PackedGenotypes, people: People, chromosomes: list[str]) -> dict[str, Floats]:
    """Predictions for the people in use; others need none."""
    rows = known_rows(people)
    found = read_offsets(path, people.target, [genotypes.samples[i] for i in rows], chromosomes)
    spread = {name: np.full(genotypes.n_samples, np.nan) for name in found}
    for name, values in found.items():
        spread[name][rows] = values
    return spread


def _decisions(request: GenomeRequest, genotypes: PackedGenotypes, people: People, chromosomes: list[str]) -> list[str]:
    """What the run takes the data for, one line each."""
    n, p, rows = genotypes.n_samples, genotypes.n_markers, known_rows(people)
    lines = [
        f"{counted(n, 'person').replace('persons', 'people')} and {counted(p, 'marker')} on "
        f"{counted(len(chromosomes), 'chromosome')}",
        trait_line(people, rows),
        *(f"{len(one.names)} left out: {one.reason} ({few(one.names, 3)})" for one in people.dropped),
        *(str(one) for one in people.decisions),
    ]
    adjusted = list(people.covariate_names)
    if request.parameters.get("components"):
        adjusted.append(f"{request.parameters['components']} principal components of the genotypes")
    lines.append(
        f"adjusted for: {few(adjusted, 12)}" if adjusted else "adjusted for no covariate (--covar, --components)"
    )
    return [*lines, _polygenic_line(request, len(chromosomes))]


def trait_line(people: People, rows: NDArray[np.intp]) -> str:
    """What the trait is taken for."""
    y = people.y[rows]
    if guess_task(y, "auto") == "regression":
        return f"trait {people.target}: numbers from {y.min():g} to {y.max():g} of {len(rows)} people"
    levels, counts = np.unique(y, return_counts=True)
    told = ", ".join(f"{level} × {number}" for level, number in zip(levels[:6], counts[:6], strict=True))
    return f"trait {people.target}: {len(levels)} classes, {told}"


def _polygenic_line(request: GenomeRequest, chromosomes: int) -> str:
    """Whether and how the rest of the genome is adjusted for."""
    if request.pred is not None:
        return f"the rest of the genome is adjusted for by the predictions of {request.pred.name}"
    if not request.parameters.get("polygenic", True):
        return "the rest of the genome is not adjusted for, as asked for by --no-polygenic"
    if chromosomes < 2:
        return "there is one chromosome and so no rest of the genome to adjust for (--pred gives predictions from it)"
    return "each chromosome is tested after adjusting for what the others predict of the trait (--no-polygenic)"
