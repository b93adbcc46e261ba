"""`neuralmirror trial`: run the trial bench or random designs, and render their pages from the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from neuralmirror import evaluation
from neuralmirror._internal import checks
from neuralmirror._internal.cluster import cluster as connected
from neuralmirror.evaluation import Maker, Record, Scenario
from neuralmirror.studies import scenarios as bench
from neuralmirror.studies.agreement import agreement_table, run_agreement, write_agreement
from neuralmirror.studies.bench_methods import bench_methods
from neuralmirror.studies.genomes import genome_table, run_genomes, write_genomes
from neuralmirror.studies.random_designs import random_scenarios
from neuralmirror.studies.random_page import random_tables, write_random
from neuralmirror.studies.records import read_records
from neuralmirror.studies.resolutions import run_resolutions
from neuralmirror.studies.resolutions_page import resolution_tables, write_resolutions
from neuralmirror.studies.trial_page import write_trials
from neuralmirror.summaries import Summary, summarise

FOLDER = Path("neuralmirror-results")
WIDTH = 150  # of the table in a file or a pipe
Fit = Callable[[Scenario, str, Maker, int], Record]


@Parameter(name="*")
@dataclass(frozen=True)
class Work:
    """Which methods run, and where."""

    method: Annotated[tuple[str, ...], Parameter(name=["--method", "--methods", "-m"])] = ("default",)
    """default, paper, or a method of compare: network, sparse, individual, forest-knockoffs, model-x, knockpy where it
    is installed, and others; separated by commas, or the option several times."""
    device: str = "auto"
    """auto, cpu or cuda."""
    jobs: int | None = None
    """Processes; one for each core by default."""
    cluster: str | None = None
    """Address of a Dask scheduler (tcp://HOST:8786) or of Ray (ray://HOST:10001) where the fits run."""
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = ()
    """A setting of the neural mirror as name=value; the method is then recorded under its name and these settings."""
    data: Path | None = None
    """The folder of measured data (tomato_bauchet, hiv_drug_resistance, ...); also by NEURALMIRROR_DATA."""
    records: Path | None = None
    """File of JSON lines that is read and appended to; neuralmirror-results/trials.jsonl or random.jsonl by default."""
    page: Path | None = None
    """Where --table or --random-table writes; neuralmirror-results/trials.md or random.md by default."""
    quiet: bool = False
    """No progress bar."""


@Parameter(name="*")
@dataclass(frozen=True)
class Drawn:
    """Designs drawn at random instead of named scenarios."""

    random: int | None = None
    """How many designs to draw."""
    seed: int = 1
    """Fixes all of them: 1 to 99 for development, from 1000 on for publication."""
    fits: int = 1
    """Fits of each method on each design."""
    random_table: bool = False
    """Write the page of the random designs from the records instead of running anything."""
    resolutions: int | None = None
    """So many simulated traits on KnockoffGWAS's toy genotypes, at seven resolutions; --data names their folder."""
    draws: int = 10
    """Draws of the copies for the trait that comes with those genotypes."""
    resolutions_table: bool = False
    """Write the page of the resolutions from the records instead of running anything."""
    agreement: int | None = None
    """So many seeds on the same data: the resistance of HIV to seven drugs, which --data names, and weak lines."""
    repeats: int = 5
    """Draws that are combined by majority, beside single ones, for --agreement."""
    agreement_table: bool = False
    """Write the page of the agreement of seeds from the records instead of running anything."""


@Parameter(name="*")
@dataclass(frozen=True)
class Genomes:
    """Simulated genomes instead of named scenarios."""

    genomes: int | None = None
    """So many traits on simulated genotypes of two kinds, at three resolutions; --seed fixes them."""
    people: int = 3000
    """People of these genotypes."""
    markers: int = 22_000
    """Markers of these genotypes."""
    causal: int = 80
    """Markers that cause a trait."""
    simulator: tuple[Literal["coalescent", "copying"], ...] = ("coalescent", "copying")
    """Kinds of genotypes: coalescent (by msprime) and copying (mosaics of founders)."""
    scratch: Path = FOLDER / "genomes"
    """Folder where the simulated genotypes are kept."""
    genomes_table: bool = False
    """Write the page of the genomes from the records instead of running anything."""


WORK, DRAWN, GENOMES = Work(), Drawn(), Genomes()


def trial(
    *scenarios: str,
    every: Annotated[bool, Parameter(name="--all")] = False,
    replicates: int = 50,
    table: bool = False,
    work: Work = WORK,
    drawn: Drawn = DRAWN,
    genomes: Genomes = GENOMES,
) -> None:
    """Run selectors on data with a known truth; print FDR and power with standard errors.

    Fits that the records hold already are not repeated.

    Parameters
    ----------
    scenarios
        Names out of scenarios.toml, such as linear-toeplitz-500.
    every
        All scenarios; those on measured columns need --data.
    replicates
        Fits of each method on each scenario.
    table
        Write the page of all records instead of running anything.
    """
    if drawn.random_table:
        path = work.records or FOLDER / "random.jsonl"
        write_random(_found(path, "neuralmirror trial --random 100"), work.page or FOLDER / "random.md")
    elif drawn.random is not None:
        run_random(drawn, work)
    elif drawn.resolutions_table:
        path = work.records or FOLDER / "resolutions.jsonl"
        found = _found(path, "neuralmirror trial --resolutions 50")
        write_resolutions(found, work.page or FOLDER / "resolutions.md")
    elif drawn.resolutions is not None:
        run_at_resolutions(drawn, work)
    elif drawn.agreement_table:
        path = work.records or FOLDER / "agreement.jsonl"
        write_agreement(_found(path, "neuralmirror trial --agreement 20"), work.page or FOLDER / "agreement.md")
    elif drawn.agreement is not None:
        run_seeds(drawn, work)
    elif genomes.genomes_table:
        path = work.records or FOLDER / "genomes.jsonl"
        write_genomes(_found(path, "neuralmirror trial --genomes 10"), work.page or FOLDER / "genomes.md")
    elif genomes.genomes is not None:
        run_traits(genomes, drawn.seed, work)
    elif table:
        path = work.records or FOLDER / "trials.jsonl"
        write_trials(_found(path, "neuralmirror trial --all"), work.page or FOLDER / "trials.md")
    else:
        chosen = _chosen(scenarios, every, work.data)
        _print(summarise(run(chosen, replicates, work, "trials.jsonl")), chosen)


def run_random(drawn: Drawn, work: Work) -> None:
    """Run the designs of a seed and print their tables."""
    count = checks.check_count("random", drawn.random)
    chosen = random_scenarios(count, checks.check_count("seed", drawn.seed), work.data)
    if len(chosen) < count:
        _say(f"{count - len(chosen)} designs on measured columns are left out: name their folder with --data")
    _say(random_tables(run(chosen, drawn.fits, work, "random.jsonl", evaluation.run_or_refuse)))


def run_at_resolutions(drawn: Drawn, work: Work) -> None:
    """Run the measured and the simulated traits and print their tables."""
    traits, draws = checks.check_count("resolutions", drawn.resolutions), checks.check_count("draws", drawn.draws)
    path, jobs = work.records or FOLDER / "resolutions.jsonl", work.jobs or bench.available_cores()
    found = run_resolutions(work.data, traits, drawn.seed, draws, path, jobs, not work.quiet)
    _say(resolution_tables([one for one in found if one["seed"] >= drawn.seed or one["seed"] == 0]))


def run_seeds(drawn: Drawn, work: Work) -> None:
    """Select the same data with many seeds and print how far they agree."""
    seeds, repeats = checks.check_count("agreement", drawn.agreement), checks.check_count("repeats", drawn.repeats)
    path, jobs = work.records or FOLDER / "agreement.jsonl", work.jobs or bench.available_cores()
    with connected(work.cluster):
        _say(agreement_table(run_agreement(work.data, seeds, repeats, path, jobs, not work.quiet)))


def run_traits(genomes: Genomes, seed: int, work: Work) -> None:
    """Select from simulated genomes and print how far the truth was found."""
    for name in ("people", "markers", "causal", "genomes"):
        checks.check_count(name, getattr(genomes, name))
    path, jobs = work.records or FOLDER / "genomes.jsonl", work.jobs or bench.available_cores()
    sizes = genomes.people, genomes.markers, genomes.causal
    found = run_genomes(
        genomes.simulator, sizes, genomes.genomes or 1, seed, genomes.scratch, path, jobs, not work.quiet
    )
    _say(genome_table([one for one in found if one.get("bench") == "genomes" and one["seed"] >= seed]))


def run(chosen: list[Scenario], replicates: int, work: Work, name: str, fit: Fit | None = None) -> list[Record]:
    """The records of these scenarios and methods, after running what was not there yet."""
    checks.check_count("replicates", replicates)
    methods = bench_methods(work.method, work.device, work.settings)
    path, jobs = work.records or FOLDER / name, work.jobs or bench.available_cores()
    with connected(work.cluster):
        done = bench.run_trials(chosen, methods, replicates, path, jobs, not work.quiet, fit)
    asked = {scenario.name for scenario in chosen}
    return [one for one in done if one["method"] in methods and one["row"] in asked]


def _chosen(names: tuple[str, ...], every: bool, data: Path | None) -> list[Scenario]:
    if not every and not names:
        raise ValueError("no scenario was named; name some of scenarios.toml, or give --all")
    left_out = bench.without_data(data) if every else []
    if left_out:
        _say(f"left out, for they need measured columns (name their folder with --data): {', '.join(left_out)}")
    return bench.load_scenarios(None if every else names, data)


def _found(records: Path, command: str) -> list[Record]:
    found = read_records(records)
    if not found:
        raise ValueError(f"{records} holds no records; run `{command}` first, or name the file with --records")
    return found


def _say(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)


def _print(summaries: list[Summary], chosen: list[Scenario]) -> None:
    targets = {scenario.name: scenario.target for scenario in chosen}
    shown = Table("scenario", "method", "fits", "FDR", "power", "to reach", "oracle", "nulls won", "seconds")
    for s in summaries:
        fdr, power = f"{s.fdr:.3f} ± {s.fdr_error:.3f}", f"{s.power:.3f} ± {s.power_error:.3f}"
        target, oracle = targets[s.scenario], "" if s.oracle is None else f"{s.oracle:.3f}"
        nulls = f"{s.balance:.2f} of {s.expected:.2f}"
        cells = (s.scenario, s.method, str(s.replicates), fdr if s.controlled else f"[red]{fdr}[/red]", power)
        shown.add_row(*cells, "" if target is None else f"{target:g}", oracle, nulls, f"{s.seconds:.1f}")
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH)).print(shown)
