"""The record of a run, which run.json holds: what was asked, read, decided, found, and on which versions."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror.io.cleaning import Cleaned
from neuralmirror.io.loading import Dataset, Source
from neuralmirror.io.tables import Dropped
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.report.request import SCHEMA, Request
from neuralmirror.report.tables import feature_rows, interactions, plain, selected_features, weak_ones

PACKAGES = ("neuralmirror", "torch", "scikit-learn", "numpy")
ASIDE = ("progress", "checkpoint", "feature_groups", "covariates", "n_jobs")  # parameters that are no settings


def describe(
    request: Request,
    data: Dataset,
    cleaned: Cleaned,
    mirror: NeuralGaussianMirror,
    decided: Sequence[str],
    messages: Sequence[str],
) -> dict[str, Any]:
    """Everything that run.json says but diagnostics, calibration and seconds."""
    result = _result(cleaned, mirror)
    return {
        "schema": SCHEMA,
        "command": request.command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": _data(request.source, data, cleaned, mirror),
        "settings": {k: v for k, v in mirror.get_params().items() if k not in ASIDE},
        "escape_formulas": request.escape_formulas,
        "decisions": list(decided),
        "cleaning": {
            "rules": asdict(request.rules),
            "steps": list(cleaned.steps),
            "decisions": [asdict(one) for one in cleaned.decisions],
            "dropped": [summary(d) for d in cleaned.dropped],
            "dropped_samples": [summary(d) for d in cleaned.dropped_samples],
        },
        "result": result,
        "warnings": list(dict.fromkeys([*messages, *weak_ones(result["features"])])),
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _data(source: Source, data: Dataset, cleaned: Cleaned, mirror: NeuralGaussianMirror) -> dict[str, Any]:
    rows = feature_rows(cleaned)
    return {
        "files": [checksum(path) for path in source.files],
        "format": data.table.form,
        "target": data.target,
        "task": mirror.task_,
        "classes": [str(c) for c in getattr(mirror, "classes_", [])],
        "samples": len(cleaned.y),
        "features": len(rows),
        "columns": len(cleaned.names),
        "features_read": len(rows) + sum(len(d.names) for d in cleaned.dropped),
        "covariates": list(cleaned.covariate_names),
    }


def _result(cleaned: Cleaned, mirror: NeuralGaussianMirror) -> dict[str, Any]:
    rows = feature_rows(cleaned)
    return {
        "selected": int(mirror.support_[rows].sum()),
        "features": selected_features(cleaned, mirror),
        "threshold": mirror.threshold_ if np.isfinite(mirror.threshold_) else None,
        "estimated_fdp": mirror.estimated_fdp_,
        "explanation": explanation(mirror, rows),
        "n_mirrors": mirror._n_mirrors,
        "target_transform": mirror.target_transform_,
        "interactions": interactions(cleaned, mirror),
        "part_weights": plain(mirror.part_weights_),
        "explained": plain(mirror.explained_),
    }


def explanation(mirror: NeuralGaussianMirror, rows: list[int]) -> str:
    """What was found, counted in features (a categorical one has several columns), or why nothing was."""
    found = int(mirror.support_[rows].sum())
    if not found:
        return mirror.explain()
    estimate = f"an estimated {mirror.estimated_fdp_:.1%} of them false"
    return f"{found} of {len(rows)} features selected at fdr={mirror.fdr:g}, {estimate}."


def summary(dropped: Dropped) -> dict[str, Any]:
    """A reason, how many, and the first few."""
    return {"reason": dropped.reason, "count": len(dropped.names), "first": list(dropped.names[:5])}


def checksum(path: Path) -> dict[str, Any]:
    """Name, size and SHA-256 of a file; PLINK's prefix stands for the .bed or .pgen."""
    from neuralmirror.io.formats import find_file

    path, digest = find_file(path), hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest.hexdigest()}
