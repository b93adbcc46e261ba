import numpy as np
import pytest
from gaussians import exchangeable, gaussian_rows, random_correlation, toeplitz
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from neuralmirror.comparators.knockoffs import covariances as cov
from neuralmirror.comparators.knockoffs import mvr, sdp
from neuralmirror.comparators.knockoffs import sampling as ko


def covariance_of_pair(sigma, s):
    """[[Σ, Σ − D], [Σ − D, Σ]]."""
    return np.block([[sigma, sigma - np.diag(s)], [sigma - np.diag(s), sigma]])


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
