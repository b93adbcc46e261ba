"""One self-contained page about a run: it opens offline, and its slider selects again as `reselect` does."""

from __future__ import annotations

import csv
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from neuralmirror._internal.output import unescaped
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.report import shapes
from neuralmirror.report.verdicts import decided, guarantee, verdicts

NEEDED = ("run.json", "selection.csv", "dropped.csv", "model.safetensors")
LISTED = 400  # names of dropped features that the page lists for each reason
PLAIN = ("feature", "mirror_statistic", "scale", "selected", "q_value", "selection_frequency", "missing_share")
NUMBERS = ("mirror_statistic", "scale", "q_value", "selection_frequency", "missing_share")


def render(folder: Path) -> str:
    """The page for the run in `folder`."""
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"{folder} has no {missing[0]}; expected the folder that `neuralmirror select` wrote")
    run = read_record(folder / "run.json")
    rows = _records(folder / "selection.csv")
    if run.get("escape_formulas"):
        rows = [{key: unescaped(text) for key, text in row.items()} for row in rows]
    mirror = NeuralGaussianMirror.load(folder / "model.safetensors")
    page = environment().get_template("report.html.j2")
    return page.render(
        run=run,
        rows=rows,
        chosen=[row for row in rows if row["selected"] == "true"],
        payload=_embedded(payload(rows, mirror)),
        notes=verdicts(run),
        conditions=guarantee(run),
        decided=decided(run),
        found=shapes.found_rows(run),
        pairs=shapes.pair_bars(run),
        shares=shapes.share_bars(run),
        unit=shapes.unit(run),
        mirrors=mirror._n_mirrors,
        dropped=_dropped(folder / "dropped.csv"),
        resolutions=run.get("resolutions"),
        style=template("report.css"),
        script=template("report.js"),
    )


def read_record(path: Path) -> dict[str, Any]:
    """The record of a run; a ValueError where the file is none."""
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as reason:
        raise ValueError(f"{path} is damaged ({reason}); run `neuralmirror select` again") from None
    parts = ("data", "settings", "cleaning", "result", "diagnostics", "warnings")
    lost = [part for part in parts if not isinstance(run, dict) or part not in run]
    if lost:
        raise ValueError(f"{path} is damaged: it has no {lost[0]!r}; run `neuralmirror select` again")
    return dict(run)


@cache
def environment() -> Environment:
    """The templates of all pages, with words and numbers as they are written there."""
    environment = Environment(
        loader=PackageLoader("neuralmirror.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}".replace(",", "\u202f")
    environment.filters["pretty"] = pretty
    environment.filters["short"] = lambda number: f"{number:.3g}"
    environment.filters["percent"] = lambda share: f"{max(share, 0.0):.0%}"
    return environment


def template(name: str) -> str:
    """The text of a file beside the templates."""
    return (files("neuralmirror") / "report" / "templates" / name).read_text(encoding="utf-8")


def pretty(value: object) -> str:
    """A setting as a person would write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def payload(rows: list[dict[str, str]], mirror: NeuralGaussianMirror) -> dict[str, Any]:
    """What the page's script needs: every draw of every feature's statistic, in full precision, and the table."""
    labels = mirror.feature_groups if mirror.feature_groups is not None else mirror.feature_names_in_
    place = {str(label): j for j, label in reversed(list(enumerate(labels)))}
    order, shown = mirror._leaders[[place[row["feature"]] for row in rows]], columns(rows)
    return {
        "fdr": mirror.fdr,
        "offset": mirror.offset,
        "mirrors": mirror._n_mirrors,
        "draws": mirror._draws[:, order].tolist(),
        "q": mirror.q_values_[order].tolist(),  # a feature is selected at every level from its q on
        "columns": shown,
        "rows": [[_cell(key, row[key]) for key in shown] for row in rows],
    }


def columns(rows: list[dict[str, str]]) -> list[str]:
    """The columns of the table that say something: `represents` and frequencies only where they do."""
    names = list(rows[0]) if rows else list(PLAIN)
    dull = {
        name
        for name in names
        if name not in ("feature", "mirror_statistic", "scale", "selected", "q_value")
        and len({row[name] for row in rows}) == 1
        and (name in PLAIN or not rows[0][name])
    }
    if {row["selection_frequency"] for row in rows} <= {"0", "1"}:
        dull.add("selection_frequency")  # a single draw: the same as `selected`
    return [name for name in names if name not in dull]


def _cell(key: str, text: str) -> str | float | bool:
    if key == "selected":
        return text == "true"
    return float(text) if key in NUMBERS or (key == "position" and text.isdigit()) else text


def _records(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _dropped(path: Path) -> list[dict[str, Any]]:
    """Dropped features by reason: how many, and names enough to look one up."""
    groups: dict[str, list[str]] = {}
    for row in _records(path):
        by = row["represented_by"]
        groups.setdefault(row["reason"], []).append(f"{row['feature']} → {by}" if by else row["feature"])
    return [
        {"reason": reason, "count": len(names), "names": names[:LISTED], "more": max(0, len(names) - LISTED)}
        for reason, names in groups.items()
    ]


def _embedded(values: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
