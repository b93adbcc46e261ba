"""One run: from files to a folder of results. All of it is written, or nothing; what is complete is never lost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror._internal.cache import fingerprint
from neuralmirror._internal.output import check_folder, check_writable, results_folder, write_json
from neuralmirror._internal.progress import progress as shown
from neuralmirror.calibration import calibrate
from neuralmirror.io.cleaning import Cleaned, clean
from neuralmirror.io.loading import Dataset, load
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.report.decisions import cautions, check_target, decisions
from neuralmirror.report.diagnostics import diagnose
from neuralmirror.report.pieces import completed_pieces, count_pieces
from neuralmirror.report.record import describe
from neuralmirror.report.rendering import render
from neuralmirror.report.request import Request, check_covariates, check_request
from neuralmirror.report.resolutions import check_columns, find_groups, write_groups
from neuralmirror.report.tables import feature_rows, write_tables

__all__ = ["FILES", "Request", "fit", "read", "select"]

FILES = ("selection.csv", "dropped.csv", "run.json", "model.safetensors", "report.html")
SEVERAL_DRAWS, FEW_SAMPLES, FEW_COLUMNS = 5, 2000, 200
FEATURE_BYTES = 2000  # that one feature takes on disk, in all files together

Tell = Callable[[str], None]


def select(
    request: Request,
    out: Path,
    *,
    force: bool = False,
    progress: bool | None = None,
    tell: Tell = lambda line: None,
    add: Callable[[Path], None] = lambda folder: None,
) -> dict[str, Any]:
    """Read, clean, fit, diagnose and write; return the record that run.json holds.

    `tell` hears of each decision about the data before the fit begins; `add` may put more files beside the results.
    """
    check_request(request)
    check_folder(out, force)
    check_writable(out)
    clock = Clock()
    data, cleaned = read(request, clock)
    check_columns(request.resolving, cleaned)
    check_writable(out, (1 << 20) + FEATURE_BYTES * len(cleaned.names))
    decided, careful = decisions(data, cleaned, request.parameters.get("task", "auto")), cautions(cleaned)
    for line in (*decided, *(f"Caution: {text}" for text in careful)):
        tell(line)
    with completed_pieces(out, run_fingerprint(request, cleaned)) as pieces:
        if count_pieces(pieces):
            tell(f"taking up {count_pieces(pieces)} completed pieces of a run that was cut off")
        parameters = {**request.parameters, "n_repeats": n_repeats(request.parameters, cleaned)}
        mirror = NeuralGaussianMirror(**parameters, progress=progress, checkpoint=pieces)
        found = fitted(mirror, request, cleaned, clock, progress)
        messages = [*careful, *found.pop("messages")]
        record = describe(request, data, cleaned, mirror, decided, messages) | found | {"seconds": clock.seconds}
        with results_folder(out, force) as folder:
            write(folder, cleaned, mirror, record)
            add(folder)
    return record


def read(request: Request, clock: Clock | None = None) -> tuple[Dataset, Cleaned]:
    """The data as they were read, and as they are after cleaning."""
    clock = clock or Clock()
    with clock("reading"):
        data = load(request.source)
    check_covariates(data.target, data.covariates)
    check_target(data.y, request.parameters.get("task", "auto"))
    with clock("cleaning"):
        return data, clean(data, request.rules)


def n_repeats(parameters: dict[str, Any], cleaned: Cleaned) -> int:
    """The draws asked for; else several where they take moments, to show how stable each feature is."""
    if parameters.get("n_repeats") is not None:
        return int(parameters["n_repeats"])
    n, p = cleaned.x.shape
    quick = n <= FEW_SAMPLES and p <= FEW_COLUMNS and parameters.get("scheme") != "individual"
    return SEVERAL_DRAWS if quick else 1


def run_fingerprint(request: Request, cleaned: Cleaned) -> str:
    """A name for this work: data and parameters. The level and the threads may change between two attempts."""
    parameters = {k: v for k, v in request.parameters.items() if k not in ("fdr", "offset", "n_jobs")}
    return fingerprint((cleaned.x, cleaned.covariates, np.asarray(cleaned.y)), (parameters, cleaned.groups))


def fitted(
    mirror: NeuralGaussianMirror, request: Request, cleaned: Cleaned, clock: Clock, progress: bool | None
) -> dict[str, Any]:
    """Fit, diagnose, calibrate: the diagnostics, the calibration, and the messages of all warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        groups = {}
        if request.resolving:  # first: a resolution that cannot be cut is told before the longer fit
            with clock("resolutions"):
                groups = {"resolutions": find_groups(request.resolving, cleaned, mirror.get_params(), progress)}
        with clock("fitting"):
            fit(mirror, cleaned)
        with clock("checking"):
            trust = diagnose(mirror, feature_rows(cleaned), cleaned.groups)
        messages = list(dict.fromkeys(str(w.message) for w in caught))  # each once
        with clock("calibrating"):
            achieved = calibrated(request, cleaned, progress)
    return {"diagnostics": trust, "messages": messages, **achieved, **groups}


def fit(mirror: NeuralGaussianMirror, cleaned: Cleaned) -> None:
    """Covariates go behind the features; columns of one categorical feature are a group."""
    c = len(cleaned.covariate_names)
    p = len(cleaned.names)
    mirror.covariates = list(range(p, p + c)) or None
    if cleaned.groups != cleaned.names:  # also for two levels, whose one column is not named as its feature
        mirror.feature_groups = [*cleaned.groups, *(f"covariate {name}" for name in cleaned.covariate_names)]
    mirror.fit(np.hstack([cleaned.x, cleaned.covariates]), cleaned.y)
    mirror.checkpoint = mirror.n_jobs = mirror.progress = None  # none of them belongs to the result
    name_columns(mirror, [*cleaned.names, *cleaned.covariate_names])


def name_columns(mirror: NeuralGaussianMirror, names: list[str]) -> None:
    """Names in place of the positions by which a fit on bare numbers calls its columns."""
    mirror.feature_names_in_ = np.array(names, dtype=object)
    mirror.interactions_ = [(names[int(a)], names[int(b)], size) for a, b, size in mirror.interactions_]
    close = [names[int(j)] for j in mirror.indistinguishable_features_]
    mirror.indistinguishable_features_ = np.array(close, dtype=object)
    mirror.constant_features_ = np.array([names[int(j)] for j in mirror.constant_features_], dtype=object)
    mirror.duplicate_features_ = {names[int(a)]: names[int(b)] for a, b in mirror.duplicate_features_.items()}


def calibrated(request: Request, cleaned: Cleaned, progress: bool | None = False) -> dict[str, Any]:
    """What the same settings achieve on responses simulated from these features, where that was asked for."""
    if not request.calibrate:
        return {}
    draws = n_repeats(request.parameters, cleaned)
    selector = NeuralGaussianMirror(**{**request.parameters, "task": "auto", "n_repeats": draws}, progress=False)
    with shown("Calibrating on simulated responses", 1, progress):
        lines = calibrate(cleaned.x, selector, n_replicates=request.calibrate).lines
    numbers = ("level", "fdr", "fdr_error", "power", "power_error")
    return {
        "calibration": {
            one.row: f"FDR {one.fdr:.2f} ± {one.fdr_error:.2f}, power {one.power:.2f} ± {one.power_error:.2f} "
            f"({one.replicates} fits)"
            for one in lines
        },
        "calibration_fits": [
            {"response": one.row, "fits": one.replicates, **{name: float(getattr(one, name)) for name in numbers}}
            for one in lines
        ],
    }


def write(folder: Path, cleaned: Cleaned, mirror: NeuralGaussianMirror, record: dict[str, Any]) -> None:
    """The five files of a result, and a sixth where several resolutions were asked for."""
    write_tables(folder, cleaned, mirror, record["escape_formulas"])
    if "resolutions" in record:
        write_groups(folder, record["resolutions"], record["escape_formulas"])
    write_json(folder / "run.json", record)
    mirror.save(folder / "model.safetensors")
    (folder / "report.html").write_text(render(folder), encoding="utf-8")


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
