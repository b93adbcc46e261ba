"""`neuralmirror demo`: select features in the built-in example, and compare with its known truth."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralmirror._internal.output import check_folder, write_csv
from neuralmirror.cli.documents import document
from neuralmirror.cli.options import AsJson, Jobs, Out
from neuralmirror.cli.select import COLUMNS, feature_row, run_and_tell
from neuralmirror.cli.terminal import print_json, say, show_filled
from neuralmirror.cli.threads import threads

if TYPE_CHECKING:
    from neuralmirror.simulation.example import Example

OUT = Path("demo-results")
TARGET = "y"
DRAWS = 3  # enough to show stability


def demo(
    *, out: Out = OUT, jobs: Jobs = None, force: bool = False, quiet: bool = False, as_json: AsJson = False
) -> None:
    """Select features in a built-in example with a known truth, and compare.

    Writes what `select` writes, report.html among it, and the truth in truth.csv.

    Parameters
    ----------
    out
        Folder for the results.
    jobs
        Cores to use, for all threads together; those available to the process by default.
    force
        Replace earlier results in that folder.
    quiet
        Print nothing but errors.
    as_json
        Print the outcome as JSON, as `select` does, with the truth and the scores beside it.
    """
    check_folder(out, force)
    with threads(jobs) as number:
        from neuralmirror.simulation.example import example

        data = example()
        with tempfile.TemporaryDirectory() as folder:
            record = _selected(data, Path(folder) / "example.csv", out, number, force, quiet, as_json)
    scores = _scores(record, data)
    if as_json:
        print_json({**document(record, out), **scores})
    elif not quiet:
        _show(record, data, scores, out)


def _selected(
    data: Example, file: Path, out: Path, jobs: int, force: bool, quiet: bool, as_json: bool
) -> dict[str, Any]:
    """Write the example as a file, and select from it as from any other."""
    from neuralmirror.io.loading import Source
    from neuralmirror.report.request import Request

    rows = ([*(f"{v:.17g}" for v in x), f"{y:.17g}"] for x, y in zip(data.x, data.y, strict=True))
    write_csv(file, [*data.names, TARGET], rows)
    parameters = {"random_state": 0, "n_jobs": jobs, "n_repeats": DRAWS}
    request = Request(Source(file, TARGET), parameters=parameters, command="neuralmirror demo")
    truth = [(name, str(bool(role)).lower(), role) for name, role in zip(data.names, data.roles, strict=True)]

    def add(folder: Path) -> None:
        write_csv(folder / "truth.csv", ["feature", "relevant", "role"], truth)

    return run_and_tell(request, out, force=force, quiet=quiet, as_json=as_json, add=add)


def _scores(record: dict[str, Any], data: Example) -> dict[str, Any]:
    chosen = {one["feature"] for one in record["result"]["features"]}
    true = {name for name, role in zip(data.names, data.roles, strict=True) if role}
    return {
        "true": sorted(true),
        "false_selected": sorted(chosen - true),
        "missed": sorted(true - chosen),
        "fdp": len(chosen - true) / max(len(chosen), 1),
        "power": len(chosen & true) / len(true),
    }


def _show(record: dict[str, Any], data: Example, scores: dict[str, Any], out: Path) -> None:
    roles = dict(zip(data.names, data.roles, strict=True))
    rows = [feature_row(one, record["settings"]["n_repeats"]) for one in record["result"]["features"]]
    rows += [(name, "not selected", *[""] * (len(COLUMNS) - 2)) for name in scores["missed"]]
    show_filled((*COLUMNS, "truth"), [(*row, roles[row[0]] or "irrelevant") for row in rows])
    for sentence in _sentences(record, scores):
        say(sentence)
    say(f"Results in {out}; open {out / 'report.html'}")


def _sentences(record: dict[str, Any], scores: dict[str, Any]) -> list[str]:
    """What was found, and what a false or missed feature means."""
    found, total, level = record["result"]["selected"], record["data"]["features"], record["settings"]["fdr"]
    right = found - len(scores["false_selected"])
    told = (
        f"{found} of {total} features selected at fdr={level:g}: {right} of the {len(scores['true'])} that matter, and "
        f"{len(scores['false_selected'])} that do not (false discovery proportion {scores['fdp']:.2f}, "
        f"power {scores['power']:.2f})."
    )
    return [told, _on_false_ones(record["result"]["features"], scores["false_selected"], level)]


def _on_false_ones(features: list[dict[str, Any]], false: list[str], level: float) -> str:
    """Why there can be false features, and how they look."""
    bound = f"A level of {level:g} keeps the share of false features below it on average over many data sets"
    if not false:
        return f"{bound}. This example was chosen without one; drawn anew, it often has one or two."
    weak = {one["feature"] for one in features if one["weak"]}
    look = " Beside the others the evidence for them is weak, which the report marks." if weak.issuperset(false) else ""
    return f"{', '.join(false)}: selected by chance.{look} {bound}; in one of them it can be larger."
