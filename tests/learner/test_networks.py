"""Many perceptrons at once against one at a time, written out."""

import numpy as np
import pytest
import torch

from builders import normal, random_networks
from neuralmirror.learner.networks import ACTIVATIONS, Networks, hidden_sizes, initial_layers, initial_rows

FORMULAS = {
    "relu": lambda t: np.maximum(t, 0),
    "tanh": np.tanh,
    "silu": lambda t: t / (1 + np.exp(-t)),
    "sigmoid": lambda t: 1 / (1 + np.exp(-t)),
}


def rows(networks, n=7):
    """Random inputs (n, s) and (m, n, o) that fit the networks."""
    rng = np.random.default_rng(1)
    m, o, _ = networks.own.shape
    return normal(rng, n, len(networks.shared)), normal(rng, m, n, o)


def one_network(networks, i, shared, own, activation):
    """f(x) = Σ θx + κ(x² − 1) + MLP(x) of network i, all of its inputs side by side in one matrix."""
    x = np.hstack([shared, own[i]])
    weights = np.vstack([networks.shared[:, i], networks.own[i]])
    theta = np.vstack([networks.skip_shared[i], networks.skip_own[i]])
    hidden = x @ weights + networks.bias[i].numpy()
    for weight, bias in networks.layers:
        hidden = activation(hidden) @ weight[i].numpy() + bias[i].numpy()
    if networks.curve_own is None:
        return hidden + x @ theta
    return hidden + x @ theta + (x**2 - 1) @ np.vstack([networks.curve_shared[i], networks.curve_own[i]])


@pytest.mark.parametrize("activation", FORMULAS)
@pytest.mark.parametrize("curve", [False, True])
@pytest.mark.parametrize(
    ("shared", "sizes", "outputs"), [(4, (5, 3), 1), (0, (6,), 1), (4, (5, 4, 3), 3), (1, (2, 2, 2, 2), 2)]
)
def test_a_batch_is_its_networks_one_by_one(activation, curve, shared, sizes, outputs):
    shape = {"shared": shared, "sizes": sizes, "outputs": outputs, "activation": activation, "curve": curve}
    networks = random_networks(0, m=3, **shape)
    rng = np.random.default_rng(1)
    x, own = normal(rng, 7, shared), normal(rng, 3, 7, 2)
    together = networks(x, own)
    assert together.shape == (3, 7, outputs)
    for i in range(3):
        expected = one_network(networks, i, x.numpy(), own.numpy(), FORMULAS[activation])
        np.testing.assert_allclose(together[i], expected, atol=1e-12)


def test_every_activation_is_tested():
    assert set(FORMULAS) == set(ACTIVATIONS)


def test_the_function_is_the_skip_plus_the_perceptron():
    networks = random_networks(curve=True)
    x, own = rows(networks)
    torch.testing.assert_close(networks(x, own), networks.skip(x, own) + networks.perceptron(x, own))
    torch.testing.assert_close(networks.perceptron(x, own), networks.after_first(networks.preactivation(x, own)))


def test_copies_do_not_share_memory():
    networks = random_networks(curve=True)
    copy = networks.to("cpu")
    for tensor in copy._tensors():
        tensor.zero_()
    assert all(bool(tensor.any()) for tensor in networks._tensors())


def test_only_the_perceptron_is_scaled():
    networks = random_networks(curve=True)
    x, own = rows(networks)
    factor = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    scaled = networks.scaled(factor)
    torch.testing.assert_close(scaled.perceptron(x, own), factor[:, None, None] * networks.perceptron(x, own))
    torch.testing.assert_close(scaled.skip(x, own), networks.skip(x, own), rtol=0, atol=0)


@pytest.mark.parametrize("curve", [False, True])
def test_selected_networks_are_those_of_the_batch(curve):
    networks = random_networks(m=4, outputs=2, curve=curve)
    x, own = rows(networks)
    index = torch.tensor([2, 0, 2])
    torch.testing.assert_close(networks.select(index)(x, own[index]), networks(x, own)[index])


@pytest.mark.parametrize("curve", [False, True])
def test_batches_side_by_side_are_one_batch(curve):
    parts = [random_networks(seed, m=m, curve=curve) for seed, m in enumerate([2, 1, 3])]
    x, own = rows(random_networks(m=6))
    expected = torch.cat([part(x, own[i : i + len(part)]) for part, i in zip(parts, [0, 2, 3], strict=True)])
    torch.testing.assert_close(Networks.cat(parts)(x, own), expected)


@pytest.mark.parametrize("sizes", [(5,), (4, 3), (4, 3, 2)])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("members", [1, 2, 3])
def test_joined_networks_predict_the_sum_of_their_members(sizes, outputs, members):
    """Networks m apart see the same inputs and add up their perceptrons; the skip counts once."""
    networks = random_networks(m=2 * members, sizes=sizes, outputs=outputs, curve=True)
    x, own = rows(random_networks(m=2))
    joined = networks.joined(members)
    assert len(joined) == 2
    each = networks.perceptron(x, own.repeat(members, 1, 1)).unflatten(0, (members, 2))
    torch.testing.assert_close(joined.perceptron(x, own), each.sum(dim=0))
    torch.testing.assert_close(joined.skip(x, own), networks.select(torch.arange(2)).skip(x, own))


def test_the_skip_is_not_trained():
    networks = random_networks(curve=True)
    trained = {id(tensor) for tensor in networks.parameters()}
    fixed = (networks.skip_own, networks.skip_shared, networks.curve_own, networks.curve_shared)
    assert trained.isdisjoint(map(id, fixed))
    assert len(trained) == 3 + 2 * len(networks.layers)


@pytest.mark.parametrize("p", [2, 100, 500, 2000])
def test_hidden_sizes_are_the_papers(p):
    assert hidden_sizes(p) == (round(20 * np.log(p)), round(10 * np.log(p)))


def test_directions_of_a_feature_start_alike():
    """The rows of X_j and of its noise come from one distribution: same mean, same spread, uncorrelated."""
    generators = [np.random.default_rng([0, j]) for j in range(300)]
    rows = initial_rows(generators, 2, 50).numpy()  # (300, 2, 50)
    sums = (rows**2).sum(axis=2)
    difference = (sums[:, 0] - sums[:, 1]) / np.sqrt(2 * 2 * 50)  # two χ²₅₀: mean 0, variance 1
    assert abs(difference.mean()) < 5 / np.sqrt(300)  # five standard errors: fails once in two million seeds
    assert abs((rows[:, 0] * rows[:, 1]).mean()) < 5 / np.sqrt(300 * 50)


def test_later_layers_keep_the_variance_of_a_relu_network():
    weight, bias = initial_layers(np.random.default_rng(0), (400, 300), 1)[0]
    assert float(weight.var()) == pytest.approx(2 / 400, rel=0.02)
    assert not bias.any()
