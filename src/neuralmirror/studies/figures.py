"""Figures of a study, from its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neuralmirror.evaluation import Record
from neuralmirror.plots import LOST, MARK, QUIET, WON
from neuralmirror.studies.methods import METHODS
from neuralmirror.studies.metrics import EDGES, RATES
from neuralmirror.studies.study import Study, cell_name
from neuralmirror.studies.tables import Groups, grouped
from neuralmirror.summaries import mean_and_error

COLOURS = {"S-SNGM": "#2563eb", "SNGM": WON, "S-INGM": "#7c3aed", "DeepPINK": LOST}


def curves(study: Study, records: Sequence[Record]) -> Figure:
    """FDR above power against one parameter of the grid, a panel for each value of another; means ± standard errors."""
    groups, panels = grouped(records), study.grid[study.figure["panel"]]
    figure, axes = _panels(2, len(panels))
    for column, value in enumerate(panels):
        cells = [cell for cell in study.cells if cell[study.figure["panel"]] == value]
        for ax, key in zip(axes[:, column], ("fdp", "power"), strict=True):
            for name in study.methods:
                _curve(ax, groups, cells, name, key, study.figure["x"])
            _printed(ax, study, cells, key)
            ax.set(ylim=(-0.02, 1.02), xlabel=study.figure["x"], ylabel="FDR" if key == "fdp" else "power")
        axes[0, column].axhline(study.fdr, color=MARK, linestyle="--", linewidth=1)
        axes[0, column].set_title(f"{study.figure['panel']} = {value}", fontsize="medium")
    _legend(figure, axes[0, 0])
    return figure


def _curve(ax: Axes, groups: Groups, cells: list[dict[str, Any]], name: str, key: str, x: str) -> None:
    here = [(cell[x], groups[cell_name(cell), name]) for cell in cells if (cell_name(cell), name) in groups]
    heights = np.array([mean_and_error([fit[key] for fit in fits]) for _, fits in here]).reshape(-1, 2)
    ax.errorbar([at for at, _ in here], *heights.T, label=name, marker="o", markersize=3, **_style(name))


def _printed(ax: Axes, study: Study, cells: list[dict[str, Any]], key: str) -> None:
    """The paper's values as hollow triangles."""
    for column in study.published.columns:
        found = [(cell[study.figure["x"]], study.published.value(cell_name(cell), column)) for cell in cells]
        shown = [(at, value[key == "power"]) for at, value in found if value is not None]
        ax.scatter(
            [at for at, _ in shown],
            [value for _, value in shown],
            marker="^",
            s=28,
            facecolors="none",
            edgecolors=COLOURS[column],
            linewidths=0.9,
            label=f"paper: {column}",
        )


def roc_curves(study: Study, records: Sequence[Record]) -> Figure:
    """Mean true positive rate against the false positive rate, a panel for each cell."""
    groups = grouped(records)
    figure, axes = _panels(1, len(study.cells), height=3.6)
    for ax, cell in zip(axes[0], study.cells, strict=True):
        for name in study.methods:
            fits = groups.get((cell_name(cell), name), [])
            if fits:
                area = np.mean([fit["auc"] for fit in fits])
                ax.plot(
                    RATES, np.mean([fit["tpr"] for fit in fits], axis=0), label=f"{name} {area:.3f}", **_style(name)
                )
        ax.plot([0, 1], [0, 1], color=QUIET, linewidth=0.8, label="by chance 0.500")
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
        ax.set_title(cell_name(cell), fontsize="medium")
        ax.legend(frameon=False, fontsize="x-small", title="area under the curve", title_fontsize="x-small")
    return figure


def histograms(study: Study, records: Sequence[Record]) -> Figure:
    """M / max|M| over all fits, relevant features stacked on null ones, a panel for each method."""
    groups = grouped(records)
    figure, axes = _panels(1, len(study.methods), width=3.2, height=3.0)
    for ax, name in zip(axes[0], study.methods, strict=True):
        fits = [fit for cell in study.cells for fit in groups.get((cell_name(cell), name), [])]
        empty = np.zeros(len(EDGES) - 1)
        nulls, relevant = (np.sum([empty, *(fit[kind] for fit in fits)], axis=0) for kind in ("nulls", "relevant"))
        ax.stairs(nulls, EDGES, fill=True, color=QUIET, label="null")
        ax.stairs(nulls + relevant, EDGES, baseline=nulls, fill=True, color=WON, label="relevant")
        ax.axvline(0, color=MARK, linewidth=0.8)
        ax.set(yscale="symlog", xlabel="M / max|M|", ylabel="features (log scale)")
        ax.set_title(f"{name} ({len(fits)} fits)", fontsize="medium")
    axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def time_curves(study: Study, records: Sequence[Record]) -> Figure:
    """Median seconds against p, both on log scales."""
    groups = grouped(records)
    figure, axes = _panels(1, 1, width=6.0, height=4.0)
    for number, name in enumerate(study.methods):
        fits = [(cell["p"], groups.get((cell_name(cell), name), [])) for cell in study.cells]
        shown = [(p, np.median([one["seconds"] for one in found])) for p, found in fits if found]
        line = ":" if "knockpy" in name else "-"
        if shown:
            axes[0, 0].plot(*zip(*shown, strict=True), line, marker="o", markersize=4, color=f"C{number}", label=name)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="features p", ylabel="seconds")
    axes[0, 0].set_xticks(study.grid["p"], study.grid["p"])
    axes[0, 0].set_xticks([], minor=True)
    if records:
        axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def _style(name: str) -> dict[str, Any]:
    dashed = "paper" in name
    return {"color": COLOURS.get(METHODS[name].column, MARK), "linestyle": ":" if dashed else "-", "linewidth": 1.2}


def _panels(high: int, wide: int, width: float = 4.0, height: float = 2.6) -> tuple[Figure, Any]:
    figure = plt.figure(figsize=(width * wide + 1.6, height * high), layout="constrained")
    return figure, figure.subplots(high, wide, squeeze=False)


def _legend(figure: Figure, ax: Axes) -> None:
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize="small")


FIGURES: dict[str, Callable[[Study, Sequence[Record]], Figure]] = {
    "selections": curves,
    "roc": roc_curves,
    "histogram": histograms,
    "times": time_curves,
}


def has_figure(study: Study) -> bool:
    """Tables of numbers that lie on no line have none."""
    return study.render in FIGURES and (study.render != "selections" or bool(study.figure))


def write_figure(study: Study, records: Sequence[Record], path: Path) -> None:
    """The SVG file; the same records give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": study.name, "svg.fonttype": "none"}):
        figure = FIGURES[study.render](study, records)
        figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
