"""Plots draw into the axes they are given and return them."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

from neuralmirror import BHSelector, GaussianMirror, NeuralGaussianMirror, SelectionWarning
from neuralmirror.plots import (
    MirrorDisplay,
    genome_places,
    plot_effects,
    plot_explained,
    plot_fdp_curve,
    plot_interactions,
    plot_manhattan,
    plot_mirror_histogram,
    plot_selection_frequency,
)

M = np.concatenate([np.random.default_rng(0).normal(0, 0.1, 80), np.linspace(0.5, 1, 20)])
PLACES = {"chromosomes": np.repeat([1, 2, 10, "X"], 25), "positions": np.tile(np.arange(25), 4)}
CALLS = {
    "histogram": lambda ax: plot_mirror_histogram(M, 0.3, ax=ax),
    "empty selection": lambda ax: plot_mirror_histogram(M, np.inf, ax=ax),
    "fdp": lambda ax: plot_fdp_curve(np.stack([M, M[::-1]]), 0.1, n_mirrors=2, ax=ax),
    "frequency": lambda ax: plot_selection_frequency(np.abs(M), [f"x{j}" for j in range(100)], ax=ax),
    "manhattan": lambda ax: plot_manhattan(M, **PLACES, threshold=0.3, ax=ax),
}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", CALLS)
def test_plots_take_and_return_axes(name: str) -> None:
    _, ax = plt.subplots()
    assert CALLS[name](ax) is ax
    fresh = CALLS[name](None)
    assert fresh is not ax
    fresh.figure.canvas.draw()


def test_the_histogram_counts_every_feature() -> None:
    ax = plot_mirror_histogram(M, 0.3)
    assert sum(patch.get_height() for patch in ax.patches) == M.size


def test_display_keeps_what_it_drew_and_counts_groups_once() -> None:
    leaders = np.maximum(np.arange(100), 2)  # the first three columns are one feature
    fitted = SimpleNamespace(
        mirror_statistics_=M, _draws=M[None], _leaders=leaders, threshold_=0.3, fdr=0.1, offset=1, _n_mirrors=2
    )
    _, (left, right) = plt.subplots(1, 2)
    display = MirrorDisplay.from_estimator(fitted, ax=left, bins=10)
    assert display.ax_ is left
    assert display.figure_ is left.figure
    assert sum(patch.get_height() for patch in left.patches) == 98
    assert display.plot_fdp(ax=right).ax_ is right


def test_chromosomes_follow_in_natural_order() -> None:
    places, ticks = genome_places(**PLACES)
    assert [label for label, _ in ticks] == ["1", "2", "10", "X"]
    assert (np.diff(places) > 0).all()


def curve(ax: plt.Axes) -> np.ndarray:
    return np.asarray(ax.lines[0].get_ydata())


def test_the_curve_needs_the_number_of_mirrors_or_the_fitted_mirror() -> None:
    with pytest.raises(ValueError, match="n_mirrors is needed"):
        plot_fdp_curve(M)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 12))
    fitted = GaussianMirror(random_state=0).fit(x, x[:, :8].sum(axis=1) + rng.standard_normal(100))
    fitted._n_mirrors = 4
    known = curve(plot_fdp_curve(fitted))
    np.testing.assert_array_equal(known, curve(plot_fdp_curve(fitted._draws, n_mirrors=4)))
    assert (known < curve(plot_fdp_curve(fitted._draws, n_mirrors=1))).any()


def test_a_display_says_what_it_cannot_draw() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MirrorDisplay.from_estimator(GaussianMirror())
    x = np.random.default_rng(0).standard_normal((50, 4))
    with pytest.raises(ValueError, match="BHSelector has no mirror statistics to draw; give a fitted"):
        MirrorDisplay.from_estimator(BHSelector().fit(x, x[:, 0]))


def test_effects_and_interactions_of_a_fit_are_drawn() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 8))
    y = x[:, 0] - x[:, 1] + x[:, 2] ** 2 + 2 * x[:, 3] * x[:, 4] + 0.2 * rng.standard_normal(200)
    fitted = NeuralGaussianMirror(learner="sparse", n_repeats=2, random_state=0).fit(x, y)
    _, (left, right) = plt.subplots(1, 2)
    assert plot_effects(fitted, ax=left) is left
    assert plot_interactions(fitted, ax=right) is right
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert "0 (rises)" in labels
    assert "1 (falls)" in labels
    assert "2 (curved)" in labels
    assert right.get_yticklabels()[0].get_text() == "3 × 4"
    assert len(plot_effects(fitted, most=2).get_legend().get_texts()) == 2
    shares = plot_explained(fitted)
    assert [text.get_text() for text in shares.get_yticklabels()] == ["lines", "curves", "interactions"]
    assert sum(bar.get_width() for bar in shares.patches) == pytest.approx(100 * sum(fitted.explained_.values()))


def test_effects_of_an_empty_selection_are_an_empty_figure() -> None:
    rng = np.random.default_rng(0)
    fitted = NeuralGaussianMirror(learner="sparse", random_state=0)
    with pytest.warns(SelectionWarning):
        fitted.fit(rng.standard_normal((60, 4)), rng.standard_normal(60))
    for plot in (plot_effects, plot_interactions, plot_explained):
        plot(fitted).figure.canvas.draw()


def test_discoveries_are_bars_in_the_lanes_of_their_resolutions() -> None:
    from neuralmirror import MultiResolutionMirror
    from neuralmirror.plots import plot_resolutions

    rng = np.random.default_rng(0)
    x = np.repeat(rng.standard_normal((200, 8)), 3, axis=1) + 0.3 * rng.standard_normal((200, 24))
    y = x[:, [0, 4, 9, 16]].sum(axis=1) + 0.3 * rng.standard_normal(200)
    parts = {"fine": np.arange(24) // 3, "coarse": np.arange(24) // 6}
    settings = {"chromosomes": np.arange(24) // 12, "positions": np.arange(24) * 100}
    for more in (settings, {}):
        mirror = MultiResolutionMirror(parts, random_state=0, progress=False, **more).fit(x, y)
        ax = plot_resolutions(mirror, fdr=0.5)
        drawn = sum(len(lane.get_paths()) for lane in ax.collections)
        assert drawn == len(mirror.discovered(0.5)) > 0
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["fine", "coarse"]


def test_spans_are_whole_along_positions_and_runs_along_columns() -> None:
    from neuralmirror._internal.genome import spans

    places = np.arange(10.0)
    assert spans([2, 7, 3], places) == [(2.0, 7.0)]
    assert spans([2, 7, 3], places, whole=False) == [(2.0, 3.0), (7.0, 7.0)]
