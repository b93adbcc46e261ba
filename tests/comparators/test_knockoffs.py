import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from neuralmirror.comparators.knockoffs import covariances as cov
from neuralmirror.comparators.knockoffs import mvr, sdp
from neuralmirror.comparators.knockoffs import sampling as ko
from neuralmirror.comparators.knockoffs import statistics as ks


def random_correlation(seed, p, factors=2):
    """A loading matrix plus noise of unequal size: neither Toeplitz nor exchangeable."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((p, factors))
    return cov.correlation(loadings @ loadings.T + np.diag(rng.uniform(0.2, 2, p)))


def toeplitz(p, rho):
    return rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def exchangeable(p, rho):
    return (1 - rho) * np.eye(p) + rho


def covariance_of_pair(sigma, s):
    """[[Σ, Σ − D], [Σ − D, Σ]]."""
    return np.block([[sigma, sigma - np.diag(s)], [sigma - np.diag(s), sigma]])


def gaussian_rows(sigma, n, rng):
    return rng.standard_normal((n, len(sigma))) @ np.linalg.cholesky(sigma).T


# The diagonal s


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 30))
@pytest.mark.parametrize("method", ko.S_METHODS.values(), ids=ko.S_METHODS)
def test_s_is_feasible(method, seed, p):
    corr = random_correlation(seed, p)
    s = method(corr)
    assert (s >= 0).all()
    assert (s <= 1).all()
    assert np.linalg.eigvalsh(2 * corr - np.diag(s))[0] >= -1e-8


@pytest.mark.parametrize("method", ko.S_METHODS.values(), ids=ko.S_METHODS)
def test_independent_features_get_knockoffs_independent_of_them(method):
    np.testing.assert_allclose(method(np.eye(7)), 1, atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("method", ko.S_METHODS.values(), ids=ko.S_METHODS)
def test_s_follows_a_permutation_and_rescaling_of_the_features(method, seed):
    rng = np.random.default_rng(seed)
    corr, order, scale = random_correlation(seed, 8), rng.permutation(8), rng.uniform(0.01, 100, 8)
    s = ko.knockoff_s(corr * np.outer(scale, scale), method)
    permuted = method(corr[np.ix_(order, order)])
    np.testing.assert_allclose(s[order] / scale[order] ** 2, permuted, atol=1e-3)


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
def test_sdp_of_exchangeable_features_is_the_equicorrelated_closed_form(rho):
    corr = exchangeable(20, rho)
    np.testing.assert_allclose(mvr.equicorrelated_s(corr), min(1, 2 * (1 - rho)), atol=1e-12)
    np.testing.assert_allclose(sdp.sdp_s(corr), min(1, 2 * (1 - rho)), atol=1e-5)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.7, 0.95])
def test_mvr_of_exchangeable_features_is_the_minimum_on_the_diagonal(rho):
    p, corr = 6, exchangeable(6, rho)
    grid = np.linspace(1e-4, 2 * (1 - rho) - 1e-4, 200_001)  # equal s: the two eigenvalues of 2Σ − sI are known
    objective = (p - 1) / (2 * (1 - rho) - grid) + 1 / (2 * (1 + (p - 1) * rho) - grid) + p / grid
    np.testing.assert_allclose(mvr.mvr_s(corr), grid[objective.argmin()], atol=1e-4)


def slsqp_sdp(corr):
    """The same program by a general solver, from three starts because the eigenvalues it constrains have kinks."""
    return max(
        minimize(
            lambda s: -s.sum(),
            start * mvr.equicorrelated_s(corr),
            bounds=[(0, 1)] * len(corr),
            constraints={"type": "ineq", "fun": lambda s: np.linalg.eigvalsh(2 * corr - np.diag(s))},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 1000},
        ).x.sum()
        for start in (0.3, 0.6, 0.9)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("p", [2, 3, 5])
def test_sdp_reaches_the_optimum_of_a_general_solver(seed, p):
    corr = random_correlation(seed, p)
    assert sdp.sdp_s(corr, tol=1e-8).sum() == pytest.approx(slsqp_sdp(corr), abs=1e-4)


def test_sdp_beats_a_brute_force_grid_and_its_bound_holds_there():
    corr = random_correlation(3, 3)
    axis = np.linspace(0, 1, 41)
    grid = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3)
    feasible = np.linalg.eigvalsh(2 * corr - grid[:, None] * np.eye(3))[:, 0] >= 0
    s, bound = sdp.sdp_solution(corr)
    assert grid[feasible].sum(axis=1).max() <= bound + 1e-12
    assert s.sum() >= grid[feasible].sum(axis=1).max() - 3e-6


@pytest.mark.parametrize("corr", [toeplitz(60, 0.8), random_correlation(0, 80), exchangeable(50, 0.6)])
def test_sdp_certifies_its_own_gap(corr):
    s, bound = sdp.sdp_solution(corr, tol=1e-7)
    assert 0 <= bound - s.sum() <= 1e-7 * len(corr)


def test_sdp_bound_holds_for_any_positive_semidefinite_dual():
    corr, rng = random_correlation(1, 12), np.random.default_rng(1)
    best = sdp.sdp_s(corr).sum()
    for _ in range(20):
        root = rng.standard_normal((12, 3)) * rng.uniform(0, 1)
        assert sdp.sdp_bound(corr, root @ root.T) >= best


def test_sdp_that_stops_early_says_so_and_stays_feasible():
    corr = toeplitz(40, 0.9)
    with pytest.warns(sdp.ConvergenceWarning, match="certified distance"):
        s, bound = sdp.sdp_solution(corr, max_iter=3)
    assert cov.is_positive_definite(2 * corr - np.diag(s))
    assert bound >= sdp.sdp_s(corr).sum()


def test_near_copies_cost_only_themselves():
    """Two columns correlated 1 − 1e-7 get s ≈ 0; equicorrelated knockoffs would lose every other one as well."""
    corr = toeplitz(30, 0.5)
    corr[0, 2:], corr[2:, 0] = corr[1, 2:], corr[2:, 1]
    corr[0, 1] = corr[1, 0] = 1 - 1e-7
    for method in (sdp.sdp_s, mvr.mvr_s):
        s = method(corr)
        assert (s[:2] < 1e-6).all()
        assert (s[2:] > 0.3).all()
    assert (mvr.equicorrelated_s(corr) < 1e-6).all()


@pytest.mark.parametrize("seed", range(4))
def test_mvr_minimises_the_trace_of_the_joint_precision(seed):
    corr = random_correlation(seed, 5)

    def trace(s):
        joint = covariance_of_pair(corr, s)
        return np.trace(np.linalg.inv(joint)) if np.linalg.eigvalsh(joint)[0] > 0 else np.inf

    start = 0.5 * mvr.equicorrelated_s(corr)
    oracle = minimize(trace, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 20_000})
    s = mvr.mvr_s(corr)
    assert trace(s) == pytest.approx(mvr.mvr_objective(corr, s)[0])
    assert trace(s) <= oracle.fun * (1 + 1e-9)
    np.testing.assert_allclose(s, oracle.x, atol=1e-4)


def test_mvr_newton_uses_the_derivatives_of_its_objective():
    corr = random_correlation(0, 6)
    s = 0.7 * mvr.interior_start(corr)
    change, decrease = mvr.mvr_newton(s, mvr.mvr_objective(corr, s)[1])
    along = [mvr.mvr_objective(corr, s + t * change)[0] for t in (-1e-4, 0, 1e-4)]
    assert (along[2] - along[0]) / 2e-4 == pytest.approx(-decrease, rel=1e-5)
    assert (along[2] - 2 * along[1] + along[0]) / 1e-8 == pytest.approx(decrease, rel=1e-3)


# Covariance


def test_covariances_follow_the_units_of_the_columns():
    rng = np.random.default_rng(0)
    X, scale = rng.standard_normal((80, 5)), np.array([1e-3, 0.1, 1, 10, 1e3])
    for estimate in cov.COVARIANCES.values():
        np.testing.assert_allclose(estimate(X * scale), estimate(X) * np.outer(scale, scale), rtol=1e-8)


def test_ledoit_wolf_is_usable_where_features_outnumber_rows():
    X = np.random.default_rng(0).standard_normal((20, 50))
    assert cov.is_positive_definite(cov.covariance_matrix(X, "ledoit-wolf"))
    with pytest.raises(ValueError, match=r"positive definite.*ledoit-wolf"):
        cov.covariance_matrix(X, "empirical")


def test_a_given_covariance_is_returned():
    X = np.zeros((4, 3))
    assert cov.covariance_matrix(X, toeplitz(3, 0.5)) is not None
    with pytest.raises(ValueError, match="3 by 3"):
        cov.covariance_matrix(X, np.eye(2))


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ("emprical", "one of"),
        (np.ones((2, 3)), "square"),
        (np.array([[1, np.nan], [np.nan, 1]]), "finite"),
        (np.array([[1, 0.5], [0.1, 1]]), "symmetric"),
        (np.diag([1.0, 0.0]), "constant"),
        (np.array([[1.0, 1.2], [1.2, 1.0]]), r"positive definite, got smallest eigenvalue -0.2"),
        (np.ones((2, 2)), "repeat"),
    ],
)
def test_a_bad_covariance_is_refused_with_a_remedy(covariance, message):
    with pytest.raises(ValueError, match=message):
        cov.covariance_matrix(np.zeros((5, 2)), covariance)


@pytest.mark.parametrize("method", ko.S_METHODS.values(), ids=ko.S_METHODS)
def test_solvers_refuse_what_is_not_a_correlation_matrix(method):
    with pytest.raises(ValueError, match=r"correlation matrix.*knockoff_s"):
        method(2 * np.eye(3))
    with pytest.raises(ValueError, match="positive definite"):
        method(exchangeable(3, -0.6))


# Sampling


@pytest.mark.parametrize("method", ko.S_METHODS.values(), ids=ko.S_METHODS)
def test_joint_covariance_of_features_and_knockoffs(method):
    """Entries of a sample covariance deviate by √(2/n) at most in standard deviation; six of them are allowed."""
    rng, n, scale = np.random.default_rng(0), 200_000, np.array([0.1, 1, 2, 1, 1, 5.0])
    sigma = random_correlation(5, 6) * np.outer(scale, scale)
    s = ko.knockoff_s(sigma, method)
    X = gaussian_rows(sigma, n, rng) + 3
    joint = np.hstack([X, ko.gaussian_knockoffs(X, sigma, s, rng, mean=np.full(6, 3.0))])
    unit = np.outer(np.tile(scale, 2), np.tile(scale, 2))
    np.testing.assert_allclose(np.cov(joint.T) / unit, covariance_of_pair(sigma, s) / unit, atol=6 * np.sqrt(2 / n))
    np.testing.assert_allclose(joint.mean(axis=0), 3, atol=6 * 5 / np.sqrt(n))


def test_conditional_moments_are_those_of_the_joint_gaussian():
    """Regress X̃ on X in the joint covariance: exact, so a transposed factor cannot hide in Monte Carlo error."""
    sigma = random_correlation(2, 5)
    s = ko.knockoff_s(sigma)
    weights, spread = ko.conditional_moments(sigma, s)
    cross = sigma - np.diag(s)
    np.testing.assert_allclose(np.eye(5) - weights, np.linalg.solve(sigma, cross), atol=1e-10)
    np.testing.assert_allclose(spread @ spread.T, sigma - cross @ np.linalg.solve(sigma, cross), atol=1e-10)


def test_singular_conditional_covariances_are_factored():
    root = np.random.default_rng(0).standard_normal((6, 3))
    factor = cov.psd_factor(root @ root.T)
    np.testing.assert_allclose(factor @ factor.T, root @ root.T, atol=1e-10)


def test_the_same_generator_gives_the_same_knockoffs():
    X = np.random.default_rng(0).standard_normal((30, 4))
    for draw in (
        lambda rng: ko.gaussian_knockoffs(X, np.eye(4), np.ones(4), rng),
        lambda rng: ko.fixed_x_knockoffs(X, ko.knockoff_s(X.T @ X), rng),
    ):
        np.testing.assert_array_equal(draw(np.random.default_rng(7)), draw(np.random.default_rng(7)))


@pytest.mark.parametrize("n", [40, 41, 300])
@pytest.mark.parametrize("method", ko.S_METHODS.values(), ids=ko.S_METHODS)
def test_fixed_x_gram_identities(method, n):
    rng = np.random.default_rng(0)
    X = gaussian_rows(toeplitz(20, 0.5), n, rng)
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    gram = X.T @ X
    s = ko.knockoff_s(gram, method)
    X_knock = ko.fixed_x_knockoffs(X, s, rng)
    np.testing.assert_allclose(X_knock.T @ X_knock, gram, atol=1e-8)
    np.testing.assert_allclose(X.T @ X_knock, gram - np.diag(s), atol=1e-8)
    if n > 40:
        np.testing.assert_allclose(X_knock.sum(axis=0), 0, atol=1e-8)


def test_fixed_x_needs_twice_as_many_rows_as_columns():
    with pytest.raises(ValueError, match=r"n >= 2p rows, got n = 9 for p = 5; use Model-X"):
        ko.fixed_x_knockoffs(np.ones((9, 5)), np.ones(5), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("s", "message"),
    [(np.full(3, 1.5), "2Σ"), (np.array([0.1, -0.1, 0.1]), ">= 0"), (np.ones(2), "3 values")],
)
def test_an_infeasible_s_is_refused(s, message):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match=message):
        ko.gaussian_knockoffs(X, exchangeable(3, 0.5), s, np.random.default_rng(0))


# Statistics


def regression_pairs(seed=0, n=300, p=20, k=5):
    rng = np.random.default_rng(seed)
    sigma = toeplitz(p, 0.4)
    X = gaussian_rows(sigma, n, rng)
    X_knock = ko.gaussian_knockoffs(X, sigma, mvr.mvr_s(sigma), rng, mean=np.zeros(p))
    signal = X[:, :k] @ np.array([1, -1] * k)[:k]
    return X, X_knock, signal + rng.standard_normal(n)


def swapped(X, X_knock, swap):
    return np.where(swap, X_knock, X), np.where(swap, X, X_knock)


def labels(y):
    return np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]


def paired(magnitudes, compare=ks.difference, outcome=lambda y: y):
    """W of one fit on (X, X̃) whose coins are always the same."""

    def statistic(X, X_knock, y):
        return compare(*ks.pair_magnitudes(X, X_knock, outcome(y), np.random.default_rng(3), magnitudes))

    return statistic


STATISTICS = {
    "correlation": (paired(ks.correlation_magnitudes), 1e-12),
    "signed-max": (paired(ks.entry_magnitudes, ks.signed_max), 1e-8),
    "lasso": (paired(ks.lasso_magnitudes), 1e-3),
    "ridge": (paired(ks.ridge_magnitudes), 1e-8),
    "binary": (paired(ks.logistic_magnitudes, outcome=lambda y: y > 0), 0.01),
    "multiclass": (paired(ks.logistic_magnitudes, outcome=labels), 0.01),
}


@pytest.mark.parametrize(("statistic", "tolerance"), STATISTICS.values(), ids=STATISTICS)
def test_swapping_a_feature_with_its_knockoff_flips_the_sign_of_its_statistic(statistic, tolerance):
    X, X_knock, y = regression_pairs()
    swap = np.random.default_rng(1).random(20) < 0.5
    W = statistic(X, X_knock, y)
    W_swapped = statistic(*swapped(X, X_knock, swap), y)
    np.testing.assert_allclose(W_swapped, np.where(swap, -W, W), atol=tolerance * np.abs(W).max())


@pytest.mark.parametrize(("statistic", "tolerance"), STATISTICS.values(), ids=STATISTICS)
def test_true_features_win(statistic, tolerance):
    W = statistic(*regression_pairs())
    assert W[:5].min() > 0
    assert np.median(W[:5]) > np.abs(W[5:]).max()


def test_signed_max_in_an_orthogonal_design_is_the_correlation_that_enters_first():
    """With orthonormal columns β_j(λ) is soft thresholding, so column j enters at |x_jᵀy|/n."""
    rng = np.random.default_rng(0)
    centred = rng.standard_normal((50, 12))
    columns = np.linalg.qr(centred - centred.mean(axis=0))[0] * np.sqrt(50)
    y = rng.standard_normal(50)
    first, second = np.abs(columns.T @ (y - y.mean())).reshape(2, 6) / 50
    W = STATISTICS["signed-max"][0](columns[:, :6], columns[:, 6:], y)
    np.testing.assert_allclose(W, np.maximum(first, second) * np.sign(first - second), atol=1e-8)


class Coins:
    """A generator whose first coins are given, so that a swap can be undone by the coins."""

    def __init__(self, flip):
        self.flip, self.rest = flip, np.random.default_rng(5)

    def random(self, size):
        return np.where(self.flip, 0.0, 1.0)

    def integers(self, *limits):
        return self.rest.integers(*limits)


@pytest.mark.parametrize(
    ("magnitudes", "outcome"), [(ks.forest_magnitudes, float), (ks.class_forest_magnitudes, labels)]
)
def test_a_forest_that_sees_the_same_columns_flips_the_signs_exactly(magnitudes, outcome, monkeypatch):
    """Swapping X_j with X̃_j and turning the coin of j shows the forest the same design: W_j must be −W_j."""
    monkeypatch.setitem(ks.FOREST, "n_estimators", 20)
    X, X_knock, y = regression_pairs()
    y = y if outcome is float else outcome(y)
    swap, flip = np.random.default_rng(1).random((2, 20)) < 0.5
    W = ks.difference(*ks.pair_magnitudes(X, X_knock, y, Coins(flip), magnitudes))
    W_swapped = ks.difference(*ks.pair_magnitudes(*swapped(X, X_knock, swap), y, Coins(flip ^ swap), magnitudes))
    np.testing.assert_array_equal(W_swapped, np.where(swap, -W, W))
    assert np.abs(W).max() > 0


def test_null_signs_of_forests_are_fair(monkeypatch):
    """225 fair coins in 15 fits: |z| > 4 is a false alarm in 1 of 16 000 runs."""
    monkeypatch.setitem(ks.FOREST, "n_estimators", 10)
    forest = paired(ks.forest_magnitudes)
    signs = np.concatenate([np.sign(forest(*regression_pairs(seed, n=80))[5:]) for seed in range(15)])
    assert abs(signs.sum()) < 4 * np.sqrt((signs != 0).sum())


def test_forests_see_curves_and_products(monkeypatch):
    monkeypatch.setitem(ks.FOREST, "n_estimators", 100)
    X, X_knock, _ = regression_pairs(n=800)
    W = paired(ks.forest_magnitudes)(X, X_knock, X[:, 0] ** 2 + 2 * X[:, 1] * X[:, 2])
    assert W[:3].min() > np.abs(W[3:]).max()


def test_the_order_inside_a_pair_is_random():
    """A fit that only ever credits the first column it sees must not favour the features."""
    X, X_knock, y = regression_pairs(p=400, n=10, k=1)
    W = np.subtract(
        *ks.pair_magnitudes(X, X_knock, y, np.random.default_rng(0), lambda Z, y, rng: np.repeat([1.0, 0.0], 400))
    )
    assert abs(W.sum()) < 100  # five standard deviations of a fair coin


def test_pairs_of_unequal_shape_are_refused():
    with pytest.raises(ValueError, match=r"one shape, got \(5, 3\) and \(5, 2\)"):
        STATISTICS["correlation"][0](np.ones((5, 3)), np.ones((5, 2)), np.ones(5))


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "tolerance"), STATISTICS.values(), ids=STATISTICS)
def test_null_statistics_are_positive_as_often_as_negative(statistic, tolerance):
    """Null signs are fair coins, 365 to 600 of them in 40 fits: |z| > 4 is a false alarm in 1 of 16 000 runs, and a
    share of 0.65 positive is seen in at least 95 of 100."""
    signs = np.concatenate([np.sign(statistic(*regression_pairs(seed, n=150))[5:]) for seed in range(40)])
    assert abs(signs.sum()) < 4 * np.sqrt((signs != 0).sum())


# Beside knockpy


@pytest.fixture
def knockpy():
    return pytest.importorskip("knockpy", reason="knockpy is not installed (extra: peers)")


@pytest.mark.parametrize("method", ["equicorrelated", "mvr"])
def test_s_agrees_with_knockpy(knockpy, method):
    corr = toeplitz(30, 0.6)
    theirs = np.diag(knockpy.smatrix.compute_smatrix(corr, method=method))
    np.testing.assert_allclose(ko.S_METHODS[method](corr), theirs, atol=2e-3)


@pytest.mark.filterwarnings("ignore:(?s).*scikit-dsdp")
def test_sdp_is_as_good_as_knockpy_and_bounds_it(knockpy):
    """knockpy's solver stops about 1% short of the optimum, so the objectives are compared, not each s."""
    corr = toeplitz(30, 0.6)
    theirs = np.diag(knockpy.smatrix.compute_smatrix(corr, method="sdp")).sum()
    s, bound = sdp.sdp_solution(corr)
    assert theirs <= bound
    assert theirs <= s.sum() + 1e-4 <= 1.02 * theirs


def test_knockoffs_agree_with_knockpy_within_monte_carlo_error(knockpy):
    """Both joint covariances estimate the same matrix: entries differ by √(2·2/n) in standard deviation at most."""
    rng, n, corr = np.random.default_rng(0), 50_000, toeplitz(8, 0.6)
    X, s = gaussian_rows(corr, n, rng), mvr.mvr_s(corr)
    theirs = knockpy.knockoffs.GaussianSampler(X, mu=np.zeros(8), Sigma=corr, S=np.diag(s)).sample_knockoffs()
    ours = ko.gaussian_knockoffs(X, corr, s, rng, mean=np.zeros(8))
    difference = np.cov(np.hstack([X, ours]).T) - np.cov(np.hstack([X, theirs]).T)
    assert np.abs(difference).max() < 6 * np.sqrt(4 / n)


def test_lasso_statistics_agree_with_knockpy(knockpy):
    """Both cross-validate λ on folds of their own, so the statistics agree up to the choice of λ."""
    X, X_knock, y = regression_pairs()
    theirs = knockpy.knockoff_stats.LassoStatistic().fit(X, X_knock, y)
    ours = STATISTICS["lasso"][0](X, X_knock, y)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.98


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
@pytest.mark.parametrize("classes", [False, True])
def test_knockpy_runs_on_the_trial_bench(knockpy, classes):
    from neuralmirror.comparators.knockoffs.knockpy_peer import Knockpy

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    y = X[:, :10].sum(axis=1) + 0.5 * rng.standard_normal(300)
    one, two = (Knockpy(fdr=0.2, random_state=1).fit(X, y > 0 if classes else y) for _ in range(2))
    np.testing.assert_array_equal(one.mirror_statistics_, two.mirror_statistics_)
    assert one.support_[:10].sum() >= 8
