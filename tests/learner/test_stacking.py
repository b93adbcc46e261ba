"""Judged ensembles: which rows a judge sees, how much is believed, and that all directions play one part."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from builders import normal, random_networks, simultaneous_inputs
from neuralmirror.learner import stacking, training
from neuralmirror.learner.training import Recipe, train
from neuralmirror.mirror.importance import field_strengths

SHORT = Recipe(steps=40, batch_size=32, learning_rate=1e-2, shrinkage=0.3)
LONG = replace(SHORT, steps=300, batch_size=64)


def starts_of(inputs, **shape):
    """Fresh networks from a problem's number and a member's; those of one problem share its skip."""
    options = {"m": 1, "shared": 0, "own": inputs.own.shape[2], "sizes": (12,), "skip": False, **shape}

    def one(problem, member):
        first, drawn = (random_networks(10 * int(problem) + number, **options) for number in (0, member))
        return replace(drawn, skip_own=first.skip_own, curve_own=first.curve_own)

    return lambda problems, member: stacking.Networks.cat([one(problem, member) for problem in problems])


def fit_ensembles(
    inputs, targets, members=3, recipe=SHORT, shrinkages=None, loss=training.squared_loss, starts=None, log=None
):
    """Train with one order of minibatches, by one shrinkage or several; `log` collects what a fit saw and returned."""

    def fit(networks, seen, row_weights, shrinkage):
        weights = None if row_weights is None else row_weights.expand(len(networks), -1)
        fitted, curve = train(
            networks.to("cpu"),
            seen,
            targets,
            loss,
            recipe,
            np.random.default_rng(0),
            row_weights=weights,
            shrinkage=shrinkage,
        )
        if log is not None:
            log.append((fitted, seen, weights))
        return fitted, curve

    return stacking.fit_ensembles(
        starts or starts_of(inputs),
        fit,
        shrinkages or [recipe.shrinkage],
        inputs,
        targets,
        loss,
        members,
        np.random.default_rng(1),
        members > 1,
    )


def learnable(inputs, seed=5):
    """A product of two features, of which no line knows anything, and a little noise: (1, n, 1)."""
    x = inputs.own[:1, :, 0] * inputs.own[:1, :, 2]
    return (x + 0.1 * normal(np.random.default_rng(seed), *x.shape))[..., None]


def noise(inputs, seed=6):
    return normal(np.random.default_rng(seed), 1, inputs.own.shape[1], 1)


@pytest.fixture
def all_learned(monkeypatch):
    """Members are trained, and believed a little more than half, whatever a judge finds."""

    def judge(networks, *_):
        return stacking.Judgement(*(np.full(len(networks), value) for value in (0.6, 1.0, 0.0)))

    monkeypatch.setattr(stacking, "judge", judge)


# ---- which rows ----


@pytest.mark.parametrize("n", [10, 11, 57])
def test_one_part_of_the_rows_is_held_out(n):
    kept = stacking.part_kept(torch.zeros(2, n, 1), np.random.default_rng(0))
    assert kept.shape == (n,)
    assert set(kept.unique().tolist()) == {0.0, 1.0}
    assert abs(float((1 - kept).sum()) - n / stacking.PARTS) < 1
    assert not torch.equal(kept, stacking.part_kept(torch.zeros(2, n, 1), np.random.default_rng(1)))


def test_a_judge_never_sees_the_rows_it_is_judged_on():
    inputs, log, again = simultaneous_inputs(p=3), [], []
    targets = learnable(inputs)
    fit_ensembles(inputs, targets, log=log)
    first, _, kept = log[0]
    changed = targets.clone()
    changed[:, kept[0] == 0] += 100
    fit_ensembles(inputs, changed, log=again)
    for one, other in zip(first.parameters(), again[0][0].parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_members_are_fresh_networks_trained_on_all_rows(all_learned):
    inputs, log, starts = simultaneous_inputs(p=3, m=2), [], starts_of(simultaneous_inputs(p=3, m=2))
    drawn = []

    def noted(problems, member):
        drawn.append((problems.tolist(), member))
        return starts(problems, member)

    fit_ensembles(inputs, noise(inputs).expand(2, -1, -1), members=3, starts=noted, log=log)
    assert drawn == [([0, 1], 0), ([0, 1], 1), ([0, 1], 2), ([0, 1], 3)]  # the judge is no member
    _, (members, seen, weights) = log
    assert weights is None
    assert len(members) == 6
    assert seen.source.tolist() == [0, 1, 0, 1, 0, 1]


def test_a_single_member_sees_all_rows_and_is_believed():
    inputs, log = simultaneous_inputs(p=3), []
    (one,), _ = fit_ensembles(inputs, noise(inputs), members=1, shrinkages=[0.3, 0.6], log=log)
    assert len(log) == 1
    assert log[0][2] is None
    assert one.beliefs.tolist() == [1.0]
    for tensor, other in zip(one.networks.parameters(), log[0][0].parameters(), strict=True):
        torch.testing.assert_close(tensor, other)


# ---- how much is believed ----


def test_losses_by_belief_go_from_the_skip_to_the_whole_network():
    inputs = simultaneous_inputs(p=3, m=2)
    networks, targets = random_networks(m=2, shared=0, own=6, curve=True), noise(inputs).expand(2, -1, -1)
    losses = stacking.losses_by_belief(networks, inputs, targets, training.squared_loss)
    assert losses.shape == (2, len(stacking.BELIEFS), 40)
    skip = training.squared_loss(networks.skip(inputs.shared, inputs.own), targets)
    whole = training.squared_loss(networks(inputs.shared, inputs.own), targets)
    torch.testing.assert_close(losses[:, 0], skip)
    torch.testing.assert_close(losses[:, -1], whole)
    middle = len(stacking.BELIEFS) // 2
    assert float(stacking.BELIEFS[middle]) == pytest.approx(0.5)
    half = networks.scaled(torch.full((2,), 0.5, dtype=torch.float64))
    torch.testing.assert_close(losses[:, middle], training.squared_loss(half(inputs.shared, inputs.own), targets))


def test_a_judgement_is_the_best_drop_of_the_held_out_loss():
    inputs = simultaneous_inputs(p=3, m=2)
    networks, targets = random_networks(m=2, shared=0, own=6), learnable(inputs).expand(2, -1, -1)
    kept = torch.ones(40, dtype=torch.float64)
    kept[:15] = 0
    found = stacking.judge(networks, inputs, targets, training.squared_loss, kept)
    skip, perceptron = (f(networks, inputs)[:, :15, 0] for f in (training.skip_values, training.perceptron_values))
    for i in range(2):
        rest = (skip[i] - targets[i, :15, 0]).numpy()
        drops = [rest**2 - (rest + float(b) * perceptron[i].numpy()) ** 2 for b in stacking.BELIEFS]
        best = int(np.argmax([drop.mean() for drop in drops]))
        assert found.belief[i] == pytest.approx(float(stacking.BELIEFS[best]))
        assert found.gain[i] == pytest.approx(drops[best].mean())
        assert found.error[i] == pytest.approx(drops[best].std() / np.sqrt(15), rel=0.05)
    assert (found.gain >= 0).all()


def test_a_perceptron_that_fits_noise_is_not_believed():
    """Ten networks on pure noise: two standard errors are exceeded once in 44, all the more rarely by an overfit."""
    inputs = simultaneous_inputs(n=60, p=3, m=10)
    targets = torch.cat([noise(inputs, seed) for seed in range(10)])
    beliefs = np.full(10, np.nan)
    for part in fit_ensembles(inputs, targets, members=2)[0]:
        beliefs[part.problems] = part.beliefs
    assert np.count_nonzero(beliefs) <= 2


def test_a_perceptron_that_predicts_unseen_rows_is_believed():
    inputs = simultaneous_inputs(n=300, p=3)
    (one,), _ = fit_ensembles(inputs, learnable(inputs), recipe=LONG)
    assert one.beliefs[0] >= 0.8


@pytest.mark.parametrize("loss", [training.logistic_loss, training.softmax_loss])
def test_classes_are_believed_and_doubted_too(loss):
    inputs = simultaneous_inputs(n=300, p=3)
    labels = torch.cat([learnable(inputs), noise(inputs)]) > 0  # (2, n, 1)
    targets = torch.cat([labels, ~labels], dim=2).double() if loss is training.softmax_loss else labels.double()
    both = replace(inputs, own=inputs.own.repeat(2, 1, 1))
    starts = starts_of(both, outputs=targets.shape[2])
    parts, _ = fit_ensembles(both, targets, members=2, recipe=LONG, loss=loss, starts=starts)
    beliefs = {int(i): b for part in parts for i, b in zip(part.problems, part.beliefs, strict=True)}
    assert beliefs[0] > 0.3
    assert beliefs[1] == 0


def test_where_the_judge_has_learned_nothing_a_trace_of_it_stays():
    inputs, log = simultaneous_inputs(n=60, p=3), []
    (one,), curve = fit_ensembles(inputs, noise(inputs), log=log)
    assert len(log) == 1
    assert one.beliefs.tolist() == [0.0]
    judge = training.perceptron_values(log[0][0], inputs)
    torch.testing.assert_close(training.perceptron_values(one.networks, inputs), stacking.LEAST_BELIEF * judge)
    assert len(curve) == 1


@pytest.mark.parametrize("sizes", [(6,), (6, 4)])
def test_an_ensemble_is_its_skip_and_the_believed_mean_of_its_members(sizes, all_learned):
    inputs, log = simultaneous_inputs(n=100, p=3, m=2), []
    targets = learnable(inputs).expand(2, -1, -1)
    (one,), _ = fit_ensembles(inputs, targets, starts=starts_of(inputs, sizes=sizes, skip=True, curve=True), log=log)
    members, seen, _ = log[-1]
    mean = training.perceptron_values(members, seen).unflatten(0, (3, 2)).mean(dim=0)
    share = torch.from_numpy(one.beliefs)[:, None, None]
    torch.testing.assert_close(training.perceptron_values(one.networks, inputs), share * mean)
    torch.testing.assert_close(training.skip_values(one.networks, inputs), training.skip_values(log[0][0], inputs))


# ---- several shrinkages ----


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_shrinkage_that_predicts_unseen_rows_best_is_taken(order):
    """One judge learns, the other has no rows left: whatever their order, every member is shrunk as the first."""
    shrinkages = [LONG.shrinkage, 1e6]
    inputs = simultaneous_inputs(n=200, p=3)
    (one,), curve = fit_ensembles(
        inputs, learnable(inputs), members=2, recipe=LONG, shrinkages=[shrinkages[i] for i in order]
    )
    (same,), expected = fit_ensembles(inputs, learnable(inputs), members=2, recipe=LONG)
    assert one.shrinkage == LONG.shrinkage
    torch.testing.assert_close(one.networks.own, same.networks.own)
    torch.testing.assert_close(curve, expected)


def test_every_problem_takes_its_own_shrinkage(monkeypatch):
    """The first gains no more than its standard error, so that its judge stays alone."""
    inputs = simultaneous_inputs(p=3, m=3)
    gains = iter([np.array([1.0, 0.0, 2.0]), np.array([0.5, 1.0, 3.0])])
    errors, half = np.array([1.0, 0.1, 0.1]), np.full(3, 0.5)
    monkeypatch.setattr(stacking, "judge", lambda *_: stacking.Judgement(half, next(gains), errors))
    parts, curve = fit_ensembles(inputs, noise(inputs).expand(3, -1, -1), shrinkages=[0.3, 0.5])
    found = {int(i): (part.shrinkage, part.networks.bias.shape[1]) for part in parts for i in part.problems}
    assert found == {0: (0.3, 12), 1: (0.5, 36), 2: (0.5, 36)}
    assert len(curve) == 3


def test_judges_of_one_batch_are_those_of_several():
    """Each shrinkage trains its judges as it would alone, every problem on its own data."""
    inputs = simultaneous_inputs(n=60, p=3, m=2)
    targets, shrinkages, log = torch.cat([noise(inputs), learnable(inputs)]), [0.3, 3.0], []
    fit_ensembles(inputs, targets, shrinkages=shrinkages, log=log)
    for place, shrinkage in enumerate(shrinkages):
        alone = []
        fit_ensembles(inputs, targets, shrinkages=[shrinkage], log=alone)
        torch.testing.assert_close(log[0][0].own[2 * place : 2 * place + 2], alone[0][0].own)


# ---- many problems ----


def test_problems_of_a_batch_do_not_influence_each_other():
    """A learnable problem and a hopeless one: each ends as it does alone."""
    inputs = simultaneous_inputs(n=200, p=3, m=2)
    targets = torch.cat([noise(inputs), learnable(replace(inputs, own=inputs.own[1:]))])
    together, _ = fit_ensembles(inputs, targets, recipe=LONG)
    assert sorted(int(i) for part in together for i in part.problems) == [0, 1]
    starts = starts_of(inputs)
    for part in together:
        (i,) = part.problems
        alone = replace(inputs, own=inputs.own[i : i + 1])
        own_starts = lambda _, member, i=i: starts(np.array([i]), member)  # noqa: E731
        (one,), _ = fit_ensembles(alone, targets[i : i + 1], recipe=LONG, starts=own_starts)
        np.testing.assert_array_equal(one.beliefs, part.beliefs)
        torch.testing.assert_close(
            training.perceptron_values(one.networks, alone), training.perceptron_values(part.networks, alone)
        )


# ---- symmetry ----


@pytest.mark.parametrize("make", [learnable, noise])
def test_exchanging_the_directions_of_a_feature_exchanges_their_strengths(make):
    """A null feature and its noise, with their starting rows: nothing asks which of them is which."""
    inputs = simultaneous_inputs(n=200, p=3)
    targets, order = make(inputs), [0, 1, 2, 3, 5, 4]
    starts = starts_of(inputs, skip=True, curve=True)

    def exchanged(problems, member):
        drawn = starts(problems, member)
        swapped = {name: getattr(drawn, name)[:, order] for name in ("own", "skip_own", "curve_own")}
        return replace(drawn, **swapped)

    strengths, beliefs = [], []
    for seen, begin in ((inputs, starts), (replace(inputs, own=inputs.own[..., order]), exchanged)):
        (one,), _ = fit_ensembles(seen, targets, recipe=replace(LONG, steps=100), starts=begin)
        strengths.append(field_strengths(one.networks, seen.shared, seen.own))
        beliefs.append(one.beliefs[0])
    assert beliefs[0] == beliefs[1]
    torch.testing.assert_close(strengths[1], strengths[0][:, order])


def test_mirroring_a_noise_changes_no_strength():
    inputs = simultaneous_inputs(n=200, p=3)
    targets, signs = learnable(inputs), torch.tensor([1.0, -1.0] * 3, dtype=torch.float64)
    starts = starts_of(inputs)

    def turned(problems, member):
        drawn = starts(problems, member)
        return replace(drawn, own=drawn.own * signs[:, None])

    strengths = []
    for seen, begin in ((inputs, starts), (replace(inputs, own=inputs.own * signs), turned)):
        (one,), _ = fit_ensembles(seen, targets, recipe=replace(LONG, steps=100), starts=begin)
        strengths.append(field_strengths(one.networks, seen.shared, seen.own))
    torch.testing.assert_close(*strengths)
