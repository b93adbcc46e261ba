"""Gram matrices and the dependence measure: naive loops, positivity, and the linear-time approximation."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralmirror.mirror import kernels

SEEDS = st.integers(0, 2**32 - 1)


def points(seed, n, d=1):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))


def triple(seed, n=12):
    """Gram matrices of two dependent variables and a third of two dimensions."""
    u, e, w = points(seed, n), points(seed + 1, n), points(seed + 2, n, 2)
    return [kernels.gaussian_gram(t) for t in (u, u + e, w)]


def naive_centred(gram, i, k):
    n = len(gram)
    row = sum(float(gram[i, b]) for b in range(n)) / n
    column = sum(float(gram[a, k]) for a in range(n)) / n
    grand = sum(float(gram[a, b]) for a in range(n) for b in range(n)) / n**2
    return float(gram[i, k]) - row - column + grand


# ---- Gram matrices ----


@pytest.mark.parametrize("d", [1, 4])
def test_gram_matrices_equal_their_definitions(d):
    x = points(0, 7, d)
    width = 1.7
    grams = kernels.gaussian_gram(x, width), kernels.polynomial_gram(x, 3, 0.5), kernels.linear_gram(x, 2.0)
    for i in range(7):
        for k in range(7):
            distance = sum(float(x[i, c] - x[k, c]) ** 2 for c in range(d))
            inner = sum(float(x[i, c] * x[k, c]) for c in range(d))
            expected = math.exp(-distance / (2 * width**2)), (inner + 0.5) ** 3, inner + 2.0
            assert [float(g[i, k]) for g in grams] == pytest.approx(expected)


@pytest.mark.parametrize("n", [3, 6, 7])  # 3, 15 and 21 pairs: one middle value
def test_median_bandwidth_is_the_median_distance_between_different_rows(n):
    x = points(1, n, 3)
    distances = [float((x[i] - x[k]).norm()) for i, k in combinations(range(n), 2)]
    assert float(kernels.median_bandwidth(x)) == pytest.approx(np.median(distances))


@given(seed=SEEDS, factor=st.floats(1e-3, 1e3))
@settings(max_examples=30, deadline=None)
def test_bandwidth_scales_with_the_data_so_the_gram_matrix_does_not_change(seed, factor):
    x = points(seed, 9, 2)
    assert float(kernels.median_bandwidth(factor * x)) == pytest.approx(factor * float(kernels.median_bandwidth(x)))
    torch.testing.assert_close(kernels.gaussian_gram(factor * x), kernels.gaussian_gram(x))


def test_bandwidth_of_discrete_and_of_constant_data():
    mostly_equal = torch.tensor([[0.0]] * 8 + [[1.0]], dtype=torch.float64)
    assert float(kernels.median_bandwidth(mostly_equal)) == pytest.approx(8 / 36)  # the mean, as the median is 0
    assert float(kernels.median_bandwidth(torch.zeros(5, 1))) == 1.0


# ---- the measure ----


def test_dependence_equals_the_naive_triple_loop():
    gram_u, gram_v, gram_w = triple(0, n=8)
    total = 0.0
    for i in range(8):
        for k in range(8):
            total += naive_centred(gram_u, i, k) * naive_centred(gram_v, i, k) * float(gram_w[i, k])
    assert float(kernels.conditional_dependence(gram_u, gram_v, gram_w)) == pytest.approx(total / 8**2)


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_dependence_is_a_squared_norm_and_symmetric(seed):
    gram_u, gram_v, gram_w = triple(seed)
    measure = float(kernels.conditional_dependence(gram_u, gram_v, gram_w))
    assert measure >= 0
    assert measure == pytest.approx(float(kernels.conditional_dependence(gram_v, gram_u, gram_w)))


def test_a_constant_variable_depends_on_nothing():
    _, gram_v, gram_w = triple(0)
    assert float(kernels.conditional_dependence(torch.ones(12, 12), gram_v, gram_w)) == pytest.approx(0, abs=1e-12)


def test_dependence_sees_a_relation_that_correlation_misses():
    x, w = points(0, 200), points(1, 200)
    grams = [kernels.gaussian_gram(t) for t in (x, x.square(), points(2, 200), w)]
    related, unrelated = (kernels.conditional_dependence(grams[0], grams[k], grams[3]) for k in (1, 2))
    assert float(related) > 5 * float(unrelated)


def test_batches_are_carried_along():
    several = [triple(seed) for seed in (0, 10, 20)]
    together = kernels.conditional_dependence(*(torch.stack(grams) for grams in zip(*several, strict=True)))
    one_by_one = torch.stack([kernels.conditional_dependence(*grams) for grams in several])
    torch.testing.assert_close(together, one_by_one)


# ---- in time linear in n ----


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_features_give_exactly_the_measure_of_the_kernels_they_stand_for(seed):
    u, v, w = points(seed, 10, 3), points(seed + 1, 10, 2), points(seed + 2, 10, 4)
    diagonal = points(seed + 3, 10)[:, 0].square()
    exact = kernels.conditional_dependence(u @ u.mT, v @ v.mT, w @ w.mT + torch.diag(diagonal))
    torch.testing.assert_close(kernels.conditional_dependence_from_features(u, v, w, diagonal), exact)


def test_scalar_features_reproduce_the_gaussian_kernel_to_one_percent():
    t = torch.linspace(-3.5, 3.5, 161, dtype=torch.float64)  # bandwidths: what 999 of 1000 normal values span
    phi = kernels.scalar_features(t)
    exact = torch.exp(-(t[:, None] - t).square() / 2)
    assert float((phi @ phi.mT - exact).abs().max()) < 0.01


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 5, 40])
def test_approximate_measure_is_within_five_percent_of_the_exact_one(seed, d):
    n, m = 300, 32
    x, z, w = points(seed, n), points(seed + 50, n), points(seed + 90, n, d)
    u, v = x + z, x - z / 2
    exact = kernels.conditional_dependence(*(kernels.gaussian_gram(t) for t in (u, v, w)))
    phi_u, phi_v = (kernels.scalar_features(((t - t.mean()) / kernels.median_bandwidth(t))[:, 0]) for t in (u, v))
    to_landmarks = kernels.gaussian_gram(w)[:, :m]
    features, diagonal = kernels.landmark_features(to_landmarks, to_landmarks[:m])
    approximate = kernels.conditional_dependence_from_features(phi_u, phi_v, features, diagonal)
    assert float(approximate) == pytest.approx(float(exact), rel=0.05)
