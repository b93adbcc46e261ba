"""The page of an analysis of whole genomes, which needs no script, and what it says about trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuralmirror.report.genome_words import conditions, notes
from neuralmirror.report.rendering import environment, template

KIND = "genome"
NEEDED = ("data", "settings", "decisions", "resolutions", "along", "diagnostics", "explanation", "seconds", "versions")
SHOWN = 200  # rows of the table; resolutions.csv holds all


def is_genome(folder: Path) -> bool:
    """Whether a folder holds the results of `neuralmirror genome`."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(run, dict) and run.get("kind") == KIND


def render_genome(folder: Path) -> str:
    """The page of the run in `folder`."""
    run: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    lost = [part for part in NEEDED if part not in run]
    if lost:
        raise ValueError(f"{folder / 'run.json'} is damaged: it has no {lost[0]!r}; run `neuralmirror genome` again")
    rows = run["resolutions"]["discoveries"]
    return (
        environment()
        .get_template("genome.html.j2")
        .render(
            run=run,
            found=max((level["discoveries"] for level in run["resolutions"]["levels"]), default=0),
            rows=rows[:SHOWN],
            more=max(0, len(rows) - SHOWN),
            notes=notes(run),
            conditions=conditions(run),
            style=template("report.css"),
        )
    )
