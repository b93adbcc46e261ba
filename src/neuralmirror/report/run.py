"""One run: from files to a folder of results. All of it is written, or nothing."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror._internal import checks
from neuralmirror._internal.output import check_folder, results_folder, write_csv, write_json
from neuralmirror.calibration import calibrate
from neuralmirror.io.cleaning import Cleaned, Rules, clean
from neuralmirror.io.loading import Dataset, Source, load
from neuralmirror.io.tables import Dropped
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.report.diagnostics import held_out, sign_balance
from neuralmirror.report.rendering import render

PACKAGES = ("neuralmirror", "torch", "scikit-learn", "numpy")
FILES = ("selection.csv", "dropped.csv", "run.json", "model.safetensors", "report.html")


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    source: Source
    rules: Rules = field(default_factory=Rules)
    parameters: dict[str, Any] = field(default_factory=dict)  # of NeuralGaussianMirror
    check: bool = True  # train a second network to see whether it predicts anything
    calibrate: int = 0  # responses to simulate for each kind of calibration; none for 0
    command: str = ""  # as it was typed


def select(
    request: Request, out: Path, *, force: bool = False, resume: bool = False, progress: bool | None = None
) -> dict[str, Any]:
    """Read, clean, fit, diagnose and write; return the record that run.json holds."""
    checks.check_fdr(request.parameters.get("fdr", 0.1))
    check_folder(out, force)
    check_writable(out)
    clock = Clock()
    with clock("reading"):
        data = load(request.source)
    with clock("cleaning"):
        cleaned = clean(data, request.rules)
    with completed_pieces(out, resume) as pieces, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mirror = NeuralGaussianMirror(**request.parameters, progress=progress, checkpoint=pieces)
        with clock("fitting"):
            fit(mirror, cleaned)
        with clock("checking"):
            trust = diagnose(mirror, cleaned, request.check)
        messages = [str(w.message) for w in caught]
        with clock("calibrating"):
            achieved = calibrated(request, cleaned)
    record = describe(request, data, cleaned, mirror, clock.seconds, trust, messages) | achieved
    with results_folder(out, force) as folder:
        write(folder, cleaned, mirror, record)
    return record


def fit(mirror: NeuralGaussianMirror, cleaned: Cleaned) -> None:
    """Covariates go behind the features; columns of one categorical feature are a group."""
    c = len(cleaned.covariate_names)
    p = len(cleaned.names)
    mirror.covariates = list(range(p, p + c)) or None
    if cleaned.groups != cleaned.names:  # also for two levels, whose one column is not named as its feature
        mirror.feature_groups = [*cleaned.groups, *(f"covariate {name}" for name in cleaned.covariate_names)]
    mirror.fit(np.hstack([cleaned.x, cleaned.covariates]), cleaned.y)
    mirror.checkpoint = None
    mirror.feature_names_in_ = np.array([*cleaned.names, *cleaned.covariate_names], dtype=object)


def diagnose(mirror: NeuralGaussianMirror, cleaned: Cleaned, check: bool) -> dict[str, Any]:
    """Sign balance over features, and the held-out loss where asked for."""
    rows = feature_rows(cleaned)
    balance = sign_balance(mirror.mirror_statistics_[rows], mirror.support_[rows], mirror._n_mirrors)
    trust: dict[str, Any] = {"sign_balance": balance.as_record()}
    if hasattr(mirror, "beliefs_"):
        trust["belief"] = float(np.mean(mirror.beliefs_))
    if check:
        trust["held_out"] = held_out(mirror, np.hstack([cleaned.x, cleaned.covariates]), cleaned.y).as_record()
    return trust


def calibrated(request: Request, cleaned: Cleaned) -> dict[str, Any]:
    """What the same settings achieve on responses simulated from these features, where that was asked for."""
    if not request.calibrate:
        return {}
    selector = NeuralGaussianMirror(**{**request.parameters, "task": "auto"}, progress=False)
    lines = calibrate(cleaned.x, selector, n_replicates=request.calibrate).lines
    return {"calibration": {line.row: f"FDR {line.fdr:.2f}, power {line.power:.2f}" for line in lines}}


def feature_rows(cleaned: Cleaned) -> list[int]:
    """The first column of each feature; a categorical one has several."""
    first: dict[str, int] = {}
    for j, name in enumerate(cleaned.groups):
        first.setdefault(name, j)
    return list(first.values())


# ---- the record ----


def describe(
    request: Request,
    data: Dataset,
    cleaned: Cleaned,
    mirror: NeuralGaussianMirror,
    seconds: dict[str, float],
    trust: dict[str, Any],
    messages: Sequence[str],
) -> dict[str, Any]:
    """Everything that run.json says."""
    rows = feature_rows(cleaned)
    source = request.source
    aside = ("progress", "checkpoint", "feature_groups", "covariates")
    return {
        "command": request.command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
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
        },
        "settings": {k: v for k, v in mirror.get_params().items() if k not in aside},
        "cleaning": {
            "rules": asdict(request.rules),
            "steps": list(cleaned.steps),
            "dropped": [summary(d) for d in cleaned.dropped],
            "dropped_samples": [summary(d) for d in cleaned.dropped_samples],
        },
        "result": {
            "selected": int(mirror.support_[rows].sum()),
            "threshold": mirror.threshold_ if np.isfinite(mirror.threshold_) else None,
            "estimated_fdp": mirror.estimated_fdp_,
            "explanation": explanation(mirror, rows),
            "n_mirrors": mirror._n_mirrors,
            "target_transform": getattr(mirror, "target_transform_", None),
        },
        "diagnostics": trust,
        "warnings": list(dict.fromkeys(messages)),
        "seconds": seconds,
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def explanation(mirror: NeuralGaussianMirror, rows: list[int]) -> str:
    """What was found, counted in features (a categorical one has several columns), or why nothing was."""
    found = int(mirror.support_[rows].sum())
    if not found:
        return mirror.explain()
    threshold = f"threshold {mirror.threshold_:.4g}, estimated FDP {mirror.estimated_fdp_:.3f}"
    return f"{found} of {len(rows)} features selected at fdr={mirror.fdr:g} ({threshold})."


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


# ---- the folder ----


def write(folder: Path, cleaned: Cleaned, mirror: NeuralGaussianMirror, record: dict[str, Any]) -> None:
    """The five files of a result."""
    write_csv(folder / "selection.csv", *selection_table(cleaned, mirror))
    write_csv(folder / "dropped.csv", ["feature", "reason", "represented_by"], dropped_rows(cleaned.dropped))
    write_json(folder / "run.json", record)
    mirror.save(folder / "model.safetensors")
    (folder / "report.html").write_text(render(folder), encoding="utf-8")


def dropped_rows(dropped: Sequence[Dropped]) -> Iterator[tuple[str, str, str]]:
    """One row for each dropped feature."""
    for group in dropped:
        stand_ins = group.stand_ins or ("",) * len(group.names)
        yield from ((name, group.reason, by) for name, by in zip(group.names, stand_ins, strict=True))


def selection_table(cleaned: Cleaned, mirror: NeuralGaussianMirror) -> tuple[list[str], list[list[str]]]:
    """Header and rows of selection.csv, the strongest evidence first."""
    annotations = list(dict.fromkeys(key for notes in cleaned.notes.values() for key in notes))
    header = [
        "feature",
        "mirror_statistic",
        "scale",
        "selected",
        "q_value",
        "selection_frequency",
        "missing_share",
        "represents",
        *annotations,
    ]
    stands_for: dict[str, list[str]] = {}
    for name, _, by in dropped_rows(cleaned.dropped):
        stands_for.setdefault(by, []).append(name)
    rows = feature_rows(cleaned)
    q, m = mirror.q_values_, mirror.mirror_statistics_
    ranked = sorted(rows, key=lambda j: (not mirror.support_[j], q[j], -m[j], j))
    return header, [_row(j, cleaned, mirror, stands_for, annotations) for j in ranked]


def _row(
    j: int, cleaned: Cleaned, mirror: NeuralGaussianMirror, stands_for: dict[str, list[str]], annotations: list[str]
) -> list[str]:
    name = cleaned.groups[j]
    members = [k for k, group in enumerate(cleaned.groups) if group == name] if name != cleaned.names[j] else [j]
    notes = cleaned.notes.get(name, {})
    numbers = (mirror.mirror_statistics_[j], mirror.scales_[members].mean())
    shares = (mirror.q_values_[j], mirror.selection_frequencies_[j], cleaned.missing_share.get(name, 0.0))
    return [
        name,
        *(f"{v:.10g}" for v in numbers),
        str(bool(mirror.support_[j])).lower(),
        *(f"{v:.6g}" for v in shares),
        ";".join(stands_for.get(name, [])),
        *(str(notes.get(key, "")) for key in annotations),
    ]


def check_writable(out: Path) -> None:
    """The nearest folder that exists must take new files."""
    parent = out if out.is_dir() else next(folder for folder in (*out.parents, Path()) if folder.is_dir())
    if not os.access(parent, os.W_OK):
        raise ValueError(f"the folder {parent} is not writable; name another place with --out")


@contextmanager
def completed_pieces(out: Path, resume: bool) -> Iterator[Path]:
    """A folder beside `out` for completed pieces of the fit: kept when the run is cut off, gone otherwise."""
    folder = out.parent / f"{out.name}.partial"
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


class Clock:
    """Seconds spent in each part of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Time one part."""
        start = time.perf_counter()
        yield
        self.seconds[part] = round(time.perf_counter() - start, 3)
