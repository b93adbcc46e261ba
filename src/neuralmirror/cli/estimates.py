"""What a run would do, found out before it runs: the data after cleaning, memory and time."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from neuralmirror._internal import responses
from neuralmirror.io.cleaning import Cleaned, clean
from neuralmirror.io.loading import Dataset, load
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.report.run import Request, fit

TRIAL_COLUMNS = 60
TRIAL_STEPS = (20, 120)
CHECKING = 1.2  # the held-out check on top of the fit


def inspect(request: Request) -> dict[str, Any]:
    """Findings in the order in which a person asks for them."""
    data = load(request.source)
    cleaned = clean(data, request.rules)
    return {
        "file": f"{request.source.data} ({data.table.form})",
        "read": f"{data.table.shape[0]} samples × {data.table.shape[1]} features{_types(data)}",
        "missing": _missing(cleaned),
        "target": _target(data),
        "covariates": ", ".join(cleaned.covariate_names) or "none",
        "cleaning": list(cleaned.steps),
        "left": f"{cleaned.x.shape[0]} samples × {len(set(cleaned.groups))} features in {cleaned.x.shape[1]} columns",
        "memory": f"about {memory(cleaned, request.parameters) / 2**30:.2f} GB",
        "time": f"about {_duration(seconds(cleaned, request.parameters))} (from a trial on a few columns)",
    }


def memory(cleaned: Cleaned, parameters: dict[str, Any]) -> float:
    """Bytes: the numbers in double precision with two copies, and every direction of every draw in single precision."""
    n, p = cleaned.x.shape
    settings = {**NeuralGaussianMirror().get_params(), **parameters}
    mirrors = settings["n_mirrors"] if isinstance(settings["n_mirrors"], int) else 1
    directions = p * (1 + mirrors) * settings["n_repeats"]
    batch = 2**30 * settings["memory"] if settings["scheme"] == "individual" else 0
    return float(250 * 2**20 + 3 * 8 * n * p + 4 * 4 * n * directions + batch)


def seconds(cleaned: Cleaned, parameters: dict[str, Any]) -> float:
    """Two short fits on a few columns, stretched to all columns and all steps."""
    p = cleaned.x.shape[1]
    some = np.sort(np.random.default_rng(0).permutation(p)[:TRIAL_COLUMNS])
    small = Cleaned(
        **{
            **vars(cleaned),
            "x": cleaned.x[:, some],
            "names": tuple(cleaned.names[j] for j in some),
            "groups": tuple(cleaned.groups[j] for j in some),
        }
    )
    short, long = (_timed(small, {**parameters, "steps": steps}) for steps in TRIAL_STEPS)
    step = max(long - short, 1e-4) / (TRIAL_STEPS[1] - TRIAL_STEPS[0])
    fixed = max(short - step * TRIAL_STEPS[0], 0.0)
    growth = p / len(some)
    steps = NeuralGaussianMirror().steps
    networks = growth if parameters.get("scheme") == "individual" else 1.0
    return float(CHECKING * (fixed + step * steps) * growth * networks)


def _timed(cleaned: Cleaned, parameters: dict[str, Any]) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(NeuralGaussianMirror(**parameters, progress=False), cleaned)
    return time.perf_counter() - start


def _types(data: Dataset) -> str:
    counts = {"genotypes": len(data.table.names)} if data.table.genotypes else {"numbers": len(data.table.names)}
    counts["text"] = len(data.table.texts)
    return " (" + ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) + ")"


def _missing(cleaned: Cleaned) -> str:
    shares = np.array(list(cleaned.missing_share.values()))
    some = int((shares > 0).sum())
    return f"{shares.mean():.2%} of the values, in {some} of {len(shares)} features" if some else "none"


def _target(data: Dataset) -> str:
    y = data.y
    kind = responses.guess_task(np.asarray(y), "auto")
    if kind == "regression":
        return f"{data.target}: numbers from {y.min():g} to {y.max():g} (regression)"
    levels, counts = np.unique(y, return_counts=True)
    few = ", ".join(f"{level} × {count}" for level, count in list(zip(levels, counts, strict=True))[:6])
    return f"{data.target}: {len(levels)} classes, {few} (classification)"


def _duration(estimate: float) -> str:
    if estimate < 90:
        return f"{max(1, round(estimate))} s"
    return f"{estimate / 60:.0f} min" if estimate < 5400 else f"{estimate / 3600:.1f} h"
