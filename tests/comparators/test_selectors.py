"""Every comparator keeps the contract of the package: scikit-learn's checks, one API, clear errors, honest nulls."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import neuralmirror as nm
from neuralmirror.selection import false_discovery_proportion, power

SMALL = {"hidden_sizes": (4,), "epochs": 2, "device": "cpu"}
MIRRORS = [
    nm.GaussianMirror(random_state=0),
    nm.GaussianMirror(scheme="simultaneous", random_state=0),
    nm.ModelXKnockoffs(random_state=0),
    nm.FixedXKnockoffs(random_state=0),
    nm.DeepPINK(random_state=0, **SMALL),
]
TESTS = [nm.BHSelector(), nm.BYSelector(), nm.BHSelector(p_values="marginal")]
EVERY = MIRRORS + TESTS


def name(estimator):
    return repr(estimator).replace("random_state=0", "")


def example(seed=0, n=300, p=40, k=12, noise=1.0):
    """Neighbouring columns correlated at 0.3; the first k of them matter."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    x[:, 1:] += 0.3 * x[:, :-1]
    y = x[:, :k] @ np.where(np.arange(k) % 2, -1.0, 1.0) + noise * rng.standard_normal(n)
    return x, y, np.arange(p) < k


def quietly(estimator, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(x, y)


@pytest.fixture(params=EVERY, ids=name)
def estimator(request):
    from sklearn.base import clone

    return clone(request.param)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        nm.GaussianMirror(),
        nm.GaussianMirror(scheme="simultaneous"),
        nm.ModelXKnockoffs(),
        nm.ModelXKnockoffs(method="sdp", statistic="correlation"),
        nm.FixedXKnockoffs(),
        nm.DeepPINK(**SMALL),
        *TESTS,
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


STRONG = [
    nm.GaussianMirror(random_state=0),
    nm.GaussianMirror(scheme="simultaneous", random_state=0),
    *(nm.ModelXKnockoffs(statistic=s, random_state=0) for s in ("lasso", "ridge", "signed-max")),
    nm.FixedXKnockoffs(random_state=0),
    nm.DeepPINK(epochs=60, random_state=0, device="cpu"),
    *TESTS[:2],
]


@pytest.mark.parametrize("estimator", STRONG, ids=name)
def test_strong_features_are_found(estimator):
    x, y, truth = example()
    quietly(estimator.set_params(fdr=0.2), x, y)
    assert power(estimator.support_, truth) > 0.9
    assert false_discovery_proportion(estimator.support_, truth) < 0.35


@pytest.mark.parametrize(
    "make",
    [nm.GaussianMirror, nm.ModelXKnockoffs, lambda: nm.DeepPINK(device="cpu"), nm.BHSelector],
    ids=["mirror", "knockoffs", "deeppink", "bh"],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_understood(make, classes):
    x, y, truth = example(n=400, p=20, k=10)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [0] if classes == 2 else [-1.5, 1.5])]
    estimator = make()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=1)
    quietly(estimator, x, labels)
    assert estimator.task_ == "classification"
    evidence = getattr(estimator, "mirror_statistics_", 1 - estimator.q_values_)
    assert (evidence[truth] > 0).mean() > 0.75
    assert np.median(evidence[truth]) > np.median(evidence[~truth])


def test_results_keep_the_names_and_can_be_stored(estimator, tmp_path):
    x, y, _ = example()
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    quietly(estimator, frame, y)
    assert list(estimator.get_feature_names_out()) == list(frame.columns[estimator.support_])
    estimator.save(tmp_path / "fit.safetensors")
    loaded = type(estimator).load(tmp_path / "fit.safetensors")
    np.testing.assert_array_equal(loaded.support_, estimator.support_)
    np.testing.assert_array_equal(loaded.reselect(fdr=0.4), estimator.reselect(fdr=0.4))
    assert loaded.explain() == estimator.explain()


def test_the_seed_fixes_the_result(estimator):
    x, y, _ = example(n=120, p=15)
    first = quietly(estimator, x, y).q_values_
    np.testing.assert_array_equal(quietly(estimator, x, y).q_values_, first)


def test_reselection_is_the_selection_at_that_level(estimator):
    x, y, _ = example(noise=6.0)
    quietly(estimator, x, y)
    for level in (0.05, 0.1, 0.3, 0.6):
        again = quietly(type(estimator)(**{**estimator.get_params(), "fdr": level}), x, y)
        np.testing.assert_array_equal(estimator.reselect(fdr=level), again.support_)
        np.testing.assert_array_equal(estimator.reselect(fdr=level), estimator.q_values_ <= level)


def test_constants_and_repeats_are_never_selected(estimator):
    x, y, _ = example(n=150, p=15, k=10)
    x = np.column_stack([x, np.ones(150), x[:, 0]])
    with pytest.warns(nm.SelectionWarning):
        estimator.fit(x, y)
    assert not estimator.support_[-2:].any()
    assert list(estimator.constant_features_) == ["15"]
    assert estimator.duplicate_features_ == {"16": "0"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (np.where(np.arange(x.size).reshape(x.shape) == 7, np.nan, x), y), "NaN in column '7'"),
        (lambda x, y: (x, y[:-1]), "119 values but X has 120 rows"),
        (lambda x, y: (x, np.full(120, 3.0)), "constant"),
        (lambda x, y: (x, None), "requires y"),
        (lambda x, y: (x.astype(str) + "a", y), "text"),
        (lambda x, y: (x[:, :1], y), "n_features=1"),
        (lambda x, y: (x[:5], y[:5]), "n_samples=5"),
    ],
)
def test_bad_data_is_refused_with_a_remedy(estimator, change, message):
    x, y, _ = example(n=120, p=15)
    with pytest.raises(ValueError, match=message):
        quietly(estimator, *change(x, y))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (nm.BHSelector(fdr=10), "did you mean 0.1"),
        (nm.BHSelector(p_values="old"), "'ols'"),
        (nm.GaussianMirror(offset=2), "offset"),
        (nm.GaussianMirror(scheme="simultan"), "did you mean 'simultaneous'"),
        (nm.GaussianMirror(n_repeats=0), "n_repeats"),
        (nm.ModelXKnockoffs(method="spd"), "did you mean 'sdp'"),
        (nm.ModelXKnockoffs(covariance="ledoit"), "ledoit-wolf"),
        (nm.ModelXKnockoffs(covariance=np.eye(3)), "15 by 15"),
        (nm.ModelXKnockoffs(statistic="laso"), "did you mean 'lasso'"),
        (nm.FixedXKnockoffs(statistic="lasso"), "signed-max"),
        (nm.DeepPINK(epochs=0), "epochs"),
        (nm.DeepPINK(hidden_sizes=()), "at least one"),
        (nm.DeepPINK(l1=-1), "l1"),
        (nm.DeepPINK(target_transform="ranks"), "did you mean 'rank'"),
    ],
    ids=name,
)
def test_bad_parameters_are_refused_with_a_remedy(estimator, message):
    x, y, _ = example(n=120, p=15)
    with pytest.raises(ValueError, match=message):
        estimator.fit(x, y)


def test_methods_say_where_they_do_not_apply():
    x, y, _ = example(n=30, p=40)
    with pytest.raises(ValueError, match="more than 2p rows, got 30 rows for p = 40"):
        nm.FixedXKnockoffs().fit(x, y)
    with pytest.raises(ValueError, match="p_values='marginal'"):
        nm.BHSelector().fit(x, y)
    with pytest.raises(ValueError, match=r"numeric y.*ModelXKnockoffs"):
        nm.FixedXKnockoffs().fit(x, np.where(y > 0, "case", "control"))
    with pytest.raises(ValueError, match="has no offset"):
        quietly(nm.BHSelector(p_values="marginal"), x, y).reselect(offset=0)


@pytest.mark.parametrize("estimator", [nm.GaussianMirror(random_state=0), nm.ModelXKnockoffs(random_state=0)], ids=name)
def test_more_features_than_rows(estimator):
    x, y, truth = example(n=150, p=200, k=12, noise=0.5)
    quietly(estimator, x, y)
    assert power(estimator.support_, truth) > 0.8
    assert false_discovery_proportion(estimator.support_, truth) < 0.35


def test_the_linear_mirror_lives_with_dependent_columns():
    x, y, truth = example()
    x = np.column_stack([x, x[:, 20] + x[:, 21]])
    mirror = quietly(nm.GaussianMirror(random_state=0), x, y)
    assert power(mirror.support_[:-1], truth) > 0.9


def test_the_linear_mirror_does_not_depend_on_the_order_of_the_columns():
    x, y, _ = example(n=100, p=15)
    order = np.random.default_rng(0).permutation(15)
    mirror = quietly(nm.GaussianMirror(random_state=0), x, y)
    permuted = quietly(nm.GaussianMirror(random_state=0), x[:, order], y)
    np.testing.assert_allclose(permuted.mirror_statistics_, mirror.mirror_statistics_[order], atol=1e-10)


@pytest.mark.parametrize("estimator", [nm.GaussianMirror(random_state=0), nm.FixedXKnockoffs(random_state=0)], ids=name)
def test_units_do_not_matter(estimator):
    x, y, _ = example(n=100, p=15)
    units = 10.0 ** np.random.default_rng(0).integers(-3, 4, 15)
    first = quietly(estimator, x, y).mirror_statistics_
    np.testing.assert_allclose(quietly(estimator, x * 2.0**5, 1000 * y - 7).mirror_statistics_, first, rtol=1e-6)
    assert np.isfinite(quietly(estimator, x * units, y).mirror_statistics_).all()


def test_a_known_covariance_is_taken_in_the_units_of_x():
    x, y, _ = example(n=200, p=15)
    sigma = np.cov(x.T)
    known = quietly(nm.ModelXKnockoffs(covariance=sigma, random_state=0), x, y)
    estimated = quietly(nm.ModelXKnockoffs(covariance="empirical", random_state=0), x, y)
    np.testing.assert_allclose(known.s_, estimated.s_, rtol=0.02)
    units = 10.0 ** np.arange(-7, 8)
    scaled = quietly(nm.ModelXKnockoffs(covariance=sigma * np.outer(units, units), random_state=0), x * units, y)
    np.testing.assert_allclose(scaled.s_, known.s_ * units**2, rtol=1e-6)


def test_repeated_draws_are_combined():
    x, y, truth = example()
    for estimator in (nm.GaussianMirror(n_repeats=5, random_state=0), nm.ModelXKnockoffs(n_repeats=3, random_state=0)):
        quietly(estimator, x, y)
        assert set(np.round(estimator.selection_frequencies_ * estimator.n_repeats, 6)) <= {0, 1, 2, 3, 4, 5}
        assert power(estimator.support_, truth) > 0.9


def test_adjusted_p_values_are_those_of_the_two_procedures():
    from neuralmirror.selection import benjamini_hochberg, benjamini_yekutieli

    x, y, _ = example(noise=5.0)
    for estimator, procedure in ((nm.BHSelector(), benjamini_hochberg), (nm.BYSelector(), benjamini_yekutieli)):
        quietly(estimator, x, y)
        for level in (0.05, 0.2, 0.5):
            np.testing.assert_array_equal(estimator.reselect(level), procedure(estimator.p_values_, level))
    assert quietly(nm.BYSelector(), x, y).support_.sum() <= quietly(nm.BHSelector(), x, y).support_.sum()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [3.0, np.inf], ids=["signal", "null"])
@pytest.mark.parametrize("estimator", [*STRONG, nm.GaussianMirror(n_repeats=5)], ids=name)
def test_the_false_discovery_rate_is_kept(estimator, noise):
    """Mean FDP of 60 replicates at level 0.2. Its standard error is about 0.015 with signal, so a method that keeps
    the level exceeds 0.25 in fewer than 1 of 1000 runs, and one at 0.3 is seen in 99 of 100. Without signal every
    selection is false, so the FDP is 0 or 1: 0.38 lies 3.5 standard errors above 0.2, and 0.55 is seen in 99 of 100."""
    proportions, found = [], []
    for seed in range(60):
        x, y, truth = example(seed, n=250, p=50, k=15, noise=3.0)
        if np.isinf(noise):
            y, truth = np.random.default_rng(seed).standard_normal(250), np.zeros(50, dtype=bool)
        estimator.set_params(fdr=0.2)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)
        quietly(estimator, x, y)
        proportions.append(false_discovery_proportion(estimator.support_, truth))
        found.append(power(estimator.support_, truth))
    assert np.mean(proportions) < (0.38 if np.isinf(noise) else 0.25)
    if np.isfinite(noise):
        assert np.mean(found) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [nm.GaussianMirror(), nm.GaussianMirror(scheme="simultaneous"), nm.ModelXKnockoffs()], ids=name
)
def test_the_rate_is_kept_with_more_features_than_rows(estimator):
    """As above, 40 replicates: the standard error is about 0.02, so 0.27 is exceeded by a method at its level in fewer
    than 1 of 1000 runs, and an active set chosen from X alone, whose FDR is about 0.55 here, is always seen."""
    proportions, found = [], []
    for seed in range(40):
        x, y, truth = example(seed, n=150, p=200, k=15, noise=1.5)
        quietly(estimator.set_params(fdr=0.2, random_state=seed), x, y)
        proportions.append(false_discovery_proportion(estimator.support_, truth))
        found.append(power(estimator.support_, truth))
    assert np.mean(proportions) < 0.27
    assert np.mean(found) > 0.4


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
@pytest.mark.parametrize("classes", [False, True])
def test_forest_knockoffs_find_products_that_a_lasso_misses(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 15))
    y = sum(X[:, 2 * i] * X[:, 2 * i + 1] for i in range(3)) + 0.1 * rng.standard_normal(600)
    y = (y > 0).astype(int) if classes else y
    lasso, forest, again = (
        nm.ModelXKnockoffs(fdr=0.2, statistic=name, random_state=0).fit(X, y) for name in ("lasso", "forest", "forest")
    )
    assert (forest.mirror_statistics_[:6] > 0).sum() >= 5
    assert forest.mirror_statistics_[:6].mean() > 2 * np.abs(forest.mirror_statistics_[6:]).mean()
    assert lasso.support_[:6].sum() < 6
    np.testing.assert_array_equal(forest.mirror_statistics_, again.mirror_statistics_)
