"""`neuralmirror trial`: run the trial bench, and render its table from the records."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from neuralmirror import evaluation
from neuralmirror._internal import checks
from neuralmirror.comparison import METHODS
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.studies import scenarios
from neuralmirror.studies.knockpy_peer import installed_peers
from neuralmirror.studies.records import read_records

RECORDS = Path("results/trials.jsonl")
PAGE = Path("docs/results/trials.md")

NEURAL: dict[str, dict[str, Any]] = {  # ways to set the neural mirror, beside the comparators
    "default": {},
    "individual": {"scheme": "individual"},
    "plain-network": {"skip": "none", "n_networks": 1, "shrinkage": 0.8, "adaptive_power": 1.0, "n_mirrors": 1},
}


def trial(
    *rows: str,
    every: Annotated[bool, Parameter(name="--all")] = False,
    method: Annotated[list[str] | None, Parameter(name=["--method", "-m"])] = None,
    replicates: int = 50,
    device: str = "auto",
    jobs: int | None = None,
    settings: Annotated[list[str] | None, Parameter(name="--set")] = None,
    records: Path = RECORDS,
    tomato: Path = scenarios.TOMATO,
    table: bool = False,
    page: Path = PAGE,
    quiet: bool = False,
) -> None:
    """Run selectors on data with a known truth; print FDR and power with standard errors.

    Parameters
    ----------
    rows
        Names out of scenarios.toml, such as linear-toeplitz-500.
    every
        All rows.
    method
        default, individual, plain-network, paper, a comparator (see compare), or knockpy where it is installed (extra:
        peers); repeat for several.
    replicates
        Fits of each method on each row. Fits that the records hold already are not repeated.
    device
        auto, cpu or cuda. On a GPU the replicates of simultaneous mirrors are trained as one batch.
    jobs
        Processes on the cores; all of them by default.
    settings
        A setting of the neural mirror as name=value; the method is then recorded under its name and these settings.
    records
        File of JSON lines that is read and appended to.
    tomato
        The tomato genotypes, for the rows on real columns.
    table
        Write the table of all records to the page instead of running anything.
    page
        Where --table writes.
    quiet
        No progress bar.
    """
    chosen = scenarios.load_scenarios(None if every or (table and not rows) else rows, tomato)
    if table:
        write_page(chosen, records, page)
        return
    if not chosen:
        raise ValueError("no row was named; name some of scenarios.toml, or give --all")
    checks.check_count("replicates", replicates)
    methods = {
        label: make for name in method or ["default"] for label, make in [_method(name, device, jobs, settings or [])]
    }
    done = scenarios.run_trials(
        chosen, methods, replicates, records, jobs or scenarios.available_cores(), show=not quiet
    )
    wanted = [one for one in done if one["method"] in methods and one["row"] in {row.name for row in chosen}]
    _print(evaluation.summarise(wanted), chosen)


def write_page(rows: list[evaluation.Scenario], records: Path, page: Path) -> None:
    """docs/results/trials.md from the records."""
    found = read_records(records)
    if not found:
        raise ValueError(f"{records} holds no records; run `neuralmirror trial --all` first")
    order = {row.name: place for place, row in enumerate(rows)}
    summaries = sorted(evaluation.summarise(found), key=lambda s: (order.get(s.row, len(order)), s.method))
    page.parent.mkdir(parents=True, exist_ok=True)
    head = page.read_text().split("<!-- table -->")[0] if page.exists() else "# Trials\n\n"
    page.write_text(f"{head.rstrip()}\n\n<!-- table -->\n\n{scenarios.as_markdown(summaries, rows)}")


def _method(name: str, device: str, jobs: int | None, settings: list[str]) -> tuple[str, Any]:
    """A label for the records, and what makes the selector."""
    others = METHODS | installed_peers()
    checks.check_choice("method", name, [*NEURAL, "paper", *others])
    changes = dict(_setting(text) for text in settings)
    if name == "paper":
        return _label(name, changes), partial(NeuralGaussianMirror.paper, device=device, **changes)
    if name in NEURAL:
        own: dict[str, Any] = {**NEURAL[name], "device": device, "n_jobs": jobs, **changes}
        return _label(name, changes), partial(NeuralGaussianMirror, **own)
    if changes:
        raise ValueError(f"--set changes the neural mirror, but method {name!r} is another; drop one of them")
    make: Any = others[name]
    return name, make


def _setting(text: str) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    if not mark:
        raise ValueError(f"--set takes name=value, got {text!r}")
    checks.check_choice("--set", name, NeuralGaussianMirror().get_params())
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _label(name: str, changes: dict[str, Any]) -> str:
    return " ".join([name, *(f"{key}={value}" for key, value in changes.items())])


def _print(summaries: list[evaluation.Summary], rows: list[evaluation.Scenario]) -> None:
    targets = {row.name: row.target for row in rows}
    shown = Table("row", "method", "fits", "FDR", "power", "to reach", "nulls won", "seconds")
    for s in summaries:
        fdr, power = f"{s.fdr:.3f} ± {s.fdr_error:.3f}", f"{s.power:.3f} ± {s.power_error:.3f}"
        target = targets[s.row]
        cells = (s.row, s.method, str(s.replicates), fdr if s.controlled else f"[red]{fdr}[/red]", power)
        shown.add_row(*cells, "" if target is None else f"{target:g}", f"{s.balance:.2f}", f"{s.seconds:.1f}")
    Console().print(shown)
