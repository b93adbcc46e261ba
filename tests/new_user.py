"""The tables of a new user, small enough that a command on one takes a second."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror.cli import main

FAST = ["--learner=sparse", "--n-repeats=1"]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 12))
Y = X[:, :6].sum(axis=1) + 0.3 * RNG.standard_normal(150)


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


def write(path: Path, y: Any = Y, names: dict[int, str] | None = None, **more: Any) -> Path:
    """A table of f0 to f11 (or other names), more columns, and y."""
    header = [(names or {}).get(j, f"f{j}") for j in range(12)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*header, *more, "y"])
        for i in range(150):
            writer.writerow([*(f"{v:.5f}" for v in X[i]), *(column[i] for column in more.values()), y[i]])
    return path


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "selection.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
