"""The commands `select`, `inspect` and `report`. Heavy imports wait until a command runs, so that help is instant."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from neuralmirror.options import AS_IT_IS, Fdr, Out, Reading

if TYPE_CHECKING:
    from neuralmirror.runs import Request


def select(
    data: Path,
    /,
    *,
    reading: Reading = AS_IT_IS,
    out: Out = Path("results"),
    fdr: Fdr = 0.1,
    covar: Path | None = None,
    covariates: str = "",
    task: Literal["auto", "regression", "classification"] = "auto",
    scheme: Literal["simultaneous", "individual"] = "simultaneous",
    screen: str | None = None,
    n_mirrors: str | None = None,
    n_repeats: int | None = None,
    offset: Literal[0, 1] = 1,
    steps: int | None = None,
    seed: int = 0,
    device: str = "auto",
    memory: float = 1.0,
    no_check: bool = False,
    calibrate: int = 0,
    force: bool = False,
    resume: bool = False,
    quiet: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Select the features that a target depends on, and write a table and a report.

    Leaves selection.csv, dropped.csv, report.html, run.json and model.safetensors in the output folder. The same data,
    settings and seed give the same selection.csv, byte for byte.

    Parameters
    ----------
    data
        CSV or TSV (also .gz), Parquet, Feather, NPZ, PLINK .bed or .pgen, VCF (also .gz) or AnnData .h5ad.
    out
        Folder for the results.
    fdr
        False discovery rate: the largest acceptable expected share of false features among those selected.
    covar
        File with covariates, joined by sample id. They enter the networks and are never selected.
    covariates
        Columns of the data that are covariates, separated by commas.
    task
        What the target is; auto takes text and few distinct whole numbers as classes.
    scheme
        One network with every feature mirrored, or one network per feature.
    screen
        Rank on a third of the rows and mirror only the best: half, log or a number. Not for few rows.
    n_mirrors
        Noises per feature; 2 to 4 find few true features.
    n_repeats
        Independent draws, combined into one more stable selection.
    offset
        1, or 0 as in the paper, which does not hold when little is relevant.
    steps
        Training steps.
    seed
        Fixes every draw.
    device
        auto, cpu or cuda.
    memory
        Gigabytes for a batch of networks.
    no_check
        Leave out the test whether a network predicts anything on held-out rows.
    calibrate
        Simulate this many responses of each kind on your features, and report the FDR and power achieved there.
    force
        Replace results in the output folder.
    resume
        Take up completed pieces of a run that was cut off (each draw, for the individual scheme).
    quiet
        Print nothing but errors.
    as_json
        Print the record of run.json.
    """
    from neuralmirror import runs

    request = _request(locals())
    record = runs.select(request, out, force=force, resume=resume, progress=False if quiet or as_json else None)
    if as_json:
        print(json.dumps(record, indent=2, ensure_ascii=False))
    elif not quiet:
        _show_selection(record, out)


def inspect(
    data: Path,
    /,
    *,
    reading: Reading = AS_IT_IS,
    covar: Path | None = None,
    covariates: str = "",
    scheme: Literal["simultaneous", "individual"] = "simultaneous",
    n_mirrors: str | None = None,
    n_repeats: int | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Say what `select` would do: shapes, types, missing values, cleaning, memory and time. Nothing is written.

    Parameters
    ----------
    data
        The file, as for `select`.
    covar
        File with covariates, joined by sample id.
    covariates
        Columns of the data that are covariates, separated by commas.
    scheme
        One network with every feature mirrored, or one network per feature.
    n_mirrors
        Noises per feature.
    n_repeats
        Independent draws.
    as_json
        Print the findings as JSON.
    """
    from neuralmirror import forecasts

    findings = forecasts.inspect(_request(locals()))
    if as_json:
        print(json.dumps(findings, indent=2, ensure_ascii=False))
    else:
        _show_findings(findings)


def report(folder: Path, /) -> None:
    """Render report.html again from the other files of a result.

    Parameters
    ----------
    folder
        The folder that `neuralmirror select` wrote.
    """
    from neuralmirror.report import render

    page = folder / "report.html"
    text = render(folder)
    unfinished = page.with_suffix(".tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(page)
    print(page)


def _request(options: dict[str, Any]) -> Request:
    """The options of a command as what the run needs."""
    from neuralmirror.runs import Request

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


# ---- on the terminal ----


def _show_selection(record: dict[str, Any], out: Path) -> None:
    """What was found, in a few lines."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for step in record["cleaning"]["steps"]:
        console.print(f"• {step}", highlight=False, soft_wrap=True, markup=False)
    table = Table("feature", "M", "q-value")
    rows = _first_rows(out / "selection.csv", 15)
    for row in rows:
        table.add_row(row["feature"], f"{float(row['mirror_statistic']):.3g}", f"{float(row['q_value']):.3g}")
    if rows:
        console.print(table)
    more = record["result"]["selected"] - len(rows)
    if more > 0:
        console.print(f"and {more} more in selection.csv")
    for text in (record["result"]["explanation"], *_cautions(record)):
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    console.print(f"Results in {out}; open {out / 'report.html'}", highlight=False, soft_wrap=True, markup=False)


def _first_rows(path: Path, most: int) -> list[dict[str, str]]:
    """The first selected features of selection.csv."""
    import csv
    from itertools import islice, takewhile

    with path.open(encoding="utf-8", newline="") as file:
        return list(islice(takewhile(lambda row: row["selected"] == "true", csv.DictReader(file)), most))


def _cautions(record: dict[str, Any]) -> list[str]:
    from neuralmirror.report import verdicts

    return [
        f"Caution: {note['title']}. {note['text']}"
        for note in verdicts({**record, "warnings": []})
        if note["verdict"] == "caution"
    ]


def _show_findings(findings: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in findings.items():
        lines = value if isinstance(value, list) else [str(value)]
        table.add_row(name.replace("_", " "), "\n".join(lines) or "nothing", style=None)
    Console().print(table, highlight=False, markup=False)
