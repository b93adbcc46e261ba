"""The sparse skip: against plain solvers on explicit columns, and the symmetry of a feature's directions."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression

from neuralmirror._internal.standardised import StandardisedData, rank_normal, standardised
from neuralmirror.learner import solvers, sparse_part
from neuralmirror.learner.individual_sparse import individual_lassos, individual_skips

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
    return StandardisedData(x, y, c, classes), np.concatenate([x[:, :, None], noise], axis=2)


def squared_problem(seed=0, n=200, p=6, k=1):
    """y follows the squares of the first two features and no line."""
    q, directions = problem(seed, n, p, k)
    noise = np.random.default_rng([seed, 1]).standard_normal(n)
    return replace(q, y=q.x[:, 0] ** 2 + 2 * q.x[:, 1] ** 2 + 0.5 * noise), directions


def run(steps):
    """The result of a generator of tasks."""
    return solvers.solve([steps], solvers.one_by_one)[0]


def cross_validated(columns, y, weights):
    return solvers.coordinate_descent(solvers.Task(columns, y, weights))


def plain(q, degree=1):
    """The choice that leaves the response as it is."""
    return sparse_part.Choice(q, "standard", degree)


def fitted(q, directions, degree=1):
    """θ and κ of the directions (p, K+1), and θ of the covariates (c,)."""
    linear, curve, *_ = run(sparse_part.skip(plain(q, degree), directions))
    _, p, each = directions.shape
    assert not curve[p * each :].any()  # covariates have no squares
    theta, kappa = (part[: p * each, 0].reshape(p, each) for part in (linear, curve))
    return theta, kappa, linear[p * each :, 0]


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("degree", [1, 2])
def test_column_weights_are_shared_by_the_columns_of_a_feature(k, degree):
    coefficients = np.random.default_rng(0).standard_normal((degree, 5, k + 1))
    groups = np.tile(np.arange(5).repeat(k + 1), degree)
    weights = sparse_part.group_weights(coefficients.ravel(), groups).reshape(coefficients.shape)
    sizes = np.abs(coefficients).sum(axis=(0, 2))
    expected = np.sqrt(sizes / sizes.max() + sparse_part.FLOOR)[None, :, None]
    np.testing.assert_allclose(weights, np.broadcast_to(expected, weights.shape))
    turned = sparse_part.group_weights(-coefficients[:, :, ::-1].ravel(), groups)
    np.testing.assert_allclose(turned, weights.ravel())


def test_column_weights_of_an_empty_first_stage_are_equal():
    weights = sparse_part.group_weights(np.zeros(8), np.arange(4).repeat(2))
    assert len(np.unique(weights)) == 1
    assert (weights > 0).all()


def test_every_adaptive_stage_is_weighted_by_the_one_before():
    groups, seen = np.array([0, 0, 1, 1]), []

    def solver(tasks):
        seen.extend(task.weights for task in tasks)
        return [solvers.Fit(np.array([3.0, 0, 0, 1]) / len(seen), 0.1, 0.5) for _ in tasks]

    (stages,) = solvers.solve([sparse_part.adaptive_stages(np.eye(4), np.ones(4), groups)], solver)
    assert len(stages) == len(seen) == 1 + sparse_part.STAGES
    np.testing.assert_array_equal(seen[0], 1)
    for before, weights in zip(stages, seen[1:], strict=False):
        np.testing.assert_allclose(weights, sparse_part.group_weights(before.coefficients, groups))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("k", [1, 2])
def test_exchanging_the_directions_of_a_feature_exchanges_their_coefficients(k, degree):
    q, directions = (problem if degree == 1 else squared_problem)(k=k)
    order = np.roll(np.arange(k + 1), 1)
    turned = directions.copy()
    turned[:, 1] = directions[:, 1][:, order]
    before, after = fitted(q, directions, degree), fitted(q, turned, degree)
    for one, other in zip(before, after, strict=True):
        if len(one):  # there are no covariates
            one[1] = one[1][order]
        np.testing.assert_allclose(other, one, atol=SOLVER)


def test_mirrored_noise_changes_only_signs():
    q, directions = problem()
    before, _, _ = fitted(q, directions)
    after, _, _ = fitted(q, directions * [1.0, -1.0])
    np.testing.assert_allclose(after, before * [1, -1], atol=SOLVER)


def test_the_adaptive_lasso_is_sparse_and_nearly_unbiased():
    q, directions = problem(n=1000, p=20)
    theta, kappa, _ = fitted(q, directions)
    np.testing.assert_allclose(theta[:2, 0], [1, 2], atol=0.15)  # four standard errors of √(1/1000), and some bias
    assert np.mean(theta[2:] == 0) > 0.7
    assert not kappa.any()


def test_covariates_are_not_penalised():
    q, directions = problem(n=400, covariates=2)
    theta, _, gamma = fitted(q, directions)
    rest = q.y - np.tensordot(directions, theta, axes=2)
    np.testing.assert_allclose(gamma, LinearRegression().fit(q.covariates, rest).coef_, atol=SOLVER)


@pytest.mark.parametrize("degree", [1, 2])
def test_a_strong_covariate_does_not_cost_the_features_their_coefficients(degree):
    """Unpenalised means: a covariate that explains almost all of y leaves the penalty of the features as it is."""
    q, directions = problem(n=1000, p=4, covariates=1)
    for y in (q.y, q.y + 1000 * q.covariates[:, 0]):
        loud = replace(q, y=y)
        theta, _, _ = fitted(loud, directions, degree)
        np.testing.assert_allclose(theta[:2, 0], [1, 2], atol=0.15)
        _, own = run(individual_lassos(plain(loud, degree), directions[..., 1:], y))
        np.testing.assert_allclose(own.linear[:2, 0], [1, 2], atol=0.15)


def test_least_squares_beside_covariates():
    q, _ = problem(covariates=2)
    slopes, rest = sparse_part.beside(q.covariates, q.x)
    np.testing.assert_allclose(q.covariates.T @ rest, 0, atol=1e-9)
    np.testing.assert_allclose(q.covariates @ slopes + rest, q.x)
    np.testing.assert_array_equal(sparse_part.beside(q.covariates[:, :0], q.x)[1], q.x)


# ---- squares ----


def test_coefficients_of_standardised_squares_are_those_of_the_skip():
    """Σ θx + κ(x² − 1) differs by a constant from the columns times their coefficients."""
    rng = np.random.default_rng(0)
    columns = np.hstack([2 * rng.standard_normal((50, 3)) + 1, rng.choice([-1.0, 1.0], (50, 1))])
    coefficients = rng.standard_normal(8)
    linear, curve, *_ = sparse_part.as_skip(coefficients, columns)
    difference = columns @ linear + (columns**2 - 1) @ curve - sparse_part.with_squares(columns, 2) @ coefficients
    np.testing.assert_allclose(difference, difference.mean())
    straight, none, *_ = sparse_part.as_skip(coefficients[:4], columns)
    np.testing.assert_array_equal(straight, coefficients[:4])
    assert not none.any()
    np.testing.assert_array_equal(sparse_part.with_squares(columns, 1), columns)


def test_a_quadratic_skip_finds_squares():
    q, directions = squared_problem(n=1000)
    theta, kappa, _ = fitted(q, directions, degree=2)
    np.testing.assert_allclose(kappa[:2, 0], [1, 2], atol=0.1)
    assert np.abs(kappa[2:]).max() < 0.1
    assert np.abs(theta).max() < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_squares_enter_where_they_predict_better(seed):
    q, directions = squared_problem(seed)
    assert run(sparse_part.choose(q, directions, "standard")).degree == 2


def test_squares_stay_out_of_a_straight_truth():
    """Twice as many columns and nothing to find in them cost precision, as a rule; the rest is a matter of a hair."""
    shares = []
    for seed in range(8):
        q, directions = problem(seed, n=150, p=10)
        columns = directions.reshape(150, -1)
        fits = [
            run(sparse_part.plain_lasso(sparse_part.with_squares(columns, d), standardised(q.y), q.covariates))
            for d in (1, 2)
        ]
        shares.append([fit.explained for fit in fits])
        assert run(sparse_part.choose(q, directions, "standard")).degree == 1 + np.argmax(shares[-1])
    gains = np.diff(shares)
    assert np.median(gains) < 0
    assert gains.max() < 0.01


def test_questions_that_are_not_open_are_not_asked():
    q, directions = problem()
    for degree in (1, 2):
        steps = sparse_part.choose(q, directions, "rank", degree)
        (choice,) = solvers.solve([steps], lambda _: pytest.fail("a lasso was fitted"))
        assert (choice.degree, choice.transform, choice.first) == (degree, "rank", None)


def test_the_choice_treats_the_directions_alike():
    q, directions = squared_problem()
    one, other = (run(sparse_part.choose(q, d)) for d in (directions, directions[:, :, ::-1]))
    assert (one.degree, one.transform) == (other.degree, other.transform)


def test_the_fit_of_the_choice_is_the_first_stage():
    q, directions = squared_problem()
    choice = run(sparse_part.choose(q, directions))
    assert choice.first is not None
    skips = [run(sparse_part.skip(c, directions)) for c in (choice, replace(choice, first=None))]
    for one, other in zip(*skips, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("degree", [1, 2])
def test_the_count_of_relevant_features(degree):
    """Every strong feature is counted once, however many of its columns are kept, and covariates are not."""
    q, _ = problem(n=300, relevant=6, covariates=2)
    curved = replace(q, y=q.y + (q.x**2).sum(axis=1))
    assert run(sparse_part.relevant_count(plain(curved, degree))) == 6
    nothing, _ = problem(n=300, relevant=0, covariates=2)
    assert run(sparse_part.relevant_count(plain(nothing, degree))) < 6


# ---- individual mirrors ----


def explicit_lasso(columns, y, groups, stages):
    """All stages of one lasso by a plain solver."""
    weights = np.ones(columns.shape[1])
    for stage in stages:
        model = Lasso(alpha=stage.penalty, tol=1e-10, max_iter=100_000)
        theta = model.fit(columns * weights, y).coef_ * weights
        weights = sparse_part.group_weights(theta, groups)
    return theta


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("k", [1, 2])
def test_individual_lassos_equal_a_plain_solver_on_explicit_columns(k, degree):
    """Shared inner products and a warm start change nothing but speed."""
    q, directions = (problem if degree == 1 else squared_problem)(k=k)
    noise, x = directions[..., 1:], sparse_part.with_squares(q.x, degree)
    shared, own = run(individual_lassos(plain(q, degree), noise, q.y))
    features = np.tile(np.arange(6), degree)
    stages = [cross_validated(x, q.y, np.ones(6 * degree))]
    for _ in range(sparse_part.STAGES):
        weights = sparse_part.group_weights(stages[-1].coefficients, features)
        stages.append(cross_validated(x, q.y, weights))
    for j in range(6):
        columns = np.hstack([x, sparse_part.with_squares(noise[:, j], degree)])
        theta = explicit_lasso(columns, q.y, np.append(features, np.full(k * degree, j)), stages)
        common, mine = (
            sparse_part.as_skip(theta[: 6 * degree], q.x),
            sparse_part.as_skip(theta[6 * degree :], noise[:, j]),
        )
        others = np.delete(np.arange(6), j)
        for part in range(2):
            np.testing.assert_allclose(own[part][j], np.append(common[part][j], mine[part]), atol=SOLVER)
            np.testing.assert_allclose(shared[part][j, others], common[part][others], atol=SOLVER)
            assert shared[part][j, j] == 0  # the own pair carries X_j


def test_individual_lassos_are_close_to_their_common_solution():
    """K columns of noise among many change little: both relevant features keep their coefficients."""
    q, directions = problem(n=500)
    shared, own = run(individual_lassos(plain(q), directions[..., 1:], q.y))
    np.testing.assert_allclose(own.linear[:2, 0], [1, 2], atol=0.2)
    np.testing.assert_allclose(shared.linear[2:, 0], 1, atol=0.2)
    assert np.abs(own.linear[:, 1]).max() < 0.15


@pytest.mark.parametrize("degree", [1, 2])
def test_individual_lassos_leave_covariates_unpenalised(degree):
    q, directions = problem(n=300, covariates=2)
    shared, own = run(individual_lassos(plain(q, degree), directions[..., 1:], q.y))
    assert shared.linear.shape == shared.curve.shape == (6, 8)
    assert not shared.curve[:, 6:].any()
    for j in range(6):
        skip = q.x @ shared.linear[j, :6] + (q.x**2) @ shared.curve[j, :6]
        skip += directions[:, j] @ own.linear[j] + directions[:, j] ** 2 @ own.curve[j]
        expected = LinearRegression().fit(q.covariates, q.y - skip).coef_
        np.testing.assert_allclose(shared.linear[j, 6:], expected, atol=SOLVER)


# ---- the response ----


@pytest.mark.parametrize(("bend", "expected"), [(lambda t: t, "standard"), (np.exp, "rank")])
def test_the_transform_that_a_lasso_predicts_best_is_taken(bend, expected):
    q, directions = problem(n=400)
    values = bend(3 * q.x[:, 0] + 0.1 * q.y)
    choice = run(sparse_part.choose(StandardisedData(q.x, values, q.covariates), directions, "auto", degree=1))
    if expected == "rank":
        assert choice.transform == "rank"
    transforms = {"rank": rank_normal(values), "standard": standardised(values)}
    np.testing.assert_allclose(choice.problem.y, transforms[choice.transform])


@pytest.mark.parametrize("name", ["rank", "standard"])
def test_a_named_transform_is_applied(name):
    q, directions = problem()
    choice = run(sparse_part.choose(q, directions, name))
    assert choice.transform == name
    np.testing.assert_allclose(choice.problem.y, {"rank": rank_normal, "standard": standardised}[name](q.y))


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_left_as_they_are(classes):
    q, directions = problem(classes=classes)
    choice = run(sparse_part.choose(q, directions, "auto"))
    assert choice.transform == "none"
    np.testing.assert_array_equal(choice.problem.y, q.y)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize(("classes", "outputs"), [(0, 1), (2, 1), (3, 3)])
def test_skips_have_one_column_per_output(classes, outputs, degree):
    q, directions = problem(n=60, classes=classes, covariates=1)
    for part in run(sparse_part.skip(plain(q, degree), directions))[:2]:
        assert part.shape == (6 * 2 + 1, outputs)
    shared, own = run(individual_skips(plain(q, degree), directions[..., 1:]))
    for part in range(2):
        assert shared[part].shape == (6, 7, outputs)
        assert own[part].shape == (6, 2, outputs)


def test_scores_become_logits_of_the_right_length():
    """The logit of a scaled score is scaled back: the fitted logits do not depend on the unit of the score."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((500, 1))
    labels = (scores[:, 0] + rng.logistic(size=500) / 2 > 0).astype(int)
    one, ten = (factor * scores @ sparse_part.onto_logits(factor * scores, labels)[0].T for factor in (1, 10))
    np.testing.assert_allclose(one, ten, rtol=0.01)
    direct = LogisticRegression(C=1e9, tol=1e-8).fit(scores, labels).coef_
    np.testing.assert_allclose(one / scores, direct.item(), rtol=0.01)


def test_the_constant_of_a_rare_class_is_its_log_odds():
    """Without it a perceptron would be believed for learning the base rate."""
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal((4000, 1)), (rng.random(4000) < 0.1).astype(int)
    slope, constant = sparse_part.onto_logits(scores, labels)
    np.testing.assert_allclose(constant, np.log(0.1 / 0.9), atol=0.2)
    np.testing.assert_allclose(slope, 0, atol=0.2)


def test_the_constant_of_numbers_centres_the_skip():
    q, directions = problem(n=300)
    linear, curve, constant, *_ = run(sparse_part.skip(plain(q, 2), directions))
    columns = directions.reshape(300, -1)
    fitted_values = columns @ linear + (columns**2 - 1) @ curve + constant
    np.testing.assert_allclose(fitted_values.mean(), q.y.mean(), atol=1e-10)


# ---- the logistic stage ----


def two_classes(n=4000, covariates=0, seed=0):
    """Terms, classes by the logit 2x_0 − x_1 + 3c_0, and covariates."""
    rng = np.random.default_rng(seed)
    terms, c = rng.standard_normal((n, 5)), rng.standard_normal((n, covariates))
    logit = 2 * terms[:, 0] - terms[:, 1] + 3 * c.sum(axis=1)
    return terms, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(float), c


def stage_of(terms, y, covariates):
    """The logistic stage after a least-squares fit."""
    both = LinearRegression().fit(np.hstack([terms, covariates]), y).coef_
    coefficients, slopes = np.split(both, [5])
    return run(sparse_part.logistic_stage(terms, y, covariates, coefficients, slopes, np.arange(5)))


@pytest.mark.parametrize("covariates", [0, 1])
def test_the_logistic_stage_is_near_the_likelihoods_maximum(covariates):
    terms, y, c = two_classes(covariates=covariates)
    coefficients, slopes = stage_of(terms, y, c)
    exact = LogisticRegression(C=1e6).fit(np.hstack([terms, c]), y).coef_[0]
    np.testing.assert_allclose(np.append(coefficients, slopes), exact, atol=0.2)


def test_rows_of_certain_class_count_little_but_count():
    terms, y, c = two_classes()
    sure = terms.copy()
    sure[:, 0] *= 50  # nearly separable
    coefficients, _ = stage_of(sure, y, c)
    assert np.isfinite(coefficients).all()
    assert coefficients[0] > 0


def test_exchanging_terms_of_a_group_exchanges_their_logistic_coefficients():
    terms, y, c = two_classes(n=1000)
    order = np.array([1, 0, 2, 3, 4])
    start = LinearRegression().fit(terms, y).coef_
    groups = np.array([0, 0, 1, 1, 2])
    one, _ = run(sparse_part.logistic_stage(terms, y, c, start, np.zeros(0), groups))
    other, _ = run(sparse_part.logistic_stage(terms[:, order], y, c, start[order], np.zeros(0), groups))
    np.testing.assert_allclose(other, one[order], atol=SOLVER)
