"""The estimator: scikit-learn's contract, data frames and names, reproducibility, options, storage, bad input."""

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

from neuralmirror import NeuralGaussianMirror, SelectionWarning
from neuralmirror.importance import IMPORTANCES, mirror_statistics
from neuralmirror.mirrors import SCALES
from neuralmirror.networks import ACTIVATIONS
from neuralmirror.selection import estimated_fdp, mirror_q_values, select, select_repeated

SCHEMES = ["simultaneous", "individual"]
QUICK = {
    "steps": 30, "hidden_sizes": (8, 4), "n_networks": 1, "n_mirrors": 1, "shrinkage": 0.8, "skip": "linear",
    "target_transform": "standard",
}  # fmt: skip
QUIET = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")


def mirror(**parameters):
    """A selector that fits in a moment."""
    return NeuralGaussianMirror(**{**QUICK, "random_state": 0, **parameters})


def data(seed=0, n=120, p=8, relevant=4):
    """The first features matter, with much signal."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    return x, x[:, :relevant] @ np.linspace(1, 2, relevant) + 0.3 * rng.standard_normal(n)


def easy(**parameters):
    """A fit that certainly selects: four clear features at a level that needs two."""
    return mirror(fdr=0.5, **parameters).fit(*data())


# ---- scikit-learn's contract ----


@QUIET
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [NeuralGaussianMirror(steps=5, hidden_sizes=8), NeuralGaussianMirror("individual", **{**QUICK, "steps": 5})]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_check_that_needs_an_environment_variable():
    """scikit-learn skips its array API check unless scipy is told before it is imported."""
    program = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from sklearn.utils.estimator_checks import estimator_checks_generator\n"
        "from neuralmirror import NeuralGaussianMirror\n"
        "for estimator, check in estimator_checks_generator(NeuralGaussianMirror(steps=5)):\n"
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
    statistics = mirror_statistics(fitted.strengths_, fitted.contrast)
    np.testing.assert_array_equal(fitted.mirror_statistics_, statistics[0])
    np.testing.assert_array_equal(fitted.support_, select(fitted.mirror_statistics_, 0.5))
    np.testing.assert_array_equal(fitted.support_, fitted.mirror_statistics_ >= fitted.threshold_)
    np.testing.assert_array_equal(fitted.q_values_, mirror_q_values(fitted.mirror_statistics_))
    assert fitted.estimated_fdp_ == estimated_fdp(fitted.mirror_statistics_, fitted.threshold_) <= 0.5
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
    original = mirror(fdr=0.3, covariates=["a"], hidden_sizes=(5,))
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert not hasattr(clone(easy()), "support_")


def test_inverse_transform_puts_zeros_back():
    x, y = data()
    fitted = easy()
    np.testing.assert_array_equal(fitted.inverse_transform(fitted.transform(x)), x * fitted.support_)
    with pytest.warns(SelectionWarning):
        nothing = mirror(fdr=0.01).fit(x, y)
    with pytest.warns(UserWarning, match="No features were selected"):
        empty = nothing.transform(x)
    np.testing.assert_array_equal(nothing.inverse_transform(empty), np.zeros_like(x))


# ---- one seed, one result ----


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_result_depends_on_the_seed_and_on_nothing_else(scheme):
    x, y = data()
    reference = mirror(scheme=scheme).fit(x, y).mirror_statistics_
    for parameters in ({}, {"n_jobs": 2}, {"memory": 1e-6}, {"random_state": np.random.RandomState(0)}):
        again = mirror(scheme=scheme, **parameters).fit(x, y).mirror_statistics_
        np.testing.assert_allclose(again, reference, rtol=1e-4, atol=1e-6, err_msg=str(parameters))
    assert not np.allclose(mirror(scheme=scheme, random_state=1).fit(x, y).mirror_statistics_, reference)


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_permuted_columns_permute_the_result(scheme):
    x, y = data()
    order = np.random.default_rng(3).permutation(8)
    one, other = (mirror(scheme=scheme).fit(table, y) for table in (x, x[:, order]))
    np.testing.assert_allclose(other.mirror_statistics_, one.mirror_statistics_[order], atol=0.02)
    np.testing.assert_allclose(other.scales_, one.scales_[order], rtol=1e-4)


@QUIET
def test_units_of_the_features_do_not_matter():
    x, y = data()
    units = 10.0 ** np.arange(-4, 4)
    one, other = mirror().fit(x, y), mirror().fit(x * units + 5, y)
    np.testing.assert_allclose(other.scales_, one.scales_ * units, rtol=0.5)  # other noise, the same rule
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
    fitted = mirror(scheme=scheme, fdr=0.5, covariates=covariates, steps=200).fit(table, y)
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
    alone = mirror(steps=200).fit(copies, y).strengths_[0, :, 0].sum()
    beside = mirror(steps=200, covariates=[6]).fit(np.hstack([copies, c]), y).strengths_[0, :6, 0].sum()
    assert beside < 0.3 * alone


# ---- options ----


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "parameters",
    [
        *({"activation": name} for name in ACTIVATIONS),
        *({"importance": name} for name in IMPORTANCES),
        *({"scale": name} for name in SCALES),
        *({"hidden_sizes": sizes} for sizes in [None, 6, (5,), (6, 5, 4, 3)]),
        {"early_stopping": True},
        {"shrinkage": "auto"},
        {"shrinkage": "auto", "n_networks": 2, "skip": "auto"},
        {"shrinkage": 0.0},
        {"skip": "none"},
        {"skip": "linear"},
        {"skip": "quadratic"},
        {"contrast": "difference"},
        {"n_networks": 3},
        {"coordinates": "pair"},
        {"n_mirrors": 3},
        {"n_mirrors": "auto"},
        {"n_repeats": 2},
        {"target_transform": "rank"},
        {"target_transform": "auto"},
        {"batch_size": 1000},
        {"adaptive_power": 0.0},
        {"task": "regression"},
    ],
    ids=str,
)
def test_every_option_fits(scheme, parameters):
    fitted = mirror(scheme=scheme, **parameters).fit(*data(n=40))
    assert np.isfinite(fitted.mirror_statistics_).all()
    assert fitted.strengths_.shape == (fitted.n_repeats, 8, 1 + fitted.n_mirrors_)


@QUIET
def test_scales_can_be_given():
    x, y = data()
    scales = np.linspace(0.5, 2, 8)
    np.testing.assert_allclose(mirror(scale=scales).fit(x, y).scales_, scales, rtol=1e-6)


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
    fitted = mirror(scheme=scheme, steps=100).fit(x, y(t))
    assert fitted.task_ == "classification"
    assert fitted.classes_.tolist() == classes
    assert fitted.mirror_statistics_[:4].min() > np.abs(fitted.mirror_statistics_[4:]).max()


@QUIET
@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.arange(40) % 2, "classification"),
        (np.arange(40) % 5, "classification"),
        (np.arange(40.0), "regression"),
        (np.arange(40), "regression"),
        (np.linspace(0, 1, 40), "regression"),
        (np.array(["a", "b"] * 20), "classification"),
    ],
)
def test_the_task_is_read_off_the_response(y, task):
    assert mirror(steps=2).fit(data(n=40)[0], y).task_ == task


@QUIET
def test_integers_can_be_read_as_numbers():
    assert mirror(steps=2, task="regression").fit(data(n=40)[0], np.arange(40) % 4).task_ == "regression"


@QUIET
def test_repeated_draws_are_combined_through_selections():
    x, y = data()
    fitted = mirror(n_repeats=3, fdr=0.5).fit(x, y)
    draws = mirror_statistics(fitted.strengths_, fitted.contrast)
    assert draws.shape == (3, 8)
    np.testing.assert_array_equal(fitted.support_, select_repeated(draws, 0.5))
    np.testing.assert_allclose(fitted.mirror_statistics_, np.median(draws, axis=0))
    assert set(np.round(3 * fitted.selection_frequencies_, 6)) <= {0, 1, 2, 3}
    assert len(np.unique(draws, axis=0)) == 3  # each draw has noise of its own


# ---- screening ----


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [3, "half", "log"])
def test_screening_mirrors_only_the_best_features(scheme, screen):
    x, y = data(n=60, p=40)
    fitted = mirror(scheme=scheme, screen=screen, steps=60).fit(x, y)
    kept = {3: 3, "half": 30, "log": int(120 / np.log(60))}[screen]
    assert (fitted.scales_ > 0).sum() == kept
    assert (fitted.q_values_[fitted.scales_ == 0] == 1).all()
    assert not fitted.support_[fitted.scales_ == 0].any()


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_mirrors_see_only_the_rows_that_did_not_rank(scheme, monkeypatch):
    from neuralmirror import selectors

    seen, ranked = [], []
    real_rank, real = selectors.rank_features, getattr(selectors, scheme)
    monkeypatch.setattr(selectors, "rank_features", lambda qs, *rest: ranked.append(qs[0].y) or real_rank(qs, *rest))
    monkeypatch.setattr(
        selectors, scheme, lambda q, *rest: seen.append((q[0] if isinstance(q, list) else q).y) or real(q, *rest)
    )
    x, y = data(n=90)
    mirror(scheme=scheme, screen=5, task="regression").fit(x, y)
    assert len(ranked[0]) == 30
    assert len(seen[0]) == 60
    assert set(ranked[0]).isdisjoint(seen[0])
    assert set(ranked[0]) | set(seen[0]) == set(y)


@QUIET
def test_rows_that_ranked_do_not_change_the_statistics():
    """Only which features are kept may come from the ranking rows; their values must not leak further."""
    from neuralmirror.problems import Problem, standardised
    from neuralmirror.screening import split_rows

    x, y = data(n=90)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    ranking, _ = split_rows(Problem(standardised(x), y, np.empty((90, 0))), (seed,))
    changed = y.copy()
    changed[ranking] = np.random.default_rng(5).permutation(changed[ranking])
    one, other = (mirror(screen=8, target_transform="standard").fit(x, t) for t in (y, changed))
    np.testing.assert_allclose(other.mirror_statistics_, one.mirror_statistics_, rtol=1e-5, atol=1e-7)


@QUIET
def test_screening_keeps_rare_classes():
    x, t = data(n=60)
    y = (t > 0).astype(int)
    y[:2] = 2
    for seed in range(3):
        mirror(screen=4, random_state=seed).fit(x, y)


# ---- after the fit ----


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
    with pytest.warns(SelectionWarning, match=r"No feature was selected at fdr=0.05.*needs at least 20 features"):
        fitted = mirror(fdr=0.05).fit(*data())
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


def test_progress_can_be_shown(capfd):
    easy(progress=True)
    assert "Training" in capfd.readouterr().err


# ---- storage ----


@QUIET
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"scheme": "individual", "n_mirrors": 2},
        {"n_repeats": 2},
        {"random_state": np.random.RandomState(0)},
        {"covariates": [np.int64(1)]},
        {"hidden_sizes": np.array([5, 3])},
        {"scale": np.ones(8)},
        {"fdr": 0.01},
    ],
    ids=["plain", "individual", "repeats", "RandomState", "NumPy integers", "NumPy widths", "scales", "empty"],
)
def test_results_survive_storage(parameters, tmp_path):
    x, y = data()
    table = pd.DataFrame(x, columns=list("abcdefgh"))
    fitted = mirror(**{"fdr": 0.5, **parameters}).fit(table, y)
    fitted.save(tmp_path / "result")
    loaded = NeuralGaussianMirror.load(tmp_path / "result")
    for name in ("support_", "mirror_statistics_", "q_values_", "scales_", "strengths_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    assert loaded.threshold_ == fitted.threshold_
    assert loaded.explain() == fitted.explain()
    np.testing.assert_array_equal(loaded.reselect(fdr=0.3, offset=0), fitted.reselect(fdr=0.3, offset=0))
    if fitted.support_.any():
        one, other = (s.set_output(transform="pandas").transform(table) for s in (loaded, fitted))
        pd.testing.assert_frame_equal(one, other)


@QUIET
def test_classes_survive_storage(tmp_path):
    x, t = data()
    fitted = mirror().fit(x, np.where(t > 0, "case", "control"))
    fitted.save(tmp_path / "result")
    assert NeuralGaussianMirror.load(tmp_path / "result").classes_.tolist() == ["case", "control"]


def test_a_stored_result_is_no_pickle(tmp_path):
    easy().save(tmp_path / "result")
    stored = (tmp_path / "result").read_bytes()
    assert stored[8:9] == b"{"  # safetensors: a length, then a JSON header
    assert b"pickle" not in stored


def test_loading_another_class_is_refused(tmp_path):
    easy().save(tmp_path / "result")

    class Other(NeuralGaussianMirror):
        pass

    with pytest.raises(ValueError, match="holds a NeuralGaussianMirror, not a Other"):
        Other.load(tmp_path / "result")


# ---- the paper's own settings ----


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [None, "half"])
def test_the_papers_settings(scheme, screen):
    paper = NeuralGaussianMirror.paper(scheme=scheme, screen=screen, fdr=0.2, steps=30, random_state=0)
    expected = {
        "offset": 0, "importance": "path", "contrast": "difference", "scale": "kernel", "skip": "none", "shrinkage": 0,
        "n_networks": 1, "n_mirrors": 1, "hidden_sizes": None, "fdr": 0.2,
    }  # fmt: skip
    assert {name: paper.get_params()[name] for name in expected} == expected
    assert paper.coordinates == "pair"
    assert np.isfinite(paper.fit(*data()).mirror_statistics_).all()


def test_the_papers_settings_can_be_changed():
    assert NeuralGaussianMirror.paper(offset=1, hidden_sizes=(5,)).get_params()["offset"] == 1


# ---- bad input ----


def table_with(value, column=2, row=5):
    x, _ = data(n=30)
    x[row, column] = value
    return pd.DataFrame(x, columns=[f"snp{j}" for j in range(8)])


def response_with(value, row=7):
    y = data(n=30)[1]
    y[row] = value
    return y


def text_frame(library):
    columns = {"height": np.arange(30.0), "city": ["Rome", "Oslo", "Lima"] * 10, "weight": np.arange(30.0) ** 2}
    return library.DataFrame(columns)


X, Y = data(n=30)
DOUBLE = pd.DataFrame(X, columns=["a", "b", "c", "a", "e", "f", "g", "h"])
BAD_DATA = {
    "NaN in X": (table_with(np.nan), Y, r"NaN in column 'snp2' \(row 5; 1 such cells in all\); impute or drop"),
    "inf in X": (table_with(np.inf), Y, r"inf in column 'snp2' \(row 5"),
    "minus inf in X": (table_with(-np.inf), Y, r"inf in column 'snp2'"),
    "null in polars": (pl.DataFrame({"a": [1.0, None] * 15, "b": list(range(30))}), Y, "NaN in column 'a'"),
    "huge column": (table_with(1e300), Y, "column 'snp2' of X has values about 5e.299 apart.*another unit"),
    "tiny columns": (X * 1e-300, Y, "column '0' of X has values about .*e-300 apart"),
    "huge y": (X, Y * 1e300, "y has values about .*e.300 apart"),
    "NaN in y": (X, response_with(np.nan), r"y contains NaN or inf \(first in row 7\); drop such rows"),
    "inf in y": (X, response_with(np.inf), r"y contains NaN or inf \(first in row 7\)"),
    "None in y": (X, np.array([None, *"ab" * 14, "a"], dtype=object), "y contains NaN or None; drop such rows"),
    "mixed y": (X, np.array(["a", 1] * 15, dtype=object), "y mixes values of the types int, str"),
    "text column in pandas": (text_frame(pd), Y, "column 'city' of X has type String.*encode it"),
    "text column in polars": (text_frame(pl), Y, "column 'city' of X has type String.*encode it"),
    "category column": (table_with(0).assign(snp2=pd.Categorical(["x", "y"] * 15)), Y, "column 'snp2'.*Categorical"),
    "date column": (table_with(0).assign(snp2=pd.Timestamp("2020")), Y, "column 'snp2' of X has type Datetime"),
    "text in an array": (np.where(X > 9, X.astype(object), "x"), Y, "text 'x' in row 0, column 0"),
    "no rows": (X[:0], Y[:0], r"0 sample\(s\)"),
    "nine rows": (X[:9], Y[:9], "n_samples=9 rows, but at least 10 are needed"),
    "one column": (X[:, :1], Y, "n_features=1, but at least 2 are needed"),
    "one dimension": (X[:, 0], Y, "Expected 2D array, got 1D array"),
    "all columns constant": (np.ones((30, 3)), Y, "0 distinct, varying columns"),
    "constant y": (X, np.full(30, 2.5), r"y is constant \(one class or one value.*2.5"),
    "one class": (X, np.array(["case"] * 30), r"y is constant \(one class.*case"),
    "short y": (X, Y[:29], "y has 29 values but X has 30 rows; one value per row"),
    "long y": (X, np.r_[Y, 0], "y has 31 values but X has 30 rows"),
    "wide y": (X, np.c_[Y, Y], "y should be a 1d array"),
    "no y": (X, None, "requires y to be passed"),
    "duplicate names": (DOUBLE, Y, "several columns named 'a'; rename"),
}


@QUIET
@pytest.mark.parametrize("case", BAD_DATA)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bad_data_is_refused_with_the_place_and_the_remedy(case, scheme):
    x, y, message = BAD_DATA[case]
    with pytest.raises(ValueError, match=message):
        mirror(scheme=scheme).fit(x, y)


BAD_PARAMETERS = [
    ({"fdr": 0}, r"fdr must lie in \(0, 1\), got 0"),
    ({"fdr": 1}, r"fdr must lie in \(0, 1\), got 1"),
    ({"fdr": 10}, r"fdr must lie in \(0, 1\), got 10; did you mean 0.1\?"),
    ({"fdr": -0.1}, r"fdr must lie in \(0, 1\), got -0.1"),
    ({"fdr": float("nan")}, r"fdr must lie in \(0, 1\), got nan"),
    ({"fdr": "0.1"}, r"fdr must lie in \(0, 1\), got '0.1'"),
    ({"offset": 2}, "offset must be 0 .* or 1"),
    ({"scheme": "simultanous"}, "did you mean 'simultaneous'"),
    ({"scheme": "INDIVIDUAL"}, "scheme must be one of 'simultaneous', 'individual', got 'INDIVIDUAL'"),
    ({"scheme": 3}, "scheme must be one of"),
    ({"scale": "kernal"}, "did you mean 'kernel'"),
    ({"scale": "xyzzy"}, "'kernel', 'linear', 'residual', 'marginal', 'correlation', got 'xyzzy'$"),
    ({"scale": [1.0, 2.0]}, "or 8 positive numbers, one per column of X"),
    ({"scale": -np.ones(8)}, "8 positive numbers"),
    ({"importance": "fields"}, "did you mean 'field'"),
    ({"activation": "relo"}, "did you mean 'relu'"),
    ({"coordinates": "pairs"}, "did you mean 'pair'"),
    ({"coordinates": "pair", "n_mirrors": 2}, "coordinates='pair' holds one noise per feature, got n_mirrors=2"),
    ({"contrast": "maximal"}, "did you mean 'maximum'"),
    ({"skip": "quadratc"}, "did you mean 'quadratic'"),
    ({"skip": True}, "skip must be one of 'auto', 'linear', 'quadratic', 'none', got True"),
    ({"n_networks": 0}, "n_networks must be a whole number of at least 1, got 0"),
    ({"n_mirrors": "automatic"}, "n_mirrors must be a whole number of at least 1"),
    ({"target_transform": "ranks"}, "did you mean 'rank'"),
    ({"task": "classify"}, "did you mean 'classification'"),
    ({"shrinkage": "automatic"}, "did you mean 'auto'"),
    ({"shrinkage": -1}, "shrinkage must be a number of at least 0, got -1"),
    ({"adaptive_power": -1}, "adaptive_power must be a number of at least 0"),
    ({"learning_rate": 0}, "learning_rate must be a number above 0, got 0"),
    ({"memory": 0}, "memory must be a number above 0"),
    ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
    ({"steps": 2.5}, "steps must be a whole number"),
    ({"batch_size": 0}, "batch_size must be a whole number"),
    ({"n_mirrors": 0}, "n_mirrors must be a whole number of at least 1"),
    ({"n_repeats": 0}, "n_repeats must be a whole number of at least 1"),
    ({"hidden_sizes": ()}, "hidden_sizes must name at least one hidden layer"),
    ({"hidden_sizes": (5, 0)}, "hidden_sizes must be a whole number of at least 1, got 0"),
    ({"device": "gpu"}, "device must be one of 'auto', 'cpu', 'cuda', got 'gpu'"),
    ({"screen": 9}, "screen=9 asks for more features than the 8"),
    ({"screen": 1}, "screen must be a whole number of at least 2, got 1"),
    ({"screen": "haf"}, "did you mean 'half'"),
    ({"covariates": ["h2"]}, "covariates must be one of"),
    ({"covariates": [8]}, "positions below 8, got 8"),
    ({"covariates": list(range(8))}, "0 distinct, varying columns to select from"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=[str(p) for p, _ in BAD_PARAMETERS])
def test_bad_parameters_are_refused_with_the_value_and_the_remedy(parameters, message):
    with pytest.raises(ValueError, match=message):
        mirror(**parameters).fit(X, Y)


@pytest.mark.parametrize(("parameters", "message"), [({"fdr": 2}, "did you mean 0.02"), ({"offset": 3}, "offset must")])
def test_bad_levels_are_refused_after_the_fit_too(parameters, message):
    with pytest.raises(ValueError, match=message):
        easy().reselect(**parameters)


def test_a_text_response_needs_classification():
    with pytest.raises(ValueError, match="task='regression' needs a numeric y"):
        mirror(task="regression").fit(X, np.array(["a", "b"] * 15))


def test_other_columns_than_in_the_fit_are_refused():
    table = pd.DataFrame(data()[0], columns=list("abcdefgh"))
    fitted = mirror(fdr=0.5).fit(table, data()[1])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(table.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(table[list("abcdefg")])
    with pytest.raises(ValueError, match="expecting 8 features"):
        easy().transform(data()[0][:, :7])


def test_an_unavailable_device_is_named():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match="device='cuda' was asked for, but PyTorch finds no CUDA device"):
        mirror(device="cuda").fit(X, Y)


@QUIET
def test_a_binary_problem_from_scikit_learn():
    x, y = make_classification(300, 12, n_informative=4, n_redundant=0, shuffle=False, random_state=0)
    assert mirror(steps=200).fit(x, y).mirror_statistics_.argmax() < 4


def test_public_names_are_found_lazily():
    import neuralmirror

    assert set(neuralmirror.__all__) <= set(dir(neuralmirror))
    assert neuralmirror.NeuralGaussianMirror is NeuralGaussianMirror
    with pytest.raises(AttributeError, match="no attribute 'NeuralGausianMirror'"):
        neuralmirror.NeuralGausianMirror  # noqa: B018
    assert Path(neuralmirror.__file__).with_name("py.typed").is_file()
