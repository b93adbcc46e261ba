"""Scales c_j against closed forms, explicit regressions and numeric minimisation; columns; noise."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from neuralmirror._internal.columns import sort_columns
from neuralmirror._internal.standardised import standardised
from neuralmirror.mirror import kernels
from neuralmirror.mirror.noise import draw_noise, feature_generators, mirrored_pair
from neuralmirror.mirror.scales import (
    MEMORY,
    SCALES,
    kernel_scales,
    linear_scales,
    marginal_scales,
    minimise_scale,
    residual_scales,
)
from neuralmirror.simulation.designs import ar

RULES = list(SCALES)


def pair(seed, n=80, p=6, k=1, rho=0.6, dtype=torch.float64):
    """Correlated features (n, p) with noise (n, p, K)."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(ar(rng, n, p, rho)).to(dtype), torch.from_numpy(rng.standard_normal((n, p, k))).to(dtype)


def residual(target, others):
    """What is left of a column after least squares on others and an intercept."""
    columns = np.column_stack([np.ones(len(others)), others])
    return target - columns @ np.linalg.lstsq(columns, target)[0]


def others_of(x, j):
    return np.delete(np.asarray(x), j, axis=1)


# ---- columns and noise ----


def test_columns_are_sorted_into_usable_constant_and_copies():
    a, b = np.arange(5.0), np.array([1.0, 0.0, 1.0, 0.0, 2.0])
    signed_zeros = np.where(b == 0, -0.0, b)
    columns = sort_columns(np.column_stack([a, np.full(5, 3.0), b, a, signed_zeros, a]))
    assert columns.usable.tolist() == [0, 2]
    assert columns.constant.tolist() == [1]
    assert columns.copies == {3: 0, 4: 2, 5: 0}


def test_a_feature_draws_the_same_noise_wherever_it_stands():
    x = np.random.default_rng(0).standard_normal((20, 9))
    order = np.random.default_rng(1).permutation(9)
    z = draw_noise(feature_generators(x, 5, 2), 20, 3)
    moved = draw_noise(feature_generators(x[:, order], 5, 2), 20, 3)
    np.testing.assert_array_equal(moved, z[:, order])


def test_noise_is_new_for_every_feature_mirror_and_seed():
    x = np.random.default_rng(0).standard_normal((2000, 4))
    x = standardised(np.column_stack([x, 2 * x[:, 0]]))  # a multiple: equal once standardised
    drawn = [draw_noise(feature_generators(x, seed), 2000, 3).reshape(2000, -1) for seed in (0, 1)]
    correlations = np.corrcoef(np.hstack(drawn).T) - np.eye(30)
    assert np.abs(correlations).max() < 6 / np.sqrt(2000)  # six standard errors


def test_mirrored_pair_halves_to_the_feature_and_its_noise():
    x, z = pair(0)
    c = torch.arange(1.0, 7.0, dtype=torch.float64)
    plus, minus = mirrored_pair(x, z[..., 0], c)
    torch.testing.assert_close((plus + minus) / 2, x)
    torch.testing.assert_close((plus - minus) / 2, c * z[..., 0])


# ---- laws of every rule ----


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_exchanging_plus_and_minus_leaves_the_scale(rule, k):
    x, z = pair(0, k=k)
    torch.testing.assert_close(SCALES[rule](x, -z), SCALES[rule](x, z))


@pytest.mark.parametrize("rule", RULES)
def test_the_noises_of_a_feature_are_treated_alike(rule):
    x, z = pair(0, k=3)
    torch.testing.assert_close(SCALES[rule](x, z[..., [2, 0, 1]]), SCALES[rule](x, z))


@pytest.mark.parametrize("rule", RULES)
def test_permuted_features_have_permuted_scales(rule):
    x, z = pair(0)
    order = [3, 0, 5, 1, 4, 2]
    torch.testing.assert_close(SCALES[rule](x[:, order], z[:, order]), SCALES[rule](x, z)[order], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rule", ["residual", "marginal"])
@given(factor=st.floats(0.01, 100))
@settings(max_examples=15, deadline=None)
def test_scale_has_the_unit_of_its_feature(rule, factor):
    x, z = pair(1)
    units = torch.ones(6, dtype=torch.float64)
    units[2] = factor
    torch.testing.assert_close(SCALES[rule](x * units, z), SCALES[rule](x, z) * units, rtol=1e-4, atol=1e-8)


def test_kernel_scale_has_the_unit_of_the_features():
    x, z = pair(1)
    torch.testing.assert_close(kernel_scales(3 * x, z), 3 * kernel_scales(x, z), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", [(30, 60), (30, 29), (30, 30), (12, 2)])
def test_scales_are_positive_whatever_the_shape(rule, shape):
    x, z = pair(2, *shape, dtype=torch.float32)
    scales = SCALES[rule](x, z)
    assert scales.shape == (shape[1],)
    assert torch.isfinite(scales).all()
    assert (scales > 0).all()


# ---- oracles ----


def test_marginal_scale_is_the_standard_deviation():
    x, z = pair(0)
    np.testing.assert_allclose(marginal_scales(x, z), np.std(x.numpy(), axis=0))


@pytest.mark.parametrize("k", [1, 2])
def test_linear_closed_form_minimises_the_linear_kernel_measure(k):
    x, z = pair(0, k=k)
    x = x - x.mean(dim=0)
    closed = linear_scales(x, z)
    for j in range(x.shape[1]):
        gram_w = kernels.linear_gram(torch.from_numpy(others_of(x, j)), constant=1.0)

        def measure(c, j=j, gram_w=gram_w):
            total = 0.0
            for noise in z[:, j].unbind(dim=-1):
                u, v = (kernels.linear_gram((x[:, j] + sign * c * noise)[:, None]) for sign in (1, -1))
                total += float(kernels.conditional_dependence(u, v, gram_w))
            return total

        best = minimize_scalar(measure, bounds=(0.05, 5.0), method="bounded", options={"xatol": 1e-8}).x
        assert float(closed[j]) == pytest.approx(best, rel=1e-4)


def test_linear_closed_form_equals_the_gaussian_mirror_in_an_orthogonal_design():
    rng = np.random.default_rng(0)
    x = standardised(rng.choice([-1.0, 1.0], (4096, 3)))  # W'x² and W'z² vanish but for the intercept
    z = rng.standard_normal((4096, 3, 1))
    table, noise = torch.from_numpy(x), torch.from_numpy(z)
    np.testing.assert_allclose(linear_scales(table, noise), residual_scales(table, noise), rtol=5e-3)


def test_a_negative_minimiser_falls_back_to_the_marginal_scale():
    # W = (1, w) with w large where x² is large and z² small: ⟨a, b⟩ < 0.
    x = torch.tensor([3.0, -3.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    w = 1e3 * torch.tensor([1.0, 1.0, -0.5, -0.5, -0.5, -0.5], dtype=torch.float64)
    z = torch.tensor([0.0, 0.0, 2.0, -2.0, 2.0, -2.0], dtype=torch.float64)
    table, noise = torch.stack([x, w], dim=1), torch.stack([z, z], dim=1)[..., None]
    assert float(linear_scales(table, noise)[0]) == pytest.approx(float(x.std(correction=0)))


@pytest.mark.parametrize("k", [1, 3])
def test_residual_scale_equals_explicit_regressions(k):
    x, z = pair(0, k=k)
    scales = residual_scales(x, z)
    for j in range(x.shape[1]):
        others = others_of(x, j)
        top = np.sum(residual(x[:, j].numpy(), others) ** 2)
        bottom = np.mean([np.sum(residual(z[:, j, i].numpy(), others) ** 2) for i in range(k)])
        assert float(scales[j]) == pytest.approx(np.sqrt(top / bottom), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_residual_scale_makes_the_partial_correlation_of_the_pair_zero(seed):
    x, z = pair(seed)
    plus, minus = mirrored_pair(x, z[..., 0], residual_scales(x, z))
    for j in range(x.shape[1]):
        u, v = (residual(side[:, j].numpy(), others_of(x, j)) for side in (plus, minus))
        assert abs(np.corrcoef(u, v)[0, 1]) < 1e-6


def test_search_finds_a_known_minimum_for_every_feature_at_once():
    target = torch.tensor([0.3, 0.7, 1.0, 1.9, 2.5], dtype=torch.float64)
    found = minimise_scale(lambda c: (c / target[:, None]).log().square(), torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(found, target, rtol=1e-6, atol=0)


def naive_mirror_dependence(x, z, j, c):
    """[I_j^K(c)]² from Gram matrices of U, V and the explicit X_-j, every bandwidth a median over all pairs."""
    u, v = ((x[:, j] + sign * c * z[:, j, 0])[:, None] for sign in (1, -1))
    w = torch.from_numpy(others_of(x, j))
    return float(kernels.conditional_dependence(*(kernels.gaussian_gram(t) for t in (u, v, w))))


@pytest.mark.parametrize("exact", [True, False])
def test_kernel_scale_minimises_the_measure_of_explicit_gram_matrices(exact):
    x, z = pair(0, n=150, p=5)
    x = torch.from_numpy(standardised(x.numpy()))
    scales = kernel_scales(x, z, exact=exact)
    for j in range(5):
        lowest = min(naive_mirror_dependence(x, z, j, c) for c in np.geomspace(0.2, 2.8, 60))
        # Bandwidths come from a sample of the pairs and, when not exact, kernels from features: within 5 %.
        assert naive_mirror_dependence(x, z, j, float(scales[j])) <= 1.05 * lowest


def test_approximate_kernel_scales_are_within_ten_percent_of_the_exact_ones():
    x, z = pair(3, n=400, p=20, dtype=torch.float32)
    exact, approximate = (kernel_scales(x, z, exact=choice) for choice in (True, False))
    torch.testing.assert_close(approximate, exact, rtol=0.1, atol=0)


@pytest.mark.parametrize("exact", [True, False])
def test_kernel_scales_do_not_depend_on_blocks(exact, monkeypatch):
    x, z = pair(4, n=60, p=7)
    whole = kernel_scales(x, z, exact=exact)
    monkeypatch.setitem(MEMORY, "cpu", 1)  # one feature at a time
    torch.testing.assert_close(kernel_scales(x, z, exact=exact), whole)


def test_genotypes_get_kernel_scales_of_their_own_size():
    rng = np.random.default_rng(0)
    x = rng.binomial(2, [0.05, 0.2, 0.5], size=(300, 3)).astype(float)
    scales = kernel_scales(torch.from_numpy(x), torch.from_numpy(rng.standard_normal((300, 3, 1))))
    ratio = scales.numpy() / x.std(axis=0)
    assert ratio.min() > 0.1
    assert ratio.max() < 4
