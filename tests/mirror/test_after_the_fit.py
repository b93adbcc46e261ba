"""What a fitted mirror answers: other levels, words, and nothing that was not asked for."""

import numpy as np
import pytest

from builders import dense_problem
from fitting import QUIET, data, easy, mirror
from neuralmirror import NeuralGaussianMirror, SelectionWarning


@QUIET
@pytest.mark.parametrize("n_repeats", [1, 3])
def test_reselecting_needs_no_fit_and_changes_nothing(n_repeats):
    x, y = data()
    fitted = mirror(n_repeats=n_repeats).fit(x, y)
    for fdr in (0.2, 0.5, 0.9):
        for offset in (0, 1):
            again = mirror(n_repeats=n_repeats, fdr=fdr, offset=offset).fit(x, y)
            np.testing.assert_array_equal(fitted.reselect(fdr=fdr, offset=offset), again.support_)
    np.testing.assert_array_equal(fitted.reselect(), fitted.support_)
    assert fitted.fdr == 0.1


@pytest.mark.parametrize("call", ["reselect", "get_support", "explain", "save"])
def test_results_before_the_fit_are_refused(call, tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        getattr(mirror(), call)(*([tmp_path / "x"] if call == "save" else []))


def test_the_empty_selection_is_explained():
    with pytest.warns(SelectionWarning, match=r"No feature was selected at fdr=0.005.*needs at least 50 features"):
        fitted = mirror(fdr=0.005).fit(*data())
    assert fitted.threshold_ == np.inf
    assert not fitted.support_.any()
    assert fitted.estimated_fdp_ == 0
    assert f"fdr={fitted.q_values_.min():.3g}" in fitted.explain()
    assert fitted.reselect(fdr=fitted.q_values_.min()).any()


def test_a_selection_is_explained_too():
    fitted = easy()
    assert f"{fitted.support_.sum()} of 8 features selected at fdr=0.5" in fitted.explain()


def test_repr_shows_changed_parameters_and_the_result():
    assert repr(NeuralGaussianMirror(fdr=0.2)) == "NeuralGaussianMirror(fdr=0.2)"
    fitted = easy()
    assert repr(fitted).endswith(f": {fitted.support_.sum()} of 8 features selected")


def test_nothing_is_written_to_a_pipe(capfd):
    easy()
    assert capfd.readouterr() == ("", "")


def test_progress_can_be_shown(capfd, monkeypatch):
    monkeypatch.setattr("neuralmirror._internal.progress.HEARTBEAT", 0.001)
    easy(progress=True)
    assert "Learning from mirrored features" in capfd.readouterr().err


@QUIET
def test_a_feature_that_acts_only_with_many_others_is_told_as_such():
    q, hidden = dense_problem(1)
    fitted = NeuralGaussianMirror(random_state=0, fdr=0.2).fit(q.x, q.y)
    assert fitted.part_weights_["network"] > 0.5
    assert fitted.support_[hidden]
    shapes = {int(name.lstrip("x")): effect.shape for name, effect in fitted.effects().items()}
    assert shapes[hidden] == "only with others"
    assert {"rises", "falls"} & set(shapes.values())
