"""The optimisation loop: its parts against formulas, and what training may not do: prefer X_j to its opponents."""

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
from neuralmirror.learner.importance import gradient_strengths, path_strengths, redraw_strengths
from neuralmirror.learner.networks import Networks
from neuralmirror.learner.training import NetworkInputs, Recipe, train

SHORT = Recipe(steps=30, batch_size=16, learning_rate=1e-2, shrinkage=0.8)
PAIRS = replace(SHORT, mirrored_pairs=True, shrinkage=0.0)
MEASURES = [path_strengths, gradient_strengths, redraw_strengths]


def response(inputs, seed=5):
    """A target (n, 1) that depends on the first own input and on noise."""
    x = inputs.own[0, :, :1]
    return x + 0.3 * normal(np.random.default_rng(seed), *x.shape)


def trained(networks, inputs, targets, recipe=SHORT, loss=training.squared_loss, **options):
    """Train a copy with minibatches from a fixed seed."""
    return train(networks.copy(), inputs, targets, loss, recipe, np.random.default_rng(0), **options)


def started(inputs, seed=0, outputs=1, **shape):
    """Random networks that fit the inputs, with the held rows at zero."""
    m, _, own = inputs.own.shape
    networks = random_networks(seed, m=m, shared=inputs.shared.shape[1], own=own, outputs=outputs, **shape)
    if inputs.reads is not None:
        networks.shared.mul_(inputs.reads[..., None])
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
    f, y = normal(rng, 2, 5, 3), normal(rng, 5, 3)
    labels, zero_one = (y == y.amax(dim=1, keepdim=True)).double(), (y > 0).double()
    np.testing.assert_allclose(training.squared_loss(f, y), ((f - y) ** 2).sum(dim=2).mean(dim=1))
    chance = 1 / (1 + np.exp(-f.numpy()))
    log_likelihood = np.where(zero_one > 0, np.log(chance), np.log(1 - chance)).sum(axis=2)
    np.testing.assert_allclose(training.logistic_loss(f, zero_one), -log_likelihood.mean(axis=1))
    picked = log_softmax(f.numpy(), axis=2)[:, np.arange(5), labels.argmax(dim=1).numpy()]
    np.testing.assert_allclose(training.softmax_loss(f, labels), -picked.mean(axis=1))


@given(block=arrays(float, (2, 3), elements=st.floats(-5, 5)), amount=st.floats(0, 4), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_shrinking_is_the_proximal_step_of_the_group_lasso(block, amount, seed):
    """No other point has a lower ½‖r − block‖² + amount·‖r‖, for the rows of a direction together."""
    shrunk = torch.from_numpy(block.copy())[None]
    inputs = NetworkInputs(torch.empty(0), torch.empty(0), torch.tensor([0, 0]), torch.tensor([0]))
    training.shrink_blocks(shrunk, inputs, torch.tensor([amount]))
    best = shrunk[0].numpy()

    def objective(r):
        return 0.5 * np.sum((r - block) ** 2) + amount * np.linalg.norm(r)

    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1e-1, 1.0):
        assert objective(best) <= objective(best + scale * rng.standard_normal((2, 3))) + 1e-9
    assert objective(best) <= objective(np.zeros((2, 3))) + 1e-9


def test_adam_takes_the_steps_of_pytorchs():
    rng = np.random.default_rng(0)
    ours, theirs = ([normal(np.random.default_rng(1), 4, 3), torch.ones(2, dtype=torch.float64)] for _ in range(2))
    adam, other = training.Adam(ours), torch.optim.Adam(theirs)
    for rate in (0.1, 0.03, 1e-3):
        gradients = tuple(normal(rng, *weights.shape) for weights in ours)
        adam.step(gradients, rate)
        other.param_groups[0]["lr"] = rate
        for weights, gradient in zip(theirs, gradients, strict=True):
            weights.grad = gradient
        other.step()
    for one, another in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, another, rtol=1e-6, atol=1e-8)


def test_pairs_and_directions_are_the_same_network():
    """x⁺w⁺ + x⁻w⁻ = X(w⁺ + w⁻) + cZ(w⁺ − w⁻)."""
    rng = np.random.default_rng(0)
    networks = random_networks(0, m=2, shared=3, own=5)  # two pairs and a covariate
    shared, x, noise, covariate = (normal(rng, *shape) for shape in [(6, 3), (2, 6, 2), (2, 6, 2), (2, 6, 1)])
    pairs = torch.stack([x + noise, x - noise], dim=3).flatten(2)
    directions = torch.stack([x, noise], dim=3).flatten(2)
    torch.testing.assert_close(
        training.from_pairs(networks, 4)(shared, torch.cat([directions, covariate], dim=2)),
        networks(shared, torch.cat([pairs, covariate], dim=2)),
    )


# ---- group shrinkage ----


def test_directions_that_say_nothing_are_shrunk_to_zero_and_the_others_are_followed():
    """Adam's own steps would keep all of them: it makes as much of a small gradient as of a large one."""
    inputs = simultaneous_inputs(p=12, k=3, n=400)
    targets = response(inputs) - inputs.own[0, :, 9:10]  # X_0, a copy of X_2, and noise
    fitted = trained(started(inputs), inputs, targets, Recipe(steps=600, shrinkage=2.0, learning_rate=1e-2))
    norms = training.block_norms(fitted.own, inputs)[0, :-1]
    assert set(norms.argsort(descending=True)[:2].tolist()) == {0, 9}
    assert (norms == 0).sum() > 24


def test_all_directions_are_shrunk_alike():
    """In another order of the blocks the same steps are taken in that order."""
    rng = np.random.default_rng(0)
    inputs = simultaneous_inputs(p=3, k=1, covariates=0, m=2)
    order = torch.from_numpy(rng.permutation(6))
    rows = normal(rng, 2, 6, 4)
    one, another = (training.ShrunkenBlocks(start.clone(), inputs, 1.5) for start in (rows, rows[:, order]))
    for rate in (0.1, 0.03, 0.01):
        gradient = normal(rng, 2, 6, 4)
        one.step(gradient, rate)
        another.step(gradient[:, order], rate)
    torch.testing.assert_close(one.rows[:, order], another.rows)


# ---- training ----


def explicit(networks, inputs, i):
    """Network i alone: its own directions, and X_-j without the column that is held at zero."""
    others = [j for j in range(inputs.shared.shape[1]) if inputs.reads[j, i]]
    alone = Networks(
        shared=networks.shared[others, i : i + 1],
        own=networks.own[i : i + 1],
        bias=networks.bias[i : i + 1],
        layers=[(weight[i : i + 1], bias[i : i + 1]) for weight, bias in networks.layers],
        activation=networks.activation,
    )
    seen = replace(inputs, shared=inputs.shared[:, others], own=inputs.own[i : i + 1], reads=None)
    return alone, seen


@pytest.mark.parametrize("recipe", [SHORT, PAIRS], ids=["directions", "pairs"])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_a_batch_of_individual_mirrors_equals_networks_trained_one_by_one(activation, recipe):
    """The shared matrix product, the held row and the joint optimiser change nothing but speed."""
    inputs = individual_inputs(p=5)
    networks, targets = started(inputs, activation=activation), response(inputs)
    together = trained(networks, inputs, targets, recipe)
    for i in range(5):
        alone, own_inputs = explicit(networks, inputs, i)
        separately = trained(alone, own_inputs, targets, recipe)
        torch.testing.assert_close(separately.own[0, :2], together.own[i])
        for measure in MEASURES:
            torch.testing.assert_close(measure(separately, own_inputs)[0], measure(together, inputs)[i])


@pytest.mark.parametrize("recipe", [SHORT, PAIRS], ids=["directions", "pairs"])
def test_exchanging_plus_and_minus_leaves_the_strengths(recipe):
    """Z → −Z, with the starting weights of X_j^+ and X_j^- exchanged, is the same experiment."""
    inputs = simultaneous_inputs(p=4)
    networks, targets = started(inputs), response(inputs)
    signs = torch.tensor([1.0, -1.0] * 4, dtype=torch.float64)
    # Rows (w⁺, w⁻) change places; w⁺ + w⁻ stays and w⁺ − w⁻ changes sign.
    pairs = networks.own.unflatten(1, (4, 2)).flip(2).flatten(1, 2)
    turned = replace(networks, own=pairs if recipe.mirrored_pairs else networks.own * signs[:, None])
    other_inputs = replace(inputs, own=inputs.own * signs)
    for measure in MEASURES:
        before = measure(trained(networks, inputs, targets, recipe), inputs)
        after = measure(trained(turned, other_inputs, targets, recipe), other_inputs)
        torch.testing.assert_close(after, before)


@pytest.mark.parametrize("loss", [training.squared_loss, training.logistic_loss, training.softmax_loss])
@pytest.mark.parametrize("activation", ["relu", "tanh", "silu", "sigmoid"])
def test_training_lowers_the_loss(loss, activation):
    inputs = simultaneous_inputs(n=80, p=3)
    outputs = 3 if loss is training.softmax_loss else 1
    targets = response(inputs)
    if loss is training.logistic_loss:
        targets = (targets > 0).double()
    elif outputs == 3:
        targets = torch.cat([targets < -0.5, (targets >= -0.5) & (targets < 0.5), targets >= 0.5], dim=1).double()
    networks = started(inputs, outputs=outputs, activation=activation, sizes=(8, 4, 4))
    fitted = trained(networks, inputs, targets, replace(SHORT, steps=200, shrinkage=0.0), loss)
    before, after = (loss(f(inputs.shared, inputs.own), targets).mean() for f in (networks, fitted))
    assert float(after) < 0.8 * float(before)


def test_the_held_row_stays_zero():
    inputs = individual_inputs(p=4)
    fitted = trained(started(inputs), inputs, response(inputs))
    assert not fitted.shared[torch.arange(4), torch.arange(4)].any()
    assert fitted.shared.any()


def test_strong_shrinkage_leaves_exactly_the_covariates():
    inputs = simultaneous_inputs(p=3, covariates=2)
    fitted = trained(started(inputs), inputs, response(inputs), replace(SHORT, shrinkage=1e3))
    assert not fitted.own[:, :6].any()
    assert fitted.own[:, 6:].any(dim=2).all()


@pytest.mark.parametrize("pairs", [False, True])
def test_early_stopping_keeps_the_best_held_out_loss(pairs):
    """On pure noise a free network overfits, so its best weights lie before its last."""
    inputs = simultaneous_inputs(n=60, p=6)
    targets = normal(np.random.default_rng(3), 60, 1)
    recipe = Recipe(steps=150, batch_size=40, learning_rate=1e-2, mirrored_pairs=pairs)
    rng = np.random.default_rng(0)
    kept = rng.permutation(60)[:48]
    rows = np.setdiff1d(np.arange(60), kept)
    seen = replace(inputs, shared=inputs.shared[kept], own=inputs.own[:, kept])
    last = train(started(inputs), seen, targets[kept], training.squared_loss, recipe, rng)
    best = trained(started(inputs), inputs, targets, replace(recipe, early_stopping=True))
    loss_of_last, loss_of_best = (
        float(training.squared_loss(fitted(inputs.shared[rows], inputs.own[:, rows]), targets[rows]))
        for fitted in (last, best)
    )
    assert loss_of_best < 0.9 * loss_of_last


def test_early_stopping_is_each_networks_own():
    """A network's weights do not depend on those that are trained beside it."""
    inputs = individual_inputs(p=3)
    networks, targets = started(inputs), response(inputs)
    recipe = replace(SHORT, early_stopping=True, steps=60)
    together = trained(networks, inputs, targets, recipe)
    for i in range(3):
        alone, own_inputs = explicit(networks, inputs, i)
        torch.testing.assert_close(trained(alone, own_inputs, targets, recipe).own[0, :2], together.own[i])


def test_progress_is_told_at_every_step():
    inputs, told = simultaneous_inputs(), []
    trained(started(inputs), inputs, response(inputs), tick=told.append)
    assert told == [1] * SHORT.steps
