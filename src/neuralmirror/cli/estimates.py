"""What a run would do, found out before it runs: the data after cleaning, memory and time."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from neuralmirror._internal import responses
from neuralmirror.io.cleaning import Cleaned
from neuralmirror.io.loading import Dataset
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.report.decisions import cautions, decisions
from neuralmirror.report.request import SCHEMA, Request
from neuralmirror.report.run import fit, n_repeats, read

TRIAL_COLUMNS = 40
LIBRARIES = 400 * 2**20  # bytes that Python and the libraries take


def inspect(request: Request) -> dict[str, Any]:
    """Findings as data, in the order in which a person asks for them."""
    data, cleaned = read(request)
    task = request.parameters.get("task", "auto")
    return {
        "schema": SCHEMA,
        "file": str(request.source.data),
        "format": data.table.form,
        "read": _shape(data),
        "missing": _missing(cleaned),
        "target": _target(data, task),
        "covariates": list(cleaned.covariate_names),
        "decisions": decisions(data, cleaned, task),
        "warnings": cautions(cleaned),
        "left": {
            "samples": cleaned.x.shape[0],
            "features": len(set(cleaned.groups)),
            "columns": cleaned.x.shape[1],
        },
        "memory_bytes": memory(cleaned, request.parameters),
        "seconds": round(seconds(cleaned, request.parameters), 1),
    }


def memory(cleaned: Cleaned, parameters: dict[str, Any]) -> int:
    """Bytes: the numbers in double precision with two copies, and every direction four times in single precision."""
    n, p = cleaned.x.shape
    directions = p * (1 + parameters.get("n_mirrors", NeuralGaussianMirror().n_mirrors))
    return int(LIBRARIES + 3 * 8 * n * p + 4 * 4 * n * directions)


def seconds(cleaned: Cleaned, parameters: dict[str, Any]) -> float:
    """Two fits of one draw on some columns, the first to load and compile; stretched to all columns and draws."""
    p = cleaned.x.shape[1]
    some = np.sort(np.random.default_rng(0).permutation(p)[:TRIAL_COLUMNS])
    names, groups = (tuple(all_of[j] for j in some) for all_of in (cleaned.names, cleaned.groups))
    small = replace(cleaned, x=cleaned.x[:, some], names=names, groups=groups)
    once = {**{name: value for name, value in parameters.items() if name != "screen"}, "n_repeats": 1}
    _timed(small, once)
    growth = p / len(some)
    learners = growth if parameters.get("scheme") == "individual" else 1.0
    return float(_timed(small, once) * growth * learners * n_repeats(parameters, cleaned))


def _timed(cleaned: Cleaned, parameters: dict[str, Any]) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(NeuralGaussianMirror(**parameters, progress=False), cleaned)
    return time.perf_counter() - start


def _shape(data: Dataset) -> dict[str, int]:
    n, p = data.table.shape
    numeric = len(data.table.names)
    genotypes = numeric if data.table.genotypes else 0
    kinds = {"numbers": numeric - genotypes, "genotypes": genotypes, "text": len(data.table.texts)}
    return {"samples": n, "features": p, **kinds}


def _missing(cleaned: Cleaned) -> dict[str, float]:
    shares = np.array(list(cleaned.missing_share.values()))
    return {"share": float(shares.mean()), "features": int((shares > 0).sum()), "of": len(shares)}


def _target(data: Dataset, task: str) -> dict[str, Any]:
    y = np.asarray(data.y)
    if responses.guess_task(y, task) == "regression":
        numbers = y.astype(float)
        return {"name": data.target, "task": "regression", "least": float(numbers.min()), "most": float(numbers.max())}
    levels, counts = np.unique(y, return_counts=True)
    classes = {str(level): int(number) for level, number in zip(levels, counts, strict=True)}
    return {"name": data.target, "task": "classification", "classes": classes}
