"""Statistics of knockoffs: swapping a feature with its knockoff flips the sign, and null signs are fair."""

import numpy as np
import pytest
from gaussians import regression_pairs

from neuralmirror.comparators.knockoffs import statistics as ks


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
