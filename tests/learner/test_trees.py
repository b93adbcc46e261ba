"""Boosted trees: against scikit-learn's, against naive loops, and what they are told and not told."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingRegressor

from neuralmirror.learner.boosting import BINS, DEPTH, NONE, RATE, boost, moves_when_redrawn
from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network_part import Turns
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.trees import EDGES, outputs_of_trees, trees_strengths
from neuralmirror.learner.weighing import Unseen, Weights, fit_half


def steps(seed=0, n=600, columns=5):
    """Bins of independent columns, and what steps of the first three make of them."""
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, BINS, (columns, n)).astype(np.uint8)
    y = np.where(bins[0] > 40, np.sign(bins[1] - 20.5), 2.0 * (bins[2] > 50)) + 0.3 * rng.standard_normal(n)
    return bins, y[:, None]


def inputs_of(bins, copies=2, n_seen=None):
    """Columns with the order of some bins, and copies that are independent of everything."""
    rng = np.random.default_rng(1)
    columns, n = bins.shape
    values = rng.standard_normal((columns, 1 + copies, n)).astype(np.float32)
    values[:, 0] = (bins + rng.uniform(0, 0.1, bins.shape) - BINS / 2) / (BINS / 4)
    return Inputs(values, np.arange(columns), np.empty((n, 0)), n if n_seen is None else n_seen)


def leaf_of(trees, tree, row):
    """The leaf of one row of bins, by a plain walk."""
    place = 0
    for _ in range(DEPTH):
        asked = trees.column[tree, place]
        place = 2 * place + 1 + int(asked != NONE and row[asked] > trees.bin[tree, place])
    return trees.leaf[tree, place - (2**DEPTH - 1)]


def test_they_predict_as_well_as_those_of_scikit_learn():
    """The same rate, number of trees and questions, but level by level instead of leaf by leaf."""
    bins, y = steps(n=1200)
    ours = boost(bins, y, 0, 600).fitted[0, 600:]
    peer = HistGradientBoostingRegressor(max_depth=DEPTH, early_stopping=False).fit(bins[:, :600].T, y[:600, 0])
    errors = [np.square(y[600:, 0] - said).mean() for said in (ours, peer.predict(bins[:, 600:].T))]
    assert errors[0] < 1.05 * errors[1]
    assert errors[0] < 0.25 < y.var()


def test_the_fit_is_the_start_and_a_leaf_of_every_tree():
    bins, y = steps(n=300)
    trees = boost(bins, y, 0, 200)
    for row in (0, 57, 299):
        said = y[:200].mean() + sum(leaf_of(trees, tree, bins[:, row]) for tree in range(len(trees.leaf)))
        assert trees.fitted[0, row] == pytest.approx(said)


def test_the_first_question_is_the_best_of_all():
    bins, y = steps(n=300)
    trees, slope = boost(bins, y, 0, 300), y[:, 0].mean() - y[:, 0]

    def gain(column, last):
        left = bins[column] <= last
        sides = [slope[left], slope[~left]]
        return -1.0 if min(map(len, sides)) < 20 else sum(side.sum() ** 2 / len(side) for side in sides)

    best = max((gain(column, last), column, last) for column in range(5) for last in range(BINS))
    assert gain(trees.column[0, 0], trees.bin[0, 0]) == pytest.approx(best[0])


def test_leaves_are_a_share_of_the_newton_step():
    bins, y = steps(n=300)
    trees = boost(bins, y, 0, 300)
    leaves = np.array([leaf_of(trees, 0, row) for row in bins.T])
    for leaf in np.unique(leaves):
        there = leaves == leaf
        assert there.sum() >= 20
        assert leaf == pytest.approx(RATE * (y[there] - y.mean()).mean())


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_are_predicted_by_logits(classes):
    bins, y = steps(n=800)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    fitted = boost(bins, labels, classes, 400).fitted
    chances = expit(fitted[0]) if classes == 2 else softmax(fitted, axis=0)
    assert fitted.shape == (1 if classes == 2 else classes, 800)
    right = (chances > 0.5) == labels[:, 0] if classes == 2 else chances.argmax(axis=0) == labels[:, 0]
    assert right[400:].mean() > (0.8 if classes == 2 else 0.6)


def test_a_class_that_no_row_has_is_expected_nowhere():
    bins, _ = steps(n=100)
    labels = np.tile([0.0, 1.0], 50)[:, None]
    assert softmax(boost(bins, labels, 3, 100).fitted, axis=0)[2].max() < 1e-3


def test_few_rows_have_trees_without_questions():
    bins, y = steps(n=30)
    trees = boost(bins, y, 0, 30)
    assert (trees.column == NONE).all()
    np.testing.assert_allclose(trees.fitted, y.mean())


def test_moves_are_differences_of_predictions():
    bins, y = steps(n=200)
    trees, block = boost(bins, y, 0, 200), np.array([0, 1, NONE, 0, 2])
    moves = moves_when_redrawn(trees, bins, block, 120)
    for number in range(3):
        redrawn = bins[:, :120].copy()
        redrawn[block == number] = np.roll(redrawn[block == number], -60, axis=1)
        said = [sum(leaf_of(trees, tree, row) for tree in range(len(trees.leaf))) for row in redrawn.T]
        np.testing.assert_allclose(moves[number, 0], said + y.mean() - trees.fitted[0, :120], atol=1e-5)


@pytest.mark.parametrize("turns", [1, 3])
def test_what_acts_is_followed_and_no_copy_is(turns):
    bins, y = steps(n=800)
    inputs, reads = inputs_of(bins), np.array([True, True, False, False, False])
    plain = Inputs(inputs.directions[:, :1], inputs.feature, inputs.covariates, inputs.n_seen)
    found = trees_strengths(inputs, Response(y), reads, Turns(plain, np.arange(5) % turns))
    assert (found.argmax(axis=1)[:3] == 0).all()
    assert found[:3, 0].min() > 2 * np.delete(found.ravel(), [0, 3, 6]).max()


def test_columns_of_a_group_are_redrawn_together():
    bins, y = steps(n=800)
    inputs = inputs_of(bins)
    grouped = Inputs(inputs.directions, np.array([0, 0, 1, 2, 3]), inputs.covariates, inputs.n_seen)
    found = trees_strengths(grouped, Response(y), np.ones(4, dtype=bool), Turns.together(grouped))
    assert found.shape == (4, 3)
    assert found[:2].argmax(axis=1).tolist() == [0, 0]


def test_what_a_covariate_explains_is_not_looked_for_elsewhere():
    bins, y = steps(n=800)
    inputs = inputs_of(bins[:4])
    known = np.where(bins[0] > 40, np.sign(bins[1] - 20.5), 2.0 * (bins[2] > 50))[:, None]
    told = Inputs(inputs.directions, inputs.feature, known, inputs.n_seen)
    without, beside = (
        trees_strengths(each, Response(y), np.ones(4, dtype=bool), Turns.together(each))[:3, 0]
        for each in (inputs, told)
    )
    assert (beside < 0.3 * without).all()


def test_trees_are_weighed_among_features_that_mean_nothing():
    """In xor no single question tells anything, so among many columns trees find nothing, and have no weight there."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 120))
    y = np.sign(x[:, 0] * x[:, 1]) + 0.1 * rng.standard_normal(400)
    values = np.concatenate([x.T[:, None], rng.uniform(-1, 1, (120, 2, 400))], axis=1).astype(np.float32)
    inputs = Inputs(values, np.arange(120), np.empty((400, 0)), 400)
    alone, company = (
        fit_half(inputs, Response(y[:, None] / y.std()), Engine(), 0, 0, Weights(0, 1), count) for count in (0, 120)
    )
    assert Unseen((company,)).weights().trees < 0.1 < Unseen((alone,)).weights().trees


def test_rows_that_are_held_out_do_not_change_what_trees_learn():
    bins, y = steps(n=400)
    inputs, spoilt = inputs_of(bins, copies=0, n_seen=300), y.copy()
    spoilt[300:] = 99.0
    one, other = (outputs_of_trees(inputs, Response(each), np.ones(5, dtype=bool)) for each in (y, spoilt))
    np.testing.assert_array_equal(one, other)


def test_bins_of_normal_scores_are_alike_in_size():
    scores = np.random.default_rng(0).standard_normal(64_000).astype(np.float32)
    counts = np.bincount(np.searchsorted(EDGES, scores), minlength=BINS)
    assert counts.min() > 850
    assert counts.max() < 1150
