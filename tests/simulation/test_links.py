"""Links: naive loops, closed forms, and the law that every true feature matters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neuralmirror.simulation import links
from neuralmirror.simulation.designs import Simulation
from neuralmirror.simulation.random_functions import every_feature, reached_leaf


def naive_signal(link, x, beta):
    n, k = x.shape
    s = np.zeros(n)
    for i in range(n):
        if link == "squares":
            s[i] = sum(beta[j] * (x[i, j] ** 2 - 1) for j in range(k))
        elif link == "products":
            s[i] = sum(beta[j] * x[i, j] * x[i, j + 1] for j in range(0, k, 2))
        elif link == "absolute":
            s[i] = sum(beta[j] * abs(x[i, j]) for j in range(k))
        elif link == "sine":
            s[i] = sum(beta[j] * np.sin(2 * x[i, j]) for j in range(k))
        elif link == "linear-uniform":
            s[i] = sum(beta[j] * x[i, j] for j in range(k))
        elif link == "sine2":
            s[i] = sum(np.sin(2 * x[i, j]) for j in range(k))
        elif link == "sine3":
            s[i] = sum(beta[j] * np.sin(3 * x[i, j]) for j in range(k))
        elif link == "cosine3":
            s[i] = sum(beta[j] * np.cos(3 * x[i, j]) for j in range(k))
        elif link == "ratio":
            s[i] = sum(beta[j] * x[i, j] / (1 + x[i, j + 1] ** 2) for j in range(0, k, 2))
        elif link == "gate":
            s[i] = sum(beta[j] * x[i, j] for j in range(0, k, 2) if x[i, j + 1] > 0)
        elif link == "sign-product":
            s[i] = sum(beta[j] * np.sign(x[i, j]) * np.sign(x[i, j + 1]) for j in range(0, k, 2))
        elif link == "sine-of-sum":
            s[i] = sum(beta[j] * np.sin(1.5 * x[i, j] + 1.5 * x[i, j + 1]) for j in range(0, k, 2))
        elif link == "triple-products":
            s[i] = sum(beta[j] * x[i, j] * x[i, j + 1] * x[i, j + 2] for j in range(0, k, 3))
        elif link in ("ring", "xor"):
            for j in range(0, k, 2):
                u, v = ((np.sum(x[:, c] < x[i, c]) + 0.5) / n for c in (j, j + 1))
                inside = 0.2 <= np.sqrt((u - 0.5) ** 2 + (v - 0.5) ** 2) <= 0.45
                s[i] += inside if link == "ring" else (u > 0.5) != (v > 0.5)
        elif link == "mixed":
            third = k // 3
            s[i] = sum(beta[j] * x[i, j] * x[i, j + 1] for j in range(0, third, 2))
            s[i] += sum(beta[j] * x[i, j] for j in range(third, 2 * third))
            s[i] += sum(beta[j] * (x[i, j] ** 2 - 1) for j in range(2 * third, k))
        elif link == "friedman":
            for b in range(0, k, 5):
                u = [(np.sum(x[:, b + j] < x[i, b + j]) + 0.5) / n for j in range(5)]
                value = 10 * np.sin(np.pi * u[0] * u[1]) + 20 * (u[2] - 0.5) ** 2 + 10 * u[3] + 5 * u[4]
                s[i] += beta[b] * value
    return s


@pytest.mark.parametrize("link", links.ADDITIVE)
def test_additive_links_match_the_naive_sums(link):
    rng = np.random.default_rng(2)
    x, beta = rng.standard_normal((40, 30)), rng.standard_normal(30)
    np.testing.assert_allclose(links.ADDITIVE[link](x, beta), naive_signal(link, x, beta), atol=1e-10)


@given(k=st.integers(6, 60))
def test_every_feature_of_mixed_matters(k):
    x = np.random.default_rng(k).standard_normal((5, k))
    moved = x + 1.0
    base = links.mixed(x, np.ones(k))
    for j in range(k):
        one = np.where(np.arange(k) == j, moved, x)
        assert not np.allclose(links.mixed(one, np.ones(k)), base)


@pytest.mark.parametrize(
    ("link", "f"),
    [("sin", lambda t: t + np.sin(t)), ("cubic", lambda t: 0.5 * t**3), ("quintic", lambda t: 0.1 * t**5)],
)
def test_single_index_links_are_functions_of_the_linear_index(link, f):
    x = np.random.default_rng(0).standard_normal((50, 10))
    t = links.draw_signal(np.random.default_rng(1), x, 500, "linear")
    s = links.draw_signal(np.random.default_rng(1), x, 500, link)
    np.testing.assert_allclose(s, f(t), rtol=1e-10)
    beta, residual, *_ = np.linalg.lstsq(x, t)
    assert residual < 1e-18
    assert len(np.unique(beta)) == 10


def test_linear_model_follows_the_paper():
    n, p = 1500, 500  # every feature true, so that 500 coefficients estimate their own spread
    X, y, _ = Simulation(n=n, p=p, k=p).sample(4)
    beta, rss, *_ = np.linalg.lstsq(X, y)
    assert beta.std() == pytest.approx(20 * np.sqrt(np.log(p) / n), rel=0.15)  # standard error 3%
    assert rss[0] / (n - p) == pytest.approx(1.0, rel=0.25)  # standard error 4.5%


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_uniform_scores_lie_inside_and_average_half(values):
    scores = links.uniform_scores(np.array(values, dtype=float))
    assert scores.min() > 0
    assert scores.max() < 1
    assert scores.mean() == pytest.approx(0.5)
    np.testing.assert_allclose(scores * len(values) + 0.5, stats.rankdata(values))


MATTERING = [link for link in links.LINKS if link != "null"]


@pytest.mark.parametrize("link", MATTERING)
def test_every_true_feature_matters(link):
    """Replacing one true column moves the signal, whichever it is, and a column that is not true is never read."""
    rng = np.random.default_rng(5)
    x, other = rng.standard_normal((2, 400, 30))
    base = links.draw_signal(np.random.default_rng(1), x, 60, link)
    for j in range(30):
        moved = np.where(np.arange(30) == j, other, x)
        change = links.draw_signal(np.random.default_rng(1), moved, 60, link) - base
        assert change.std() > (1e-4 if link in links.INDEX else 0.01) * base.std()  # a normal β may be near 0


@pytest.mark.parametrize("design", ["binary", "genotypes", "assorted"])
@pytest.mark.parametrize("link", [link for link in MATTERING if link not in links.EVEN])
def test_discrete_features_matter_too_where_the_link_is_not_even(link, design):
    x = Simulation(design, n=600, p=30, k=30, rho=0.3).sample(2)[0]
    other = Simulation(design, n=600, p=30, k=30, rho=0.3).sample(3)[0]
    base = links.draw_signal(np.random.default_rng(1), x, 60, link)
    for j in range(30):
        moved = np.where(np.arange(30) == j, other, x)
        change = links.draw_signal(np.random.default_rng(1), moved, 60, link) - base
        assert change.std() > 1e-3 * base.std()


@pytest.mark.parametrize("link", links.RANDOM)
def test_random_functions_are_fixed_by_the_seed_and_differ_between_seeds(link):
    x = np.random.default_rng(0).standard_normal((50, 8))
    first, again, other = (links.draw_signal(np.random.default_rng(seed), x, 20, link) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@given(k=st.integers(1, 80), groups=st.integers(1, 30), size=st.integers(1, 7))
def test_features_take_turns(k, groups, size):
    drawn = every_feature(np.random.default_rng(0), k, groups, size)
    assert drawn.shape == (groups, size)
    counts = np.bincount(drawn.ravel(), minlength=k)
    assert np.ptp(counts) <= 1


def test_leaves_are_those_of_a_naive_walk():
    rng = np.random.default_rng(0)
    x, features, thresholds = rng.standard_normal((60, 5)), rng.integers(5, size=7), rng.normal(0, 0.5, 7)
    for row, leaf in zip(x, reached_leaf(x, features, thresholds), strict=True):
        node = 0
        while node < 7:
            node = 2 * node + (2 if row[features[node]] > thresholds[node] else 1)
        assert leaf == node - 7
