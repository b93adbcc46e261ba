import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f as f_distribution
from scipy.stats import f_oneway, linregress

from neuralmirror._internal.standardised import standardised
from neuralmirror.comparators import least_squares as ls


def design(seed, n=60, p=8):
    """Correlated columns, noises and a linear response of which features 0 and 1 are part."""
    rng = np.random.default_rng(seed)
    x = standardised(rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.standard_normal((n, p)))
    z = rng.standard_normal((n, p))
    return x, z, (x[:, :1] - x[:, 1:2] + rng.standard_normal((n, 1)))


def left_over(columns, values):
    """What an intercept and these columns leave of the values."""
    basis = np.column_stack([np.ones(len(columns)), columns])
    return values - basis @ np.linalg.lstsq(basis, values)[0]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_scale_makes_the_partial_correlation_of_the_pair_zero(seed):
    x, z, y = design(seed)
    scales = ls.least_squares_mirrors(x, z, y).scales
    for j, c in enumerate(scales):
        others = np.delete(x, j, axis=1)
        plus, minus = left_over(others, x[:, j] + c * z[:, j]), left_over(others, x[:, j] - c * z[:, j])
        assert abs(plus @ minus) / (np.linalg.norm(plus) * np.linalg.norm(minus)) < 1e-8


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), q=st.integers(1, 3))
def test_mirrors_agree_with_one_regression_for_each_feature(seed, q):
    x, z, y = design(seed)
    y = np.hstack([y, z[:, :2] + y])[:, :q]
    mirrors = ls.least_squares_mirrors(x, z, y)
    for j, c in enumerate(mirrors.scales):
        pair = [np.ones(len(x)), x[:, j] + c * z[:, j], x[:, j] - c * z[:, j]]
        beta = np.linalg.lstsq(np.column_stack([*pair, np.delete(x, j, axis=1)]), y)[0]
        plus, minus = beta[1], beta[2]
        np.testing.assert_allclose(mirrors.feature[j], plus + minus, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(mirrors.noise[j], plus - minus, rtol=1e-6, atol=1e-9)
        if q == 1:
            expected = np.abs(plus + minus) - np.abs(plus - minus)  # eq. mstat
            np.testing.assert_allclose(mirrors.statistics()[j], expected[0], rtol=1e-6, atol=1e-9)


def test_in_an_orthogonal_design_the_scale_is_that_of_the_marginal_sd():
    rng = np.random.default_rng(0)
    n, p = 4000, 5
    x = standardised(np.linalg.qr(standardised(rng.standard_normal((n, p))))[0])
    scales = ls.least_squares_mirrors(x, rng.standard_normal((n, p)), x[:, :1]).scales
    np.testing.assert_allclose(scales, 1, atol=0.06)  # five standard deviations of ‖Z‖/√n


def test_null_mirrors_are_symmetric_about_zero():
    """Exact for Gaussian noise at any n and X: over 2000 draws the mean sign of a null has standard deviation 0.022,
    so 4 of them give a false alarm in 1 of 16 000 runs, and a share of 0.55 positive is seen in 70 of 100."""
    x, _, _ = design(0, n=25)
    rng, signs, sizes = np.random.default_rng(1), [], []
    for _ in range(2000):
        y = x[:, :1] + rng.standard_normal((25, 1))
        statistics = ls.least_squares_mirrors(x, rng.standard_normal(x.shape), y).statistics()[1:]
        signs.append(np.sign(statistics).mean())
        sizes.append(statistics.mean())
    assert abs(np.mean(signs)) < 4 * np.std(signs) / np.sqrt(2000)
    assert abs(np.mean(sizes)) < 4 * np.std(sizes) / np.sqrt(2000)


def test_dependent_columns_are_found_and_the_first_of_them_kept():
    x, _, _ = design(0)
    x = np.column_stack([x, x[:, 0] - x[:, 3]])
    assert not ls.is_full_rank(x)
    assert ls.is_full_rank(x[:, :-1])
    np.testing.assert_array_equal(ls.independent_columns(x, np.arange(9)), np.arange(8))
    np.testing.assert_array_equal(ls.independent_columns(x, np.array([8, 3, 0])), [3, 8])
    assert not ls.is_full_rank(x[:9, :8])
    assert len(ls.independent_columns(x, np.arange(0))) == 0


@pytest.mark.parametrize("q", [1, 2])
def test_partial_tests_agree_with_nested_regressions(q):
    x, z, y = design(3)
    y = np.hstack([y, y + z[:, :1]])[:, :q]
    for j, p_value in enumerate(ls.partial_p_values(x, y)):
        others = np.delete(x, j, axis=1)  # roles swapped: does y help to explain X_j beside the others?
        small, large = left_over(others, x[:, j]), left_over(np.hstack([others, y]), x[:, j])
        rest = len(x) - x.shape[1] - q
        ratio = (small @ small - large @ large) / q / (large @ large / rest)
        np.testing.assert_allclose(p_value, f_distribution.sf(ratio, q, rest), rtol=1e-6)


def test_marginal_tests_of_a_number_are_those_of_a_slope():
    x, _, y = design(4)
    expected = [linregress(column, y[:, 0]).pvalue for column in x.T]
    np.testing.assert_allclose(ls.marginal_p_values(x, y), expected, rtol=1e-8)


def test_marginal_tests_of_classes_are_the_analysis_of_variance():
    x, _, y = design(5)
    labels = np.digitize(y[:, 0], [-1, 1])
    expected = [f_oneway(*(column[labels == c] for c in range(3))).pvalue for column in x.T]
    np.testing.assert_allclose(ls.marginal_p_values(x, np.eye(3)[labels][:, :2]), expected, rtol=1e-8)


def test_a_perfect_fit_has_p_value_zero():
    x, _, _ = design(6)
    assert ls.marginal_p_values(x, x[:, :1])[0] < 1e-100
    assert ls.partial_p_values(x, x[:, :1])[0] < 1e-100
