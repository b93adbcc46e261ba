"""One self-contained page about a run: it opens offline, and its slider selects again as `reselect` does."""

from __future__ import annotations

import csv
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from neuralmirror._internal.output import unescaped
from neuralmirror.mirror.estimator import NeuralGaussianMirror

NEEDED = ("run.json", "selection.csv", "dropped.csv", "model.safetensors")
LISTED = 400  # names of dropped features that the page lists for each reason
PLAIN = ("feature", "mirror_statistic", "scale", "selected", "q_value", "selection_frequency", "missing_share")
NUMBERS = ("mirror_statistic", "scale", "q_value", "selection_frequency", "missing_share")
PREDICTS = 0.05  # share of the held-out loss that chance rarely explains
SIGN_ALARM = 0.01  # p-value of the sign balance below which the page warns


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
    page = _environment().get_template("report.html.j2")
    return page.render(
        run=run,
        rows=rows,
        chosen=[row for row in rows if row["selected"] == "true"],
        payload=_embedded(payload(run, rows, mirror)),
        notes=verdicts(run),
        mirrors=mirror._n_mirrors,
        dropped=_dropped(folder / "dropped.csv"),
        style=_template("report.css"),
        script=_template("report.js"),
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
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("neuralmirror.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}".replace(",", "\u202f")
    environment.filters["pretty"] = pretty
    return environment


def _template(name: str) -> str:
    return (files("neuralmirror") / "report" / "templates" / name).read_text(encoding="utf-8")


def pretty(value: object) -> str:
    """A setting as a person would write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def payload(run: dict[str, Any], rows: list[dict[str, str]], mirror: NeuralGaussianMirror) -> dict[str, Any]:
    """What the page's script needs: every draw of every feature's statistic, in full precision, and the table."""
    labels = mirror.feature_groups if mirror.feature_groups is not None else mirror.feature_names_in_
    place = {str(label): j for j, label in reversed(list(enumerate(labels)))}
    order, shown = mirror._leaders[[place[row["feature"]] for row in rows]], columns(rows)
    return {
        "fdr": mirror.fdr,
        "offset": mirror.offset,
        "mirrors": mirror._n_mirrors,
        "draws": mirror._draws[:, order].tolist(),
        "columns": shown,
        "rows": [[_cell(key, row[key]) for key in shown] for row in rows],
        "curves": [[float(f"{loss:.5g}") for loss in curve] for curve in np.atleast_2d(mirror.loss_curves_)],
        "task": run["data"]["task"],
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


def verdicts(run: dict[str, Any]) -> list[dict[str, str]]:
    """The diagnostics in words, each with a verdict: "good", "caution" or "plain"."""
    trust = run["diagnostics"]
    found = [_sign_verdict(trust["sign_balance"])]
    if "held_out" in trust:
        found.insert(0, _prediction_verdict(trust["held_out"]))
    if trust.get("belief") is not None:
        found.append(_belief_verdict(trust["belief"]))
    return found + [{"verdict": "caution", "title": "Said while fitting", "text": text} for text in run["warnings"]]


def _prediction_verdict(held: dict[str, float]) -> dict[str, str]:
    share = held["explained"]
    numbers = f"Held-out loss {held['loss']:.3g} against {held['mean_only']:.3g} for a model that knows only the mean"
    tail = f" ({held['rows']:.0f} rows that the network never saw)."
    if share > PREDICTS:
        return {
            "verdict": "good",
            "title": f"The network explains {share:.0%} of the held-out loss",
            "text": numbers + tail,
        }
    return {
        "verdict": "caution",
        "title": "The network predicts next to nothing",
        "text": numbers + tail + " What it follows may be noise: read any selection with great care.",
    }


def _belief_verdict(belief: float) -> dict[str, str]:
    """How much of the perceptrons the engine used beside the sparse part."""
    text = "This share of what the perceptrons add to the sparse part held up on rows they had not seen, and was used."
    return {"verdict": "plain", "title": f"{belief:.0%} of the perceptrons is believed", "text": text}


def _sign_verdict(balance: dict[str, float]) -> dict[str, str]:
    won, lost = int(balance["won"]), int(balance["lost"])
    share = won / max(won + lost, 1)
    text = f"Of the features left out, {won} beat their noise and {lost} lost: {share:.0%} won, "
    text += f"where {balance['expected']:.0%} is expected if none of them matters (p = {balance['p_value']:.2g})."
    if balance["p_value"] >= SIGN_ALARM:
        return {"verdict": "good", "title": "The signs of the others balance", "text": text}
    return {
        "verdict": "caution",
        "title": "More wins than chance among the others",
        "text": text + " Either weak true features are among them, or signal leaks onto correlated ones.",
    }


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
