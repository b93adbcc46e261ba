"""Groups of columns that are selected together, and work that is taken up again after a kill."""

from pathlib import Path

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.mirror import estimator as module

FAST = {"steps": 40, "random_state": 0, "hidden_sizes": (8, 4), "n_networks": 1, "shrinkage": 0.8, "skip": "linear"}


def problem(n: int = 120, p: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, p))
    return x, x[:, 0] + x[:, 1] - x[:, 4] + 0.3 * rng.standard_normal(n)


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_groups_of_one_change_nothing() -> None:
    x, y = problem()
    plain = NeuralGaussianMirror(**FAST).fit(x, y)
    grouped = NeuralGaussianMirror(**FAST, feature_groups=list("abcdefghi")).fit(x, y)
    np.testing.assert_allclose(grouped.mirror_statistics_, plain.mirror_statistics_)


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_a_group_is_counted_once_and_selected_together() -> None:
    x, y = problem()
    groups = ["g", "g", "h", "h", "i", "j", "k", "l", "l"]
    mirror = NeuralGaussianMirror(**FAST, n_mirrors=2, feature_groups=groups).fit(x, y)
    for label in set(groups):
        members = [j for j, other in enumerate(groups) if other == label]
        pooled = np.sqrt((mirror.strengths_[0, members] ** 2).sum(axis=0))
        assert len(set(mirror.mirror_statistics_[members])) == 1
        assert (mirror.mirror_statistics_[members[0]] > 0) == (pooled.argmax() == 0)
        for fdr in (0.1, 0.3, 0.6):
            assert len(set(mirror.reselect(fdr=fdr)[members])) == 1
    assert np.count_nonzero(mirror._draws) == len(set(groups))


def test_groups_need_a_label_per_column() -> None:
    x, y = problem()
    with pytest.raises(ValueError, match="9 labels"):
        NeuralGaussianMirror(**FAST, feature_groups=["a"]).fit(x, y)


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_a_killed_fit_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = problem()
    settings = {**FAST, "scheme": "individual", "n_repeats": 3}
    expected = NeuralGaussianMirror(**settings).fit(x, y).strengths_
    calls, real = [], module.individual

    def killed_at_the_third(problem, seed, *rest):
        calls.append(seed[1])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(problem, seed, *rest)

    monkeypatch.setattr(module, "individual", killed_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        NeuralGaussianMirror(**settings, checkpoint=tmp_path).fit(x, y)
    resumed = NeuralGaussianMirror(**settings, checkpoint=tmp_path).fit(x, y)
    assert calls == [0, 1, 2, 2]
    np.testing.assert_array_equal(resumed.strengths_, expected)
    NeuralGaussianMirror(**settings, checkpoint=tmp_path).fit(x, -y)
    assert calls[4:] == [0, 1, 2], "other data must not find these pieces"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_null_groups_win_as_often_as_they_lose() -> None:
    """200 null categorical features beside 10 true numbers: the share of wins stays within 3.3 standard errors of 1/2.

    A false alarm comes once in a thousand; a share of wins above 0.66 is caught nine times in ten.
    """
    won = lost = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, levels = rng.standard_normal((250, 10)), rng.integers(0, 4, (250, 10))
        one_hot = (levels[:, :, None] == np.arange(4)).reshape(250, 40).astype(float)
        y = x.sum(axis=1) + rng.standard_normal(250)
        groups = [*range(10), *np.repeat(np.arange(10, 20), 4)]
        mirror = NeuralGaussianMirror(random_state=seed, steps=800, n_mirrors=1, feature_groups=groups)
        statistics = mirror.fit(np.hstack([x, one_hot]), y).mirror_statistics_[10::4]
        won, lost = won + int((statistics > 0).sum()), lost + int((statistics < 0).sum())
    assert won + lost > 100
    assert abs(won - lost) <= 3.3 * np.sqrt(won + lost), (won, lost)
