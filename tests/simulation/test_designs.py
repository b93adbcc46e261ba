"""Simulated designs and responses: closed forms, naive loops, and laws that hold for every seed."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from neuralmirror.simulation import responses
from neuralmirror.simulation.designs import Simulation
from neuralmirror.simulation.features import DESIGNS, MARGINALS
from neuralmirror.simulation.links import FIXED, LINKS


def distance(p):
    return np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def covariance(design, p, rho):
    """The stated covariance by brute force."""
    if design == "toeplitz":
        return np.linalg.inv(rho ** distance(p))
    if design == "constant":
        return np.linalg.inv((1 - rho) * np.eye(p) + rho * np.ones((p, p)))
    return np.eye(p) if design == "independent" else rho ** distance(p)


# ---- features ----


@pytest.mark.parametrize("design", ["toeplitz", "constant", "ar", "independent"])
@settings(max_examples=25, deadline=None)
@given(p=st.integers(2, 30), rho=st.floats(0.0, 0.95))
def test_gaussian_designs_are_linear_maps_with_the_stated_covariance(design, p, rho):
    z = np.random.default_rng(0).standard_normal((2 * p, p))
    x = DESIGNS[design](np.random.default_rng(0), 2 * p, p, rho)
    root = np.linalg.lstsq(z, x)[0]  # X = Z root
    np.testing.assert_allclose(root.T @ root, covariance(design, p, rho), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rho", [-0.6, 0.5, 0.8])
@pytest.mark.parametrize("design", ["toeplitz", "constant", "ar"])
def test_empirical_covariance(design, rho):
    if design == "constant":
        rho = max(rho, -0.15)
    x = Simulation(design, n=100_000, p=6, k=1, rho=rho).sample(3)[0]
    white = np.linalg.inv(np.linalg.cholesky(covariance(design, 6, rho)))
    # Entries of the whitened covariance have standard error at most √(2/n) = 0.0045.
    np.testing.assert_allclose(white @ np.cov(x.T) @ white.T, np.eye(6), atol=0.025)


def test_constant_precision_has_the_eigenvalue_of_the_text():
    values = np.linalg.eigvalsh(covariance("constant", 50, 0.5))
    assert values[0] == pytest.approx(1 / (1 + 49 * 0.5))


def test_heavy_margins_are_t3_with_unit_variance():
    x = Simulation("heavy", n=5000, p=20, k=1, rho=0.5).sample(1)[0]
    assert stats.kstest(x[:, 7] * np.sqrt(3), stats.t(3).cdf).pvalue > 1e-3
    # Sample variances of t₃ hardly converge; in an elliptical law Kendall's τ = (2/π) arcsin ρ gives ρ.
    tau = stats.kendalltau(x[:, 7], x[:, 8]).statistic
    assert np.sin(np.pi / 2 * tau) == pytest.approx(0.5, abs=0.05)


def test_blocks_are_equicorrelated_and_independent_of_each_other():
    x = Simulation("blocks", n=40_000, p=25, k=1, rho=0.7).sample(0)[0]
    block = np.arange(25) // 10
    expected = np.where(np.equal.outer(block, block), 0.7, 0.0)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(np.cov(x.T), expected, atol=0.03)  # standard errors at most 0.007


def test_factors_leave_five_directions_beside_noise_of_variance_049():
    x = Simulation("factors", n=50_000, p=40, k=1).sample(0)[0]
    values = np.linalg.eigvalsh(np.cov(x.T))
    np.testing.assert_allclose(values[:-5], 0.49, rtol=0.1)
    assert values[-5] > 2


def test_lognormal_and_uniform_share_the_copula_of_ar():
    ar = Simulation("ar", n=60, p=9, k=1, rho=0.8).sample(4)[0]
    np.testing.assert_allclose(np.log(Simulation("lognormal", n=60, p=9, k=1, rho=0.8).sample(4)[0]), ar)
    np.testing.assert_allclose(Simulation("uniform", n=60, p=9, k=1, rho=0.8).sample(4)[0], stats.norm.cdf(ar))


def test_assorted_columns_have_the_marginals_they_were_dealt():
    g = np.random.default_rng(0).standard_normal(40_000)
    normal, lognormal, two, three, heavy = (marginal(g, 0.3) for marginal in MARGINALS)
    np.testing.assert_array_equal(normal, g)
    np.testing.assert_allclose(np.log(lognormal), g)
    assert two.mean() == pytest.approx(0.3, abs=0.015)
    np.testing.assert_allclose(np.bincount(three.astype(int)) / len(g), [0.49, 0.42, 0.09], atol=0.015)
    assert stats.kstest(heavy, stats.t(3).cdf).pvalue > 1e-3
    for column in (lognormal, two, three, heavy):
        assert (np.diff(column[np.argsort(g)]) >= 0).all()
    x = Simulation("assorted", n=300, p=200, k=1, rho=0.5).sample(0)[0]
    kinds = [len(np.unique(column)) for column in x.T]
    assert 20 < kinds.count(2) < 60
    assert 20 < kinds.count(3) < 60


def test_binary_takes_two_values_with_varying_frequencies():
    x = Simulation("binary", n=4000, p=200, k=1, rho=0.8).sample(0)[0]
    assert set(np.unique(x)) == {0.0, 1.0}
    frequency = x.mean(axis=0)
    assert frequency.min() > 0.05
    assert frequency.max() < 0.95
    assert np.ptp(frequency) > 0.6
    assert np.mean([np.corrcoef(x[:, j], x[:, j + 1])[0, 1] for j in range(199)]) > 0.3


def test_genotypes_count_minor_alleles_in_linkage_blocks():
    x = Simulation("genotypes", n=3000, p=200, k=1, rho=0.8).sample(0)[0]
    assert set(np.unique(x)) == {0.0, 1.0, 2.0}
    frequency = x.mean(axis=0) / 2
    assert frequency.min() > 0.03
    assert frequency.max() < 0.54
    neighbours = np.array([np.corrcoef(x[:, j], x[:, j + 1])[0, 1] for j in range(199)])
    across = np.arange(19, 199, 20)
    assert np.delete(neighbours, across).mean() > 0.3
    assert np.abs(neighbours[across]).max() < 0.1
    # Hardy–Weinberg: the two haplotypes are independent, so Var = 2f(1−f).
    np.testing.assert_allclose(x.var(axis=0), 2 * frequency * (1 - frequency), rtol=0.15)


def test_columns_are_distinct_columns_of_the_source_in_row_order():
    source = np.add.outer(1000 * np.arange(7), np.arange(50)).astype(np.int32)
    sim = Simulation("columns", p=20, k=3, source=source)
    assert sim.n == 7
    X = sim.sample(0)[0]
    assert X.dtype == np.float64
    assert len(set(X[0])) == 20
    np.testing.assert_array_equal(X, source[:, X[0].astype(int)])
    rows = Simulation("columns", n=4, p=20, k=3, source=source).sample(0)[0][:, 0] // 1000
    assert len(rows) == 4
    assert np.all(np.diff(rows) > 0)


def test_constant_columns_never_matter():
    source = np.random.default_rng(0).standard_normal((30, 12))
    source[:, :6] = 0.1
    for seed in range(5):
        X, _, truth = Simulation("columns", p=12, k=6, source=source).sample(seed)
        np.testing.assert_array_equal(truth, np.ptp(X, axis=0) > 0)
    with pytest.raises(ValueError, match="6 that vary"):
        Simulation("columns", p=12, k=7, source=source).sample(0)


# ---- responses and whole samples ----


@pytest.mark.parametrize("link", LINKS)
def test_h2_is_the_signal_share(link):
    sim = Simulation(n=200, p=60, link=link, h2=0.5)
    low, high = sim.sample(0)[1], replace(sim, h2=0.8).sample(0)[1]
    # The noise is the same, so the difference is (2 − 1) times a signal of variance 1.
    assert (high - low).var() == pytest.approx(0.0 if link == "null" else 1.0)


@pytest.mark.parametrize(
    ("response", "noise"),
    [("gaussian", stats.norm), ("logistic", stats.logistic), ("multinomial", stats.gumbel_r)],
)
def test_h2_is_measured_against_the_noise_of_the_response(monkeypatch, response, noise):
    bare = responses.RESPONSES[response]._replace(draw=lambda rng, signals: signals)
    monkeypatch.setitem(responses.RESPONSES, response, bare)
    signals = Simulation(n=100, p=60, h2=0.75, response=response).sample(0)[1]
    np.testing.assert_allclose(signals.var(axis=0), 3 * noise.var())


def test_h2_defaults_to_nine_tenths_off_the_paper():
    for sim in (Simulation(link="squares"), Simulation(response="logistic")):
        np.testing.assert_array_equal(sim.sample(0)[1], replace(sim, h2=0.9).sample(0)[1])
    assert not np.allclose(Simulation().sample(0)[1], Simulation(h2=0.9).sample(0)[1])


def test_heteroscedastic_noise_grows_with_the_signal_and_has_mean_variance_one():
    s = np.linspace(-1, 1, 40_000)
    noise = responses.heteroscedastic(np.random.default_rng(0), s[:, None]) - s
    assert noise.var() == pytest.approx(1.0, rel=0.05)
    quarters = noise.reshape(4, -1).var(axis=1)
    np.testing.assert_allclose(quarters, [0.4375, 0.8125, 1.1875, 1.5625], rtol=0.1)


def test_threshold_gives_the_classes_of_ring_and_xor_without_noise():
    for link in ("ring", "xor"):
        X, y, truth = Simulation("uniform", n=1000, p=10, k=2, rho=0.0, link=link, response="threshold").sample(0)
        centred = X[:, truth] - 0.5
        r = np.hypot(*centred.T)
        inside = (r > 0.2) & (r < 0.45) if link == "ring" else (centred > 0).sum(axis=1) == 1
        assert (y == inside).mean() > 0.9  # ranks stand for the values, so rows near the edges may differ
        assert 0.4 < y.mean() < 0.6


def test_logistic_draws_the_sigmoid():
    y = responses.logistic(np.random.default_rng(0), np.full((40_000, 1), 1.2))
    assert y.mean() == pytest.approx(1 / (1 + np.exp(-1.2)), abs=0.015)


def test_multinomial_draws_the_softmax():
    s = np.array([0.5, -1.0, 1.0])
    y = responses.multinomial(np.random.default_rng(0), np.tile(s, (40_000, 1)))
    np.testing.assert_allclose(np.bincount(y) / len(y), np.exp(s) / np.exp(s).sum(), atol=0.015)


@pytest.mark.parametrize(("response", "classes"), [("logistic", [0, 1]), ("multinomial", [0, 1, 2])])
@pytest.mark.parametrize("link", ["linear", "mixed", "null"])
def test_class_labels_are_integers(response, classes, link):
    y = Simulation(n=300, p=60, link=link, response=response).sample(0)[1]
    assert y.dtype == np.int64
    np.testing.assert_array_equal(np.unique(y), classes)


@pytest.mark.parametrize("response", responses.RESPONSES)
@pytest.mark.parametrize("link", LINKS)
def test_y_depends_on_the_true_features_alone(link, response):
    if link in FIXED and response == "multinomial":
        pytest.skip("refused, see the errors below")
    source = np.random.default_rng(0).standard_normal((150, 40))
    sim = Simulation("columns", p=40, k=30, link=link, response=response, h2=0.99, source=source)
    X, y, truth = sim.sample(9)
    place = [int(np.flatnonzero(source[0] == value)[0]) for value in X[0]]  # column of X -> of source
    nulls = np.array(place)[~truth]
    changed = source.copy()
    changed[:, nulls] = np.random.default_rng(1).standard_normal((150, len(nulls)))
    np.testing.assert_array_equal(replace(sim, source=changed).sample(9)[1], y)
    if link != "null":
        changed[:, np.array(place)[truth]] *= np.linspace(-3, 3, 150)[:, None]
        assert not np.array_equal(replace(sim, source=changed).sample(9)[1], y)


@settings(max_examples=30, deadline=None)
@given(design=st.sampled_from([*DESIGNS]), link=st.sampled_from(LINKS), seed=st.integers(0, 2**32 - 1))
def test_shapes_truth_count_and_seeds(design, link, seed):
    sim = Simulation(design, n=50, p=40, k=30, link=link)
    X, y, truth = sim.sample(seed)
    assert (X.shape, y.shape, truth.shape) == ((50, 40), (50,), (40,))
    assert (X.dtype, truth.dtype) == (np.float64, np.bool_)
    assert truth.sum() == (0 if link == "null" else 30)
    for again, first in zip(sim.sample(np.random.default_rng(seed)), (X, y, truth), strict=True):
        np.testing.assert_array_equal(again, first)
    assert not np.array_equal(sim.sample(seed + 1)[0], X)


def test_order_of_seeds_does_not_matter_but_a_generator_moves_on():
    sim = Simulation(n=20, p=40)
    forward = [sim.sample(seed)[1] for seed in (0, 1, 2)]
    backward = [sim.sample(seed)[1] for seed in (2, 1, 0)][::-1]
    np.testing.assert_array_equal(forward, backward)
    rng = np.random.default_rng(0)
    assert not np.array_equal(sim.sample(rng)[1], sim.sample(rng)[1])


def test_links_share_X_and_truth_at_equal_seeds():
    samples = [Simulation(n=30, p=40, link=link).sample(5) for link in LINKS if link != "null"]
    for X, _, truth in samples:
        np.testing.assert_array_equal(X, samples[0][0])
        np.testing.assert_array_equal(truth, samples[0][2])


# ---- errors at the edge ----


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"design": "toplitz"}, "did you mean 'toeplitz'?"),
        ({"link": "cubed"}, "did you mean 'cubic'?"),
        ({"response": "logit"}, "did you mean 'logistic'?"),
        ({"link": "zzz"}, "link must be one of linear"),
        ({"p": 20, "k": 30}, "k must lie between 1 and p = 20, got 30"),
        ({"k": 0}, "link='null'"),
        ({"n": 1}, "n must be an integer, at least 2, got 1"),
        ({"p": 10.0}, "p must be an integer, at least 2, got 10.0"),
        ({"rho": 1.0}, "rho must lie in (-1, 1), got 1.0"),
        ({"rho": float("nan")}, "rho must lie in"),
        ({"design": "constant", "p": 101, "rho": -0.5}, "rho must lie in (-0.01, 1), got -0.5"),
        ({"design": "blocks", "rho": -0.1}, "rho must be at least 0 in blocks, got -0.1"),
        ({"link": "triple-products", "k": 10}, "multiple of 3 for 'triple-products', got 10; try k=9"),
        ({"link": "xor", "response": "multinomial"}, "signals of their own, got 'xor'"),
        ({"h2": 0.0}, "h2 must be None or lie in (0, 1), got 0.0"),
        ({"h2": 90}, "h2 must be None or lie in (0, 1), got 90"),
        ({"link": "products", "k": 7}, "multiple of 2 for 'products', got 7; try k=6"),
        ({"link": "friedman", "k": 12}, "multiple of 5 for 'friedman', got 12; try k=10"),
        ({"link": "mixed", "k": 5}, "at least 6 for 'mixed', got 5"),
        ({"design": "columns"}, "pass source=X"),
        ({"source": np.ones((3, 3))}, "source goes with design 'columns'"),
        ({"design": "columns", "source": np.ones(3)}, "got shape (3,)"),
        ({"design": "columns", "source": np.ones((9, 40))}, "at most the 40 columns of source, got 500"),
        ({"design": "columns", "p": 40, "source": np.full((9, 40), np.nan)}, "source must be finite"),
    ],
)
def test_errors_state_expectation_and_remedy(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Simulation(**settings)
