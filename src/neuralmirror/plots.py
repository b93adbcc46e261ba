"""Figures of a selection. Every function draws into the axes it is given, or new ones, and returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from neuralmirror._internal.genome import column_places, genome_places, spans
from neuralmirror.base import ControlledSelector
from neuralmirror.selection import estimated_fdp

if TYPE_CHECKING:
    from neuralmirror.mirror.estimator import NeuralGaussianMirror
    from neuralmirror.mirror.resolutions import MultiResolutionMirror

WON, LOST, MARK = "#0f766e", "#c2680c", "#334155"  # the feature won, its noise won, thresholds
QUIET = "#94a3b8"


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1] if ax is None else ax


def plot_mirror_histogram(
    statistics: ArrayLike, threshold: float = np.inf, *, bins: int = 40, ax: Axes | None = None
) -> Axes:
    """The distribution of the M_j, those at or above the threshold set apart, with −τ beside τ."""
    ax, m = _axes(ax), np.asarray(statistics, dtype=float)
    edges = np.histogram_bin_edges(m, bins=bins)
    groups = [m[m <= -threshold], m[np.abs(m) < threshold], m[m >= threshold]]
    ax.hist(
        groups,
        bins=list(edges),
        stacked=True,
        color=[LOST, QUIET, WON],
        label=["at or below −τ: estimate of the false ones", "between", f"selected ({len(groups[2])})"],
    )
    if np.isfinite(threshold):
        ax.axvline(threshold, color=MARK, linewidth=1.2)
        ax.axvline(-threshold, color=MARK, linewidth=1.2, linestyle="--")
    ax.set(xlabel="mirror statistic M", ylabel="features (log scale)", yscale="symlog")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_fdp_curve(
    statistics: ArrayLike | ControlledSelector,
    fdr: float | None = None,
    *,
    offset: int | None = None,
    n_mirrors: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The estimated FDP against the threshold t, with the level asked for; several draws (rows) are several curves.

    A fitted selector knows its level, offset and mirrors. With plain statistics `n_mirrors` must be given, as the
    curve depends on it; the level is 0.1 and the offset 1 unless said otherwise.
    """
    if isinstance(statistics, ControlledSelector):
        return MirrorDisplay.of(statistics, fdr=fdr, offset=offset).plot_fdp(ax=ax).ax_
    if n_mirrors is None:
        raise ValueError("n_mirrors is needed beside plain statistics: give mirror.n_mirrors_, or the fitted mirror")
    level, offset = 0.1 if fdr is None else fdr, 1 if offset is None else offset
    ax = _axes(ax)
    for m in np.atleast_2d(np.asarray(statistics, dtype=float)):
        sizes = np.unique(np.abs(m[m != 0]))
        ax.step(sizes, estimated_fdp(m, sizes, offset=offset, n_mirrors=n_mirrors), where="pre", color=WON, linewidth=1)
    ax.axhline(level, color=MARK, linestyle="--", linewidth=1.2, label=f"level {level:g}")
    ax.set(xlabel="threshold t", ylabel="estimated FDP", ylim=(0, 1.05))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_selection_frequency(
    frequencies: ArrayLike, names: Sequence[str] | None = None, *, most: int = 20, ax: Axes | None = None
) -> Axes:
    """How often each of the `most` often selected features was selected over repeated draws."""
    ax, shares = _axes(ax), np.asarray(frequencies, dtype=float)
    order = np.argsort(-shares, kind="stable")[:most]
    labels = [str(j) if names is None else str(names[j]) for j in order]
    ax.barh(range(len(order)), shares[order], color=WON)
    ax.set_yticks(range(len(order)), labels)
    ax.invert_yaxis()
    ax.set(xlabel="share of draws that select it", xlim=(0, 1))
    return ax


def plot_manhattan(
    statistics: ArrayLike,
    chromosomes: ArrayLike,
    positions: ArrayLike,
    threshold: float = np.inf,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Mirror statistics along the genome, chromosome after chromosome."""
    ax, m = _axes(ax), np.asarray(statistics, dtype=float)
    places, ticks = genome_places(chromosomes, positions)
    for number, (label, _) in enumerate(ticks):
        here = np.asarray(chromosomes).astype(str) == label
        ax.scatter(places[here], m[here], s=6, color=(QUIET, MARK)[number % 2], linewidths=0)
    chosen = m >= threshold
    ax.scatter(places[chosen], m[chosen], s=22, color=WON, linewidths=0, zorder=3)
    if np.isfinite(threshold):
        ax.axhline(threshold, color=MARK, linewidth=1, linestyle="--")
    ax.set_xticks([centre for _, centre in ticks], [label for label, _ in ticks])
    ax.set(xlabel="chromosome", ylabel="mirror statistic M")
    return ax


def plot_resolutions(estimator: MultiResolutionMirror, *, fdr: float | None = None, ax: Axes | None = None) -> Axes:
    """Each discovery a bar over its span along the genome, the finest resolution at the bottom.

    Without positions the bars lie along the columns, one for each run of neighbouring members.
    """
    check_is_fitted(estimator)
    ax, p = _axes(ax), estimator.n_features_in_
    places, ticks = column_places(p, estimator.chromosomes, estimator.positions)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", range(p))]
    order = {name: j for j, name in enumerate(names)}
    for lane, resolution in enumerate(estimator.resolutions_):
        bars = [
            bar
            for row in estimator.discovered(fdr)
            if row["resolution"] == resolution
            for bar in spans([order[name] for name in row["members"]], places, whole=estimator.positions is not None)
        ]
        least = 0.003 * max(float(np.ptp(places)), 1.0)  # wide enough to be seen
        wide = [(start - least / 2, end - start + least) for start, end in bars]
        ax.broken_barh(wide, (lane - 0.35, 0.7), color=WON)
    ax.set_yticks(range(len(estimator.resolutions_)), estimator.resolutions_)
    ax.set_xticks([centre for _, centre in ticks], [label for label, _ in ticks])
    along = "column" if estimator.positions is None else "chromosome" if ticks else "position"
    ax.set(xlabel=along, ylabel="resolution", ylim=(-0.6, len(estimator.resolutions_) - 0.4))
    ax.set_xlim(float(places.min()) - least, float(places.max()) + least)
    return ax


def plot_effects(estimator: NeuralGaussianMirror, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """The effects of the `most` strongest selected features along their standard scores, with bands over the draws."""
    check_is_fitted(estimator)
    once = [(name, one) for name, one in estimator.effects().items() if not one.levels or name == one.levels[0]]
    ax, effects = _axes(ax), sorted(once, key=lambda item: -item[1].size)
    for number, (name, effect) in enumerate(effects[:most]):
        colour = plt.get_cmap("tab20")(number % 20)
        spread = effect.x.std() or 1.0
        x = (effect.x - effect.x.mean()) / spread
        style = "o" if effect.levels else "-"  # levels have no order that a line could follow
        ax.plot(x, effect.y, style, color=colour, label=f"{name} ({effect.shape})")
        if not effect.levels and (effect.low < effect.high).any():
            ax.fill_between(x, effect.low, effect.high, color=colour, alpha=0.2, linewidth=0)
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.set(xlabel="feature, in standard deviations", ylabel="effect, in units of y")
    if effects:
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def plot_interactions(estimator: NeuralGaussianMirror, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """The pairs of features that act together, the strongest first, with the size of what they do in units of y."""
    check_is_fitted(estimator)
    ax, pairs = _axes(ax), list(estimator.interactions_)[:most]
    ax.barh(range(len(pairs)), [float(size) for *_, size in pairs], color=WON)
    ax.set_yticks(range(len(pairs)), [f"{one} × {two}" for one, two, _ in pairs])
    ax.invert_yaxis()
    if not pairs:
        ax.text(0.5, 0.5, "no features act together", transform=ax.transAxes, ha="center", color=MARK)
    ax.set(xlabel="size of what they do together, in units of y")
    return ax


def plot_explained(estimator: NeuralGaussianMirror, *, ax: Axes | None = None) -> Axes:
    """The share of the outcome that lines, curves, interactions, networks and trees explain on unseen rows."""
    check_is_fitted(estimator)
    ax, shares = _axes(ax), estimator.explained_
    ax.barh(range(len(shares)), [100 * share for share in shares.values()], color=WON)
    ax.set_yticks(range(len(shares)), list(shares))
    ax.invert_yaxis()
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.set(xlabel="% of the outcome explained on unseen rows")
    return ax


class MirrorDisplay:
    """The mirror statistics of a fitted selector with their threshold, as scikit-learn's displays are used.

    `MirrorDisplay.from_estimator(mirror, ax=ax)` draws at once; `ax_` and `figure_` hold what was drawn last. A group
    of columns is one feature here, and counted once.
    """

    def __init__(
        self, draws: ArrayLike, threshold: float = np.inf, fdr: float = 0.1, offset: int = 1, n_mirrors: int = 1
    ) -> None:
        self.draws = np.atleast_2d(np.asarray(draws, dtype=float))  # (draws, features)
        self.threshold = threshold
        self.fdr = fdr
        self.offset = offset
        self.n_mirrors = n_mirrors

    @classmethod
    def of(cls, estimator: ControlledSelector, *, fdr: float | None = None, offset: int | None = None) -> Self:
        """The display of a fitted selector, nothing drawn yet; level and offset are its own unless given."""
        if isinstance(estimator, ControlledSelector):
            check_is_fitted(estimator)
        if not hasattr(estimator, "mirror_statistics_"):
            raise ValueError(
                f"{type(estimator).__name__} has no mirror statistics to draw; give a fitted NeuralGaussianMirror, "
                "GaussianMirror or knockoff selector"
            )
        draws = estimator._draws[:, np.unique(estimator._leaders)]
        level, offset = estimator.fdr if fdr is None else fdr, estimator.offset if offset is None else offset
        return cls(draws, estimator.threshold_, level, offset, estimator._n_mirrors)

    @classmethod
    def from_estimator(cls, estimator: ControlledSelector, *, ax: Axes | None = None, **style: Any) -> Self:
        """Draw the statistics of a fitted selector; `style` goes to `plot_mirror_histogram`."""
        return cls.of(estimator).plot(ax=ax, **style)

    def plot(self, *, ax: Axes | None = None, **style: Any) -> Self:
        """The histogram, into `ax` or into new axes."""
        return self._drawn(plot_mirror_histogram(np.median(self.draws, axis=0), self.threshold, ax=ax, **style))

    def plot_fdp(self, *, ax: Axes | None = None) -> Self:
        """The estimated FDP against the threshold, into `ax` or into new axes."""
        curve = plot_fdp_curve(self.draws, self.fdr, offset=self.offset, n_mirrors=self.n_mirrors, ax=ax)
        return self._drawn(curve)

    def _drawn(self, ax: Axes) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self
