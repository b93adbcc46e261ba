"""Individual networks that start from one network with all mirrors: few steps, and no direction favoured."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner import initial_weights, stacking
from neuralmirror.learner.training import Recipe
from neuralmirror.mirror import fitting
from neuralmirror.mirror import individual as individual_module
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.individual import individual
from neuralmirror.mirror.noise import draw_noise

SEED = (7, 0)
QUICK = Settings(recipe=Recipe(steps=25, batch_size=32), hidden=(8, 4), transform="standard", degree=1, n_networks=2)


def problem(n=80, p=6, classes=0):
    """The first two features matter, linearly and squared."""
    rng = np.random.default_rng(0)
    x = standardised(rng.standard_normal((n, p)))
    y = standardised(2 * x[:, 0] + x[:, 1] ** 2 + 0.3 * rng.standard_normal(n))
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    return StandardisedData(x, y, np.empty((n, 0)), classes)


@pytest.fixture(autouse=True)
def convinced(monkeypatch):
    """Every judge is believed a little more than half."""

    def judge(networks, *_):
        return stacking.Judgement(*(np.full(len(networks), value) for value in (0.6, 1.0, 0.0)))

    monkeypatch.setattr(stacking, "judge", judge)


def test_individual_networks_take_few_steps_from_a_network_that_saw_all_mirrors(monkeypatch):
    steps, begun, real = [], [], fitting.fit_networks

    def noted(networks, inputs, targets, loss, settings, *rest, **options):
        steps.append(settings.recipe.steps)
        begun.append(networks)
        return real(networks, inputs, targets, loss, settings, *rest, **options)

    for module in (fitting, individual_module):
        monkeypatch.setattr(module, "fit_networks", noted)
    q = problem(p=4)
    outcome = individual(q, SEED, replace(QUICK, memory=2**40))
    assert steps == [25, 25, 2]  # a judge, its network on all rows, and a tenth for the four
    assert outcome.choices["belief"] == ["0.6"]
    common, each = begun[1], begun[2]  # trained in place
    rows = common.own.detach()[0].unflatten(0, (4, 2))
    for j in range(4):
        torch.testing.assert_close(each.own[j], rows[j], atol=0.02, rtol=0)  # two steps away
        others = [k for k in range(4) if k != j]
        torch.testing.assert_close(each.shared[others, j], rows[others, 0], atol=0.02, rtol=0)
        assert not each.shared[j, j].any()


def test_the_common_start_treats_a_feature_and_its_noise_alike(monkeypatch):
    """Z → −Z with the starting rows of the noise turned too."""
    q, settings = problem(), QUICK
    before = individual(q, SEED, settings).strengths
    noise, rows = draw_noise, initial_weights.initial_rows

    def turned_rows(generators, *shape):
        drawn = rows(generators, *shape)
        if shape[-2] == 2:
            drawn[..., 1, :] *= -1
        return drawn

    monkeypatch.setattr(fitting, "draw_noise", lambda *arguments: -noise(*arguments))
    monkeypatch.setattr(initial_weights, "initial_rows", turned_rows)
    np.testing.assert_allclose(individual(q, SEED, settings).strengths, before, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_chunks_do_not_change_what_starts_in_common(classes):
    q = problem(classes=classes)
    whole, single = (individual(q, SEED, replace(QUICK, memory=memory)).strengths for memory in (2**40, 1))
    np.testing.assert_allclose(single, whole, rtol=1e-3, atol=1e-5)


def test_the_coordinates_of_the_paper_have_no_common_start():
    settings = replace(QUICK, recipe=replace(QUICK.recipe, coordinates="pair"))
    assert np.isfinite(individual(problem(), SEED, settings).strengths).all()
