"""The estimator: scikit-learn's contract, data frames and names, reproducibility, options, the paper's settings."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fitting import QUIET, SCHEMES, data, easy, mirror, paper, small_network, small_paper_network
from neuralmirror import NeuralGaussianMirror, SelectionWarning
from neuralmirror.learner.network import IMPORTANCES, Network
from neuralmirror.learner.networks import ACTIVATIONS
from neuralmirror.mirror.scales import SCALES
from neuralmirror.mirror.statistic import mirror_statistics
from neuralmirror.selection import mirror_q_values, select, select_repeated

# ---- scikit-learn's contract ----


@QUIET
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [
        mirror(network=small_network(steps=5), random_state=None),
        NeuralGaussianMirror.paper(network=small_paper_network(steps=5)),
        mirror(scheme="individual", learner="sparse", random_state=None),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_check_that_needs_an_environment_variable():
    """scikit-learn skips its array API check unless scipy is told before it is imported."""
    program = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from sklearn.utils.estimator_checks import estimator_checks_generator\n"
        "from neuralmirror import NeuralGaussianMirror\n"
        "for estimator, check in estimator_checks_generator(NeuralGaussianMirror(learner='sparse')):\n"
        "    if 'array_api' in str(check):\n"
        "        check(estimator); print('passed')\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "passed" in done.stdout, done.stderr


def test_fitted_attributes_agree_with_each_other():
    x, _ = data()
    fitted = easy()
    assert fitted.support_.dtype == bool
    statistics = mirror_statistics(fitted.strengths_)
    np.testing.assert_array_equal(fitted.mirror_statistics_, statistics[0])
    np.testing.assert_array_equal(fitted.support_, select(fitted.mirror_statistics_, 0.5, n_mirrors=4))
    np.testing.assert_array_equal(fitted.support_, fitted.mirror_statistics_ >= fitted.threshold_)
    np.testing.assert_array_equal(fitted.q_values_, mirror_q_values(fitted.mirror_statistics_, n_mirrors=4))
    assert fitted.estimated_fdp_ == fitted.q_values_[fitted.support_].max() <= 0.5
    assert fitted.n_mirrors_ == 4
    np.testing.assert_array_equal(fitted.selection_frequencies_, fitted.support_)
    np.testing.assert_array_equal(fitted.transform(x), x[:, fitted.support_])
    assert fitted.n_features_in_ == 8
    assert (fitted.scales_ > 0).all()


def test_relevant_features_are_found():
    assert easy().support_[:4].all()
    assert easy(scheme="individual").support_[:4].all()


# ---- frames and names ----


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_come_out_as_they_went_in(frame):
    x, y = data()
    names = [f"gene {j}" for j in range(8)]
    table = frame(dict(zip(names, x.T, strict=True)))
    target = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    fitted = mirror(fdr=0.5).fit(table, target)
    assert fitted.feature_names_in_.tolist() == names
    expected = [name for name, kept in zip(names, fitted.support_, strict=True) if kept]
    assert fitted.get_feature_names_out().tolist() == expected
    np.testing.assert_array_equal(fitted.support_, easy().support_)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_returns_named_columns(kind):
    x, y = data()
    table = pd.DataFrame(x, columns=list("abcdefgh"))
    fitted = mirror(fdr=0.5).set_output(transform=kind).fit(table, y)
    out = fitted.transform(table)
    assert type(out).__module__.split(".")[0] == kind
    assert list(out.columns) == fitted.get_feature_names_out().tolist()
    np.testing.assert_array_equal(np.asarray(out), x[:, fitted.support_])


@pytest.mark.parametrize("kind", ["int8", "int64", "bool", "float32"])
def test_numbers_of_any_kind(kind):
    x, y = data()
    values = (x > 0).astype(kind)
    one, other = mirror(fdr=0.5).fit(values, y), mirror(fdr=0.5).fit(values.astype(float), y)
    np.testing.assert_array_equal(one.mirror_statistics_, other.mirror_statistics_)


def test_pipeline_and_grid_search():
    x, y = data()
    pipeline = make_pipeline(StandardScaler(), mirror(fdr=0.5), LinearRegression()).fit(x, y)
    assert pipeline.score(x, y) > 0.9
    name = "neuralgaussianmirror__fdr"
    search = GridSearchCV(pipeline, {name: [0.3, 0.5]}, cv=2).fit(x, y)
    assert search.best_params_[name] in (0.3, 0.5)


def test_clone_and_parameters():
    original = mirror(fdr=0.3, covariates=["a"], network=Network(hidden_sizes=(5,)))
    copy = clone(original)
    one, other = (e.get_params() for e in (copy, original))
    assert {k: v for k, v in one.items() if k != "network"} == {k: v for k, v in other.items() if k != "network"}
    assert one["network__hidden_sizes"] == (5,)
    assert not hasattr(clone(easy()), "support_")


def test_inverse_transform_puts_zeros_back():
    x, y = data()
    fitted = easy()
    np.testing.assert_array_equal(fitted.inverse_transform(fitted.transform(x)), x * fitted.support_)
    with pytest.warns(SelectionWarning):
        nothing = mirror(fdr=0.001).fit(x, y)
    with pytest.warns(UserWarning, match="No features were selected"):
        empty = nothing.transform(x)
    np.testing.assert_array_equal(nothing.inverse_transform(empty), np.zeros_like(x))


# ---- one seed, one result ----


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_result_depends_on_the_seed_and_on_nothing_else(scheme):
    x, y = data()
    reference = mirror(scheme=scheme).fit(x, y).mirror_statistics_
    for parameters in ({}, {"n_jobs": 2}, {"random_state": np.random.RandomState(0)}):
        again = mirror(scheme=scheme, **parameters).fit(x, y).mirror_statistics_
        np.testing.assert_array_equal(again, reference, err_msg=str(parameters))
    assert not np.allclose(mirror(scheme=scheme, random_state=1).fit(x, y).mirror_statistics_, reference)


@QUIET
def test_units_of_the_features_do_not_matter():
    x, y = data()
    units = 10.0 ** np.arange(-4, 4)
    one, other = mirror().fit(x, y), mirror().fit(x * units + 5, y)
    np.testing.assert_allclose(other.scales_, one.scales_ * units, rtol=1e-4)
    assert (other.mirror_statistics_[:4] > 0.1).all()


@QUIET
def test_fitting_twice_gives_the_same():
    x, y = data()
    fitted = mirror()
    first = fitted.fit(x, y).mirror_statistics_
    np.testing.assert_array_equal(fitted.fit(x, y).mirror_statistics_, first)


# ---- columns that are set aside ----


@pytest.mark.parametrize("scheme", SCHEMES)
def test_constant_and_duplicate_columns_are_reported_and_not_selected(scheme):
    x, y = data()
    table = pd.DataFrame(x, columns=list("abcdefgh")).assign(one=1.0, again=x[:, 0])
    with pytest.warns(SelectionWarning) as told:
        fitted = mirror(scheme=scheme, fdr=0.5).fit(table, y)
    messages = " ".join(str(w.message) for w in told)
    assert "1 constant column cannot be selected: one" in messages
    assert "again = a" in messages
    assert fitted.constant_features_.tolist() == ["one"]
    assert fitted.duplicate_features_ == {"again": "a"}
    assert not fitted.support_[8:].any()
    assert fitted.support_[:4].all()
    assert fitted.mirror_statistics_[8:].tolist() == [0, 0]
    assert fitted.q_values_[8:].tolist() == [1, 1]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_setting_columns_aside_changes_nothing_for_the_others(scheme):
    x, y = data()
    with pytest.warns(SelectionWarning):
        padded = mirror(scheme=scheme, fdr=0.5).fit(np.hstack([x, np.ones((120, 1)), x[:, :2]]), y)
    np.testing.assert_array_equal(padded.mirror_statistics_[:8], easy(scheme=scheme).mirror_statistics_)


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("covariates", [["a", "d"], [0, 3], [0, -5], "a"])
def test_covariates_are_never_selected(scheme, covariates):
    x, y = data()
    table = pd.DataFrame(x, columns=list("abcdefgh"))
    fitted = mirror(scheme=scheme, fdr=0.5, covariates=covariates).fit(table, y)
    places = [0] if covariates == "a" else [0, 3]
    assert not fitted.support_[places].any()
    assert not fitted.mirror_statistics_[places].any()
    others = np.setdiff1d(np.arange(4), places)
    assert (fitted.mirror_statistics_[others] > 0.1).all()
    assert not fitted.reselect(fdr=0.99)[places].any()


@QUIET
def test_a_covariate_explains_away_what_follows_from_it():
    """y depends on the covariate alone; its noisy copies are relevant only while it is hidden."""
    rng = np.random.default_rng(0)
    c = rng.standard_normal((300, 1))
    copies = c + 0.3 * rng.standard_normal((300, 6))
    y = 2 * c[:, 0] + 0.1 * rng.standard_normal(300)
    alone = mirror().fit(copies, y).strengths_[0, :, 0].sum()
    beside = mirror(covariates=[6]).fit(np.hstack([copies, c]), y).strengths_[0, :6, 0].sum()
    assert beside < 0.3 * alone


# ---- options ----


NETWORKS = [
    *({"activation": name} for name in ACTIVATIONS),
    *({"importance": name} for name in IMPORTANCES),
    *({"hidden_sizes": sizes} for sizes in [None, 6, (5,), (6, 5, 4, 3)]),
    {"waves": 0},
    {"early_stopping": True},
    {"shrinkage": 0.0},
    {"batch_size": 1000},
]


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("options", NETWORKS, ids=str)
def test_every_kind_of_network_finds_a_strong_line(scheme, options):
    """One feature is all of y: its direction is followed most, whatever the network."""
    x, _ = data(n=80, p=4)
    network = Network(**{"steps": 300, "hidden_sizes": 16, "learning_rate": 1e-2, **options})
    fitted = mirror(scheme=scheme, learner="network", n_mirrors=1, network=network).fit(x, 2 * x[:, 1])
    assert fitted.strengths_[0].ravel().argmax() == 2


@QUIET
@pytest.mark.parametrize("rule", SCALES)
def test_scales_of_independent_noise_are_the_rules(rule):
    x, y = data()
    fitted = mirror(noise="independent", scale=rule, learner="sparse").fit(x, y)
    np.testing.assert_allclose(fitted.scales_ / x.std(axis=0), 1, atol=0.5)
    assert (fitted.mirror_statistics_[:4] > 0.1).all()


@QUIET
def test_scales_can_be_given():
    x, y = data()
    scales = np.linspace(0.5, 2, 8)
    np.testing.assert_allclose(mirror(noise="independent", scale=scales).fit(x, y).scales_, scales, rtol=1e-6)


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (lambda t: t > 0, [False, True]),
        (lambda t: np.where(t > 0, "case", "control"), ["case", "control"]),
        (lambda t: np.digitize(t, [-1, 1]), [0, 1, 2]),
        (lambda t: np.array(["low", "mid", "high"])[np.digitize(t, [-1, 1])], ["high", "low", "mid"]),
    ],
)
def test_two_and_more_classes(scheme, y, classes):
    x, t = data(n=200)
    fitted = mirror(scheme=scheme, task="classification").fit(x, y(t))
    assert fitted.task_ == "classification"
    assert fitted.classes_.tolist() == classes
    assert fitted.mirror_statistics_[:4].min() > np.abs(fitted.mirror_statistics_[4:]).max()


@QUIET
@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.arange(40) % 2, "classification"),
        (np.arange(40) % 5, "regression"),
        (np.arange(40.0), "regression"),
        (np.arange(40), "regression"),
        (np.linspace(0, 1, 40), "regression"),
        (np.array(["a", "b"] * 20), "classification"),
    ],
)
def test_the_task_is_read_off_the_response(y, task):
    assert mirror(learner="sparse").fit(data(n=40)[0], y).task_ == task


@QUIET
def test_integers_can_be_read_as_numbers():
    assert mirror(learner="sparse", task="regression").fit(data(n=40)[0], np.arange(40) % 4).task_ == "regression"


@QUIET
def test_repeated_draws_are_combined_through_selections():
    x, y = data()
    fitted = mirror(n_repeats=3, fdr=0.5).fit(x, y)
    draws = mirror_statistics(fitted.strengths_)
    assert draws.shape == (3, 8)
    np.testing.assert_array_equal(fitted.support_, select_repeated(draws, 0.5, n_mirrors=4))
    np.testing.assert_allclose(fitted.mirror_statistics_, np.median(draws, axis=0))
    assert set(np.round(3 * fitted.selection_frequencies_, 6)) <= {0, 1, 2, 3}
    assert len(np.unique(draws, axis=0)) == 3  # each draw has noise of its own


# ---- the paper's own settings ----


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [None, "half"])
def test_the_papers_settings(scheme, screen):
    settings = NeuralGaussianMirror.paper(scheme=scheme, screen=screen, fdr=0.2).get_params()
    expected = {
        "scheme": scheme,
        "screen": screen,
        "fdr": 0.2,
        "offset": 0,
        "noise": "independent",
        "learner": "network",
        "n_mirrors": 1,
        "scale": "kernel",
        "network__importance": "path",
        "network__shrinkage": 0,
        "network__waves": 0,
        "network__mirrored_pairs": True,
        "network__hidden_sizes": None,
    }
    assert {name: settings[name] for name in expected} == expected
    fitted = paper(scheme=scheme, screen=screen, network=small_paper_network(steps=400)).fit(*data(n=400))
    assert (fitted.mirror_statistics_[:4] > 0).sum() >= 3  # path products lose one in ten or so, whatever its signal
    assert fitted.mirror_statistics_.argmax() < 4


def test_the_papers_settings_can_be_changed():
    assert NeuralGaussianMirror.paper(offset=1).get_params()["offset"] == 1


# ---- what was found ----


@QUIET
def test_effects_have_the_shape_and_the_units_of_the_data():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.standard_normal((400, 6)), columns=list("abcdef")) * 10 + 50
    z = (x - 50) / 10
    y = 300 * z["a"] - 300 * z["b"] + 300 * z["c"] ** 2 + 300 * z["d"] * z["e"] + 30 * rng.standard_normal(400)
    fitted = mirror(fdr=0.3, n_repeats=2).fit(x, y)
    effects = fitted.effects()
    assert {name: effects[name].shape for name in "abc"} == {"a": "rises", "b": "falls", "c": "curved"}
    assert (effects["a"].low <= effects["a"].high).all()
    assert fitted.interactions_[0][:2] in {("d", "e"), ("e", "d")}
    assert effects["d"].partners[0] == "e"
    lines = mirror(fdr=0.3).fit(x, 300 * z["a"] - 300 * z["b"] + 30 * rng.standard_normal(400))
    assert lines.target_transform_ == "standard"
    effect = lines.effects()["a"]
    assert effect.size == pytest.approx(300, rel=0.15)
    assert 20 < effect.x.min() < effect.x.max() < 80


@QUIET
def test_features_that_others_determine_are_named():
    x, y = data()
    x = np.hstack([x, x[:, :1] + x[:, 1:2] + 1e-3 * np.random.default_rng(1).standard_normal((120, 1))])
    assert mirror().fit(x, y).indistinguishable_features_.tolist() == ["0", "1", "8"]


@QUIET
def test_a_binary_problem_from_scikit_learn():
    x, y = make_classification(300, 12, n_informative=4, n_redundant=0, shuffle=False, random_state=0)
    assert mirror().fit(x, y).mirror_statistics_.argmax() < 4


def test_public_names_are_found_lazily():
    import neuralmirror

    assert set(neuralmirror.__all__) <= set(dir(neuralmirror))
    assert neuralmirror.NeuralGaussianMirror is NeuralGaussianMirror
    with pytest.raises(AttributeError, match="NeuralGausianMirror"):
        neuralmirror.NeuralGausianMirror  # noqa: B018
    assert Path(neuralmirror.__file__).with_name("py.typed").is_file()
