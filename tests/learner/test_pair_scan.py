"""Products in the sparse part: which pairs stand out, what they add to the skip, and the symmetry of directions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from builders import random_networks
from neuralmirror import NeuralGaussianMirror
from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner import pair_scan, solvers, sparse_part, stacking
from neuralmirror.learner.individual_sparse import individual_skips, product_terms, strongest_pairs
from neuralmirror.learner.initial_weights import padded_products
from neuralmirror.learner.training import Recipe
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.importance import field_strengths
from neuralmirror.mirror.individual import individual
from neuralmirror.mirror.simultaneous import simultaneous

SEED = (7, 0)
QUICK = Settings(recipe=Recipe(steps=10, batch_size=32), hidden=(8,), transform="standard", degree=1, n_networks=2)


def directions(seed=0, n=400, p=5, k=1):
    """X_j and its noises side by side, (n, p(K+1))."""
    return standardised(np.random.default_rng(seed).standard_normal((n, p * (k + 1))))


def product_problem(seed=0, n=400, p=6, classes=0):
    """y = x_0 + 2x_1x_2 + noise, or whether that is positive."""
    rng = np.random.default_rng(seed)
    x = standardised(rng.standard_normal((n, p)))
    y = x[:, 0] + 2 * x[:, 1] * x[:, 2] + 0.5 * rng.standard_normal(n)
    return StandardisedData(x, (y > 0).astype(float) if classes else standardised(y), np.empty((n, 0)), classes)


def with_noise(q, k=1, seed=1):
    noise = np.random.default_rng(seed).standard_normal((*q.x.shape, k))
    return np.concatenate([q.x[:, :, None], noise], axis=2)


def skip_of(q, columns, device="cpu", degree=1):
    return solvers.solve(
        [sparse_part.skip(sparse_part.Choice(q, "standard", degree), columns, device)], solvers.one_by_one
    )[0]


# ---- which pairs stand out ----


def test_scores_are_correlations_of_products():
    x, r = directions(p=3), standardised(np.random.default_rng(1).standard_normal(400))
    scores = pair_scan._scores(torch.from_numpy(x), torch.from_numpy(x), torch.from_numpy(r)).numpy()
    for a, b in np.ndindex(6, 6):
        expected = 400**0.5 * abs(np.corrcoef(x[:, a] * x[:, b], r)[0, 1])
        assert scores[a, b] == pytest.approx(expected, rel=1e-6)


def test_a_constant_product_has_no_score():
    signs = np.sign(np.random.default_rng(0).standard_normal(100))[:, None]
    x = torch.from_numpy(np.hstack([signs, signs]))
    assert not pair_scan._scores(x, x, torch.from_numpy(signs[:, 0])).any()


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("which", [(0, 0), (0, -1), (-1, -1)])
def test_products_of_features_and_of_noise_stand_out_alike(k, which):
    x = directions(k=k)
    first, second = (np.arange(k + 1)[place] for place in which)
    rest = x[:, 1 * (k + 1) + first] * x[:, 3 * (k + 1) + second] + np.random.default_rng(2).standard_normal(400)
    np.testing.assert_array_equal(pair_scan.outstanding_pairs(x, rest, k + 1)[0], [1, 3])


def test_a_product_within_a_feature_is_none():
    x = directions()
    assert not len(pair_scan.outstanding_pairs(x, x[:, 2] * x[:, 3], 2))


def test_nothing_stands_out_of_noise():
    noises = [np.random.default_rng(99 + seed).standard_normal(400) for seed in range(20)]
    found = [pair_scan.outstanding_pairs(directions(seed, p=40), noise, 2) for seed, noise in enumerate(noises)]
    assert sum(map(len, found)) <= 2  # one chance in a hundred for each, and tails of products are heavier than normal


@pytest.mark.parametrize("block", [1, 3, 4, 1000])
def test_blocks_of_columns_do_not_matter(block, monkeypatch):
    x = directions(p=9)
    rest = x[:, 0] * x[:, 16] + x[:, 5] * x[:, 8]
    expected = pair_scan.outstanding_pairs(x, rest, 2)
    monkeypatch.setattr(pair_scan, "BLOCK", block)
    np.testing.assert_array_equal(pair_scan.outstanding_pairs(x, rest, 2), expected)


def test_the_strongest_pairs_come_first_and_not_too_many(monkeypatch):
    x = directions(p=6)
    rest = 3 * x[:, 8] * x[:, 10] + 2 * x[:, 0] * x[:, 2] + x[:, 4] * x[:, 6]
    np.testing.assert_array_equal(pair_scan.outstanding_pairs(x, rest, 2), [[4, 5], [0, 1], [2, 3]])
    monkeypatch.setattr(pair_scan, "COLUMNS", 8)
    np.testing.assert_array_equal(pair_scan.outstanding_pairs(x, rest, 2), [[4, 5], [0, 1]])


def test_permuted_features_have_permuted_pairs():
    x, order = directions(p=5), np.array([3, 0, 4, 1, 2])
    rest = x[:, 0] * x[:, 8]
    moved = x.reshape(400, 5, 2)[:, order].reshape(400, 10)
    pairs, expected = pair_scan.outstanding_pairs(moved, rest, 2), pair_scan.outstanding_pairs(x, rest, 2)
    np.testing.assert_array_equal(np.sort(order[pairs], axis=1), expected)


def test_all_products_of_a_pair_enter():
    x = directions(p=3)
    found = pair_scan.products_of(x, np.array([[0, 2], [1, 2]]), 2)
    assert set(zip(found.first[:4], found.second[:4], strict=True)) == {(0, 4), (0, 5), (1, 4), (1, 5)}
    np.testing.assert_array_equal(found.pairs, [0] * 4 + [1] * 4)
    values = x[:, found.first] * x[:, found.second]
    np.testing.assert_allclose(found.columns, standardised(values))
    np.testing.assert_allclose(found.spreads, values.std(axis=0))


# ---- in the skip ----


def test_the_skip_finds_the_product():
    q = product_problem()
    found = skip_of(q, with_noise(q))
    strongest = np.abs(found.products[:, 0]).argmax()
    assert tuple(found.pairs[strongest]) == (2, 4)  # X_1 and X_2 among (X_0, Z_0, X_1, Z_1, X_2, ...)
    expected = 2 / (q.x[:, 0] + 2 * q.x[:, 1] * q.x[:, 2]).std()  # y is standardised
    assert found.products[strongest, 0] == pytest.approx(expected, rel=0.1)


def test_without_products_the_skip_is_the_same_as_before():
    q = product_problem()
    q = replace(q, y=standardised(q.x[:, 0] + np.random.default_rng(3).standard_normal(400)))
    looked, not_looked = (skip_of(q, with_noise(q), device) for device in ("cpu", None))
    assert not len(looked.pairs)
    for one, other in zip(looked, not_looked, strict=True):
        np.testing.assert_array_equal(one, other)


def test_products_that_do_not_predict_better_stay_out(monkeypatch):
    stages, widths = sparse_part.adaptive_stages, []

    def worse_with_products(columns, *rest):
        widths.append(columns.shape[1])
        fits = yield from stages(columns, *rest)
        return fits if len(widths) == 1 else [replace(fits[-1], explained=-1.0)]

    q = product_problem()
    expected = skip_of(q, with_noise(q), None)
    monkeypatch.setattr(sparse_part, "adaptive_stages", worse_with_products)
    looked = skip_of(q, with_noise(q))
    assert widths[1] > widths[0]  # products were tried
    assert not len(looked.pairs)
    np.testing.assert_array_equal(looked.linear, expected.linear)


@pytest.mark.parametrize("k", [1, 2])
def test_exchanging_directions_exchanges_their_products(k):
    q = product_problem()
    columns, order = with_noise(q, k), np.r_[1, 0, np.arange(2, k + 1)]
    exchanged = columns.copy()
    exchanged[:, 1] = columns[:, 1][:, order]
    one, other = skip_of(q, columns), skip_of(q, exchanged)
    place = np.arange(6 * (k + 1))
    place[k + 1 : 2 * (k + 1)] = (k + 1) + order
    weights = {tuple(place[pair]): gamma for pair, gamma in zip(other.pairs, other.products[:, 0], strict=True)}
    for pair, gamma in zip(one.pairs, one.products[:, 0], strict=True):
        assert weights.get(tuple(pair), 0) == pytest.approx(gamma, abs=5e-3)


def test_covariates_do_not_hide_products():
    q = product_problem()
    c = standardised(np.random.default_rng(5).standard_normal((400, 2)))
    q = replace(q, y=standardised(q.y + 3 * c[:, 0]), covariates=c)
    found = skip_of(q, with_noise(q))
    assert (2, 4) in {tuple(pair) for pair in found.pairs}
    assert found.linear[12, 0] > 0.5  # the covariate keeps its slope


def test_classes_have_products_on_the_scale_of_their_logits():
    q = product_problem(classes=2, n=1000)
    found = skip_of(q, with_noise(q))
    strongest = np.abs(found.products[:, 0]).argmax()
    assert tuple(found.pairs[strongest]) == (2, 4)
    assert found.products[strongest, 0] > 1


def test_skips_with_fewer_products_are_filled_up():
    skips = [
        sparse_part.Skip(*np.zeros((2, 4, 1)), pairs=np.ones((t, 2), dtype=np.intp), products=np.ones((t, 1)))
        for t in (1, 3)
    ]
    pairs, gamma = padded_products(skips)
    assert pairs.shape == (2, 3, 2)
    np.testing.assert_array_equal(gamma[..., 0], [[1, 0, 0], [1, 1, 1]])
    assert padded_products([sparse_part.Skip(*np.zeros((2, 4, 1)))]) == (None, None)


# ---- in the skips of individual mirrors ----


def individual_skip_of(q, noise, pairs):
    work = individual_skips(sparse_part.Choice(q, "standard", 1), noise, "cpu", np.array(pairs))
    return solvers.solve([work], solvers.one_by_one)[0]


def test_noise_has_the_products_of_its_feature():
    q = product_problem()
    noise = with_noise(q, k=2)[..., 1:]
    terms = product_terms(q.x, noise, np.array([[1, 2], [1, 4]]))
    np.testing.assert_array_equal(terms.common, q.x[:, [1, 1]] * q.x[:, [2, 4]])
    np.testing.assert_array_equal(terms.own[:, 1, :2], noise[:, 1] * q.x[:, 2:3])
    np.testing.assert_array_equal(terms.own[:, 1, 2:], noise[:, 1] * q.x[:, 4:5])
    np.testing.assert_array_equal(terms.own[:, 4, :2], noise[:, 4] * q.x[:, 1:2])
    np.testing.assert_array_equal(terms.groups[1], [0, 0, 1, 1])
    np.testing.assert_array_equal(terms.places[1], [[1, 2], [2, 2], [1, 4], [2, 4]])
    assert not terms.own[:, [0, 3, 5]].any()
    assert not terms.own[:, [2, 4], 2:].any()


def test_the_strongest_pairs_of_features_are_kept_and_not_too_many_of_one(monkeypatch):
    """Directions 0 and 1 are those of feature 0; the products of a pair count together."""
    places = np.array([[0, 2], [1, 3], [0, 4], [1, 5], [2, 4]])
    skip = sparse_part.Skip(*np.zeros((2, 6, 1)), pairs=places, products=np.array([[1.0], [1.0], [-1.5], [0.1], [3.0]]))
    np.testing.assert_array_equal(strongest_pairs(skip, 2), [[1, 2], [0, 1], [0, 2]])
    monkeypatch.setattr("neuralmirror.learner.individual_sparse.PARTNERS", 1)
    np.testing.assert_array_equal(strongest_pairs(skip, 2), [[1, 2]])
    assert strongest_pairs(sparse_part.Skip(*np.zeros((2, 6, 1))), 2).shape == (0, 2)


@pytest.mark.parametrize("k", [1, 2])
def test_individual_skips_with_products_equal_a_plain_solver_on_explicit_columns(k):
    q = product_problem()
    noise, pairs = with_noise(q, k)[..., 1:], [(1, 2), (1, 4)]
    shared, own = individual_skip_of(q, noise, pairs)
    products_of_x = np.column_stack([q.x[:, a] * q.x[:, b] for a, b in pairs])
    terms = np.hstack([q.x, standardised(products_of_x)])
    groups = np.arange(8)
    stages = solvers.solve([sparse_part.adaptive_stages(terms, q.y, groups)], solvers.one_by_one)[0]
    for j in range(6):
        partners = [(6 + t, sum(pair) - j) for t, pair in enumerate(pairs) if j in pair]
        columns = [terms, noise[:, j], *(standardised(noise[:, j] * q.x[:, b, None]) for _, b in partners)]
        belong = np.concatenate([groups, np.full(k, j), np.repeat([t for t, _ in partners], k).astype(int)])
        design, weights = np.hstack(columns), np.ones(len(belong))
        for stage in stages:
            model = Lasso(alpha=stage.penalty, tol=1e-10, max_iter=100_000).fit(design * weights, q.y)
            theta = model.coef_ * weights
            weights = sparse_part.group_weights(theta, belong)
        expected = model.intercept_ + design @ theta
        inputs = np.hstack([q.x, q.x[:, [j]], noise[:, j]])
        value = own.intercept[j] + q.x @ shared.linear[j] + inputs[:, 6:] @ own.linear[j]
        value += (inputs[:, own.pairs[j, :, 0]] * inputs[:, own.pairs[j, :, 1]]) @ own.products[j]
        np.testing.assert_allclose(value[:, 0], expected, atol=5e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_individual_skips_of_classes_have_products(classes):
    q = product_problem(classes=2, n=1000)
    if classes == 3:
        q = replace(q, y=q.y + (q.x[:, 3] > 1), classes=3)
    _, own = individual_skip_of(q, with_noise(q)[..., 1:], [(1, 2)])
    place = [tuple(pair) for pair in own.pairs[1]].index((6, 2))  # X_1, the first own input, and X_2
    assert np.abs(own.products[1, place]).max() > 1
    assert own.intercept.shape == (6, 1 if classes == 2 else 3)


# ---- in the networks ----


@pytest.mark.parametrize("outputs", [1, 3])
def test_products_add_to_the_value_of_a_network(outputs):
    networks = random_networks(m=2, own=4, outputs=outputs, curve=True, products=5)
    shared, own = torch.randn(7, 4, dtype=torch.float64), torch.randn(2, 7, 4, dtype=torch.float64)
    plain = replace(networks, pairs=None, products=None)
    added = networks.skip(shared, own) - plain.skip(shared, own)
    for i in range(2):
        inputs = torch.cat([shared, own[i]], dim=1)
        expected = sum(
            inputs[:, a, None] * inputs[:, b, None] * gamma
            for (a, b), gamma in zip(networks.pairs[i], networks.products[i], strict=True)
        )
        torch.testing.assert_close(added[i], expected)


@pytest.mark.parametrize("outputs", [1, 3])
def test_fields_see_the_slopes_of_products(outputs):
    networks = random_networks(m=2, own=4, outputs=outputs, curve=True, products=5)
    shared, own = torch.randn(6, 4, dtype=torch.float64), torch.randn(2, 6, 4, dtype=torch.float64)
    leaf = own.clone().requires_grad_()
    values = networks(shared, leaf)
    each = [torch.autograd.grad(output.sum(), leaf, retain_graph=True)[0] for output in values.unbind(dim=2)]
    slopes = torch.stack(each) - (torch.stack(each).mean(dim=0) if outputs > 1 else 0)
    expected = slopes.square().sum(dim=0).mean(dim=1).sqrt()
    torch.testing.assert_close(field_strengths(networks, shared, own), expected)


# ---- in the schemes and in the selector ----


@pytest.mark.parametrize("scheme", [lambda q, s: simultaneous([q], [SEED], s)[0], lambda q, s: individual(q, SEED, s)])
def test_features_of_a_product_have_strength_without_a_perceptron(scheme, monkeypatch):
    monkeypatch.setattr(stacking, "EVIDENCE", 1e9)  # no perceptron is believed
    q = product_problem()
    with_products, without = scheme(q, replace(QUICK, products=True)), scheme(q, QUICK)
    strengths = with_products.strengths[0]
    assert int(with_products.choices["products"][0]) >= 1
    assert without.choices["products"] == ["0"]
    assert strengths[1:3, 0].min() > 5 * strengths[3:].max()
    assert without.strengths[0, 1:3, 0].max() < 0.2 * strengths[1, 0]


def test_problems_with_and_without_products_share_a_batch():
    one = product_problem()
    other = replace(one, y=standardised(one.x[:, 0] + np.random.default_rng(6).standard_normal(400)))
    settings = replace(QUICK, products=True)
    together = simultaneous([one, other], [SEED, SEED], settings)
    assert together[1].choices["products"] == ["0"] != together[0].choices["products"]
    for q, draw in zip((one, other), together, strict=True):
        (alone,) = simultaneous([q], [SEED], settings)
        np.testing.assert_allclose(draw.strengths, alone.strengths, rtol=1e-3, atol=1e-5)


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
@pytest.mark.parametrize("scheme", ["simultaneous", "individual"])
def test_the_selector_looks_for_products_unless_it_is_to_be_linear(scheme):
    q = product_problem()
    options = {"scheme": scheme, "steps": 10, "hidden_sizes": 8, "random_state": 0, "n_mirrors": 1}
    found = {
        skip: NeuralGaussianMirror(skip=skip, **options).fit(q.x, q.y).n_products_
        for skip in ("auto", "quadratic", "linear", "none")
    }
    assert min(found["auto"], found["quadratic"]) > 0
    assert found["linear"] == found["none"] == 0
