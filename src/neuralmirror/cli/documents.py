"""What `select --json` prints. docs/json.md explains each field; "schema" changes when a field does."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def document(record: dict[str, Any], out: Path) -> dict[str, Any]:
    """The outcome of a run as data: what was decided, what was selected, and where the files are."""
    data, settings, result = record["data"], record["settings"], record["result"]
    return {
        "schema": record["schema"],
        "target": data["target"],
        "task": data["task"],
        "classes": data["classes"],
        "samples": data["samples"],
        "features": data["features"],
        "covariates": data["covariates"],
        "fdr": settings["fdr"],
        "offset": settings["offset"],
        "seed": settings["random_state"],
        "n_mirrors": result["n_mirrors"],
        "n_repeats": settings["n_repeats"],
        "selected": result["features"],
        "threshold": result["threshold"],
        "estimated_fdp": result["estimated_fdp"],
        "explanation": result["explanation"],
        "interactions": result["interactions"],
        "part_weights": result["part_weights"],
        "explained": result["explained"],
        "resolutions": _groups(record),
        "decisions": record["decisions"],
        "diagnostics": record["diagnostics"],
        "warnings": record["warnings"],
        "calibration": record.get("calibration_fits", []),
        "seconds": record["seconds"],
        "versions": record["versions"],
        "paths": {name: str(out / file) for name, file in files("resolutions" in record).items()},
    }


def _groups(record: dict[str, Any]) -> dict[str, Any] | None:
    """The discoveries at several resolutions, where those were asked for."""
    found = record.get("resolutions")
    return None if found is None else {"levels": found["levels"], "discoveries": found["discoveries"]}


def files(resolutions: bool = False) -> dict[str, str]:
    """The files of a result by what they are."""
    more = {"resolutions": "resolutions.csv"} if resolutions else {}
    return {
        "folder": "",
        "selection": "selection.csv",
        "dropped": "dropped.csv",
        "report": "report.html",
        "record": "run.json",
        "model": "model.safetensors",
        **more,
    }
