"""`neuralmirror inspect`: what select would do with a file. Heavy imports wait until the command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralmirror.cli.options import AS_IT_IS, AS_USUAL, AsJson, Fitting, Reading, request_for
from neuralmirror.cli.terminal import print_json, show_facts
from neuralmirror.cli.threads import threads


def inspect(
    data: Path, /, *, reading: Reading = AS_IT_IS, fitting: Fitting = AS_USUAL, as_json: AsJson = False
) -> None:
    """Show what `select` would do: shapes, types, decisions about the data, memory and time. Nothing is written.

    Parameters
    ----------
    data
        The file, as for `select`.
    as_json
        Print the findings as JSON, numbers as numbers.
    """
    request = request_for(data, reading, fitting)
    with threads(fitting.jobs):
        from neuralmirror.cli import estimates

        found = estimates.inspect(request)
    if as_json:
        print_json(found)
    else:
        show_facts(facts(found))


def facts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The findings in words."""
    read, left, missing = found["read"], found["left"], found["missing"]
    kinds = ", ".join(f"{read[kind]} {kind}" for kind in ("numbers", "genotypes", "text") if read[kind])
    gaps = f"{missing['share']:.2%} of the values, in {missing['features']} of {missing['of']} features"
    return {
        "file": [f"{found['file']} ({found['format']})"],
        "read": [f"{read['samples']} samples × {read['features']} features ({kinds})"],
        "missing": [gaps if missing["features"] else "none"],
        "target": [found["decisions"][0].partition(" ")[2]],
        "covariates": [", ".join(found["covariates"])] if found["covariates"] else [],
        "decisions": [*found["decisions"][1:], *(f"Caution: {text}" for text in found["warnings"])],
        "left": [f"{left['samples']} samples × {left['features']} features in {left['columns']} columns"],
        "memory": [f"about {found['memory_bytes'] / 2**30:.2f} GB"],
        "time": [f"about {duration(found['seconds'])} (from a trial on a few columns)"],
    }


def duration(seconds: float) -> str:
    """Seconds as a person would say them."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
