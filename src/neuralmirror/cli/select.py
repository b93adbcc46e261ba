"""`neuralmirror select`: from a file to a table and a report. Heavy imports wait until the command runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from neuralmirror._internal.output import check_folder
from neuralmirror.cli.documents import document
from neuralmirror.cli.options import AS_IT_IS, AS_USUAL, AsJson, Fitting, Out, Reading, Whole, request_for
from neuralmirror.cli.terminal import print_json, say, show_table
from neuralmirror.cli.threads import threads

if TYPE_CHECKING:
    from neuralmirror.report.request import Request

SHOWN = 15  # features on the terminal; selection.csv holds all
OUT = Path("neuralmirror-results")


def select(
    data: Path,
    /,
    *,
    reading: Reading = AS_IT_IS,
    fitting: Fitting = AS_USUAL,
    out: Out = OUT,
    no_check: bool = False,
    calibrate: Whole = 0,
    escape_formulas: bool = False,
    force: bool = False,
    resume: Annotated[bool, Parameter(show=False)] = False,  # pieces of a run that was cut off are always taken up
    quiet: bool = False,
    as_json: AsJson = False,
) -> None:
    """Select the features that a target depends on, and write a table and a report.

    Leaves selection.csv, dropped.csv, report.html, run.json and model.safetensors in the output folder. The same data,
    settings and seed give the same selection.csv, byte for byte. The same command takes up a run that was cut off.

    Parameters
    ----------
    data
        CSV or TSV (also .gz), Parquet, Feather, NPZ, PLINK .bed or .pgen, VCF (also .gz) or AnnData .h5ad.
    out
        Folder for the results.
    no_check
        Leave out the test whether a network predicts anything on held-out rows.
    calibrate
        Simulate this many responses of each kind on your features, and report the FDR and power achieved there.
    escape_formulas
        Put an apostrophe before names that a spreadsheet would take for formulas.
    force
        Replace results in the output folder.
    quiet
        Print nothing but errors.
    as_json
        Print the outcome as JSON.
    """
    check_folder(out, force)
    if calibrate < 0:
        raise ValueError(f"--calibrate takes a number of simulated responses, got {calibrate}; 20 is a fair start")
    more = {"check": not no_check, "calibrate": calibrate, "escape_formulas": escape_formulas}
    request = request_for(data, reading, fitting, **more)
    with threads(fitting.jobs):
        record = run_and_tell(request, out, force=force, quiet=quiet, as_json=as_json)
    if as_json:
        print_json(document(record, out))
    elif not quiet:
        show_selection(record, out)


def run_and_tell(
    request: Request,
    out: Path,
    *,
    force: bool,
    quiet: bool,
    as_json: bool,
    add: Callable[[Path], None] = lambda folder: None,
) -> dict[str, Any]:
    """Run, and print each decision about the data before the fit begins."""
    from neuralmirror.report import run

    tell = (lambda line: None) if quiet or as_json else (lambda line: say(f"• {line}"))
    return run.select(request, out, force=force, progress=not quiet, tell=tell, add=add)


def show_selection(record: dict[str, Any], out: Path) -> None:
    """What was found, in a few lines."""
    found = record["result"]["features"]
    rows = [(one["feature"], f"{one['statistic']:.3g}", f"{one['q_value']:.3g}") for one in found[:SHOWN]]
    if rows:
        show_table(("feature", "M", "q-value"), rows)
    if len(found) > SHOWN:
        say(f"and {len(found) - SHOWN} more in selection.csv")
    for text in (record["result"]["explanation"], *parts(record["result"]), *calibration(record), *cautions(record)):
        say(text)
    if record["settings"]["n_repeats"] == 1:
        say("One draw: another seed may select somewhat other features; --n-repeats 10 combines ten draws.")
    say(f"Results in {out}; open {out / 'report.html'}")


def parts(result: dict[str, Any]) -> list[str]:
    """What the parts of the model weigh, and what they explain on rows not seen."""
    weights, shares = result["part_weights"] or {}, result["explained"] or {}
    told = [f"{name} {weight:.2g}" for name, weight in weights.items()]
    explained = [f"{name} {share:.0%}" for name, share in shares.items() if share is not None]
    lines = [f"Weights of the parts: {', '.join(told)}."] if told else []
    return lines + ([f"Explained on rows not seen: {', '.join(explained)}."] if explained else [])


def calibration(record: dict[str, Any]) -> list[str]:
    """What was achieved on simulated responses, with the number of fits and standard errors."""
    return [f"Simulated, {name}: {text}" for name, text in record.get("calibration", {}).items()]


def cautions(record: dict[str, Any]) -> list[str]:
    """Diagnostics that ask for care, and what was warned of."""
    from neuralmirror.report.rendering import verdicts

    found = [note for note in verdicts({**record, "warnings": []}) if note["verdict"] == "caution"]
    said = [text for text in record["warnings"] if text != record["result"]["explanation"]]
    return [f"Caution: {note['title']}. {note['text']}" for note in found] + [f"Caution: {text}" for text in said]
