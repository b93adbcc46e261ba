"""`neuralmirror genome`: from files of genotypes to groups of markers. Heavy imports wait until the command runs."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from neuralmirror._internal.cluster import cluster as connected
from neuralmirror._internal.output import check_folder
from neuralmirror.cli.options import AsJson, Fdr, Jobs, Out, Whole
from neuralmirror.cli.select import OUT, resolving_for
from neuralmirror.cli.terminal import print_json, say, show_facts, show_filled
from neuralmirror.cli.threads import core_count, threads

if TYPE_CHECKING:
    from neuralmirror.report.genome_request import GenomeRequest

SHOWN = 15  # discoveries on the terminal; resolutions.csv holds all
COLUMNS = ("resolution", "CHR", "lead", "position", "W", "q", "markers")


@Parameter(name="*")
@dataclass(frozen=True)
class Beside:
    """What is read beside the genotypes."""

    pheno: Path | None = None
    """File with phenotypes, joined by sample id; by default the phenotype of the .fam or .psam."""
    target: str | None = None
    """The phenotype to explain; needed where there are several."""
    covar: Path | None = None
    """File with covariates, joined by sample id. People without one of them are left out."""
    pred: Path | None = None
    """Predictions of the trait without each chromosome, as regenie --step 1 leaves them (_pred.list or .loco)."""
    sample_id: Annotated[str | None, Parameter(name="--id")] = None
    """The column of sample ids in these files."""
    na: tuple[str, ...] = ()
    """One more word that means a missing value; may be given several times."""
    scratch: Path | None = None
    """Folder in which genotypes that are no .bed are packed once and found again; into memory by default."""


@Parameter(name="*")
@dataclass(frozen=True)
class Choosing:
    """How groups are selected."""

    resolutions: str = ""
    """Correlations at which markers form groups; 0.99,0.75,0.5 by default."""
    partitions: Path | None = None
    """Groups of your own: a table with a marker's name, then its group at each resolution, with a header."""
    components: Whole = 0
    """Principal components of the genotypes to adjust for; 10, say, where people differ in ancestry."""
    screen: Whole = 5000
    """Markers that go on to the learner at each resolution: the groups with the highest scores."""
    fdr: Fdr = 0.1
    """False discovery rate: the largest acceptable expected share of false groups, at each resolution."""
    n_mirrors: Whole = 4
    """Copies per group. Something is found only if 1/(copies x fdr) groups stand out together."""
    n_repeats: Whole = 1
    """Independent draws; what at least half of them select is selected."""
    seed: Whole = 0
    """Fixes every draw."""
    maf: float = 0.01
    """Leave out markers with a smaller minor allele frequency."""
    max_missing: float = 0.2
    """Leave out markers with a larger share of missing genotypes."""
    polygenic: Annotated[bool, Parameter(negative="--no-polygenic")] = True
    """Adjust the trait, for each chromosome, for what the others predict of it."""
    device: str = "auto"
    """auto, cpu or cuda."""
    jobs: Jobs = None
    """Cores to use, for all threads together; those available to the process by default."""

    def parameters(self) -> dict[str, Any]:
        """As parameters of GenomeMirror."""
        same = ("components", "screen", "fdr", "n_mirrors", "n_repeats", "max_missing", "polygenic", "device")
        given = {name: getattr(self, name) for name in same}
        return {**given, "min_frequency": self.maf, "random_state": self.seed, "n_jobs": core_count(self.jobs)}


BESIDE, CHOOSING = Beside(), Choosing()


def genome(
    *genotypes: str,
    beside: Beside = BESIDE,
    choosing: Choosing = CHOOSING,
    out: Out = OUT,
    cluster: str | None = None,
    force: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
    as_json: AsJson = False,
) -> None:
    """Select groups of markers that a trait depends on, at several resolutions, and write a table and a report.

    Leaves resolutions.csv, report.html and run.json in the output folder. Genotypes are read in blocks and never held
    as numbers. The same command takes up a run that was cut off.

    Parameters
    ----------
    genotypes
        PLINK .bed or .pgen, BGEN, VCF or BCF; several with the same people, such as one a chromosome, or a pattern:
        chr{1:22}.bed or "chr*.bed".
    out
        Folder for the results.
    cluster
        Address of a Dask scheduler (tcp://HOST:8786, or its .json file) or of Ray (ray://HOST:10001, ray://auto) whose
        workers see the same files.
    force
        Replace results in the output folder.
    dry_run
        Show people, markers, groups, and the memory and time to expect; nothing is written.
    quiet
        Print nothing but errors.
    as_json
        Print the outcome as JSON.
    """
    if not dry_run:
        check_folder(out, force)
    request = request_for(genotypes, beside, choosing)
    with threads(choosing.jobs), connected(cluster):
        if dry_run:
            from neuralmirror.cli.genome_estimates import expect, facts

            found = expect(request)
            print_json(found) if as_json else show_facts(facts(found))
            return
        from neuralmirror.report.genome_run import analyse

        tell = (lambda line: None) if quiet or as_json else (lambda line: say(f"• {line}"))
        record = analyse(request, out, force=force, progress=not quiet, tell=tell)
    if as_json:
        print_json(document(record, out))
    elif not quiet:
        show_discoveries(record, out)


def request_for(genotypes: tuple[str, ...], beside: Beside, choosing: Choosing) -> GenomeRequest:
    """The options as what the run needs, checked as far as that is quick."""
    from neuralmirror.report.genome_request import GenomeRequest

    request = GenomeRequest(
        genotypes,
        beside.target,
        beside.pheno,
        beside.covar,
        beside.pred,
        beside.scratch,
        resolving_for(choosing.resolutions, choosing.partitions, False),
        choosing.parameters(),
        beside.sample_id,
        beside.na,
        shlex.join(["neuralmirror", *sys.argv[1:]]),
    )
    request.check()
    return request


def show_discoveries(record: dict[str, Any], out: Path) -> None:
    """What was found, in a few lines."""
    from neuralmirror.report.genome_words import notes

    found = record["resolutions"]["discoveries"]
    if found:
        show_filled(COLUMNS, [_row(one) for one in found[:SHOWN]])
    if len(found) > SHOWN:
        say(f"and {len(found) - SHOWN} more in resolutions.csv")
    for line in record["decisions"]:
        if "markers left out" in line:
            say(line)
    say(record["explanation"])
    for note in notes(record):
        if note["verdict"] == "caution":
            say(f"Caution: {note['title']}. {note['text']}")
    say(f"Results in {out}; open {out / 'report.html'}")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    """A discovery as a row of COLUMNS."""
    place = (one["resolution"], str(one["CHR"]), one["lead"], str(one["position"]))
    return (*place, f"{one['W']:.3g}", f"{one['q']:.3g}", str(one["size"]))


def document(record: dict[str, Any], out: Path) -> dict[str, Any]:
    """What --json prints; docs/json.md explains each field."""
    data, settings, found = record["data"], record["settings"], record["resolutions"]
    files = {"folder": "", "resolutions": "resolutions.csv", "report": "report.html", "record": "run.json"}
    return {
        "schema": record["schema"],
        **{name: data[name] for name in ("target", "task", "classes", "people", "people_read")},
        **{name: data[name] for name in ("markers", "markers_read", "chromosomes", "covariates", "components")},
        **{name: settings[name] for name in ("fdr", "offset", "n_mirrors", "n_repeats", "screen")},
        "seed": settings["random_state"],
        "levels": found["levels"],
        "discoveries": found["discoveries"],
        **{name: record[name] for name in ("left_out", "polygenic", "explanation", "decisions", "diagnostics")},
        **{name: record[name] for name in ("warnings", "seconds", "versions")},
        "paths": {name: str(out / file) for name, file in files.items()},
    }
