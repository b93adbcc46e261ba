"""`neuralmirror select`: from a file to a table and a report. Heavy imports wait until the command runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from neuralmirror.cli.options import AS_IT_IS, Fdr, Out, Reading

if TYPE_CHECKING:
    pass
from neuralmirror.cli.options import request_from


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
    from neuralmirror.report import run

    request = request_from(locals())
    record = run.select(request, out, force=force, resume=resume, progress=False if quiet or as_json else None)
    if as_json:
        print(json.dumps(record, indent=2, ensure_ascii=False))
    elif not quiet:
        _show_selection(record, out)


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
    from neuralmirror.report.rendering import verdicts

    return [
        f"Caution: {note['title']}. {note['text']}"
        for note in verdicts({**record, "warnings": []})
        if note["verdict"] == "caution"
    ]
