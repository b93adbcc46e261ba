"""Compiled passes over matrices against what NumPy and SciPy say."""

import pickle

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from builders import inputs_of, problem
from neuralmirror.learner.blocks import joined_products, largest_of_blocks
from neuralmirror.learner.embedding import normal_scores, products_with_waves, waves
from neuralmirror.mirror.neighbours import nearest_neighbours


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("each", [1, 3, 5])
def test_largest_of_blocks(each):
    values = numbers(4 * each, 7 * each)
    expected = np.abs(values).reshape(4, each, 7, each).max(axis=(1, 3))
    np.testing.assert_array_equal(largest_of_blocks(values, each), expected)


@pytest.mark.parametrize("known", [[0, 1, 2], [1, 4, 5, 9], [0, 150]])
def test_products_of_all_columns_from_those_of_some(known):
    columns, known = numbers(160, 30), np.array(known)
    others = np.setdiff1d(np.arange(160), known)
    found = joined_products(known, columns[known] @ columns[known].T, others, columns[others] @ columns.T)
    np.testing.assert_allclose(found, columns @ columns.T, rtol=1e-5, atol=1e-4)


def test_known_products_may_lie_in_a_larger_matrix():
    columns, known, places = numbers(20, 30), np.array([1, 4, 6]), np.array([2, 3, 7])
    larger, others = numbers(9, 9), np.setdiff1d(np.arange(20), known)
    found = joined_products(known, larger, others, columns[others] @ columns.T, places)
    np.testing.assert_array_equal(found[np.ix_(known, known)], larger[np.ix_(places, places)])


@pytest.mark.parametrize("n_seen", [None, 25])
@pytest.mark.parametrize("digits", [6, 0])
def test_normal_scores_are_those_of_mean_ranks(digits, n_seen):
    values = np.round(numbers(4, 3, 40), digits)
    pooled = values[..., :n_seen].reshape(4, -1)
    expected = np.clip(ndtri((rankdata(pooled, axis=1) - 0.5) / pooled.shape[1]), -3, 3)
    found = normal_scores(values, n_seen)
    np.testing.assert_array_equal(found[..., :n_seen].reshape(4, -1), expected.astype(np.float32))


def test_unseen_values_have_the_scores_of_seen_ones_that_they_equal():
    values = np.round(numbers(3, 2, 40), 1)
    values[..., 30:] = values[..., :10]
    found = normal_scores(values, 30)
    np.testing.assert_array_equal(found[..., 30:], found[..., :10])


def test_scores_of_single_features_and_of_seen_rows_are_those_of_all():
    inputs = inputs_of(problem(n=60, p=5))
    inputs = inputs.rows(np.arange(60), 35)
    one = [inputs.waves(feature, 4) for feature in range(5)]
    seen = inputs.seen_scores
    np.testing.assert_array_equal(inputs.scores[..., :35], seen)
    for feature, own in enumerate(one):
        np.testing.assert_array_equal(inputs.waves(feature, 4), own)


def test_what_inputs_know_of_themselves_is_not_sent_along():
    inputs = inputs_of(problem(n=60, p=5))
    products = inputs.products_of_lines()
    again = pickle.loads(pickle.dumps(inputs))
    assert set(vars(again)) == {"directions", "feature", "covariates", "n_seen", "picked_from"}
    np.testing.assert_array_equal(again.products_of_lines(), products)


def test_neighbours_are_the_most_correlated_of_other_groups():
    rows, group = numbers(30, 50), np.arange(30) // 2
    r = np.abs(rows @ rows.T)
    r[group[:, None] == group] = -1
    np.testing.assert_array_equal(nearest_neighbours(rows, 6, group), np.argsort(-r, axis=1)[:, :6])


@pytest.mark.parametrize("goals", [1, 3])
def test_products_with_waves_are_those_of_the_waves(goals):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.standard_normal((3, 5, 90)), np.zeros((1, 5, 90))]).astype(np.float32)
    scores, r = normal_scores(values), rng.standard_normal((goals, 90)).astype(np.float32)
    r -= r.mean(axis=1, keepdims=True)
    by_hand = np.einsum("ckbn,gn->ckbg", waves(scores, 12), r)
    np.testing.assert_allclose(products_with_waves(scores, r, 12), by_hand, atol=1e-3)
