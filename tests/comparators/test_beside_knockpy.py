"""Our knockoffs beside those of knockpy, where that is installed."""

import numpy as np
import pytest
from gaussians import gaussian_rows, regression_pairs, toeplitz

from neuralmirror.comparators.knockoffs import mvr, sdp
from neuralmirror.comparators.knockoffs import sampling as ko
from neuralmirror.comparators.knockoffs import statistics as ks


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
    ours = ks.difference(*ks.pair_magnitudes(X, X_knock, y, np.random.default_rng(3), ks.lasso_magnitudes))
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
