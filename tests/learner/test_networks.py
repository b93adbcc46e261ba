"""Many perceptrons at once against one at a time, written out."""

import numpy as np
import pytest
import torch

from builders import normal, random_networks
from neuralmirror.learner.network import Network
from neuralmirror.learner.networks import ACTIVATIONS, hidden_sizes, initial_layers

FORMULAS = {
    "relu": lambda t: np.maximum(t, 0),
    "tanh": np.tanh,
    "silu": lambda t: t / (1 + np.exp(-t)),
    "sigmoid": lambda t: 1 / (1 + np.exp(-t)),
}


def one_network(networks, i, shared, own, activation):
    """f(x) of network i, all of its inputs side by side in one matrix."""
    x = np.hstack([shared, own[i]])
    hidden = x @ np.vstack([networks.shared[:, i], networks.own[i]]) + networks.bias[i].numpy()
    for weight, bias in networks.layers:
        hidden = activation(hidden) @ weight[i].numpy() + bias[i].numpy()
    return hidden


@pytest.mark.parametrize("activation", FORMULAS)
@pytest.mark.parametrize(
    ("shared", "sizes", "outputs"), [(4, (5, 3), 1), (0, (6,), 1), (4, (5, 4, 3), 3), (1, (2, 2, 2, 2), 2)]
)
def test_a_batch_is_its_networks_one_by_one(activation, shared, sizes, outputs):
    networks = random_networks(0, m=3, shared=shared, sizes=sizes, outputs=outputs, activation=activation)
    rng = np.random.default_rng(1)
    x, own = normal(rng, 7, shared), normal(rng, 3, 7, 2)
    together = networks(x, own)
    assert together.shape == (3, 7, outputs)
    for i in range(len(networks)):
        expected = one_network(networks, i, x.numpy(), own.numpy(), FORMULAS[activation])
        np.testing.assert_allclose(together[i], expected, atol=1e-12)


def test_every_activation_is_tested():
    assert set(FORMULAS) == set(ACTIVATIONS)


def test_copies_do_not_share_memory():
    networks = random_networks()
    for tensor in networks.copy().parameters():
        tensor.zero_()
    assert all(bool(tensor.any()) for tensor in networks.parameters())


@pytest.mark.parametrize("p", [2, 100, 500, 2000])
def test_hidden_sizes_are_the_papers(p):
    assert hidden_sizes(p) == (round(20 * np.log(p)), round(10 * np.log(p)))


@pytest.mark.parametrize(("given", "sizes"), [(None, None), (7, (7,)), ((5, 3), (5, 3)), (np.array([4, 2]), (4, 2))])
def test_widths_of_hidden_layers(given, sizes):
    assert Network(hidden_sizes=given).sizes() == sizes


def test_later_layers_keep_the_variance_of_a_relu_network():
    weight, bias = initial_layers(np.random.default_rng(0), (400, 300), 1)[0]
    assert float(weight.var()) == pytest.approx(2 / 400, rel=0.02)
    assert not bias.any()
    assert weight.dtype == torch.float32
