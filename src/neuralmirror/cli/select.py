"""`neuralmirror select`: from a file to a table and a report. Heavy imports wait until the command runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from neuralmirror._internal.cluster import cluster as connected
from neuralmirror._internal.output import check_folder
from neuralmirror.cli.documents import document
from neuralmirror.cli.options import AS_IT_IS, AS_USUAL, AsJson, Fitting, Out, Reading, Whole, request_for
from neuralmirror.cli.terminal import print_json, say, show_filled
from neuralmirror.cli.threads import threads

if TYPE_CHECKING:
    from neuralmirror.report.request import Request, Resolving

SHOWN = 15  # features on the terminal; selection.csv holds all
OUT = Path("neuralmirror-results")
COLUMNS = ("feature", "effect", "size", "acts with", "stability", "q-value", "M")


def select(
    data: Path,
    /,
    *,
    reading: Reading = AS_IT_IS,
    fitting: Fitting = AS_USUAL,
    out: Out = OUT,
    calibrate: Whole = 0,
    resolutions: str = "",
    partitions: Path | None = None,
    contiguous: bool = False,
    escape_formulas: bool = False,
    cluster: str | None = None,
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
        CSV or TSV (also .gz), Parquet, Feather, NPZ, PLINK .bed or .pgen, BGEN, VCF (also .gz) or AnnData .h5ad.
    out
        Folder for the results.
    calibrate
        Simulate this many responses of each kind on your features, and report the FDR and power achieved there.
    resolutions
        Also discover groups of correlated features, clustered at these correlations, such as 0.99,0.9,0.75,0.5.
    partitions
        Also discover groups of a table: a feature's name, then its group at each resolution, with a header.
    contiguous
        With --resolutions: only groups of neighbours, along positions where the file has them.
    escape_formulas
        Put an apostrophe before names that a spreadsheet would take for formulas.
    cluster
        Address of a Dask scheduler (tcp://HOST:8786, or its .json file) or of Ray (ray://HOST:10001, ray://auto) where
        draws, turns and calibrations run; the folder of the results must be one that its workers see.
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
    more: dict[str, Any] = {"calibrate": calibrate, "escape_formulas": escape_formulas}
    if resolutions or partitions is not None or contiguous:
        more["resolving"] = resolving_for(resolutions, partitions, contiguous)
    request = request_for(data, reading, fitting, **more)
    with threads(fitting.jobs), connected(cluster):
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
    if found:
        show_filled(COLUMNS, [feature_row(one, record["settings"]["n_repeats"]) for one in found[:SHOWN]])
    if len(found) > SHOWN:
        say(f"and {len(found) - SHOWN} more in selection.csv")
    told = (*parts(record), *groups(record), *calibration(record), *cautions(record))
    for text in (*levels(found[:SHOWN]), record["result"]["explanation"], *told):
        say(text)
    say(draws(record["settings"]["n_repeats"]))
    say(f"Results in {out}; open {out / 'report.html'}")


def feature_row(one: dict[str, Any], n_repeats: int) -> tuple[str, ...]:
    """A selected feature as a row of COLUMNS."""
    effect = one["effect"] or {"shape": "", "size": None, "partners": []}
    size = "" if effect["size"] is None else f"{effect['size']:.3g}"
    partners = ", ".join(effect["partners"][:3]) + (" …" if len(effect["partners"]) > 3 else "")
    stable = "" if n_repeats == 1 else f"{one['selection_frequency']:.0%}"
    weak = " (weak)" if one["weak"] else ""
    return (
        one["feature"],
        effect["shape"],
        size,
        partners,
        stable,
        f"{one['q_value']:.3g}",
        f"{one['statistic']:.3g}{weak}",
    )


def levels(found: list[dict[str, Any]]) -> list[str]:
    """The mean effect at each level of the selected categories."""
    from neuralmirror.report.shapes import by_level

    categories = [one for one in found if (one["effect"] or {}).get("levels")]
    return [f"{one['feature']} by level: {by_level(one['effect'])}" for one in categories]


def draws(number: int) -> str:
    """How many draws of the copies decided, and what another number would do."""
    if number == 1:
        return "One draw: another seed may select somewhat other features; --n-repeats 5 lets five draws vote."
    return (
        f"{number} draws of the copies voted: what at least half of them select is selected (--n-repeats changes this)."
    )


def parts(record: dict[str, Any]) -> list[str]:
    """Which part of the learner decided, and what each explains on rows not seen."""
    from neuralmirror.report.verdicts import decided

    shares = record["result"]["explained"]
    explained = [f"{name} {max(share, 0.0):.0%}" for name, share in shares.items() if share is not None]
    return [decided(record), f"Explained on rows not seen: {', '.join(explained)}."]


def resolving_for(cuts: str, partitions: Path | None, contiguous: bool) -> Resolving:
    """The options of resolutions as what the run needs."""
    from neuralmirror.report.request import Resolving

    try:
        numbers = tuple(float(cut) for cut in cuts.split(",") if cut.strip())
    except ValueError:
        raise ValueError(
            f"--resolutions takes correlations separated by commas, such as 0.9,0.75,0.5; got {cuts!r}"
        ) from None
    return Resolving(numbers, partitions, contiguous)


def groups(record: dict[str, Any]) -> list[str]:
    """How many groups were discovered at each resolution."""
    if "resolutions" not in record:
        return []
    levels = record["resolutions"]["levels"]
    counts = [f"{one['discoveries']} of {one['groups']} at {one['resolution']}" for one in levels]
    return [f"Groups discovered, each resolution with its own guarantee: {', '.join(counts)}; see resolutions.csv."]


def calibration(record: dict[str, Any]) -> list[str]:
    """What was achieved on simulated responses, with the number of fits and standard errors."""
    return [f"Simulated, {name}: {text}" for name, text in record.get("calibration", {}).items()]


def cautions(record: dict[str, Any]) -> list[str]:
    """Diagnostics that ask for care, and what was warned of."""
    from neuralmirror.report.verdicts import verdicts

    found = [note for note in verdicts({**record, "warnings": []}) if note["verdict"] == "caution"]
    said = [text for text in record["warnings"] if text != record["result"]["explanation"]]
    return [f"Caution: {note['title']}. {note['text']}" for note in found] + [f"Caution: {text}" for text in said]
