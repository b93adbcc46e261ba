"""`neuralmirror demo`: select features in the built-in example, and compare with its known truth."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralmirror._internal.output import check_folder, results_folder, write_csv, write_json
from neuralmirror.selection import false_discovery_proportion, power

if TYPE_CHECKING:
    from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.simulation.example import SEED, Example, N, P, example


def demo(*, out: Path = Path("demo-results"), force: bool = False) -> None:
    """Select features in a built-in example with a known truth, and compare.

    Prints the selected and the missed features, and writes selection.csv, truth.csv and run.json.

    Parameters
    ----------
    out
        Folder for the results.
    force
        Replace earlier results in that folder.
    """
    check_folder(out, force)
    from neuralmirror.mirror.estimator import NeuralGaussianMirror

    data, start = example(), time.perf_counter()
    mirror = NeuralGaussianMirror(random_state=SEED).fit(data.x, data.y)
    record = _record(mirror, data, time.perf_counter() - start)
    with results_folder(out, force) as folder:
        _write(folder, mirror, data, record)
    _show(mirror, data, record, out)


def _record(mirror: NeuralGaussianMirror, data: Example, seconds: float) -> dict[str, Any]:
    return {
        "n": N,
        "p": P,
        "seed": SEED,
        "parameters": mirror.get_params(),
        "selected": int(mirror.support_.sum()),
        "relevant": int(data.truth.sum()),
        "threshold": mirror.threshold_ if np.isfinite(mirror.threshold_) else None,
        "estimated_fdp": mirror.estimated_fdp_,
        "fdp": false_discovery_proportion(mirror.support_, data.truth),
        "power": power(mirror.support_, data.truth),
        "seconds": round(seconds, 3),
        "versions": {name: version(name) for name in ("neuralmirror", "torch", "scikit-learn", "numpy")}
        | {"python": platform.python_version()},
    }


def _write(folder: Path, mirror: NeuralGaussianMirror, data: Example, record: dict[str, Any]) -> None:
    columns = (mirror.mirror_statistics_, mirror.q_values_, mirror.scales_, mirror.support_)
    rows = zip(data.names, *(column.tolist() for column in columns), strict=True)
    write_csv(folder / "selection.csv", ["feature", "statistic", "q_value", "scale", "selected"], rows)
    write_csv(
        folder / "truth.csv", ["feature", "relevant", "role"], zip(data.names, data.truth, data.roles, strict=True)
    )
    write_json(folder / "run.json", record)


def _show(mirror: NeuralGaussianMirror, data: Example, record: dict[str, Any], out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("feature", "statistic", "q-value", "selected", "truth")
    for cells in _cells(mirror, data):
        table.add_row(*cells)
    console = Console()
    console.print(table)
    console.print(
        f"{record['selected']} of {P} features selected at fdr={mirror.fdr:g}, {record['relevant']} are relevant: "
        f"false discovery proportion {record['fdp']:.2f}, power {record['power']:.2f}. Results in {out}.",
        highlight=False,
        soft_wrap=True,
    )


def _cells(mirror: NeuralGaussianMirror, data: Example) -> Iterator[list[str]]:
    """One row for each feature that was selected or should have been, the strongest first."""
    for j in np.argsort(-mirror.mirror_statistics_, kind="stable"):
        if mirror.support_[j] or data.truth[j]:
            yield [
                data.names[j],
                f"{mirror.mirror_statistics_[j]:.3f}",
                f"{mirror.q_values_[j]:.3f}",
                "yes" if mirror.support_[j] else "no",
                data.roles[j] or "irrelevant",
            ]
