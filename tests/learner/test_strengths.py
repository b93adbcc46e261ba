"""One definition of strength: the same function has the same, however it is written and whichever part fits it."""

import numpy as np
import pytest
import torch

from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network import Network
from neuralmirror.learner.orthogonal import orthogonal
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.perceptron import Goal, fit_network
from neuralmirror.learner.sampler import sample
from neuralmirror.learner.sparse import fit_sparse
from neuralmirror.learner.stacking import fit_followed, learn
from neuralmirror.learner.structure import main_term, pair_term
from neuralmirror.learner.terms import LINE, PRODUCT, SMOOTH, SURFACE, assemble, covariate_term, strengths
from neuralmirror.learner.weighing import shrunken_slope


def inputs(n=600, p=3, each=2, seed=0):
    """Independent normal directions."""
    x = np.random.default_rng(seed).standard_normal((p, each, n)).astype(np.float32)
    x -= x.mean(axis=2, keepdims=True)
    return Inputs(x / x.std(axis=2, keepdims=True), np.arange(p), np.empty((n, 0)), n)


def strength_with(kinds, seen, y, of):
    """Strength of a direction when the term of its feature, or of a pair, may be written in some kinds only."""
    options = main_term(seen, 0, True) if of == "main" else pair_term([seen, seen], [0, 1], [4, 4])
    terms = assemble([covariate_term(seen.covariates, seen.n_seen), [o for o in options if o.kind in kinds]], 3)
    chain = sample(terms, y[:, None], 0, 0, 300, 100)
    return strengths(terms, chain.sizes, (3, 2))


def test_a_line_written_in_waves_is_as_strong():
    seen = inputs()
    y = seen.directions[0, 1] + 0.1 * np.random.default_rng(1).standard_normal(600)
    line, waves = (strength_with(kind, seen, y, "main") for kind in ((LINE,), (SMOOTH,)))
    assert line[0, 1] == pytest.approx(1, rel=0.02)
    assert waves[0, 1] == pytest.approx(line[0, 1], rel=0.05)
    assert line[0, 0] < 0.01


def test_a_product_written_as_a_surface_is_as_strong():
    seen = inputs()
    y = seen.directions[0, 0] * seen.directions[1, 1] + 0.1 * np.random.default_rng(1).standard_normal(600)
    product, surface = (strength_with(kind, seen, y, "pair") for kind in ((PRODUCT,), (SURFACE,)))
    sd = (seen.directions[0, 0] * seen.directions[1, 1]).std()
    assert product[0, 0] == pytest.approx(sd, rel=0.02)
    assert product[1, 1] == product[0, 0]
    np.testing.assert_allclose(surface[[0, 1], [0, 1]], product[[0, 1], [0, 1]], rtol=0.1)


def test_strength_is_the_root_of_the_total_sobol_index():
    """f = a x₁ + b x₁x₂ has √(a² + b²) along x₁ and |b| along x₂, for the sparse part and for the network alike."""
    seen = inputs(n=1500)
    x = seen.directions
    y = 0.8 * x[0, 0] + 0.6 * x[0, 0] * x[1, 1]
    found = fit_sparse(seen, Response(y[:, None].astype(float)), 0).strengths()
    assert found[0, 0] == pytest.approx(1, rel=0.06)
    assert found[1, 1] == pytest.approx(0.6, rel=0.06)


def test_the_sparse_part_and_the_network_agree_on_lines():
    seen = inputs(n=1500)
    x = seen.directions
    y = (0.9 * x[0, 0] - 0.5 * x[1, 1])[:, None].astype(float)
    sparse = fit_sparse(seen, Response(y), 0).strengths()
    network = fit_network(seen, Goal(y), Network(shrinkage=0.05).suited_to("network"), 0, "cpu").strengths(3)
    np.testing.assert_allclose(network, sparse, atol=0.08)
    np.testing.assert_allclose(sparse[[0, 1], [0, 1]], [0.9, 0.5], rtol=0.05)


def test_orthogonal_blocks_span_the_same_and_drop_what_vanishes():
    rng = np.random.default_rng(0)
    block = rng.standard_normal((2, 4, 50))
    block[1, 3] = block[1, 0] + block[1, 1]
    one, other = orthogonal(block.astype(np.float32))
    assert (len(one), len(other)) == (4, 3)
    for turned, original in ((one, block[0]), (other, block[1])):
        gram = turned.astype(float) @ turned.T
        np.testing.assert_allclose(gram, np.diag(gram.diagonal()), atol=1e-3)
        rest = original - original @ np.linalg.pinv(turned.astype(float)) @ turned
        np.testing.assert_allclose(rest, 0, atol=1e-4)


# ---- weights of the parts ----


def test_the_slope_of_a_prediction_is_shrunk_by_chance_alone():
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((400, 1))
    assert shrunken_slope(0.5 * signal, signal) == pytest.approx(0.5)
    assert shrunken_slope(3 * signal, signal) == 1
    assert shrunken_slope(-signal, signal) == 0
    assert shrunken_slope(signal, 0 * signal) == 0
    useless = [shrunken_slope(rng.standard_normal((400, 1)), signal) for _ in range(50)]
    assert np.mean(useless) < 0.05


def test_parts_explain_what_they_add_to_those_before():
    seen = inputs(n=1000)
    x, rest = seen.directions, np.random.default_rng(1).standard_normal(1000)
    y = (x[0, 0] + (x[1, 1] ** 2 - 1) / 2**0.5 + rest)[:, None].astype(float) / 3**0.5
    fit = learn(seen, Response(y), Engine("sparse"), 0)
    assert list(fit.explained) == ["lines", "curves", "interactions"]
    assert fit.explained["lines"] == pytest.approx(1 / 3, abs=0.06)
    assert fit.explained["curves"] == pytest.approx(1 / 3, abs=0.08)
    assert fit.explained["interactions"] == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("shrinkage", "many"), [(5.0, 43), (0.0, 60)])
def test_networks_see_again_what_they_followed_most_by_any_direction(shrinkage, many):
    """Of 60 features [2n/log n] = 43 are kept, one that acts through a copy too; without shrinkage all are seen."""
    seen = inputs(n=100, p=60)
    y = (2 * seen.directions[3, 0] - 2 * seen.directions[17, 1])[:, None].astype(float)
    network = Network(shrinkage=shrinkage, steps=200, hidden_sizes=10)
    kept, fit = fit_followed(seen, Goal(y), Engine("network", network), 0)
    assert len(kept) == many
    assert {3, 17} <= set(kept)
    strengths = learn(seen, Response(y), Engine("network", network), 0).strengths
    assert not np.delete(strengths, kept, axis=0).any()
    np.testing.assert_allclose(strengths[kept], fit.strengths(len(kept)), rtol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_finds_the_strengths_of_the_cpu():
    """Scans and chains to 1e-3; networks train with products of 10 bits, so theirs agree to 5 % of the largest."""
    seen = inputs(n=800, p=6)
    x = seen.directions
    y = (x[0, 0] + x[1, 1] ** 2 + x[2, 0] * x[3, 0])[:, None].astype(float)
    response = Response((y - y.mean()) / y.std())
    for learner, tolerance in (("sparse", 1e-3), ("network", 0.05)):
        cpu, gpu = (learn(seen, response, Engine(learner, Network(), d), 0).strengths for d in ("cpu", "cuda"))
        np.testing.assert_allclose(gpu, cpu, atol=tolerance * cpu.max())
