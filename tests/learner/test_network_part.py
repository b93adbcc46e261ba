"""Networks beside the sparse part: who reads what, what they find, and what they say beyond lines."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from builders import dense_problem, random_networks, simultaneous_inputs
from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network import Network
from neuralmirror.learner.network_part import Readers, Turns, fit_readers, further_features
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.perceptron import Goal, fit_network, fit_networks
from neuralmirror.learner.stacking import learn
from neuralmirror.learner.training import Recipe, add_prior, squared_loss, train
from neuralmirror.learner.weighing import Weights, fit_half

NETWORK = Network().suited_to("auto")


def inputs_of(x, copies=2, n_seen=None, seed=1):
    """X with copies that are independent of everything, and X alone."""
    values = np.random.default_rng(seed).standard_normal((x.shape[1], 1 + copies, len(x))).astype(np.float32)
    values[:, 0] = x.T
    feature, covariates = np.arange(x.shape[1]), np.empty((len(x), 0))
    n_seen = len(x) if n_seen is None else n_seen
    return Inputs(values, feature, covariates, n_seen), Inputs(values[:, :1], feature, covariates, n_seen)


# ---- who reads what ----


@pytest.mark.parametrize("count", [1, 3, 12])
def test_in_its_turn_a_feature_that_is_read_is_seen_in_all_directions_and_the_others_as_they_are(count):
    of_feature = np.arange(12) % count
    reads = np.zeros((1, 12), dtype=bool)
    reads[0, [0, 3, 4, 11]] = True
    readers = Readers.of(reads, np.zeros(count, dtype=np.intp), Turns(None, of_feature))
    assert readers.of_turn.shape == (count,)
    for turn, network in enumerate(readers.of_turn):
        np.testing.assert_array_equal(readers.reads[network], reads[0])
        np.testing.assert_array_equal(readers.mirrored[network], reads[0] & (of_feature == turn))
    without = [turn for turn in range(count) if not reads[0, of_feature == turn].any()]
    assert len(set(readers.of_turn[without])) == min(1, len(without))


def test_turns_that_find_other_features_have_networks_of_their_own():
    turns = Turns(None, np.arange(6))
    before = Readers.of(np.array([[True, True, False, False, False, False]]), np.zeros(6, dtype=np.intp), turns)
    found = np.zeros_like(before.reads)
    found[before.of_turn[4], [4, 5]] = True  # the network of the turns 2 to 5
    after = Readers.of(before.reads | found, before.of_turn, turns)
    read = {turn: np.flatnonzero(after.reads[after.of_turn[turn]]).tolist() for turn in range(6)}
    seen = {turn: np.flatnonzero(after.mirrored[after.of_turn[turn]]).tolist() for turn in range(6)}
    assert read == {0: [0, 1], 1: [0, 1], **{turn: [0, 1, 4, 5] for turn in range(2, 6)}}
    assert seen == {0: [0], 1: [1], 2: [], 3: [], 4: [4], 5: [5]}


def test_what_a_network_does_not_read_does_not_change_it():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 6))
    inputs, plain = inputs_of(x)
    reads = np.array([[True, True, True, False, False, False], [True] * 6])
    mirrored = np.array([[True, False, False, False, False, False], [False, True, False, False, False, True]])
    goal = Goal(rng.standard_normal((200, 1)))
    fit = fit_networks(inputs, plain, reads, mirrored, goal, NETWORK, 0, "cpu")
    x[:, 3:] = 7.0
    other, other_plain = inputs_of(x)
    again = fit_networks(other, other_plain, reads, mirrored, goal, NETWORK, 0, "cpu")
    np.testing.assert_array_equal(again.fitted()[0], fit.fitted()[0])
    assert fit.places.tolist() == [[0, -1], [1, 5]]
    found = fit.strengths(6)
    assert (found[[0, 1, 5]] > 0).all()
    assert not found[[2, 3, 4]].any()


def test_groups_of_columns_have_one_strength():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 5))
    feature = np.array([0, 0, 0, 1, 2])
    inputs, plain = (Inputs(one.directions, feature, one.covariates, 300) for one in inputs_of(x))
    every = np.ones((3, 3), dtype=bool)
    goal = Goal(np.tanh(x[:, :3].sum(axis=1))[:, None])
    found = fit_networks(inputs, plain, every, np.eye(3, dtype=bool), goal, NETWORK, 0, "cpu").strengths(3)
    assert found.shape == (3, 3)
    assert np.unravel_index(found.argmax(), found.shape) == (0, 0)


# ---- what they say beyond lines ----


def test_a_line_is_taken_from_what_a_network_says():
    x = np.random.default_rng(0).standard_normal((400, 4))
    inputs, _ = inputs_of(x, n_seen=300)
    y = (x[:, 0] + 0.5 * x[:, 1] ** 2)[:, None]
    fit = fit_network(inputs, Goal(y, noise=0.1), NETWORK, 0, "cpu")
    beyond = (fit.fitted() - fit.line(300))[0, :300]
    own = inputs.directions.reshape(-1, 400)[:, :300]
    assert np.abs(own @ beyond).max() < 0.05
    assert abs(beyond.mean()) < 1e-4
    whole, rest = fit.strengths(4), fit.strengths_beyond_lines(4, 300)
    assert whole[0, 0] > 0.8
    assert rest[0, 0] < 0.2
    assert rest[1, 0] == pytest.approx(whole[1, 0], rel=0.1)


# ---- what they find ----


def scan_of(x, y, read):
    inputs, plain = inputs_of(x)
    turns = Turns(plain, np.arange(x.shape[1]) % 4)
    reads = np.isin(np.arange(x.shape[1]), read)[None]
    readers = Readers.of(reads, np.zeros(4, dtype=np.intp), turns)
    goal = Goal(y, offset=np.zeros_like(y), noise=0.1)
    fit = fit_readers(inputs, turns, readers, goal, NETWORK, 0, "cpu")
    return readers, further_features(inputs, readers, fit, y - fit.fitted())


def test_a_feature_that_acts_only_with_all_the_others_is_found():
    q, hidden = dense_problem(0)
    readers, found = scan_of(q.x, q.y[:, None], np.arange(hidden))
    assert found[:, hidden].all()
    assert not (found & readers.reads).any()
    assert found[:, hidden + 1 :].mean() < 0.1


def test_of_pure_noise_about_one_direction_in_all_passes():
    rng = np.random.default_rng(0)
    passed = [scan_of(rng.standard_normal((300, 40)), rng.standard_normal((300, 1)), [0, 1, 2])[1] for _ in range(10)]
    assert np.mean([found.sum(axis=1).mean() for found in passed]) < 3


def test_networks_count_where_many_features_act_together_and_nowhere_else():
    q, hidden = dense_problem(1)
    inputs, _ = inputs_of(q.x)
    dense = learn(inputs, Response(q.y[:, None]), Engine(), 0)
    assert dense.weights["network"] > 0.5
    assert dense.explained["network"] > 0.02
    assert dense.strengths[hidden, 0] > 2 * dense.strengths[hidden, 1:].max()
    line = q.x[:, :10] @ np.linspace(0.2, 1, 10)
    straight = learn(inputs, Response((line / line.std())[:, None]), Engine(), 0)
    assert straight.weights["network"] < 0.1


def test_a_feature_is_read_in_the_direction_that_is_followed_most():
    inputs, _ = inputs_of(np.random.default_rng(0).standard_normal((50, 4)))
    grouped = replace(inputs, feature=np.array([0, 0, 1, 2]))
    found = grouped.one_direction(np.array([2, 0, 1])).directions
    assert found.shape == (4, 1, 50)
    np.testing.assert_array_equal(found[:, 0], inputs.directions[np.arange(4), [2, 2, 0, 1]])


@pytest.mark.parametrize("classes", [2, 3])
def test_networks_and_trees_are_weighed_for_classes_too(classes):
    q, _ = dense_problem(0, n=300, p=12)
    labels = np.digitize(q.y, np.quantile(q.y, np.arange(1, classes) / classes))
    inputs, _ = inputs_of(q.x)
    engine = Engine(network=Network(steps=30))
    half = fit_half(inputs, Response(labels[:, None].astype(float), classes), engine, 0, 0, Weights(1, 1))
    for change in (half.network, half.trees):
        assert change.shape == (150, 1 if classes == 2 else classes)
        assert 0 < np.abs(change).max() < 1  # differences of probabilities


def test_rows_that_are_held_out_do_not_change_what_networks_and_trees_learn():
    q, _ = dense_problem(0, n=300, p=12)
    inputs, _ = inputs_of(q.x)
    engine = Engine(network=Network(steps=30))
    half = fit_half(inputs, Response(q.y[:, None]), engine, 0, 0, Weights(1, 1))
    outcome = half.response.values.copy()
    outcome[half.inputs.n_seen :] = 9.0
    spoilt = replace(half, response=Response(outcome))
    after = spoilt.beside_it(Weights(1, 1), engine, 0, 0)
    np.testing.assert_array_equal(after.network, half.network)
    np.testing.assert_array_equal(after.trees, half.trees)


# ---- settings ----


def test_what_a_network_leaves_open_is_as_suits_the_learner():
    alone, beside = (Network(hidden_sizes=7).suited_to(learner) for learner in ("network", "auto"))
    assert (alone.activation, alone.waves, alone.shrinkage, alone.hidden_sizes) == ("silu", 8, 2.0, 7)
    assert (beside.activation, beside.waves, beside.shrinkage, beside.hidden_sizes) == ("tanh", 0, 0.0, 7)
    assert Network(activation="relu").suited_to("auto").activation == "relu"
    assert alone.suited_to("auto").get_params() == alone.get_params()  # nothing is left open
    assert Engine("network", Network(waves=2)).network.waves == 2


def test_long_tables_are_passed_over_as_often_as_short_ones():
    beside, alone = Network().suited_to("auto"), Network().suited_to("network")
    assert [beside.recipe(rows).steps for rows in (100, 1000, 4000)] == [250, 250, 1000]
    assert alone.recipe(4000).steps == 500
    assert Network(steps=20).suited_to("auto").recipe(4000).steps == 20


# ---- the prior of the weights ----


def test_the_prior_is_a_normal_law_of_all_weights():
    networks = random_networks(0, m=2, shared=3, sizes=(5, 4), own=2)
    weights = [tensor.requires_grad_() for tensor in networks.parameters()]
    law = 5 * ((networks.shared**2).sum() + (networks.own**2).sum())
    law = law + sum(weight.shape[1] * (weight**2).sum() for weight, _ in networks.layers)
    by_hand = torch.autograd.grad(0.1 * law, weights, allow_unused=True, materialize_grads=True)
    gradients = [torch.zeros_like(tensor) for tensor in weights]
    with torch.no_grad():
        add_prior(gradients, networks, torch.tensor([5.0, 5.0]), 0.1)
    torch.testing.assert_close(gradients, list(by_hand))


def test_the_more_noise_the_smaller_the_weights():
    inputs = simultaneous_inputs(n=80, p=3)
    y = inputs.own[0, :, :1]
    sizes = []
    for prior in (0.0, 0.1, 10.0):
        networks = random_networks(0, m=1, shared=0, own=6, sizes=(8,))
        fitted = train(networks, inputs, y, squared_loss, Recipe(steps=300, prior=prior), np.random.default_rng(0))
        sizes.append(float(fitted.own.norm()))
    assert sizes[0] > sizes[1] > sizes[2]
