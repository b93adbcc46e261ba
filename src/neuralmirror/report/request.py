"""What a run is asked for, and what can be refused before anything heavy is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuralmirror._internal import checks
from neuralmirror.io.cleaning import Rules
from neuralmirror.io.formats import find_file
from neuralmirror.io.loading import Source

SCHEMA = 1  # of the records; raised whenever a field changes its meaning or goes away
MOST_MIRRORS = 50  # memory and time grow with the square of the copies, and what they bring ends long before


@dataclass(frozen=True)
class Resolving:
    """Which resolutions are asked for: cuts, or a file of partitions; none by default."""

    cuts: tuple[float, ...] = ()
    partitions: Path | None = None
    contiguous: bool = False

    def __bool__(self) -> bool:
        return bool(self.cuts) or self.partitions is not None

    def check(self) -> None:
        """One of the two, cuts that are correlations, and a file that is there."""
        if self.cuts and self.partitions is not None:
            raise ValueError("--resolutions and --partitions were both given; give one of them")
        for cut in self.cuts:
            if not 0 < cut <= 1:
                raise ValueError(f"--resolutions takes correlations in (0, 1], such as 0.9,0.75,0.5; got {cut:g}")
        if self.contiguous and not self.cuts:
            raise ValueError("--contiguous says how --resolutions are cut; give those as well")
        if self.partitions is not None and not self.partitions.is_file():
            raise ValueError(f"{self.partitions} is not there; --partitions names a table of groups, one row a feature")


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    source: Source
    rules: Rules = field(default_factory=Rules)
    parameters: dict[str, Any] = field(default_factory=dict)  # of NeuralGaussianMirror
    calibrate: int = 0  # responses to simulate for each kind of calibration; none for 0
    command: str = ""  # as it was typed
    escape_formulas: bool = False  # keep spreadsheets from taking names for formulas
    resolving: Resolving = field(default_factory=Resolving)


def check_request(request: Request) -> None:
    """The level, the copies, the files, and a target that is not its own covariate."""
    checks.check_fdr(request.parameters.get("fdr", 0.1))
    if (copies := request.parameters.get("n_mirrors", 1)) > MOST_MIRRORS:
        raise ValueError(
            f"--n-mirrors must be at most {MOST_MIRRORS}, got {copies}; memory grows with the square of it, and a "
            "level of 0.1 needs no more than 10"
        )
    for path in request.source.files:
        find_file(path)
    check_covariates(request.source.target, request.source.covariates)
    request.resolving.check()


def check_covariates(target: str | None, covariates: Iterable[str]) -> None:
    """The target cannot be its own covariate: it would explain everything away."""
    if target is not None and target in covariates:
        raise ValueError(f"{target!r} is the target and cannot be a covariate as well; take it out of --covariates")
