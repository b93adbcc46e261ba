"""What is done in chunks, by several workers or as one batch equals what is done alone."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from builders import problem
from neuralmirror.learner.initial_weights import chunk_count
from neuralmirror.mirror.fitting import Outcome, solve_all
from neuralmirror.mirror.individual import individual
from neuralmirror.mirror.simultaneous import simultaneous
from scheme_cases import QUICK, SCHEMES, SEED, VARIANTS


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return SCHEMES[request.param]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"early_stopping": True}, {"skip": False}, {"degree": 2, "n_networks": 3}], ids=str
)
def test_chunks_do_not_change_individual_mirrors(options, k):
    """One network at a time equals all at once, to float tolerance."""
    q, settings = replace(problem(), n_mirrors=k), replace(QUICK, **options)
    one_by_one = replace(settings, memory=1)
    assert chunk_count(q, settings) == 1
    assert chunk_count(q, one_by_one) == 6
    together, separately = (individual(q, SEED, s) for s in (settings, one_by_one))
    np.testing.assert_allclose(separately.strengths, together.strengths, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(separately.curve, together.curve, rtol=1e-4)


def test_chunks_shrink_with_the_budget():
    q = problem()
    budgets = [2**20, 2**17, 2**15, 1]
    counts = [chunk_count(q, replace(QUICK, memory=budget)) for budget in budgets]
    assert counts == sorted(counts)
    assert max(counts) == q.x.shape[1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_workers_do_not_change_the_result(scheme, variant):
    q = problem()
    one, two = (scheme(q, replace(VARIANTS[variant], n_jobs=jobs)).strengths for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("variant", VARIANTS)
def test_draws_on_several_workers_equal_draws_on_one(variant):
    several = [problem(0), problem(1), problem(2)], [SEED] * 3
    one, two = (simultaneous(*several, replace(VARIANTS[variant], n_jobs=jobs)) for jobs in (1, 2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.strengths, second.strengths)


def test_sparse_parts_keep_to_one_blas_thread_and_give_the_others_back():
    def threads():
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    def part():
        return threads()
        yield

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        assert solve_all([part, part], QUICK) == [1, 1]
        assert threads() == before


@pytest.mark.parametrize(("classes", "covariates"), [(0, 0), (0, 2), (2, 0), (3, 2)])
@pytest.mark.parametrize("mirrors", [(1, 1), (3, 1)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_draws_in_one_batch_equal_draws_alone(variant, mirrors, classes, covariates):
    """Several problems, of several numbers of noises, are trained as one batch; each gives what it gives by itself."""
    problems = [
        replace(problem(seed, covariates=covariates, classes=classes), n_mirrors=k) for seed, k in enumerate(mirrors)
    ]
    together = simultaneous(problems, [SEED, SEED], VARIANTS[variant])
    for q, draw in zip(problems, together, strict=True):
        (alone,) = simultaneous([q], [SEED], VARIANTS[variant])
        np.testing.assert_allclose(draw.strengths, alone.strengths, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(draw.curve, alone.curve, rtol=1e-3, atol=1e-5)
        np.testing.assert_array_equal(draw.scales, alone.scales)
        assert draw.choices == alone.choices


def test_outcomes_join_along_draws():
    q = problem()
    parts = [individual(q, (7, draw), QUICK) for draw in range(2)]
    joined = Outcome.join(parts)
    assert joined.strengths.shape == (2, 6, 2)
    np.testing.assert_array_equal(joined.strengths[1], parts[1].strengths[0])
    assert joined.choices["belief"] == [belief for part in parts for belief in part.choices["belief"]]
