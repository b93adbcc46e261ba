"""The Gibbs sampler against closed forms and enumeration, and what it may not see."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, truncnorm

from builders import inputs_of, problem
from neuralmirror.learner import sampler
from neuralmirror.learner.latent import draw_latent, normal_above
from neuralmirror.learner.network import Network
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.perceptron import Goal, fit_network
from neuralmirror.learner.sampler import sample
from neuralmirror.learner.sparse import QUICK, fit_sparse
from neuralmirror.learner.terms import LINE, WIDTHS, Option, assemble, covariate_term
from neuralmirror.mirror.response import standard_response

NOISE, SPREAD, SHARE = 0.7, 0.2, 0.3


def lines(seed=0, n=25, count=3, options=2):
    """Terms of one line each out of several correlated ones, without anything that is always in."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((count, options, n)) + 0.7 * rng.standard_normal(n)).astype(np.float32)
    return [[Option(LINE, x[t, [k]], ((t, k),)) for k in range(options)] for t in range(count)], x


def enumerated(x, y):
    """Posterior probability of every option by summing over all models, hyper-parameters fixed."""
    count, options, n = x.shape
    models = np.stack(np.meshgrid(*[np.arange(-1, options)] * count, indexing="ij"), axis=-1).reshape(-1, count)
    weights = []
    for model in models:
        columns = np.array([x[t, k] for t, k in enumerate(model) if k >= 0], dtype=float).reshape(-1, n)
        covariance = NOISE * np.eye(n) + SPREAD * columns.T @ columns
        active = (model >= 0).sum()
        prior = active * np.log(SHARE / options) + (count - active) * np.log(1 - SHARE)
        weights.append(prior + multivariate_normal(np.zeros(n), covariance).logpdf(y))
    chances = np.exp(weights - logsumexp(weights))
    return np.array([[chances[models[:, t] == k].sum() for k in range(options)] for t in range(count)])


def fixed_chain(terms, y, sweeps, seed=0):
    """Sweeps of the sampler's own step for one term after the other, with hyper-parameters that stay."""
    rng = np.random.default_rng(seed)
    residual, held = y[None].astype(np.float32), {}
    widest = max(np.diff(terms.term_start))
    odds, means, sizes = np.zeros(widest + 1), np.zeros((widest, 1, 1)), np.zeros(widest)
    total = np.zeros(len(terms.option_kind))
    noise, gains, costs = np.array([NOISE]), np.zeros((1, len(terms.squares))), np.zeros((1, len(terms.squares)))
    starts, kinds = terms.option_start, terms.option_kind
    sampler._weigh_columns(terms.squares, starts, kinds, noise, np.full(7, SPREAD), gains, costs)
    for _ in range(sweeps):
        for term in range(len(terms)):
            first, last = terms.term_start[term : term + 2]
            if term in held:
                option, weight = held.pop(term)
                residual[0] += weight * terms.columns.rows[option]
            share, within = np.full(7, np.log(SHARE)), np.full(len(terms.option_kind), -np.log(last - first))
            sampler._weigh_options(
                first, last, terms.squares, terms.option_start, terms.option_kind, residual @ terms.columns.rows.T,
                len(y), noise, gains, costs, share, within, odds, means, sizes,
            )  # fmt: skip
            log_weights = np.append(odds[: last - first], np.log(1 - SHARE))
            chances = np.exp(log_weights - logsumexp(log_weights))
            total[first:last] += chances[:-1]
            place = rng.choice(len(chances), p=chances)
            if place < last - first:
                variance = 1 / (terms.squares[first + place] / NOISE + 1 / SPREAD)
                weight = np.float32(means[place, 0, 0] + np.sqrt(variance) * rng.standard_normal())
                held[term] = first + place, weight
                residual[0] -= weight * terms.columns.rows[first + place]
    return total / sweeps


def test_one_term_has_the_closed_form_of_bayes():
    """One sweep is enough: with nothing else in the model the weights of the options are exact."""
    built, x = lines(count=1, options=3)
    y = (x[0, 1] * 0.4 + np.random.default_rng(1).standard_normal(25)).astype(np.float32)
    np.testing.assert_allclose(fixed_chain(assemble(built, 1), y, 1), enumerated(x, y)[0], rtol=1e-4)


def test_three_terms_have_the_probabilities_of_enumeration():
    """4000 sweeps: five standard errors of a probability are below 0.03 here."""
    built, x = lines()
    y = (0.5 * x[0, 1] - 0.3 * x[2, 0] + np.random.default_rng(1).standard_normal(25)).astype(np.float32)
    found = fixed_chain(assemble(built, 3), y, 4000).reshape(3, 2)
    np.testing.assert_allclose(found, enumerated(x, y), atol=0.03)


@pytest.mark.parametrize("bound", [-8.0, -1.0, 0.0, 0.39, 0.41, 2.0, 6.0])
def test_truncated_normals_lie_above_their_bound_and_have_its_mean_and_spread(bound):
    """Five standard errors of 20,000 draws: fails once in a million seeds."""
    draws = np.array([normal_above(bound) for _ in range(20_000)])
    law = truncnorm(bound, np.inf)
    assert draws.min() > bound
    assert abs(draws.mean() - law.mean()) < 5 * law.std() / np.sqrt(len(draws))
    assert draws.std() == pytest.approx(law.std(), rel=0.05)


@pytest.mark.parametrize("classes", [2, 3])
def test_latent_responses_respect_the_labels(classes):
    rng = np.random.default_rng(0)
    outputs = 1 if classes == 2 else classes
    latent = np.zeros((outputs, 50), dtype=np.float32)
    residual = -rng.standard_normal((outputs, 50)).astype(np.float32)
    fit, labels = latent - residual, rng.integers(0, classes, 50)
    for _ in range(3):
        draw_latent(residual, latent, labels, 40)
    winners = (latent[0] > 0).astype(int) if classes == 2 else latent.argmax(axis=0)
    np.testing.assert_array_equal(winners[:40], labels[:40])
    assert not latent[:, 40:].any()
    np.testing.assert_allclose(latent - residual, fit, atol=1e-5)


def test_a_clear_line_is_found_and_its_coefficient_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 300)).astype(np.float32)
    y = 0.8 * x[1, 2] + 0.6 * rng.standard_normal(300)
    terms = assemble(
        [covariate_term(np.empty((300, 0)), 300)]
        + [[Option(LINE, x[t, [k]], ((t, k),)) for k in range(3)] for t in range(2)],
        2,
    )
    chain = sample(terms, y[:, None], 0, 0, 300, 100)
    assert chain.probabilities[1:].reshape(2, 3)[1].argmax() == 2
    assert chain.probabilities[6] > 0.99
    slope = x[1, 2] @ (y - y.mean()) / (x[1, 2] @ x[1, 2])
    assert chain.coefficients[6, 0] == pytest.approx(slope, rel=0.05)
    assert chain.sizes[6] == pytest.approx(abs(slope) * np.sqrt(np.mean(x[1, 2] ** 2)), rel=0.05)
    assert chain.noise_variance == pytest.approx(0.36, rel=0.2)


@pytest.mark.parametrize("seed", [4, 5])
def test_lines_that_change_places_leave_the_posterior_as_it_is(seed):
    """Chains of 80,000 sweeps with and without that move, lines of one term close to each other and to other terms.

    They differ by .005 at most. Candidates of wrong terms on the way back, or moves offered in order, cost .06.
    """
    rng = np.random.default_rng(seed)
    shared, own = rng.standard_normal((1, 1, 60)), rng.standard_normal((6, 1, 60))
    x = (2 * shared + own + 0.5 * rng.standard_normal((6, 3, 60))).astype(np.float32)
    x -= x.mean(axis=-1, keepdims=True)
    y = x[0, 0] + 2 * rng.standard_normal(60)
    built = [[Option(LINE, x[t, [k]], ((t, k),)) for k in range(3)] for t in range(6)]
    terms = assemble([covariate_term(np.empty((60, 0)), 60), *built], 6)
    goal = ((y - y.mean()) / y.std())[:, None]
    kept = terms.columns.products(60)
    one, two = (sample(terms, goal, 0, 1, 80_000, 1000, products=products) for products in (None, kept))
    np.testing.assert_allclose(one.probabilities, two.probabilities, atol=0.02)


def test_widths_are_the_columns_of_options():
    inputs = inputs_of(problem(n=200))
    fit = fit_sparse(inputs, standard_response(problem(n=200)), 0, effort=QUICK)
    widths = np.diff(fit.terms.option_start)
    np.testing.assert_array_equal(widths[1:], WIDTHS[fit.terms.option_kind[1:]])


# ---- held out means: nothing fitted has seen the row ----


def spoilt(inputs, response, seed=1):
    """The same first rows; beyond them other values of everything."""
    rng, n = np.random.default_rng(seed), inputs.n_seen
    directions, covariates, values = inputs.directions.copy(), inputs.covariates.copy(), response.values.copy()
    directions[..., n:] = 5 * rng.standard_normal(directions[..., n:].shape)
    covariates[n:] = 5 * rng.standard_normal(covariates[n:].shape)
    values[n:] = rng.integers(0, response.classes, values[n:].shape) if response.classes else 9.0
    changed = type(inputs)(directions, inputs.feature, covariates, n)
    return changed, Response(values, response.classes)


@pytest.mark.parametrize(
    "case", [{}, {"classes": 2}, {"classes": 3, "n": 100}, {"groups": [0, 0, 1, 2, 3, 3]}], ids=str
)
def test_held_out_rows_do_not_change_the_sparse_part(case):
    q = problem(**{"n": 200, "covariates": 2, **case})
    inputs, response = inputs_of(q, n_seen=len(q.x) // 2), standard_response(q)
    one, other = (fit_sparse(*pair, 0, effort=QUICK) for pair in ((inputs, response), spoilt(inputs, response)))
    np.testing.assert_array_equal(other.structure.curved, one.structure.curved)
    np.testing.assert_array_equal(other.structure.pairs, one.structure.pairs)
    np.testing.assert_array_equal(other.structure.triples, one.structure.triples)
    np.testing.assert_array_equal(other.chain.coefficients, one.chain.coefficients)
    np.testing.assert_array_equal(other.chain.sizes, one.chain.sizes)
    seen = inputs.n_seen
    np.testing.assert_array_equal(other.chain.fitted[:seen], one.chain.fitted[:seen])


def test_held_out_rows_do_not_change_the_network():
    q = problem(n=200, covariates=2)
    inputs, response = inputs_of(q, n_seen=100), standard_response(q)
    network = Network(steps=60, hidden_sizes=16).suited_to("auto")
    one, other = (
        fit_network(seen, Goal(goal.values), network, 0, "cpu")
        for seen, goal in ((inputs, response), spoilt(inputs, response))
    )
    for before, after in zip(one.networks.parameters(), other.networks.parameters(), strict=True):
        np.testing.assert_array_equal(after.numpy(), before.numpy())
    np.testing.assert_array_equal(other.fitted()[:, :100], one.fitted()[:, :100])
