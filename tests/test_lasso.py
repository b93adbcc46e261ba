"""The sparse linear skip: against plain solvers on explicit columns, and the symmetry of a feature's directions."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression

from neuralmirror import lasso
from neuralmirror.problems import Problem, rank_normal, standardised

SOLVER = 0.02  # how far two runs of a coordinate descent stopped at its tolerance may lie apart


def problem(seed=0, n=200, p=6, k=1, covariates=0, relevant=2, classes=0):
    """Standardised features with directions (n, p, K+1); the first `relevant` features matter."""
    rng = np.random.default_rng(seed)
    x, c = standardised(rng.standard_normal((n, p))), standardised(rng.standard_normal((n, covariates)))
    signal = x[:, :relevant] @ np.linspace(1, 2, relevant) + 3 * c.sum(axis=1)
    y = signal + rng.standard_normal(n)
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    noise = rng.standard_normal((n, p, k))
    return Problem(x, y, c, classes), np.concatenate([x[:, :, None], noise], axis=2)


def objective(columns, y, theta, penalty, weights):
    """‖y − Dθ‖²/2n + λ Σ |θ_j|/w_j about the means."""
    residual = y - y.mean() - (columns - columns.mean(axis=0)) @ theta
    return residual @ residual / (2 * len(y)) + penalty * np.sum(np.abs(theta) / weights)


def test_weighted_lasso_minimises_its_objective():
    q, directions = problem()
    columns, weights = directions.reshape(200, -1), np.linspace(0.3, 2, 12)
    fit = lasso.cross_validated_lasso(columns, q.y, weights)
    best = Lasso(alpha=fit.penalty, tol=1e-10, max_iter=100_000).fit(columns * weights, q.y).coef_ * weights
    value, lowest = (objective(columns, q.y, t, fit.penalty, weights) for t in (fit.coefficients, best))
    assert lowest <= value <= lowest * 1.001
    assert 0.5 < fit.explained < 1


def test_the_share_explained_is_out_of_sample():
    rng = np.random.default_rng(0)
    fit = lasso.cross_validated_lasso(rng.standard_normal((60, 100)), rng.standard_normal(60), np.ones(100))
    assert fit.explained < 0.3  # more columns than rows: in sample it could be 1


@pytest.mark.parametrize("k", [1, 3])
def test_column_weights_are_shared_by_the_directions_of_a_feature(k):
    coefficients = np.random.default_rng(0).standard_normal((5, k + 1))
    weights = lasso.adaptive_column_weights(coefficients)
    sizes = np.abs(coefficients).sum(axis=1)
    np.testing.assert_allclose(weights, np.sqrt(sizes / sizes.max() + lasso.FLOOR)[:, None].repeat(k + 1, axis=1))
    shuffled = lasso.adaptive_column_weights(coefficients[:, ::-1] * -1)
    np.testing.assert_allclose(shuffled, weights)


def test_column_weights_of_an_empty_first_stage_are_equal():
    weights = lasso.adaptive_column_weights(np.zeros((4, 2)))
    assert len(np.unique(weights)) == 1
    assert (weights > 0).all()


@pytest.mark.parametrize("k", [1, 2])
def test_exchanging_the_directions_of_a_feature_exchanges_their_coefficients(k):
    q, directions = problem(k=k)
    order = np.roll(np.arange(k + 1), 1)
    turned = directions.copy()
    turned[:, 1] = directions[:, 1][:, order]
    before, _ = lasso.pair_adaptive_lasso(directions, q.y, q.covariates)
    after, _ = lasso.pair_adaptive_lasso(turned, q.y, q.covariates)
    before[1] = before[1][order]
    np.testing.assert_allclose(after, before, atol=SOLVER)


def test_mirrored_noise_changes_only_signs():
    q, directions = problem()
    before, _ = lasso.pair_adaptive_lasso(directions, q.y, q.covariates)
    after, _ = lasso.pair_adaptive_lasso(directions * [1.0, -1.0], q.y, q.covariates)
    np.testing.assert_allclose(after, before * [1, -1], atol=SOLVER)


def test_the_adaptive_lasso_is_sparse_and_nearly_unbiased():
    q, directions = problem(n=1000, p=20)
    theta, _ = lasso.pair_adaptive_lasso(directions, q.y, q.covariates)
    np.testing.assert_allclose(theta[:2, 0], [1, 2], atol=0.15)  # four standard errors of √(1/1000), and some bias
    assert np.mean(theta[2:] == 0) > 0.7


def test_covariates_are_not_penalised():
    q, directions = problem(n=400, covariates=2)
    theta, gamma = lasso.pair_adaptive_lasso(directions, q.y, q.covariates)
    rest = q.y - np.tensordot(directions, theta, axes=2)
    np.testing.assert_allclose(gamma, LinearRegression().fit(q.covariates, rest).coef_, atol=SOLVER)


def test_a_strong_covariate_does_not_cost_the_features_their_coefficients():
    """Unpenalised means: a covariate that explains almost all of y leaves the penalty of the features as it is."""
    q, directions = problem(n=1000, covariates=1)
    loud = q.y + 1000 * q.covariates[:, 0]
    for y in (q.y, loud):
        theta, _ = lasso.pair_adaptive_lasso(directions, y, q.covariates)
        np.testing.assert_allclose(theta[:2, 0], [1, 2], atol=0.15)
        _, own = lasso.individual_lassos(q.x, directions[..., 1:], y, q.covariates)
        np.testing.assert_allclose(own[:2, 0], [1, 2], atol=0.15)


def test_least_squares_beside_covariates():
    q, _ = problem(covariates=2)
    slopes, rest = lasso.beside(q.covariates, q.x)
    np.testing.assert_allclose(q.covariates.T @ rest, 0, atol=1e-9)
    np.testing.assert_allclose(q.covariates @ slopes + rest, q.x)
    np.testing.assert_array_equal(lasso.beside(q.covariates[:, :0], q.x)[1], q.x)


def explicit_lasso(columns, y, j, k, first, second):
    """Both stages of the j-th lasso by a plain solver: the own pair's columns share one weight."""
    plain = Lasso(alpha=first.penalty, tol=1e-10, max_iter=100_000).fit(columns, y).coef_
    own = [j, *range(columns.shape[1] - k, columns.shape[1])]
    sizes = np.abs(plain)
    sizes[own] = sizes[own].sum()
    weights = lasso.adaptive_column_weights(sizes[:, None])[:, 0]
    theta = Lasso(alpha=second.penalty, tol=1e-10, max_iter=100_000).fit(columns * weights, y).coef_ * weights
    return theta, own


@pytest.mark.parametrize("k", [1, 2])
def test_individual_lassos_equal_a_plain_solver_on_explicit_columns(k):
    """Shared inner products and a warm start change nothing but speed."""
    q, directions = problem(k=k)
    noise = directions[..., 1:]
    shared, own = lasso.individual_lassos(q.x, noise, q.y, q.covariates)
    first = lasso.cross_validated_lasso(q.x, q.y, np.ones(6))
    weights = lasso.adaptive_column_weights(first.coefficients[:, None])[:, 0]
    second = lasso.cross_validated_lasso(q.x, q.y, weights)
    for j in range(6):
        theta, places = explicit_lasso(np.hstack([q.x, noise[:, j]]), q.y, j, k, first, second)
        np.testing.assert_allclose(own[j], theta[places], atol=SOLVER)
        others = np.delete(np.arange(6), j)
        np.testing.assert_allclose(shared[j, others], theta[others], atol=SOLVER)
        assert shared[j, j] == 0  # the own pair carries X_j


def test_individual_lassos_are_close_to_their_common_solution():
    """K columns of noise among many change little: both relevant features keep their coefficients."""
    q, directions = problem(n=500)
    shared, own = lasso.individual_lassos(q.x, directions[..., 1:], q.y, q.covariates)
    np.testing.assert_allclose(own[:2, 0], [1, 2], atol=0.2)
    np.testing.assert_allclose(shared[2:, 0], 1, atol=0.2)
    assert np.abs(own[:, 1]).max() < 0.15


def test_individual_lassos_do_not_depend_on_workers():
    q, directions = problem()
    one, two = (lasso.individual_lassos(q.x, directions[..., 1:], q.y, q.covariates, n_jobs=jobs) for jobs in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- the response ----


@pytest.mark.parametrize(("bend", "expected"), [(lambda t: t, "standard"), (np.exp, "rank")])
def test_the_transform_that_a_lasso_predicts_best_is_taken(bend, expected):
    q, directions = problem(n=400)
    values = bend(3 * q.x[:, 0] + 0.1 * q.y)
    chosen, name, _ = lasso.choose_transform(Problem(q.x, values, q.covariates), directions, "auto")
    if expected == "rank":
        assert name == "rank"
    transforms = {"rank": rank_normal(values), "standard": standardised(values)}
    np.testing.assert_allclose(chosen.y, transforms[name])


@pytest.mark.parametrize("name", ["rank", "standard"])
def test_a_named_transform_is_applied(name):
    q, directions = problem()
    chosen, used, _ = lasso.choose_transform(q, directions, name)
    assert used == name
    np.testing.assert_allclose(chosen.y, {"rank": rank_normal, "standard": standardised}[name](q.y))


def test_classes_are_left_as_they_are():
    q, directions = problem(classes=3)
    chosen, name, _ = lasso.choose_transform(q, directions, "auto")
    assert name == "none"
    np.testing.assert_array_equal(chosen.y, q.y)


@pytest.mark.parametrize(("classes", "outputs"), [(0, 1), (2, 1), (3, 3)])
def test_skips_have_one_column_per_output(classes, outputs):
    q, directions = problem(classes=classes, covariates=1)
    theta, gamma = lasso.skip(q, directions)
    assert theta.shape == (6, 2, outputs)
    assert gamma.shape == (1, outputs)
    shared, own = lasso.individual_skips(q, directions[..., 1:])
    assert shared.shape == (6, 7, outputs)
    assert own.shape == (6, 2, outputs)


def test_scores_become_logits_of_the_right_length():
    """The logit of a scaled score is scaled back: the fitted logits do not depend on the unit of the score."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((500, 1))
    labels = (scores[:, 0] + rng.logistic(size=500) / 2 > 0).astype(int)
    one, ten = (factor * scores @ lasso.onto_logits(factor * scores, labels).T for factor in (1, 10))
    np.testing.assert_allclose(one, ten, rtol=0.01)
    direct = LogisticRegression(C=1e9, tol=1e-8).fit(scores, labels).coef_
    np.testing.assert_allclose(one / scores, direct.item(), rtol=0.01)
