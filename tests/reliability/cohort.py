"""A small table and the command that selects from it, shared by the reliability programs."""

import os
import sys
from pathlib import Path

import numpy as np

FIXED = ("selection.csv", "dropped.csv", "model.safetensors")  # the same bytes in every run; the others hold the time
WHOLE = {*FIXED, "run.json", "report.html"}
BASIC = ["--target", "y", "--scheme", "individual", "--learner", "sparse", "-j", "1", "--quiet"]
SHORT = ["--n-repeats", "3"]
LONG = ["--n-repeats", "5"]  # long enough that most kills hit the fit


def write_table(path: Path) -> Path:
    """Twelve features, of which six matter, and a category."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 12))
    y = x[:, :6].sum(axis=1) + 0.3 * rng.standard_normal(120)
    lines = [",".join([*(f"f{j}" for j in range(12)), "site", "y"])]
    lines += [",".join([*(f"{v:.5f}" for v in row), "abc"[i % 3], f"{y[i]:.5f}"]) for i, row in enumerate(x)]
    path.write_text("\n".join(lines) + "\n")
    return path


def arguments(data: Path, out: Path, effort: list[str]) -> list[str]:
    """The words behind `neuralmirror`."""
    return ["select", str(data), "-o", str(out), *BASIC, *effort]


def command(data: Path, out: Path, effort: list[str]) -> list[str]:
    """The words of a process that selects."""
    return [sys.executable, "-m", "neuralmirror", *arguments(data, out, effort)]


def environment() -> dict[str, str]:
    """One thread, so that several processes do not fight."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a result that must repeat themselves."""
    return {name: (folder / name).read_bytes() for name in FIXED}


def left_behind(folder: Path, expected: set[str]) -> set[str]:
    """What lies in a folder beside what should."""
    return {path.name for path in folder.iterdir()} - expected
