"""What a selector achieves on your own X: simulate responses with a known truth, select, and count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from neuralmirror._internal import checks
from neuralmirror._internal.columns import sort_columns
from neuralmirror._internal.pieces import in_order
from neuralmirror.base import ControlledSelector
from neuralmirror.evaluation import Scenario, run_one
from neuralmirror.simulation.designs import Simulation
from neuralmirror.summaries import Summary, summarise


@dataclass(frozen=True)
class Calibration:
    """FDR and power of a selector on responses simulated from one X, a line for each kind of response."""

    lines: tuple[Summary, ...]

    @property
    def controlled(self) -> bool:
        """Whether no line has an FDR above the level by more than two standard errors."""
        return all(line.controlled for line in self.lines)

    def __str__(self) -> str:
        head = f"{'response':<28} {'level':>6} {'FDR':>15} {'power':>15} {'fits':>5}"
        return "\n".join([head, *(_line(one) for one in self.lines)])


def _line(one: Summary) -> str:
    fdr, power = f"{one.fdr:.3f} ± {one.fdr_error:.3f}", f"{one.power:.3f} ± {one.power_error:.3f}"
    return f"{one.scenario:<28} {one.level:>6g} {fdr:>15} {power:>15} {one.replicates:>5}"


def calibrate(
    X: Any,
    selector: ControlledSelector | None = None,
    *,
    n_relevant: int | None = None,
    links: Sequence[str] = ("linear", "mixed"),
    signal_shares: Sequence[float] = (0.5, 0.9),
    n_replicates: int = 20,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Calibration:
    """Simulate responses on X, select from them, and report the FDR and power that were achieved.

    Parameters
    ----------
    X : table of numbers, the user's own features
    selector : any selector of the package, with the settings to be judged; the default mirror if None
    n_relevant : features that a response depends on; a tenth of the columns, at least 6, if None
    links : kinds of dependence, as in `simulation.Simulation`: "linear", "squares", "products", "mixed", ...
    signal_shares : shares of the variance of y that X explains
    n_replicates : responses for each kind; the standard errors shrink with their root
    """
    checks.check_frame(X)
    values = np.asarray(X, dtype=float)
    checks.check_shape(values)
    checks.check_finite(values, [str(name) for name in getattr(X, "columns", range(values.shape[1]))])
    usable = values[:, sort_columns(values).usable]
    n, p = usable.shape
    k = min(p, max(6, p // 10)) if n_relevant is None else checks.check_count("n_relevant", n_relevant)
    judged = _default_selector() if selector is None else selector
    rows = [
        Scenario(f"{link}, signal share {share:g}", _simulation(usable, n, p, k, link, share), float(judged.fdr))
        for link in links
        for share in signal_shares
    ]
    seeds = range(random_state, random_state + checks.check_count("n_replicates", n_replicates))
    pieces = [(row, type(judged).__name__, partial(clone, judged), seed) for row in rows for seed in seeds]
    records = in_order(run_one, pieces, n_jobs=n_jobs)
    return Calibration(tuple(summarise(records)))


def _default_selector() -> ControlledSelector:
    from neuralmirror.mirror.estimator import NeuralGaussianMirror  # loads torch

    return NeuralGaussianMirror()


def _simulation(x: Any, n: int, p: int, k: int, link: str, share: float) -> Simulation:
    return Simulation(design="columns", source=x, n=n, p=p, k=k, link=link, h2=share)
