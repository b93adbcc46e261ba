"""Path products, gradients and fields: enumeration of paths, autograd row by row, and laws of the statistics."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch.autograd.functional import jacobian

from builders import normal, random_networks
from neuralmirror.learner.networks import ACTIVATIONS
from neuralmirror.mirror import importance

SHAPES = [((5,), 1), ((4, 3), 1), ((4, 3, 2), 1), ((4, 3), 3), ((3, 2, 2), 2)]
FINITE = st.floats(-100, 100)
SEVERAL = arrays(float, st.tuples(st.integers(1, 5), st.integers(2, 5)), elements=st.floats(0, 100))
CONTRASTS = ["difference", "maximum"]


def rows_of(networks, n=6, seed=9):
    rng = np.random.default_rng(seed)
    m, o, _ = networks.own.shape
    return normal(rng, n, networks.shared.shape[0]), normal(rng, m, n, o)


def length(slopes):
    """The size of a slope per output; logits count about their mean, as a common constant changes no class."""
    slopes = np.asarray(slopes)
    return np.linalg.norm(slopes - slopes.mean() if slopes.size > 1 else slopes)


def enumerated_path_product(networks, i, j, output):
    """Σ over all paths from own input j of network i to one output of the product of the weights on the path."""
    widths = [weight.shape[1] for weight, _ in networks.layers]
    total = float(networks.skip_own[i, j, output])
    for nodes in product(*map(range, widths)):
        path = [*nodes, output]
        weight = float(networks.own[i, j, path[0]])
        for (layer, _), a, b in zip(networks.layers, path, path[1:], strict=False):
            weight *= float(layer[i, a, b])
        total += weight
    return total


def slopes_by_autograd(networks, shared, own):
    """∂f_q/∂own_j at every row, (m, n, q, o)."""
    m, n, _ = own.shape
    slopes = []
    for row in range(n):
        full = jacobian(lambda t, row=row: networks(shared[row : row + 1], t)[:, 0], own[:, row : row + 1])
        slopes.append(torch.stack([full[i, :, i, 0] for i in range(m)]))  # (m, q, o)
    return torch.stack(slopes, dim=1).numpy()


@pytest.mark.parametrize(("sizes", "outputs"), SHAPES)
def test_path_product_is_the_sum_over_all_paths(sizes, outputs):
    networks = random_networks(0, m=2, sizes=sizes, outputs=outputs)
    strengths = importance.path_strengths(networks, *rows_of(networks))
    for i, j in product(range(2), range(2)):
        paths = [enumerated_path_product(networks, i, j, q) for q in range(outputs)]
        assert float(strengths[i, j]) == pytest.approx(length(paths))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("curve", [False, True])
@pytest.mark.parametrize(("sizes", "outputs"), SHAPES)
def test_gradient_and_field_are_the_mean_and_the_rms_of_autograd_slopes(sizes, outputs, curve, activation):
    networks = random_networks(1, m=2, sizes=sizes, outputs=outputs, activation=activation, curve=curve)
    shared, own = rows_of(networks)
    slopes = slopes_by_autograd(networks, shared, own)  # (m, n, q, o)
    gradient = importance.gradient_strengths(networks, shared, own)
    field = importance.field_strengths(networks, shared, own)
    for i, j in product(range(2), range(2)):
        assert float(gradient[i, j]) == pytest.approx(length(slopes[i, :, :, j].mean(axis=0)))
        rms = np.sqrt(np.mean([length(row) ** 2 for row in slopes[i, :, :, j]]))
        assert float(field[i, j]) == pytest.approx(rms)


@pytest.mark.parametrize(("sizes", "outputs"), SHAPES)
def test_the_three_measures_agree_on_a_linear_network(sizes, outputs):
    networks = random_networks(2, sizes=sizes, outputs=outputs, activation=lambda t: t)
    path, gradient, field = (
        measure(networks, *rows_of(networks))
        for measure in (importance.path_strengths, importance.gradient_strengths, importance.field_strengths)
    )
    torch.testing.assert_close(gradient, path)
    torch.testing.assert_close(field, path)


@pytest.mark.parametrize("name", importance.IMPORTANCES)
def test_a_constant_added_to_all_logits_changes_nothing(name):
    networks = random_networks(3, outputs=3)
    inputs = rows_of(networks)
    before = importance.IMPORTANCES[name](networks, *inputs)
    weight, bias = networks.layers[-1]
    networks.layers[-1] = weight + weight.sum(dim=2, keepdim=True), bias + 5
    networks.skip_own += networks.skip_own.sum(dim=2, keepdim=True)
    torch.testing.assert_close(importance.IMPORTANCES[name](networks, *inputs), before)


def test_strengths_of_a_parabola():
    """f(x) = θx + κ(x² − 1) has slope θ + 2κx: mean θ and mean square θ² + 4κ² where x has mean 0 and square 1."""
    networks = random_networks(0, m=1, shared=0, own=1, sizes=(2,), curve=True).scaled(torch.zeros(1))
    theta, kappa = networks.skip_own.item(), networks.curve_own.item()
    x = normal(np.random.default_rng(0), 1, 50, 1)
    x = (x - x.mean()) / x.std(correction=0)
    strengths = {name: float(f(networks, x[0, :, :0], x)) for name, f in importance.IMPORTANCES.items()}
    rms = np.sqrt(theta**2 + 4 * kappa**2)
    assert strengths == pytest.approx({"field": rms, "gradient": abs(theta), "path": abs(theta)})


@pytest.mark.parametrize("name", importance.IMPORTANCES)
@pytest.mark.parametrize("floats", [1, 40])
def test_strengths_do_not_depend_on_blocks_of_rows(name, floats, monkeypatch):
    networks = random_networks(4, outputs=2, curve=True)
    inputs = rows_of(networks, n=11)
    whole = importance.IMPORTANCES[name](networks, *inputs)
    monkeypatch.setattr(importance, "FLOATS", floats)
    torch.testing.assert_close(importance.IMPORTANCES[name](networks, *inputs), whole)


def test_only_the_field_sees_an_even_function():
    """|x| = relu(x) + relu(−x) has slope ±1: its mean and its path product vanish, its rms is 1."""
    networks = random_networks(0, m=1, shared=0, own=1, sizes=(2,), activation="relu", skip=False)
    networks.own[:] = torch.tensor([[[1.0, -1.0]]])
    networks.bias[:] = 0
    networks.layers[0] = torch.ones(1, 2, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    x = torch.linspace(-1, 1, 100, dtype=torch.float64)[None, :, None]
    strengths = {name: float(f(networks, x[0, :, :0], x)) for name, f in importance.IMPORTANCES.items()}
    assert strengths == pytest.approx({"field": 1.0, "gradient": 0.0, "path": 0.0})


# ---- mirror statistics ----


@given(plus=arrays(float, 6, elements=FINITE), minus=arrays(float, 6, elements=FINITE))
@settings(deadline=None)
def test_with_one_noise_the_margin_is_the_papers_statistic(plus, minus):
    directions = np.abs(np.stack([plus + minus, plus - minus], axis=-1))
    np.testing.assert_allclose(
        importance.mirror_statistics(directions), importance.paired_statistics(plus, minus), atol=1e-12
    )


@given(plus=FINITE, minus=FINITE)
def test_the_papers_statistic_is_blind_to_the_names_of_plus_and_minus(plus, minus):
    m = importance.paired_statistics(plus, minus)
    assert m == importance.paired_statistics(minus, plus)
    assert m == importance.paired_statistics(-plus, -minus)
    assert m == -importance.paired_statistics(plus, -minus)  # a null's sign flip: M is symmetric


@given(strengths=SEVERAL)
@settings(deadline=None)
def test_the_margin_is_that_of_the_winner(strengths):
    for row, m in zip(strengths, importance.mirror_statistics(strengths), strict=True):
        others = max(row[1:])
        if row[0] > others:
            assert m == pytest.approx(row[0] - others)
        else:  # a noise won: its lead over the runner-up, or zero for a tie
            first, second = sorted(row)[:-3:-1]
            assert m == pytest.approx(-(first - second))


@pytest.mark.parametrize("contrast", CONTRASTS)
@given(strengths=arrays(float, (4, 4), elements=st.floats(0, 100)), order=st.permutations([1, 2, 3]))
@settings(deadline=None)
def test_the_noises_of_a_feature_are_interchangeable(contrast, strengths, order):
    one, other = (importance.mirror_statistics(s, contrast) for s in (strengths, strengths[:, [0, *order]]))
    np.testing.assert_array_equal(one, other)


@given(strengths=SEVERAL)
@settings(deadline=None)
def test_both_contrasts_have_the_same_signs(strengths):
    difference, maximum = (importance.mirror_statistics(strengths, contrast) for contrast in CONTRASTS)
    np.testing.assert_array_equal(np.sign(maximum), np.sign(difference))
    assert (np.abs(maximum) >= np.abs(difference)).all()


@given(strengths=SEVERAL)
@settings(deadline=None)
def test_the_maximum_is_the_strength_of_a_single_winner(strengths):
    for row, m in zip(strengths, importance.mirror_statistics(strengths, "maximum"), strict=True):
        winners = np.flatnonzero(row == row.max())
        assert m == (0 if len(winners) > 1 else row[0] if winners[0] == 0 else -row.max())


@pytest.mark.parametrize("contrast", CONTRASTS)
@given(pair=arrays(float, (5, 2), elements=st.floats(0, 100)))
@settings(deadline=None)
def test_exchanging_a_feature_with_its_noise_flips_the_statistic(contrast, pair):
    one, other = (importance.mirror_statistics(s, contrast) for s in (pair, pair[:, ::-1]))
    np.testing.assert_array_equal(one, -other)


@pytest.mark.parametrize("contrast", CONTRASTS)
@given(row=arrays(float, 4, elements=st.floats(0, 100)), k=st.integers(1, 3))
@settings(deadline=None)
def test_a_statistic_keeps_its_size_when_the_feature_changes_places_with_a_noise(contrast, row, k):
    exchanged = row.copy()
    exchanged[[0, k]] = row[[k, 0]]
    one, other = (importance.mirror_statistics(s, contrast) for s in (row, exchanged))
    assert abs(one) == abs(other)
