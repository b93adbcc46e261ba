"""Both algorithms from a problem to strengths: permutations, choices, belief, and what is held out."""

import copy
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from builders import normal, problem, random_networks, simultaneous_inputs
from neuralmirror._internal.standardised import StandardisedData, rank_normal, standardised
from neuralmirror.learner import initial_weights, solvers
from neuralmirror.learner.networks import ACTIVATIONS
from neuralmirror.learner.training import Recipe
from neuralmirror.mirror import fitting, kernels
from neuralmirror.mirror import individual as individual_module
from neuralmirror.mirror.fitting import SHRINKAGES, in_units, kept_rows, residual_size, scaled_noise
from neuralmirror.mirror.importance import IMPORTANCES, mirror_statistics
from neuralmirror.mirror.individual import individual
from neuralmirror.mirror.mirror_count import Preview, mirrors_needed, preview
from neuralmirror.mirror.noise import draw_noise, feature_generators, row_sizes
from neuralmirror.mirror.scales import SCALES, correlation_scales, kernel_scales, marginal_scales
from neuralmirror.mirror.simultaneous import simultaneous
from scheme_cases import QUICK, SCHEMES, SEED, VARIANTS


def test_noise_follows_the_size_of_its_row_under_the_default_rule_alone():
    rng = np.random.default_rng(0)
    x = standardised(rng.standard_normal((300, 30)) / np.sqrt(rng.chisquare(2, size=(300, 1))))
    q = StandardisedData(x, standardised(x[:, 0] + rng.standard_normal(300)), np.empty((300, 0)), 0)
    generators = feature_generators(x, *SEED)
    plain, loud = (
        scaled_noise(q, copy.deepcopy(generators), replace(QUICK, scale=SCALES[rule]))
        for rule in ("marginal", "correlation")
    )
    np.testing.assert_allclose(loud[0] / loud[1][:, None], plain[0] * row_sizes(x)[:, :, None], rtol=1e-5)


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return SCHEMES[request.param]


# ---- contract ----


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("covariates", [0, 2])
@pytest.mark.parametrize("k", [1, 2])
def test_strengths_cover_every_direction(scheme, k, covariates, classes):
    outcome = scheme(replace(problem(covariates=covariates, classes=classes), n_mirrors=k), QUICK)
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


@pytest.mark.parametrize("variant", VARIANTS)
def test_permuted_features_have_permuted_strengths(scheme, variant):
    q, order, settings = problem(), np.array([4, 2, 0, 5, 1, 3]), VARIANTS[variant]
    strengths = scheme(q, settings).strengths
    moved = scheme(q.columns(order), settings).strengths
    # Sums run in another order, and the lasso's coordinate descent stops at its tolerance.
    np.testing.assert_allclose(moved, strengths[:, order], rtol=1e-2, atol=5e-3 if settings.skip else 1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_exchanging_plus_and_minus_leaves_the_statistics(scheme, variant, monkeypatch):
    """Z → −Z, with the starting rows of the noise turned too, in the coordinates of the directions."""

    q, settings = problem(), VARIANTS[variant]
    before = scheme(q, settings).strengths
    noise, rows = draw_noise, initial_weights.initial_rows

    def turned_rows(generators, *shape):
        drawn = rows(generators, *shape)
        if shape[-2] == 2:  # X_j and its noise; covariates and shared rows have no mirror
            drawn[..., 1, :] *= -1
        return drawn

    monkeypatch.setattr(fitting, "draw_noise", lambda *arguments: -noise(*arguments))
    monkeypatch.setattr(initial_weights, "initial_rows", turned_rows)
    np.testing.assert_allclose(scheme(q, settings).strengths, before, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_exchanging_the_rows_of_a_pair_leaves_the_statistics(scheme, variant, monkeypatch):
    """The same in the paper's coordinates, where Z → −Z exchanges w⁺ and w⁻."""

    q, settings = problem(), VARIANTS[variant]
    settings = replace(settings, recipe=replace(settings.recipe, coordinates="pair"))
    before = scheme(q, settings).strengths
    noise, rows = draw_noise, initial_weights.initial_rows
    monkeypatch.setattr(fitting, "draw_noise", lambda *arguments: -noise(*arguments))
    monkeypatch.setattr(initial_weights, "initial_rows", lambda *arguments: rows(*arguments).flip(-2))
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
    q = StandardisedData(standardised(rng.standard_normal((100, 400))), rng.standard_normal(100), np.empty((100, 0)))
    settings = replace(QUICK, recipe=still, skip=False, scale=marginal_scales)
    for coordinates in ("directions", "pair"):
        chosen = replace(settings, recipe=replace(still, coordinates=coordinates))
        wins = mirror_statistics(simultaneous([q], [SEED], chosen)[0].strengths[0]) > 0
        assert abs(wins.mean() - 0.5) < 5 * 0.5 / np.sqrt(400)


# ---- choices by held-out loss ----


@pytest.mark.parametrize("n", [10, 11, 57, 1000])
def test_a_fifth_of_the_rows_is_held_out(n):
    for seed in range(5):
        kept = kept_rows(n, (seed, 0))
        assert kept.shape == (n,)
        assert 1 <= (~kept).sum() <= 0.2 * n + 0.5


@pytest.mark.parametrize("n_networks", [1, 3])
@pytest.mark.parametrize("options", [{"choose_shrinkage": True}, {"early_stopping": True}], ids=str)
def test_choices_by_held_out_loss_run_in_both_schemes(scheme, options, n_networks):
    outcome = scheme(problem(n=40), replace(QUICK, n_networks=n_networks, **options))
    assert np.isfinite(outcome.strengths).all()


def test_the_shrinkage_of_the_lowest_held_out_loss_is_taken(monkeypatch):
    """Every candidate is trained on the same kept rows; the final training sees all rows."""

    used, losses, train, measure = [], [], fitting.train, fitting.held_out_loss

    def spy(networks, inputs, targets, loss, recipe, rng, **options):
        used.append((recipe.shrinkage, options.get("row_weights") is not None))
        return train(networks, inputs, targets, loss, recipe, rng, **options)

    monkeypatch.setattr(fitting, "train", spy)
    monkeypatch.setattr(fitting, "held_out_loss", lambda *given: losses.append(measure(*given)) or losses[-1])
    recipe = Recipe(steps=100, batch_size=32)
    simultaneous([problem()], [SEED], replace(QUICK, recipe=recipe, choose_shrinkage=True, skip=False))
    assert used[:-1] == [(shrinkage, True) for shrinkage in SHRINKAGES]
    assert used[-1] == (SHRINKAGES[int(np.argmin([float(loss.mean()) for loss in losses]))], False)


def test_networks_that_hold_out_rows_choose_the_shrinkage_by_them(monkeypatch):
    """A judge is fitted by each candidate; the members follow the best one's, which the outcome names."""

    used, train = [], fitting.train

    def spy(networks, inputs, targets, loss, recipe, rng, **options):
        used.append(np.round(options["shrinkage"].tolist(), 6).tolist())
        return train(networks, inputs, targets, loss, recipe, rng, **options)

    monkeypatch.setattr(fitting, "train", spy)
    q = problem(n=300, p=3)
    settings = replace(QUICK, recipe=Recipe(steps=150), n_networks=3, choose_shrinkage=True, skip=False)
    (outcome,) = simultaneous([q], [SEED], settings)
    (chosen,) = outcome.choices["shrinkage"]
    assert used == [list(SHRINKAGES), [float(chosen)] * 3]


# ---- how much of the networks is believed ----


def straight(seed=0, n=150, p=6):
    """Six clear linear features and little noise: nothing is left for a perceptron."""
    rng = np.random.default_rng(seed)
    x = standardised(rng.standard_normal((n, p)))
    return StandardisedData(x, standardised(x @ np.linspace(1, 2, p) + 0.5 * rng.standard_normal(n)), np.empty((n, 0)))


def product(seed=0, n=300, p=6):
    """Only a perceptron sees a product."""
    rng = np.random.default_rng(seed)
    x = standardised(rng.standard_normal((n, p)))
    return StandardisedData(x, standardised(x[:, 0] * x[:, 1] + 0.1 * rng.standard_normal(n)), np.empty((n, 0)))


def believed(outcome):
    return float(outcome.choices["belief"][0])


def test_a_perceptron_is_believed_where_it_predicts(scheme):
    settings = replace(QUICK, n_networks=3, hidden=(30,), recipe=Recipe(steps=400, learning_rate=1e-2, shrinkage=0.8))
    outcome = scheme(product(), settings)
    assert believed(outcome) > 0.5
    assert set(np.argsort(outcome.strengths[0, :, 0])[-2:]) == {0, 1}
    assert believed(scheme(straight(), settings)) < 0.5


def test_where_the_networks_are_not_believed_the_skip_decides_alone(scheme, monkeypatch):
    """Individual mirrors then train no perceptron; simultaneous ones keep a trace of it, to rank silent features."""
    from neuralmirror.learner import stacking

    monkeypatch.setattr(stacking, "EVIDENCE", 1e9)
    q = straight()
    outcome = scheme(q, replace(QUICK, n_networks=3))
    assert believed(outcome) == 0
    long = scheme(q, replace(QUICK, n_networks=3, recipe=Recipe(steps=60)))
    np.testing.assert_allclose(long.strengths, outcome.strengths, atol=10 * stacking.LEAST_BELIEF)


def test_one_network_is_always_believed(scheme):
    assert believed(scheme(straight(), QUICK)) == 1


@pytest.mark.parametrize("n_networks", [1, 3])
def test_the_size_of_the_response_does_not_matter(scheme, n_networks):
    q, settings = problem(), replace(QUICK, n_networks=n_networks)
    for name in ("standard", "rank"):
        one, other = (scheme(replace(q, y=y), replace(settings, transform=name)) for y in (q.y, 1e3 * q.y + 7))
        np.testing.assert_allclose(other.strengths, one.strengths, rtol=1e-3, atol=1e-5)


def test_the_unit_of_a_perceptron_is_what_the_skip_leaves():
    inputs = simultaneous_inputs(p=2, m=2)
    networks = random_networks(m=2, shared=0, own=4, curve=True)
    targets = 3 * normal(np.random.default_rng(0), 2, 40, 1)
    rest = targets - networks.skip(inputs.shared, inputs.own)
    np.testing.assert_allclose(residual_size(networks, inputs, targets), rest.std(dim=(1, 2)))


# ---- how many mirrors ----


def needed(q, fdr):
    (seen,) = solvers.solve([preview(q, QUICK)], solvers.one_by_one)
    return mirrors_needed(seen, fdr)


@pytest.mark.parametrize(
    ("found", "fdr", "k"),
    [(50, 0.1, 1), (49, 0.1, 2), (25, 0.1, 2), (24, 0.1, 3), (13, 0.1, 4), (1, 0.1, 4), (25, 0.2, 1), (0, 0.1, 4)],
)
def test_fewer_relevant_features_need_more_mirrors(found, fdr, k):
    assert mirrors_needed(Preview(0.5, found), fdr) == k


def test_the_preview_follows_the_data():
    """Ten clear features at a level of 0.5 need no more than one mirror; two at 0.1 need as many as there may be."""
    rng = np.random.default_rng(0)
    x = standardised(rng.standard_normal((200, 12)))
    for relevant, fdr, k in ((10, 0.5, 1), (2, 0.1, 4)):
        y = standardised(x[:, :relevant].sum(axis=1) + 0.1 * rng.standard_normal(200))
        q = StandardisedData(x, y, np.empty((200, 0)))
        (seen,) = solvers.solve([preview(q, QUICK)], solvers.one_by_one)
        assert 0.9 < seen.explained <= 1
        assert seen.relevant >= relevant
        assert mirrors_needed(seen, fdr) == k


def test_noise_is_louder_where_less_is_explained():
    q = problem(n=100)
    q = replace(q, x=standardised(q.x + q.x[:, :1]))
    settings = replace(QUICK, scale=correlation_scales, skip=False)
    quiet, loud = (simultaneous([replace(q, unexplained=u)], [SEED], settings)[0].scales for u in (0.0, 0.5))
    np.testing.assert_allclose(quiet, 1, rtol=1e-5)
    assert (loud > 1).all()


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_fit_that_explains_nothing_tells_nothing_of_the_number(classes):
    rng = np.random.default_rng(0)
    x = standardised(rng.standard_normal((100, 5)))
    y = rng.integers(0, classes, 100).astype(float) if classes else standardised(rng.standard_normal(100))
    assert needed(StandardisedData(x, y, np.empty((100, 0)), classes), 0.1) == 2


# ---- the skip ----


def test_squares_of_the_skip_reach_the_strengths(scheme, monkeypatch):
    """A squared feature without any line: only the quadratic skip gives it strength when no network is believed."""
    from neuralmirror.learner import stacking

    monkeypatch.setattr(stacking, "EVIDENCE", 1e9)
    q = problem(n=300)
    q = replace(q, y=standardised(q.x[:, 0] ** 2 + 0.1 * np.random.default_rng(0).standard_normal(300)))
    settings = replace(QUICK, n_networks=2)
    outcome = scheme(q, replace(settings, degree=None))
    assert outcome.choices["degree"] == ["2"]
    slope = 2 / (q.x[:, 0] ** 2).std()  # the rms of 2κx with κ = 1/sd(x²)
    assert outcome.strengths[0, 0, 0] == pytest.approx(slope, rel=0.05)
    assert outcome.strengths[0].ravel()[1:].max() < 0.1 * slope
    lines = scheme(q, replace(settings, degree=1))
    assert lines.choices["degree"] == ["1"]
    assert lines.strengths[0, 0, 0] < 0.3 * slope


def test_without_a_skip_no_lasso_is_fitted(scheme, monkeypatch):
    monkeypatch.setattr(solvers, "coordinate_descent", lambda *_: pytest.fail("a lasso was fitted"))
    assert np.isfinite(scheme(problem(), replace(QUICK, skip=False)).strengths).all()


def test_louder_noise_counts_by_what_it_moves(scheme):
    """Directions are compared by the effect of their standard deviations, and in the paper's pairs by their slopes."""
    settings = replace(QUICK, scale=lambda x, z: x.new_full((x.shape[1],), 2.0), skip=False)
    loud = scheme(problem(), settings)
    assert (loud.scales == 2).all()
    strengths = np.random.default_rng(0).random((1, 3, 3))
    turned = in_units(strengths, np.full((1, 3), 2.0), settings)
    np.testing.assert_allclose(turned, strengths * [1, 2, 2])
    paired = replace(settings, recipe=replace(settings.recipe, coordinates="pair"))
    np.testing.assert_array_equal(in_units(strengths, np.full((1, 3), 2.0), paired), strengths)


def test_threads_find_the_factorisations_of_a_gpu_loaded(monkeypatch):
    """Their first use is in the main thread: two threads that load them at once fail."""
    threads, real = [], torch.linalg.cholesky
    monkeypatch.setattr(
        torch.linalg, "cholesky", lambda matrix: threads.append(threading.current_thread()) or real(matrix)
    )
    kernels.load_factorisations.cache_clear()
    simultaneous([problem(0, n=400), problem(1, n=400)], [SEED, SEED], replace(QUICK, scale=kernel_scales))
    assert threads[0] is threading.main_thread()
    assert len(set(threads)) > 1


def test_a_killed_individual_scheme_takes_up_its_completed_chunks(tmp_path, monkeypatch):
    """Killed in the third chunk, it trains the third and later ones only, and ends where an undisturbed run does."""

    q, settings = problem(), replace(QUICK, n_networks=1, memory=1)  # one feature per chunk
    whole = individual(q, SEED, settings).strengths
    fit, calls = fitting.fit_networks, []

    def killed(*arguments, **options):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(1)
        return fit(*arguments, **options)

    monkeypatch.setattr(individual_module, "fit_networks", killed)
    with pytest.raises(KeyboardInterrupt):
        individual(q, SEED, settings, pieces=tmp_path)
    assert len(list(tmp_path.glob("features-*.npz"))) == 2
    monkeypatch.setattr(individual_module, "fit_networks", lambda *a, **o: calls.append(1) or fit(*a, **o))
    np.testing.assert_allclose(individual(q, SEED, settings, pieces=tmp_path).strengths, whole, rtol=1e-6)
    assert len(calls) == q.x.shape[1]  # two before the kill, the rest after it
