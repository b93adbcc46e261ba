"""What was decided about the data on the user's behalf, one line each, with the option that decides otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralmirror._internal import responses
from neuralmirror.io.cleaning import Cleaned
from neuralmirror.io.loading import Dataset

OPTIONS = {  # words of a cleaning step: how to decide otherwise
    "% missing": "--max-missing",
    "minor allele frequency": "--maf",
    "correlated above": "--prune",
    "missing values": "--missing",
    "is categorical": "numbers instead of words make it a numeric feature",
    "constant": "it cannot be selected",
    "exact copy": "its twin stands for it",
    "distinct values": "give it fewer levels, or numbers",
    "no value of": "rows without the target cannot be used",
    "not in ": "--keep-matching",
}


def decisions(data: Dataset, cleaned: Cleaned, task: str = "auto") -> list[str]:
    """One line for the target, one for each step of cleaning, and one for each decision of the readers."""
    quiet = [str(one) for one in cleaned.decisions if not one.warns]
    return [target_line(data, task), *map(_with_option, cleaned.steps), *quiet]


def _with_option(step: str) -> str:
    option = next((option for words, option in OPTIONS.items() if words in step), None)
    return step if option is None else f"{step} ({option})"


def target_line(data: Dataset, task: str = "auto") -> str:
    """What the target is taken for, and how to have it otherwise."""
    y = np.asarray(data.y)
    resolved = responses.guess_task(y, task)
    if resolved == "regression":
        values = f"numbers from {y.min():g} to {y.max():g}" if y.dtype.kind in "fiu" else "numbers"
        other = "" if len(np.unique(y)) > len(y) / 2 else " (--task classification takes its values as classes)"
        return f"target {data.target}: {values}, so the task is regression{other}"
    levels, counts = np.unique(y, return_counts=True)
    few = ", ".join(f"{level} × {number}" for level, number in list(zip(levels, counts, strict=True))[:6])
    more = f" and {len(levels) - 6} more" if len(levels) > 6 else ""
    other = " (--task regression takes them as numbers)" if y.dtype.kind in "fiub" else ""
    return f"target {data.target}: {len(levels)} classes, {few}{more}, so the task is classification{other}"


def cautions(cleaned: Cleaned) -> list[str]:
    """What may cost or falsely win a feature, such as a column that repeats the target."""
    return [str(one) for one in cleaned.decisions if one.warns]


def check_target(y: Any, task: str) -> str:
    """Refuse a target that no selector takes; return the task."""
    values = responses.check_response(y, len(y))
    resolved = responses.guess_task(values, task)
    if resolved == "classification":
        responses.check_classes(values)
    return resolved
