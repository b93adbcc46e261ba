"""The optimisation loop: its parts against formulas, and what training may not do: prefer X_j to its noise."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax

from builders import individual_inputs, normal, random_networks, simultaneous_inputs
from neuralmirror.learner import training
from neuralmirror.learner.networks import Networks
from neuralmirror.learner.training import Inputs, Recipe, train
from neuralmirror.mirror.importance import IMPORTANCES, field_strengths, mirror_statistics

SHORT = Recipe(steps=30, batch_size=16, learning_rate=1e-2)
COORDINATES = ["directions", "pair"]


def response(inputs, seed=5):
    """A target (1, n, 1) that depends on the first own input and on noise."""
    x = inputs.own[:1, :, :1]
    return x + 0.3 * normal(np.random.default_rng(seed), *x.shape)


def trained(networks, inputs, targets, recipe=SHORT, loss=training.squared_loss, **options):
    """Train a copy with minibatches from a fixed seed."""
    return train(networks.to("cpu"), inputs, targets, loss, recipe, np.random.default_rng(0), **options)


def started(inputs, seed=0, outputs=1, **shape):
    """Random networks that fit the inputs, with the held rows at zero."""
    m, _, own = inputs.own.shape
    networks = random_networks(seed, m=m, shared=inputs.shared.shape[1], own=own, outputs=outputs, **shape)
    if inputs.held is not None:
        networks.shared[inputs.held, torch.arange(m)] = 0
        networks.skip_shared[torch.arange(m), inputs.held] = 0
    return networks


# ---- parts ----


@given(n=st.integers(1, 40), size=st.integers(1, 50), steps=st.integers(1, 30), seed=st.integers(0, 9))
@settings(max_examples=50, deadline=None)
def test_minibatches_pass_over_all_rows_before_any_comes_again(n, size, steps, seed):
    batches = training.minibatches(n, Recipe(steps=steps, batch_size=size), np.random.default_rng(seed))
    assert batches.shape == (steps, min(n, size))
    counts = np.bincount(batches.ravel(), minlength=n)
    assert counts.max() - counts.min() <= 1


def test_rates_fall_along_a_cosine():
    rates = training.cosine_rates(Recipe(steps=100, learning_rate=0.3))
    assert rates[0] == pytest.approx(0.3)
    assert rates[50] == pytest.approx(0.15)
    assert (np.diff(rates) < 0).all()
    assert 0 < rates[-1] < 1e-3


def test_losses_equal_their_formulas():
    rng = np.random.default_rng(0)
    f, y = normal(rng, 2, 5, 3), normal(rng, 2, 5, 3)
    labels = (y == y.amax(dim=2, keepdim=True)).double()
    zero_one = (y > 0).double()
    np.testing.assert_allclose(training.squared_loss(f, y), ((f - y) ** 2).sum(dim=2))
    chance = 1 / (1 + np.exp(-f.numpy()))
    log_likelihood = np.where(zero_one > 0, np.log(chance), np.log(1 - chance)).sum(axis=2)
    np.testing.assert_allclose(training.logistic_loss(f, zero_one), -log_likelihood)
    picked = np.take_along_axis(log_softmax(f.numpy(), axis=2), labels.argmax(dim=2)[..., None].numpy(), axis=2)
    np.testing.assert_allclose(training.softmax_loss(f, labels), -picked[..., 0])


@given(row=arrays(float, 3, elements=st.floats(-5, 5)), amount=st.floats(0, 4), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_shrinking_is_the_proximal_step_of_the_group_lasso(row, amount, seed):
    """No other point has a lower ½‖r − row‖² + amount·‖r‖."""
    shrunk = torch.from_numpy(row.copy())[None, None]
    training.shrink_rows(shrunk, torch.tensor([[amount]], dtype=torch.float64))
    best = shrunk[0, 0].numpy()

    def objective(r):
        return 0.5 * np.sum((r - row) ** 2) + amount * np.linalg.norm(r)

    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1e-1, 1.0):
        assert objective(best) <= objective(best + scale * rng.standard_normal(3)) + 1e-9
    assert objective(best) <= objective(np.zeros(3)) + 1e-9


def test_adam_takes_the_steps_of_pytorchs():
    rng = np.random.default_rng(0)
    ours, theirs = ([normal(np.random.default_rng(1), 4, 3), torch.ones(2, dtype=torch.float64)] for _ in range(2))
    adam, other = training.Adam(ours), torch.optim.Adam(theirs)
    for rate in (0.1, 0.03, 1e-3):
        gradients = tuple(normal(rng, *weights.shape) for weights in ours)
        adam.step(gradients, torch.tensor(rate))
        other.param_groups[0]["lr"] = rate
        for weights, gradient in zip(theirs, gradients, strict=True):
            weights.grad = gradient
        other.step()
    for one, another in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, another, rtol=1e-6, atol=1e-8)


def test_pairs_and_directions_are_the_same_network():
    """x⁺w⁺ + x⁻w⁻ = X(w⁺ + w⁻) + cZ(w⁺ − w⁻)."""
    rng = np.random.default_rng(0)
    networks = random_networks(0, m=2, shared=3, own=5, skip=False)  # two pairs and a covariate
    shared, x, noise, covariate = (normal(rng, *shape) for shape in [(6, 3), (2, 6, 2), (2, 6, 2), (2, 6, 1)])
    pairs = torch.stack([x + noise, x - noise], dim=3).flatten(2)
    directions = torch.stack([x, noise], dim=3).flatten(2)
    torch.testing.assert_close(
        training.from_pairs(networks, 4).perceptron(shared, torch.cat([directions, covariate], dim=2)),
        networks.perceptron(shared, torch.cat([pairs, covariate], dim=2)),
    )


# ---- group weights ----


@pytest.mark.parametrize("k", [1, 3])
def test_adaptive_weights_treat_all_directions_of_a_feature_alike(k):
    inputs = simultaneous_inputs(p=5, k=k, covariates=2, m=2)
    shared, own = training.adaptive_weights(started(inputs), inputs, SHORT)
    assert shared.shape[0] == 0
    by_feature = own[:, : 5 * (k + 1)].unflatten(1, (5, k + 1))
    torch.testing.assert_close(by_feature, by_feature[..., :1].expand_as(by_feature))
    assert len(torch.unique(by_feature)) == 2 * 5 - 1  # the largest feature of each network has the same weight
    assert not own[:, 5 * (k + 1) :].any()  # covariates are not shrunk


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_adaptive_weights_equal_the_formula(power):
    inputs = individual_inputs(p=4, k=2)
    networks, recipe = started(inputs), replace(SHORT, adapt_power=power)
    shared, own = training.adaptive_weights(networks, inputs, recipe)
    for i in range(4):
        sizes = [float(networks.shared[j, i].norm()) for j in range(4)]
        sizes.append(sum(float(networks.own[i, d].norm()) for d in range(3)))
        floor = recipe.adapt_floor
        expected = [((0.5 + floor) / (size / max(sizes) + floor)) ** power for size in sizes]
        np.testing.assert_allclose(shared[:, i], expected[:4])
        np.testing.assert_allclose(own[i], expected[4])


def test_adaptive_weights_do_not_ask_which_direction_is_large():
    inputs = simultaneous_inputs(p=3)
    networks = started(inputs)
    swapped = replace(networks, own=networks.own[:, [1, 0, 3, 2, 5, 4]])
    for a, b in zip(*(training.adaptive_weights(w, inputs, SHORT) for w in (networks, swapped)), strict=True):
        torch.testing.assert_close(a, b)


# ---- training ----


def explicit(networks, inputs, i):
    """Network i alone: X_-j beside its own pair in one matrix, with the weights it starts from."""
    others = [j for j in range(inputs.shared.shape[1]) if j != int(inputs.held[i])]
    own = torch.cat([inputs.own[i], inputs.shared[:, others]], dim=1)
    groups = torch.cat([inputs.own_group, inputs.shared_group[others]])
    empty = networks.shared[:0, i : i + 1]
    alone = Networks(
        shared=empty,
        own=torch.cat([networks.own[i], networks.shared[others, i]])[None],
        bias=networks.bias[i : i + 1],
        layers=[(weight[i : i + 1], bias[i : i + 1]) for weight, bias in networks.layers],
        skip_shared=networks.skip_shared[i : i + 1, :0],
        skip_own=torch.cat([networks.skip_own[i], networks.skip_shared[i, others]])[None],
        activation=networks.activation,
    )
    return alone, Inputs(inputs.shared[:, :0], own[None], inputs.shared_group[:0], groups)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_a_batch_of_individual_mirrors_equals_networks_trained_one_by_one(activation, coordinates):
    """The shared matrix product, the held row and the joint optimiser change nothing but speed."""
    inputs = individual_inputs(p=5)
    networks, targets = started(inputs, activation=activation), response(inputs)
    recipe = replace(SHORT, coordinates=coordinates, shrinkage=0.0 if coordinates == "pair" else 0.8)
    together, _ = trained(networks, inputs, targets, recipe)
    for i in range(5):
        alone, own_inputs = explicit(networks, inputs, i)
        if coordinates == "pair":  # only the first two inputs are a pair: mark the others as no features
            own_inputs = replace(own_inputs, own_group=torch.tensor([0, 0, -1, -1, -1, -1]))
        separately, _ = trained(alone, own_inputs, targets, recipe)
        torch.testing.assert_close(separately.own[0, :2], together.own[i])
        for name, measure in IMPORTANCES.items():
            one = measure(separately, own_inputs.shared, own_inputs.own)[0, :2]
            torch.testing.assert_close(one, measure(together, inputs.shared, inputs.own)[i], msg=name)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_exchanging_plus_and_minus_leaves_the_statistics(coordinates):
    """Z → −Z, with the starting weights of X_j^+ and X_j^- exchanged, is the same experiment."""
    inputs = simultaneous_inputs(p=4)
    networks, targets = started(inputs), response(inputs)
    if coordinates == "pair":  # rows (w⁺, w⁻) change places
        own = networks.own.unflatten(1, (4, 2)).flip(2).flatten(1, 2)
    else:  # u = w⁺ + w⁻ stays, v = w⁺ − w⁻ changes sign
        own = networks.own * torch.tensor([1.0, -1.0] * 4, dtype=torch.float64)[:, None]
    signs = torch.tensor([1.0, -1.0] * 4, dtype=torch.float64)
    exchanged = replace(networks, own=own, skip_own=networks.skip_own * signs[:, None])
    other_inputs = replace(inputs, own=inputs.own * signs)
    recipe = replace(SHORT, coordinates=coordinates)
    for name, measure in IMPORTANCES.items():
        statistics = []
        for start, seen in ((networks, inputs), (exchanged, other_inputs)):
            fitted, _ = trained(start, seen, targets, recipe)
            strengths = measure(fitted, seen.shared, seen.own).unflatten(1, (4, 2))
            statistics.append(mirror_statistics(strengths.numpy()))
        np.testing.assert_allclose(*statistics, rtol=1e-9, err_msg=name)


def test_exchanging_a_null_feature_with_its_noise_flips_its_statistic():
    """The two directions of a feature play the same part in everything that training does."""
    inputs = simultaneous_inputs(p=4)
    networks, targets = started(inputs), response(inputs)
    order = [0, 1, 3, 2, 4, 5, 6, 7]  # feature 1 and its noise
    swapped = replace(networks, own=networks.own[:, order], skip_own=networks.skip_own[:, order])
    fits = []
    for start, seen in ((networks, inputs), (swapped, replace(inputs, own=inputs.own[..., order]))):
        fitted, _ = trained(start, seen, targets)
        fits.append(mirror_statistics(field_strengths(fitted, seen.shared, seen.own).unflatten(1, (4, 2)).numpy()))
    np.testing.assert_allclose(fits[1], fits[0] * [1, -1, 1, 1], rtol=1e-9)


def test_networks_of_a_batch_do_not_influence_each_other():
    inputs = simultaneous_inputs(p=3, m=3)
    networks, targets = started(inputs), response(inputs)
    together, curves = trained(networks, inputs, targets.expand(3, -1, -1))
    alone, curve = trained(networks.select(torch.tensor([1])), replace(inputs, own=inputs.own[1:2]), targets)
    torch.testing.assert_close(alone.own[0], together.own[1])
    torch.testing.assert_close(curve[0], curves[1])


@pytest.mark.parametrize("loss", [training.squared_loss, training.logistic_loss, training.softmax_loss])
@pytest.mark.parametrize("activation", ["relu", "tanh", "silu", "sigmoid"])
def test_training_lowers_the_loss(loss, activation):
    inputs = simultaneous_inputs(n=80, p=3)
    outputs = 3 if loss is training.softmax_loss else 1
    targets = response(inputs)
    if loss is training.logistic_loss:
        targets = (targets > 0).double()
    elif outputs == 3:
        targets = torch.cat([targets < -0.5, (targets >= -0.5) & (targets < 0.5), targets >= 0.5], dim=2).double()
    recipe = replace(SHORT, steps=200, shrinkage=0.0)
    networks = started(inputs, outputs=outputs, activation=activation, skip=False, sizes=(8, 4, 4))
    fitted, curve = trained(networks, inputs, targets, recipe, loss)
    before, after = (loss(f(inputs.shared, inputs.own), targets).mean() for f in (networks, fitted))
    assert float(after) < 0.8 * float(before)
    assert curve.shape == (1, 50)


def test_the_held_row_stays_zero():
    inputs = individual_inputs(p=4)
    fitted, _ = trained(started(inputs), inputs, response(inputs))
    held = fitted.shared[torch.arange(4), torch.arange(4)]
    assert not held.any()
    assert fitted.shared.any()


def test_strong_shrinkage_leaves_exactly_the_covariates():
    inputs = simultaneous_inputs(p=3, covariates=2)
    fitted, _ = trained(started(inputs), inputs, response(inputs), replace(SHORT, shrinkage=1e3))
    assert not fitted.own[:, :6].any()
    assert fitted.own[:, 6:].any(dim=2).all()


def test_training_does_not_touch_the_skip():
    inputs = simultaneous_inputs(p=3)
    networks = started(inputs, curve=True)
    fitted, _ = trained(networks, inputs, response(inputs))
    torch.testing.assert_close(fitted.skip_own, networks.skip_own, rtol=0, atol=0)
    torch.testing.assert_close(fitted.curve_own, networks.curve_own, rtol=0, atol=0)


@pytest.mark.parametrize("curve", [False, True])
def test_the_perceptron_learns_what_the_skip_leaves(curve):
    """Training beside a skip is training without one on targets less its values."""
    inputs = individual_inputs(p=3)
    networks, targets = started(inputs, curve=curve), response(inputs)
    bare = started(inputs, skip=False)
    beside, _ = trained(networks, inputs, targets)
    rest = targets - training.skip_values(networks, inputs)
    for i in range(3):
        one = replace(inputs, own=inputs.own[i : i + 1], held=inputs.held[i : i + 1])
        alone, _ = trained(bare.select(torch.tensor([i])), one, rest[i : i + 1])
        torch.testing.assert_close(alone.own[0], beside.own[i])


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_perceptron_learns_in_its_unit_and_answers_in_that_of_the_targets(coordinates):
    """Adam and the shrinkage do not know the scale of a loss, so only the scale of the targets tells a unit."""
    inputs = simultaneous_inputs(p=3, m=2)
    networks, targets = started(inputs, skip=False), response(inputs).expand(2, -1, -1)
    unit, recipe = torch.tensor([0.01, 3.0], dtype=torch.float64), replace(SHORT, coordinates=coordinates)
    small, _ = trained(networks, inputs, targets, recipe)
    large, _ = trained(networks, inputs, unit[:, None, None] * targets, recipe, unit=unit)
    one, other = (training.perceptron_values(f, inputs) for f in (small, large))
    torch.testing.assert_close(other, unit[:, None, None] * one, rtol=1e-3, atol=1e-3 * float(unit.max()))
    torch.testing.assert_close(other[0], unit[0] * one[0], rtol=1e-2, atol=1e-4)


# ---- several networks for one data set ----


def test_networks_of_one_source_see_its_rows_and_targets():
    inputs = simultaneous_inputs(n=12, p=2, m=2)
    source, index = torch.tensor([1, 0, 1]), torch.tensor([3, 3, 7, 0])
    shared, own = replace(inputs, source=source).rows(index)
    assert shared.shape == (4, 0)
    for network, d in enumerate(source):
        torch.testing.assert_close(own[network], inputs.own[d][index], rtol=0, atol=0)
    torch.testing.assert_close(inputs.rows(index)[1], inputs.own[:, index], rtol=0, atol=0)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("source", [[1, 0, 1, 1], [0, 0, 0, 0]], ids=str)
def test_a_source_is_a_repeated_data_set(source, early_stopping):
    sets, source = max(source) + 1, torch.tensor(source)
    inputs = simultaneous_inputs(p=3, m=sets)
    targets = torch.cat([response(inputs, seed) for seed in range(sets)])
    networks = random_networks(m=4, shared=0, own=6, curve=True)
    weights = torch.ones(4, 40, dtype=torch.float64)
    weights[torch.arange(4), torch.arange(4)] = 0
    options = {"row_weights": weights, "early_stopping": early_stopping}
    once, curve = trained(networks, replace(inputs, source=source), targets, **options)
    again, repeated = trained(networks, replace(inputs, own=inputs.own[source]), targets[source], **options)
    torch.testing.assert_close(once.own, again.own)
    torch.testing.assert_close(curve, repeated)


@pytest.mark.parametrize("given", [individual_inputs(p=3), simultaneous_inputs(p=3, m=3)], ids=["shared", "own"])
def test_networks_of_one_batch_may_be_shrunk_differently(given):
    networks, targets, amounts = started(given), response(given), [0.0, 0.8, 3.0]
    each = torch.tensor(amounts, dtype=torch.float64)
    together, _ = trained(networks, given, targets, recipe=replace(SHORT, shrinkage=0.0), shrinkage=each)
    for i, amount in enumerate(amounts):
        alone, _ = trained(networks, given, targets, recipe=replace(SHORT, shrinkage=amount))
        torch.testing.assert_close(together.own[i], alone.own[i])
        torch.testing.assert_close(together.shared[:, i], alone.shared[:, i])


@pytest.mark.parametrize("given", [individual_inputs(p=5), simultaneous_inputs(p=3, m=5)], ids=["shared", "own"])
@pytest.mark.parametrize("common", [True, False])
def test_networks_that_share_no_cache_are_trained_in_turn(given, common, monkeypatch):
    """In parts of any size, with one data set for all or one each; the last step of progress ends the last part."""
    targets = response(given) if common else torch.cat([response(given, seed) for seed in range(5)])
    weights, unit = torch.ones(5, 40, dtype=torch.float64), torch.arange(1.0, 6.0, dtype=torch.float64)
    weights[torch.arange(5), torch.arange(5)] = 0
    options, networks = {"row_weights": weights, "unit": unit, "early_stopping": True}, started(given)
    options["shrinkage"] = unit / 5
    whole, curves = trained(networks, given, targets, **options)
    each = sum(4 * 8 * tensor.numel() for tensor in networks.parameters()) // 5
    for at_once in (1, 2):
        monkeypatch.setattr(training, "CACHE", at_once * each)
        told = []
        parts, part_curves = trained(networks, given, targets, **options, tick=told.append)
        for one, other in zip(parts.parameters(), whole.parameters(), strict=True):
            torch.testing.assert_close(one, other)
        torch.testing.assert_close(part_curves, curves)
        assert told == [1] * SHORT.steps


@pytest.mark.parametrize("rows", [7, 4096])
def test_values_do_not_depend_on_blocks_of_rows(rows, monkeypatch):
    monkeypatch.setattr(training, "ROWS", rows)
    inputs = individual_inputs(p=3)
    networks = started(inputs, curve=True)
    skip, perceptron = training.skip_values(networks, inputs), training.perceptron_values(networks, inputs)
    torch.testing.assert_close(skip, networks.skip(inputs.shared, inputs.own))
    torch.testing.assert_close(skip + perceptron, networks(inputs.shared, inputs.own))


# ---- held-out rows ----


def test_rows_of_weight_zero_are_not_learned_from():
    inputs = simultaneous_inputs(n=40, p=3)
    networks, targets = started(inputs), response(inputs)
    weights = torch.ones(1, 40, dtype=torch.float64)
    weights[:, ::5] = 0
    other = targets.clone()
    other[:, ::5] += 100
    one, another = (trained(networks, inputs, t, row_weights=weights)[0] for t in (targets, other))
    torch.testing.assert_close(one.own, another.own, rtol=0, atol=0)


def test_held_out_loss_is_the_mean_over_rows_of_weight_zero():
    inputs = simultaneous_inputs(n=10, p=2, m=2)
    networks, targets = started(inputs), response(inputs)
    weights = torch.ones(2, 10, dtype=torch.float64)
    weights[0, :3] = 0
    weights[1, 4:6] = 0
    losses = training.squared_loss(networks(inputs.shared, inputs.own), targets)
    held_out = training.held_out_loss(networks, inputs, targets, training.squared_loss, weights)
    torch.testing.assert_close(held_out, torch.stack([losses[0, :3].mean(), losses[1, 4:6].mean()]))


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_early_stopping_keeps_the_best_held_out_loss(coordinates):
    """On pure noise a free network overfits, so its best weights lie before its last."""
    inputs = simultaneous_inputs(n=40, p=6, m=2)
    targets = normal(np.random.default_rng(3), 1, 40, 1).expand(2, -1, -1)
    weights = torch.ones(2, 40, dtype=torch.float64)
    weights[:, 30:] = 0
    recipe = Recipe(steps=150, batch_size=40, learning_rate=1e-2, shrinkage=0.0, coordinates=coordinates)
    networks = started(inputs, skip=False)
    held_out = []
    for stop in (False, True):
        fitted, _ = trained(networks, inputs, targets, recipe, row_weights=weights, early_stopping=stop)
        held_out.append(training.held_out_loss(fitted, inputs, targets, training.squared_loss, weights))
    assert (held_out[1] < 0.9 * held_out[0]).all()


def test_progress_is_told_at_every_step():
    inputs, told = simultaneous_inputs(), []
    trained(started(inputs), inputs, response(inputs), tick=told.append)
    assert told == [1] * SHORT.steps
