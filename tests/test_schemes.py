"""Both algorithms from a problem to strengths: permutations, chunks, workers, screening, and what is held out."""

from dataclasses import replace

import numpy as np
import pytest

from neuralmirror import lasso, mirrors
from neuralmirror.importance import IMPORTANCES, mirror_statistics
from neuralmirror.networks import ACTIVATIONS
from neuralmirror.problems import Problem, rank_normal, standardised
from neuralmirror.schemes import SHRINKAGES, Outcome, Settings, chunk_count, individual, kept_rows, simultaneous
from neuralmirror.screening import rank_features, screen_size, split_rows
from neuralmirror.training import Recipe

SEED = (7, 0)
QUICK = Settings(recipe=Recipe(steps=25, batch_size=32), hidden=(8, 4), transform="standard")
SCHEMES = {
    "simultaneous": lambda q, s, seed=SEED: simultaneous([q], [seed], s),
    "individual": lambda q, s, seed=SEED: individual(q, seed, s),
}


def problem(seed=0, n=80, p=6, covariates=0, classes=0):
    """The first two features matter, linearly and squared."""
    rng = np.random.default_rng(seed)
    x, c = standardised(rng.standard_normal((n, p))), standardised(rng.standard_normal((n, covariates)))
    y = standardised(2 * x[:, 0] + x[:, 1] ** 2 + c.sum(axis=1) + 0.3 * rng.standard_normal(n))
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    return Problem(x, y, c, classes)


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return SCHEMES[request.param]


# ---- contract ----


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("covariates", [0, 2])
@pytest.mark.parametrize("k", [1, 2])
def test_strengths_cover_every_direction(scheme, k, covariates, classes):
    outcome = scheme(problem(covariates=covariates, classes=classes), replace(QUICK, n_mirrors=k))
    assert outcome.strengths.shape == (1, 6, k + 1)
    assert outcome.scales.shape == (1, 6)
    assert (outcome.strengths >= 0).all()
    assert np.isfinite(outcome.strengths).all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", [(7,), (6, 5, 4, 3)])
def test_any_activation_and_depth(scheme, activation, hidden):
    outcome = scheme(problem(), replace(QUICK, activation=activation, hidden=hidden))
    assert np.isfinite(outcome.strengths).all()


@pytest.mark.parametrize("importance", IMPORTANCES)
def test_the_relevant_feature_beats_its_noise(scheme, importance):
    settings = replace(QUICK, importance=IMPORTANCES[importance], recipe=Recipe(steps=200, batch_size=64))
    statistics = mirror_statistics(scheme(problem(), settings).strengths[0])
    assert statistics.argmax() == 0
    assert statistics[0] > 0.3


@pytest.mark.parametrize("coordinates", ["directions", "pair"])
def test_a_seed_fixes_the_result(scheme, coordinates):
    settings = replace(QUICK, recipe=replace(QUICK.recipe, coordinates=coordinates))
    first, again = (scheme(problem(), settings).strengths for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, scheme(problem(), settings, (8, 0)).strengths)


# ---- laws ----


@pytest.mark.parametrize("skip", [True, False])
def test_permuted_features_have_permuted_strengths(scheme, skip):
    q, order = problem(), np.array([4, 2, 0, 5, 1, 3])
    settings = replace(QUICK, skip=skip)
    strengths = scheme(q, settings).strengths
    moved = scheme(q.columns(order), settings).strengths
    # Sums run in another order, and the lasso's coordinate descent stops at its tolerance.
    np.testing.assert_allclose(moved, strengths[:, order], rtol=1e-2, atol=5e-3 if skip else 1e-5)


def test_exchanging_plus_and_minus_leaves_the_statistics(scheme, monkeypatch):
    """Z → −Z, with the starting rows of the noise turned too, in the coordinates of the directions."""
    from neuralmirror import schemes

    q = problem()
    before = scheme(q, QUICK).strengths
    noise, rows = mirrors.draw_noise, schemes.initial_rows

    def turned_rows(generators, directions, width):
        drawn = rows(generators, directions, width)
        if directions == 2:  # X_j and its noise; covariates and shared rows have no mirror
            drawn[:, 1] *= -1
        return drawn

    monkeypatch.setattr(mirrors, "draw_noise", lambda *arguments: -noise(*arguments))
    monkeypatch.setattr(schemes, "initial_rows", turned_rows)
    np.testing.assert_allclose(scheme(q, QUICK).strengths, before, rtol=1e-3, atol=1e-5)


def test_exchanging_the_rows_of_a_pair_leaves_the_statistics(scheme, monkeypatch):
    """The same in the paper's coordinates, where Z → −Z exchanges w⁺ and w⁻."""
    from neuralmirror import schemes

    q = problem()
    settings = replace(QUICK, recipe=replace(QUICK.recipe, coordinates="pair"))
    before = scheme(q, settings).strengths
    noise, rows = mirrors.draw_noise, schemes.initial_rows
    monkeypatch.setattr(mirrors, "draw_noise", lambda *arguments: -noise(*arguments))
    monkeypatch.setattr(schemes, "initial_rows", lambda *arguments: rows(*arguments).flip(1))
    np.testing.assert_allclose(scheme(q, settings).strengths, before, rtol=1e-3, atol=1e-5)


def test_a_monotone_change_of_y_changes_nothing_after_ranking(scheme):
    q = problem()
    settings = replace(QUICK, transform="rank")
    bent = replace(q, y=np.exp(q.y))
    np.testing.assert_allclose(rank_normal(q.y), rank_normal(bent.y))
    np.testing.assert_array_equal(scheme(q, settings).strengths, scheme(bent, settings).strengths)


def test_before_any_learning_noise_wins_as_often_as_the_feature():
    """One vanishing step leaves the starting weights. Fails by chance once in 10⁶ seeds (five standard errors)."""
    still = Recipe(steps=1, learning_rate=1e-9, shrinkage=0.0)
    rng = np.random.default_rng(0)
    q = Problem(standardised(rng.standard_normal((100, 400))), rng.standard_normal(100), np.empty((100, 0)))
    settings = replace(QUICK, recipe=still, skip=False, scale=mirrors.marginal_scales)
    for coordinates in ("directions", "pair"):
        chosen = replace(settings, recipe=replace(still, coordinates=coordinates))
        wins = mirror_statistics(simultaneous([q], [SEED], chosen).strengths[0]) > 0
        assert abs(wins.mean() - 0.5) < 5 * 0.5 / np.sqrt(400)


# ---- individual mirrors: chunks and workers ----


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"skip": False}, {"n_mirrors": 2}])
def test_chunks_do_not_change_individual_mirrors(options):
    """One network at a time equals all at once, to float tolerance."""
    q, settings = problem(), replace(QUICK, **options)
    one_by_one = replace(settings, memory=1)
    assert chunk_count(q, settings) == 1
    assert chunk_count(q, one_by_one) == 6
    together, separately = (individual(q, SEED, s).strengths for s in (settings, one_by_one))
    np.testing.assert_allclose(separately, together, rtol=1e-4, atol=1e-6)


def test_chunks_shrink_with_the_budget():
    q = problem()
    budgets = [2**20, 2**17, 2**15, 1]
    counts = [chunk_count(q, replace(QUICK, memory=budget)) for budget in budgets]
    assert counts == sorted(counts)
    assert max(counts) == q.x.shape[1]


def test_workers_do_not_change_the_result(scheme):
    q = problem()
    one, two = (scheme(q, replace(QUICK, n_jobs=jobs)).strengths for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_draws_in_one_batch_equal_draws_alone():
    """Several seeds, or several problems, are trained as one batch; each gives what it gives by itself."""
    problems, seeds = [problem(0), problem(1)], [(7, 0), (7, 0)]
    together = simultaneous(problems, seeds, QUICK).strengths
    for i in range(2):
        alone = simultaneous([problems[i]], [seeds[i]], QUICK).strengths
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-3, atol=1e-5)


def test_outcomes_join_along_draws():
    q = problem()
    parts = [individual(q, (7, draw), QUICK) for draw in range(2)]
    joined = Outcome.join(parts)
    assert joined.strengths.shape == (2, 6, 2)
    np.testing.assert_array_equal(joined.strengths[1], parts[1].strengths[0])


# ---- choices by held-out loss ----


@pytest.mark.parametrize("n", [10, 11, 57, 1000])
def test_a_fifth_of_the_rows_is_held_out(n):
    for seed in range(5):
        kept = kept_rows(n, (seed, 0))
        assert kept.shape == (n,)
        assert 1 <= (~kept).sum() <= 0.2 * n + 0.5


@pytest.mark.parametrize("options", [{"choose_shrinkage": True}, {"early_stopping": True}])
def test_choices_by_held_out_loss_run_in_both_schemes(scheme, options):
    outcome = scheme(problem(n=40), replace(QUICK, **options))
    assert np.isfinite(outcome.strengths).all()


def test_the_shrinkage_of_the_lowest_held_out_loss_is_taken(monkeypatch):
    """Every candidate is trained on the same kept rows; the final training sees all rows."""
    from neuralmirror import schemes

    used, losses, train, measure = [], [], schemes.train, schemes.held_out_loss

    def spy(networks, inputs, targets, loss, recipe, rng, **options):
        used.append((recipe.shrinkage, options.get("row_weights") is not None))
        return train(networks, inputs, targets, loss, recipe, rng, **options)

    monkeypatch.setattr(schemes, "train", spy)
    monkeypatch.setattr(schemes, "held_out_loss", lambda *given: losses.append(measure(*given)) or losses[-1])
    recipe = Recipe(steps=100, batch_size=32)
    simultaneous([problem()], [SEED], replace(QUICK, recipe=recipe, choose_shrinkage=True, skip=False))
    assert used[:-1] == [(shrinkage, True) for shrinkage in SHRINKAGES]
    assert used[-1] == (SHRINKAGES[int(np.argmin([float(loss.mean()) for loss in losses]))], False)


# ---- the skip ----


def test_without_a_skip_no_lasso_is_fitted(scheme, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a lasso was fitted")

    monkeypatch.setattr(lasso, "cross_validated_lasso", refuse)
    assert np.isfinite(scheme(problem(), replace(QUICK, skip=False)).strengths).all()


# ---- screening ----


@pytest.mark.parametrize(
    ("screen", "n", "p", "size"),
    [("half", 100, 400, 50), ("log", 1000, 5000, int(2000 / np.log(1000))), ("half", 100, 30, 30), (7, 100, 30, 7)],
)
def test_screen_sizes_are_the_papers(screen, n, p, size):
    assert screen_size(screen, n, p) == size


def test_screening_more_than_there_are_features_is_refused():
    with pytest.raises(ValueError, match=r"screen=31 asks for more features than the 30"):
        screen_size(31, 100, 30)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_third_of_the_rows_ranks_and_the_others_are_mirrored(classes):
    q = problem(n=90, classes=classes)
    ranking, others = split_rows(q, SEED)
    assert len(ranking) == 30
    np.testing.assert_array_equal(np.sort(np.r_[ranking, others]), np.arange(90))
    assert not np.array_equal(ranking, split_rows(q, (9, 0))[0])


def test_rare_classes_are_in_both_parts():
    q = replace(problem(n=60, classes=3), y=np.r_[np.zeros(40), np.ones(18), 2, 2])
    for part in split_rows(q, SEED):
        assert set(q.y[part]) == {0, 1, 2}
    with pytest.raises(ValueError, match="at least 2 rows of every class"):
        split_rows(replace(q, y=np.r_[np.zeros(40), np.ones(19), 2]), SEED)


def test_the_ranking_puts_relevant_features_first():
    q = problem(n=150, p=12)
    order = rank_features(q, SEED, replace(QUICK, recipe=Recipe(steps=300)))
    assert sorted(order) == list(range(12))
    assert {0, 1} == set(order[:2])
