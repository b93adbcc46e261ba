import numpy as np
import pytest
import torch

from neuralmirror.comparators import deeppink as dp


def pairs_and_response(seed=0, n=120, p=12, k=4):
    rng = np.random.default_rng(seed)
    x, knockoffs = rng.standard_normal((2, n, p))
    y = x[:, :k].sum(axis=1) + 0.5 * rng.standard_normal(n)
    return x, knockoffs, torch.from_numpy((y - y.mean()) / y.std())[:, None].float()


SHORT = dp.Training(hidden=(8, 6), l1=1e-3, epochs=15, batch_size=20, learning_rate=5e-3)


def test_swapping_features_with_knockoffs_flips_their_statistics_alone():
    """Up to the rounding of single precision, which training amplifies."""
    x, knockoffs, y = pairs_and_response()
    swap = np.random.default_rng(1).random(12) < 0.5
    before = dp.deeppink_statistics(x, knockoffs, y, SHORT, np.random.default_rng(2))
    swapped = np.where(swap, knockoffs, x), np.where(swap, x, knockoffs)
    after = dp.deeppink_statistics(*swapped, y, SHORT, np.random.default_rng(2))
    np.testing.assert_allclose(after, np.where(swap, -before, before), atol=1e-3 * np.abs(before).max())


def test_the_order_inside_a_pair_does_not_matter_and_neither_member_begins_ahead():
    network = dp.initial_network(5, (4, 3), 2, torch.Generator().manual_seed(0), "cpu")
    importance = network.importance()
    torch.testing.assert_close(importance[:, 0], importance[:, 1], rtol=0, atol=0)
    pairs = torch.randn(7, 5, 2, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network(pairs), network(pairs.flip(-1)))


@pytest.mark.parametrize("outputs", [1, 3])
def test_importance_is_the_squared_slope_where_every_unit_is_active(outputs):
    """With all ReLUs open the network is linear, and z_jw_j is its slope along X_j."""
    generator = torch.Generator().manual_seed(0)
    network = dp.initial_network(6, (5, 4), outputs, generator, "cpu")
    with torch.no_grad():
        network.filters.copy_(torch.randn(6, 2, generator=generator))
        for bias in network.biases:
            bias.fill_(100.0)
    pairs = torch.randn(6, 2, generator=generator)
    slopes = torch.autograd.functional.jacobian(lambda t: network(t[None])[0], pairs)  # (outputs, 6, 2)
    torch.testing.assert_close(network.importance(), slopes.square().sum(dim=0), rtol=1e-4, atol=1e-6)


def test_the_penalty_leaves_less_weight():
    x, knockoffs, y = pairs_and_response()
    pairs = torch.from_numpy(np.stack([x, knockoffs], axis=-1)).float()
    sizes = []
    for l1 in (0.0, 1e-2, 1e-1):
        network = dp.train(pairs, y, dp.Training(hidden=(8, 6), l1=l1, epochs=15), seed=0)
        sizes.append(sum(float(weight.detach().abs().sum()) for weight in network.weights[:-1]))
    assert sizes[0] > sizes[1] > sizes[2]


def test_true_features_win():
    x, knockoffs, y = pairs_and_response(n=400)
    statistics = dp.deeppink_statistics(
        x, knockoffs, y, dp.Training(hidden=(12, 12), l1=1e-3, epochs=40), np.random.default_rng(0)
    )
    assert statistics[:4].min() > np.abs(statistics[4:]).max()


@pytest.mark.slow
def test_null_statistics_are_positive_as_often_as_negative():
    """320 fair signs in 40 fits: |z| > 4 is a false alarm in 1 of 16 000 runs; 0.65 positive is seen in 90 of 100."""
    signs = []
    for seed in range(40):
        x, knockoffs, y = pairs_and_response(seed)
        signs.append(np.sign(dp.deeppink_statistics(x, knockoffs, y, SHORT, np.random.default_rng(seed))[4:]))
    assert abs(np.sum(signs)) < 4 * np.sqrt(np.size(signs))
