"""Options that several commands share. Heavy imports wait until a command runs, so that help is instant."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from neuralmirror.io.cleaning import Rules
    from neuralmirror.io.loading import Source
    from neuralmirror.report.run import Request

Fdr = Annotated[float, Parameter(name=["--fdr", "-q"])]
Out = Annotated[Path, Parameter(name=["--out", "-o"])]


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """What is read beside the data, and how they are cleaned."""

    target: str | None = None
    """The column to explain: of the data, of --pheno, of AnnData's obs; by default the phenotype of a .fam."""
    pheno: Path | None = None
    """File with phenotypes, joined by sample id."""
    drop: str = ""
    """Columns to leave out, separated by commas."""
    array: str | None = None
    """The matrix inside an NPZ file."""
    sample_id: Annotated[str | None, Parameter(name="--id")] = None
    """The column of sample ids."""
    keep_matching: bool = False
    """Go on with the samples that all files know."""
    missing: Literal["mean", "mode", "error"] = "mean"
    """What to put in place of a missing value."""
    max_missing: float = 0.2
    """Drop features with a larger share of missing values."""
    maf: float | None = None
    """Drop variants with a smaller minor allele frequency; 0.01 for genotype files by default."""
    prune: float | None = None
    """Drop features that correlate above this with an earlier one, which represents them; 0.95, say."""

    def source(self, data: Path, covar: Path | None = None, covariates: str = "") -> Source:
        """What to read."""
        from neuralmirror.io.loading import Source

        return Source(
            data,
            self.target,
            self.pheno,
            covar,
            listed(covariates),
            listed(self.drop),
            self.array,
            self.sample_id,
            self.keep_matching,
        )

    def rules(self) -> Rules:
        """How to clean it."""
        from neuralmirror.io.cleaning import Rules

        for option, share in (("max-missing", self.max_missing), ("maf", self.maf), ("prune", self.prune)):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"--{option} must lie between 0 and 1, got {share:g}")
        return Rules(self.missing, self.max_missing, self.maf, self.prune)


AS_IT_IS = Reading()


def listed(names: str) -> tuple[str, ...]:
    """Names that were separated by commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def request_from(options: dict[str, Any]) -> Request:
    """The options of a command as what the run needs."""
    from neuralmirror.report.run import Request

    reading: Reading = options["reading"]
    source = reading.source(options["data"], options["covar"], options["covariates"])
    passed = (
        "task",
        "scheme",
        "screen",
        "n_mirrors",
        "n_repeats",
        "offset",
        "steps",
        "device",
        "memory",
        "fdr",
    )
    parameters = {name: _number_or_word(options[name]) for name in passed if options.get(name) is not None}
    parameters["random_state"] = options.get("seed", 0)
    command = shlex.join(["neuralmirror", *sys.argv[1:]])
    simulated = options.get("calibrate", 0)
    if simulated < 0:
        raise ValueError(f"--calibrate takes a number of simulated responses, got {simulated}; 20 is a fair start")
    return Request(source, reading.rules(), parameters, not options.get("no_check", False), simulated, command)


def _number_or_word(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value
