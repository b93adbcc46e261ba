"""Path products, gradients and redrawn directions: enumeration of paths, autograd row by row, and closed forms."""

from itertools import product

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

from builders import normal, random_networks, simultaneous_inputs
from neuralmirror.learner.importance import gradient_strengths, path_strengths, redraw_strengths
from neuralmirror.learner.networks import ACTIVATIONS
from neuralmirror.learner.training import NetworkInputs

SHAPES = [((5,), 1), ((4, 3), 1), ((4, 3, 2), 1), ((4, 3), 3), ((3, 2, 2), 2)]
MEASURES = {"path": path_strengths, "gradient": gradient_strengths, "redraw": redraw_strengths}


def inputs_for(networks, n=6, seed=9):
    """Rows for networks whose own inputs are one direction each."""
    rng = np.random.default_rng(seed)
    m, o, _ = networks.own.shape
    shared, own = normal(rng, n, networks.shared.shape[0]), normal(rng, m, n, o)
    return NetworkInputs(shared, own, torch.arange(o), torch.zeros(o, dtype=torch.int64))


def length(slopes):
    """The size of a slope per output; logits count about their mean, as a common constant changes no class."""
    slopes = np.asarray(slopes)
    return np.linalg.norm(slopes - slopes.mean() if slopes.size > 1 else slopes)


def enumerated_path_product(networks, i, j, output):
    """Σ over all paths from own input j of network i to one output of the product of the weights on the path."""
    widths = [weight.shape[1] for weight, _ in networks.layers]
    total = 0.0
    for nodes in product(*map(range, widths)):
        path = [*nodes, output]
        weight = float(networks.own[i, j, path[0]])
        for (layer, _), a, b in zip(networks.layers, path, path[1:], strict=False):
            weight *= float(layer[i, a, b])
        total += weight
    return total


@pytest.mark.parametrize(("sizes", "outputs"), SHAPES)
def test_path_product_is_the_sum_over_all_paths(sizes, outputs):
    networks = random_networks(0, m=2, sizes=sizes, outputs=outputs)
    strengths = path_strengths(networks, inputs_for(networks))
    for i, j in product(range(2), range(2)):
        paths = [enumerated_path_product(networks, i, j, q) for q in range(outputs)]
        assert float(strengths[i, j]) == pytest.approx(length(paths))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("sizes", "outputs"), SHAPES)
def test_gradient_is_the_mean_of_autograd_slopes(sizes, outputs, activation):
    networks = random_networks(1, m=2, sizes=sizes, outputs=outputs, activation=activation)
    inputs = inputs_for(networks)
    found = gradient_strengths(networks, inputs)
    for i in range(2):
        slopes = jacobian(lambda own, i=i: networks(inputs.shared, own)[i].mean(dim=0), inputs.own)[:, i].sum(dim=1)
        for j in range(2):
            assert float(found[i, j]) == pytest.approx(length(slopes[:, j]))


@pytest.mark.parametrize(("sizes", "outputs"), SHAPES)
def test_redraw_is_what_changes_when_a_direction_takes_values_of_other_rows(sizes, outputs):
    networks = random_networks(2, m=2, sizes=sizes, outputs=outputs)
    inputs = inputs_for(networks, n=8)
    found, before = redraw_strengths(networks, inputs), networks(inputs.shared, inputs.own)
    for j in range(2):
        own = inputs.own.clone()
        own[:, :, j] = torch.roll(own[:, :, j], 4, dims=1)
        change = networks(inputs.shared, own) - before  # (m, n, q)
        for i in range(2):
            mean_square = np.mean([length(row) ** 2 for row in change[i]])
            assert float(found[i, j]) == pytest.approx(np.sqrt(mean_square / 2))


@pytest.mark.parametrize(("sizes", "outputs"), SHAPES)
def test_the_three_measures_agree_on_a_linear_network(sizes, outputs):
    networks = random_networks(2, m=1, shared=0, sizes=sizes, outputs=outputs, activation=lambda t: t)
    inputs = inputs_for(networks, n=4000)
    inputs.own.sub_(inputs.own.mean(dim=1, keepdim=True)).div_(inputs.own.std(dim=1, keepdim=True, correction=0))
    path, gradient, redraw = (measure(networks, inputs) for measure in MEASURES.values())
    torch.testing.assert_close(gradient, path)
    torch.testing.assert_close(redraw, path, rtol=0.15, atol=0)  # of 1024 rows: two standard errors are 6 %


@pytest.mark.parametrize("name", MEASURES)
def test_a_constant_added_to_all_logits_changes_nothing(name):
    networks = random_networks(3, outputs=3)
    inputs = inputs_for(networks)
    before = MEASURES[name](networks, inputs)
    weight, bias = networks.layers[-1]
    networks.layers[-1] = weight + weight.sum(dim=2, keepdim=True), bias + 5
    torch.testing.assert_close(MEASURES[name](networks, inputs), before)


def test_only_the_redrawn_direction_sees_an_even_function():
    """|x| = relu(x) + relu(−x): its mean slope and its path product vanish; redrawn, it moves by its own sd."""
    networks = random_networks(0, m=1, shared=0, own=1, sizes=(2,), activation="relu")
    networks.own[:] = torch.tensor([[[1.0, -1.0]]])
    networks.bias[:] = 0
    networks.layers[0] = torch.ones(1, 2, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    x = torch.from_numpy(np.random.default_rng(0).permutation(np.linspace(-1, 1, 1000)))[None, :, None]
    inputs = NetworkInputs(x[0, :, :0], x, torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    found = {name: float(measure(networks, inputs)) for name, measure in MEASURES.items()}
    assert found["path"] == pytest.approx(0, abs=1e-12)
    assert found["gradient"] == pytest.approx(0, abs=1e-12)
    assert found["redraw"] == pytest.approx(float(x.abs().std()), rel=0.1)


@pytest.mark.parametrize("name", ["path", "gradient"])
def test_the_inputs_of_one_direction_are_added_up_and_covariates_left_out(name):
    inputs = simultaneous_inputs(p=2, k=1, covariates=1)
    networks = random_networks(m=1, shared=0, own=5)
    single = MEASURES[name](networks, inputs)[0]
    assert single.shape == (4,)
    joined = NetworkInputs(inputs.shared, inputs.own, torch.tensor([0, 0, 1, 1, 2]), torch.tensor([0, 0]))
    torch.testing.assert_close(MEASURES[name](networks, joined)[0], single.reshape(2, 2).sum(dim=1))
