"""Conditional copies: what they share with X_j, what they keep, and a check that can fail."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.mirror.conditional import conditional_law, level_probabilities, unexplained
from neuralmirror.mirror.directions import conditional_directions, independent_directions
from neuralmirror.mirror.law_check import check_law
from neuralmirror.mirror.neighbours import nearest_neighbours
from neuralmirror.mirror.scales import marginal_scales


def ar(seed, n, p, rho=0.6):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    for j in range(1, p):
        x[:, j] = rho * x[:, j - 1] + (1 - rho**2) ** 0.5 * x[:, j]
    return x


def data_of(x, covariates=None, groups=None):
    c = np.empty((len(x), 0)) if covariates is None else standardised(covariates)
    return StandardisedData(standardised(x), np.zeros(len(x)), c, 0, None if groups is None else np.array(groups))


# ---- normal columns ----


def test_what_regressors_leave_is_what_least_squares_leaves():
    rng = np.random.default_rng(0)
    regressors, target = rng.standard_normal((3, 8, 60)).astype(np.float32), rng.standard_normal((3, 60))
    target[0] += 2 * regressors[0, 6]
    found = unexplained(target.astype(np.float32), regressors, [1, 5, 8])
    for column in range(3):
        for place, count in enumerate((1, 5, 8)):
            fitted = np.linalg.lstsq(regressors[column, :count].T, target[column])[1]
            assert found[place, column] == pytest.approx(float(fitted[0]), rel=1e-2)


def test_copies_have_the_products_and_the_length_of_their_feature():
    """With every regressor, the covariates and a constant: to single precision."""
    q = data_of(ar(0, 300, 40), np.random.default_rng(1).standard_normal((300, 2)))
    drawn = conditional_directions(q, 3, (7,))
    law = drawn.law
    for count in np.unique(law.regression.taken):
        block = np.flatnonzero(law.regression.taken == count)
        along = drawn.values[block] @ law.regression.basis(block, count).swapaxes(1, 2)  # (b, K+1, m)
        np.testing.assert_allclose(along, np.broadcast_to(along[:, :1], along.shape), atol=2e-2)
    np.testing.assert_allclose((drawn.values @ q.covariates).std(axis=1), 0, atol=2e-2)
    lengths = np.linalg.norm(drawn.values, axis=2)
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[:, :1], lengths.shape), rtol=1e-4)


def test_the_mean_and_the_scale_are_those_of_the_normal_law():
    """AR(1): X_j given the others has a variance of (1 − ρ²)/(1 + ρ²) within the series; ρ = .6, n = 2000."""
    law = conditional_law(standardised(ar(0, 2000, 20)), np.empty((2000, 0)), np.arange(20))
    expected = ((1 - 0.36) / (1 + 0.36)) ** 0.5
    np.testing.assert_allclose(law.scales[1:-1], expected, rtol=0.08)
    np.testing.assert_allclose(law.explained[1:-1], 1 - expected**2, atol=0.06)


def test_copies_know_nothing_of_what_is_left_of_their_feature():
    """The residuals of X_j and of its copies are uncorrelated: six standard errors."""
    drawn = conditional_directions(data_of(ar(0, 1000, 30)), 2, (7,))
    rest = drawn.values - drawn.law.mean.T[:, None]
    rest /= np.linalg.norm(rest, axis=2, keepdims=True)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.abs((rest[:, one] * rest[:, other]).sum(axis=1)).max() < 6 / np.sqrt(1000)


def test_covariates_are_conditioned_on():
    rng = np.random.default_rng(0)
    c = rng.standard_normal((400, 1))
    x = c + 0.5 * rng.standard_normal((400, 10))
    drawn = conditional_directions(data_of(x, c), 2, (7,))
    correlation = np.corrcoef(np.vstack([drawn.values.reshape(-1, 400), c.T]))[-1, :-1].reshape(10, 3)
    np.testing.assert_allclose(correlation[:, 1:], correlation[:, :1].repeat(2, axis=1), atol=1e-3)


def test_columns_of_one_group_do_not_predict_each_other():
    q = data_of(ar(0, 200, 12), groups=np.arange(12) // 3)
    nearest = nearest_neighbours(q.x.T.astype(np.float32), 5, q.group)
    assert (q.group[nearest] != q.group[:, None]).all()
    for j in range(12):
        r = np.where(q.group == q.group[j], -1, np.abs(q.x[:, j] @ q.x))
        np.testing.assert_array_equal(nearest[j], np.argsort(-r)[:5])


# ---- discrete columns ----


def genotypes(seed, n=600, p=10):
    """Numbers 0, 1, 2 that follow their neighbours."""
    z = ar(seed, n, p, 0.7)
    return (z > 0.3).astype(float) + (z > 1.2)


def test_copies_of_columns_with_few_values_keep_their_values():
    q = data_of(genotypes(0))
    drawn = conditional_directions(q, 3, (7,))
    for column in drawn.values:
        levels = np.unique(column[0].round(4))
        assert len(levels) == 3
        for copy in column[1:]:  # each is centred on its own
            steps = np.unique((copy - copy.min()).round(4))
            assert np.abs(steps[:, None] - (levels - levels[0])).min(axis=1).max() < 1e-3


def test_copies_of_columns_with_few_values_have_the_frequencies_of_their_neighbours():
    """Among rows where a neighbour is high, a copy is high as often as its feature: five standard errors."""
    x = genotypes(1, n=3000)
    drawn = conditional_directions(data_of(x), 1, (7,))
    for j in range(1, 10):
        rows = x[:, j - 1] >= 1
        high = [(values[rows] > values.min() + 1e-3).mean() for values in drawn.values[j]]
        assert abs(high[0] - high[1]) < 5 * np.sqrt(2 * 0.25 / rows.sum())


def test_copies_of_a_category_are_one_hot():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 4, (300, 5))
    x = (levels[:, :, None] == np.arange(4)).reshape(300, 20).astype(float)
    q = data_of(x, groups=np.repeat(np.arange(5), 4))
    drawn = conditional_directions(q, 2, (7,))
    for feature in range(5):
        block = drawn.values[4 * feature : 4 * feature + 4]  # (4, K+1, n)
        high = block > block.mean(axis=2, keepdims=True)
        assert (high.sum(axis=0) == 1).all()


def test_the_logistic_law_finds_the_chances_it_was_drawn_from():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((1, 5000, 1))
    lines = np.concatenate([0 * z, 0.5 + z, -1 - z], axis=2)
    chances = np.exp(lines) / np.exp(lines).sum(axis=2, keepdims=True)
    codes = (rng.random((1, 5000, 1)) > chances.cumsum(axis=2)[..., :-1]).sum(axis=2)
    np.testing.assert_allclose(level_probabilities(codes, z, 3), chances, atol=0.05)


# ---- the check of the law ----


def test_the_check_passes_on_normal_data():
    """Four two-sided normal tests at 4 standard deviations: a false alarm once in 4000 seeds."""
    found = check_law(conditional_directions(data_of(ar(0, 400, 200)), 4, (7,)))
    assert len(found) == 4
    assert all(abs(entry["z"]) < 4 for entry in found.values()), found


def test_the_check_fails_where_features_are_squares_of_others():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 100))
    drawn = conditional_directions(data_of(np.hstack([x, x**2 + 0.3 * rng.standard_normal((400, 100))])), 4, (7,))
    assert max(abs(entry["z"]) for entry in check_law(drawn).values()) > 4


def test_the_check_fails_for_independent_noise():
    q = data_of(ar(0, 400, 200))
    law = conditional_directions(q, 4, (7,)).law
    noise = replace(independent_directions(q, 4, marginal_scales, (7,)), law=law)
    assert check_law(noise)["follows its neighbour"]["z"] > 4
    assert check_law(replace(noise, law=None)) == {}


@pytest.mark.parametrize("seed", range(3))
def test_a_learner_of_neighbours_cannot_tell_feature_from_copy(seed):
    """Which of X_j and its copy goes better with the next but one column: even chances, a false alarm in 10⁴."""
    q = data_of(ar(seed, 300, 150))
    drawn = conditional_directions(q, 1, (seed,))
    other = np.roll(drawn.values[:, 0], 3, axis=0)
    along = np.abs((drawn.values * other[:, None]).sum(axis=2))
    assert binomtest(int((along[:, 0] > along[:, 1]).sum()), 150, 0.5).pvalue > 1e-4


def test_columns_that_repeat_each_other_are_explained_by_each_other():
    x = ar(0, 300, 10)
    q = data_of(np.hstack([x, x[:, :1] + 1e-3 * np.random.default_rng(1).standard_normal((300, 1))]))
    explained = conditional_directions(q, 1, (7,)).explained_by_others
    assert explained[[0, 10]].min() > 0.99
    assert explained[1:10].max() < 0.9
