"""Cross-validated lassos: both solvers against plain ones and each other, and generators that run in step."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso, LassoCV

from neuralmirror.learner import proximal, solvers
from neuralmirror.learner.solvers import Task

SOLVERS = [solvers.one_by_one, lambda tasks: solvers.as_batches(tasks, "cpu")]


def task(seed=0, n=120, d=8, noise=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n, d)) + shift
    y = columns[:, 0] - 0.5 * columns[:, 1] + noise * rng.standard_normal(n)
    return Task(columns, y, rng.uniform(0.3, 2, d))


def objective(one, theta, penalty):
    """‖y − Dθ‖²/2n + λ Σ |θ_j|/w_j about the means."""
    residual = one.y - one.y.mean() - (one.columns - one.columns.mean(axis=0)) @ theta
    return residual @ residual / (2 * len(one.y)) + penalty * np.sum(np.abs(theta) / one.weights)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_the_coefficients_minimise_the_objective(solver, shift):
    one = task(shift=shift)
    (fit,) = solver([one])
    model = Lasso(alpha=fit.penalty, tol=1e-10, max_iter=100_000).fit(one.columns * one.weights, one.y)
    value, lowest = (objective(one, t, fit.penalty) for t in (fit.coefficients, model.coef_ * one.weights))
    assert lowest * 0.99999 <= value <= lowest * 1.002
    assert 0.2 < fit.explained < 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_share_explained_is_out_of_sample(solver):
    rng = np.random.default_rng(0)
    (fit,) = solver([Task(rng.standard_normal((60, 100)), rng.standard_normal(60), np.ones(100))])
    assert fit.explained < 0.3  # more columns than rows: in sample it could be 1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("noise", [1.0, 0.1, 1e-3])
def test_the_path_is_followed_until_the_error_turns(solver, noise):
    """The penalty is a minimum of the error over the whole path, however little noise there is."""
    one = task(noise=noise)
    (fit,) = solver([one])
    design = one.columns * one.weights
    penalties = solvers.first_penalty(design, one.y) * np.geomspace(1, 1e-3, 60)
    whole = LassoCV(alphas=penalties, cv=solvers.FOLDS).fit(design, one.y)
    best = 1 - whole.mse_path_.mean(axis=1).min() / one.y.var()
    assert fit.explained == pytest.approx(best, abs=0.01)
    assert fit.penalty <= penalties[0] * 1.0001


def test_batches_of_all_shapes_and_noises_equal_a_slow_and_exact_solver():
    tasks = [task(seed, n=100 + 20 * (seed % 2), d=30, noise=10.0 ** -(seed % 3)) for seed in range(6)]
    shares = np.concatenate([np.geomspace(*turns, solvers.PENALTIES) for turns in pairwise(solvers.TURNS)])
    for one, fit in zip(tasks, solvers.as_batches(tasks, "cpu"), strict=True):
        design = one.columns * one.weights
        penalties = solvers.first_penalty(design, one.y) * shares
        exact = LassoCV(alphas=penalties, cv=solvers.FOLDS, tol=1e-9, max_iter=100_000).fit(design, one.y)
        assert fit.penalty == pytest.approx(exact.alpha_, rel=1e-4)
        np.testing.assert_allclose(fit.coefficients, exact.coef_ * one.weights, atol=1e-5)


@pytest.mark.parametrize(("limit", "sizes"), [(0, [1, 3]), (10**6, [4])])
def test_tasks_of_several_widths_share_a_batch(monkeypatch, limit, sizes):
    """Of nearly one width always; of any where numbers are so few that launches take longer."""
    tasks = [task(seed, d=d) for seed, d in enumerate((8, 11, 9, 300))]
    batches, solve = [], solvers.proximal_gradient

    def counted(some, device):
        batches.append(len(some))
        return solve(some, device)

    monkeypatch.setattr(solvers, "proximal_gradient", counted)
    monkeypatch.setattr(solvers, "RECORDED", limit)
    together = solvers.as_batches(tasks, "cpu")
    assert sorted(batches) == sizes
    for one, fit in zip(tasks, together, strict=True):
        (alone,) = solve([one], "cpu")
        assert fit.coefficients.shape == one.weights.shape
        np.testing.assert_allclose(fit.coefficients, alone.coefficients, atol=5e-3)


def test_a_batch_too_large_for_memory_is_split(monkeypatch):
    tasks = [task(seed) for seed in range(5)]
    whole = solvers.as_batches(tasks, "cpu")
    monkeypatch.setattr(solvers, "_batch_size", lambda *_: 2)
    for one, two in zip(whole, solvers.as_batches(tasks, "cpu"), strict=True):
        np.testing.assert_allclose(one.coefficients, two.coefficients, atol=0.01)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_response_without_variance_has_no_coefficients(solver):
    one = task()
    (fit,) = solver([Task(one.columns, np.ones(len(one.y)), one.weights)])
    assert not fit.coefficients.any()


def test_filters_of_warnings_survive_the_threads_of_scikit_learn(monkeypatch):
    fit = LassoCV.fit
    monkeypatch.setattr(LassoCV, "fit", lambda *rest: (fit(*rest), warnings.resetwarnings())[0])
    before = list(warnings.filters)
    solvers.coordinate_descent(task(), n_jobs=2)
    assert before
    assert warnings.filters == before


def test_generators_run_in_step():
    rounds = []

    def solver(tasks):
        rounds.append(len(tasks))
        return [solvers.Fit(one.y, 0.0, 0.0) for one in tasks]

    def steps(count):
        total = 0.0
        for _ in range(count):
            fit = yield Task(np.ones((1, 1)), np.array([float(count)]), np.ones(1))
            total += fit.coefficients.item()
        return total

    assert solvers.solve([steps(2), steps(0), steps(3)], solver) == [4.0, 0.0, 9.0]
    assert rounds == [2, 2, 1]


def test_soft_threshold():
    values = torch.tensor([-3.0, -0.5, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(proximal.soft(values, torch.tensor(1.0)), [-2, 0, 0, 0, 2])


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_eigenvalue_is_not_underestimated(seed):
    design = np.random.default_rng(seed).standard_normal((2, 40, 30))
    gram = torch.from_numpy(design.transpose(0, 2, 1) @ design)
    found = proximal.largest_eigenvalues(lambda v: gram @ v, proximal.uneven(gram, 30, 1)[None])
    exact = np.linalg.eigvalsh(gram.numpy())[:, -1]
    assert (exact <= found.numpy()).all()
    np.testing.assert_allclose(found, exact, rtol=0.06)
