"""Options that several commands share. Heavy imports wait until a command runs, so that help is instant."""

from __future__ import annotations

import csv
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token

from neuralmirror.cli.threads import core_count

if TYPE_CHECKING:
    from neuralmirror.io.cleaning import Rules
    from neuralmirror.io.loading import Source
    from neuralmirror.report.request import Request


def _whole(_: Any, tokens: list[Token]) -> int:
    """A whole number; 1.5 is refused rather than cut to 1."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"a whole number is needed, got {tokens[0].value!r}") from None


Whole = Annotated[int, Parameter(converter=_whole)]
Fdr = Annotated[float, Parameter(name=["--fdr", "-q"])]
Out = Annotated[Path, Parameter(name=["--out", "-o"])]
Jobs = Annotated[int | None, Parameter(name=["--jobs", "-j"], converter=_whole)]
AsJson = Annotated[bool, Parameter(name="--json")]
TaskName = Literal["auto", "regression", "classification"]


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """What is read beside the data, and how they are cleaned."""

    target: str | None = None
    """The column to explain: of the data, of --pheno, of AnnData's obs; by default the phenotype of a .fam."""
    pheno: Path | None = None
    """File with phenotypes, joined by sample id."""
    covar: Path | None = None
    """File with covariates, joined by sample id. They are taken into account and never selected."""
    covariates: str = ""
    """Columns of the data that are covariates, separated by commas; quote a name that holds a comma."""
    drop: str = ""
    """Columns to leave out, separated by commas; quote a name that holds a comma."""
    array: str | None = None
    """The matrix inside an NPZ file."""
    layer: str | None = None
    """The layer of an .h5ad to read in place of X."""
    sheet: str | None = None
    """The sheet of an .xlsx file; the first by default."""
    na: tuple[str, ...] = ()
    """One more word that means a missing value; may be given several times."""
    decimal: Literal[".", ","] | None = None
    """The decimal mark of numbers in text; found out by default."""
    encoding: str | None = None
    """Of text, such as latin-1; found out by default."""
    genotypes: Annotated[bool | None, Parameter(negative="--no-genotypes")] = None
    """Whether whole numbers of an NPZ are genotypes, with -1 for missing; found out by default."""
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

    def source(self, data: Path) -> Source:
        """What to read."""
        from neuralmirror.io.loading import Source

        return Source(
            data,
            self.target,
            self.pheno,
            self.covar,
            listed(self.covariates),
            listed(self.drop),
            self.array,
            self.sample_id,
            self.keep_matching,
            layer=self.layer,
            sheet=self.sheet,
            na=self.na,
            decimal=self.decimal,
            encoding=self.encoding,
            genotypes=self.genotypes,
        )

    def rules(self) -> Rules:
        """How to clean it."""
        from neuralmirror.io.cleaning import Rules

        for option, share in (("max-missing", self.max_missing), ("maf", self.maf), ("prune", self.prune)):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"--{option} must lie between 0 and 1, got {share:g}")
        return Rules(self.missing, self.max_missing, self.maf, self.prune)


@Parameter(name="*")
@dataclass(frozen=True)
class Fitting:
    """How features are selected."""

    fdr: Fdr = 0.1
    """False discovery rate: the largest acceptable expected share of false features among those selected."""
    task: TaskName = "auto"
    """What the target is; auto takes text, and numbers of exactly two values, as classes."""
    scheme: Literal["turns", "simultaneous", "individual"] = "turns"
    """Copies of a sixteenth of the features at a time, of all in one model, or of one feature per model."""
    noise: Literal["conditional", "independent"] = "conditional"
    """Copies that follow the other features as the feature does, or the paper's independent noise."""
    learner: Literal["auto", "sparse", "network"] = "auto"
    """Sparse effects, with networks and trees as far as they help on unseen rows; or one of the first two alone."""
    screen: str | None = None
    """Learn only from the features that rank highest: half, log or a number."""
    n_mirrors: Whole = 4
    """Copies per feature. Something is selected only if 1/(copies x fdr) features stand out together."""
    n_repeats: Whole | None = None
    """Independent draws; what at least half of them select is selected. 5 up to 2000 samples x 200 columns, else 1."""
    offset: Literal[0, 1] = 1
    """1, or 0 as in the paper, which does not hold when little is relevant."""
    seed: Whole = 0
    """Fixes every draw."""
    device: str = "auto"
    """auto, cpu or cuda."""
    jobs: Jobs = None
    """Cores to use, for all threads together; those available to the process by default."""

    def parameters(self) -> dict[str, Any]:
        """What was given, as parameters of the selector; its own defaults stand for the rest."""
        names = (
            "fdr", "task", "scheme", "noise", "learner", "screen", "n_mirrors", "n_repeats", "offset", "device",
        )  # fmt: skip
        given = {name: _number_or_word(getattr(self, name)) for name in names if getattr(self, name) is not None}
        return {**given, "random_state": self.seed}


AS_IT_IS = Reading()
AS_USUAL = Fitting()


def listed(names: str) -> tuple[str, ...]:
    """Names that were separated by commas; one in double quotes may hold a comma itself."""
    return tuple(name.strip() for row in csv.reader([names], skipinitialspace=True) for name in row if name.strip())


def request_for(data: Path, reading: Reading, fitting: Fitting, **more: Any) -> Request:
    """The options of a command as what the run needs, checked as far as that is quick."""
    from neuralmirror.report.request import Request, check_request

    parameters = {**fitting.parameters(), "n_jobs": core_count(fitting.jobs)}
    command = shlex.join(["neuralmirror", *sys.argv[1:]])
    request = Request(reading.source(data), reading.rules(), parameters, command=command, **more)
    check_request(request)
    return request


def _number_or_word(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value
