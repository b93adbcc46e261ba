"""Screening: how many features, which rows rank them, and that the others see nothing of these rows."""

from dataclasses import replace

import numpy as np
import pytest

from builders import problem
from fitting import QUIET, SCHEMES, data, mirror
from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner.training import Recipe
from neuralmirror.mirror import estimator, screening
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.screening import rank_features, screen_size, split_rows

SEED = (7, 0)


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
    settings = Settings(recipe=Recipe(steps=300), hidden=(8, 4), transform="standard", degree=1, n_networks=1)
    (order,) = rank_features([q], [SEED], settings)
    assert sorted(order) == list(range(12))
    assert {0, 1} == set(order[:2])


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [3, "half", "log"])
def test_screening_mirrors_only_the_best_features(scheme, screen):
    x, y = data(n=60, p=40)
    fitted = mirror(scheme=scheme, screen=screen, steps=60).fit(x, y)
    kept = {3: 3, "half": 30, "log": int(120 / np.log(60))}[screen]
    assert (fitted.scales_ > 0).sum() == kept
    assert (fitted.q_values_[fitted.scales_ == 0] == 1).all()
    assert not fitted.support_[fitted.scales_ == 0].any()


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_mirrors_see_only_the_rows_that_did_not_rank(scheme, monkeypatch):
    seen, ranked = [], []
    real_rank, real = screening.rank_features, getattr(estimator, scheme)
    monkeypatch.setattr(screening, "rank_features", lambda qs, *rest: ranked.append(qs[0].y) or real_rank(qs, *rest))
    monkeypatch.setattr(
        estimator, scheme, lambda q, *rest: seen.append((q[0] if isinstance(q, list) else q).y) or real(q, *rest)
    )
    x, y = data(n=90)
    mirror(scheme=scheme, screen=5, task="regression").fit(x, y)
    assert len(ranked[0]) == 30
    assert len(seen[0]) == 60
    assert set(ranked[0]).isdisjoint(seen[0])
    assert set(ranked[0]) | set(seen[0]) == set(y)


@QUIET
def test_rows_that_ranked_do_not_change_the_statistics():
    """Only which features are kept may come from the ranking rows; their values must not leak further."""
    x, y = data(n=90)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    ranking, _ = split_rows(StandardisedData(standardised(x), y, np.empty((90, 0))), (seed,))
    changed = y.copy()
    changed[ranking] = np.random.default_rng(5).permutation(changed[ranking])
    one, other = (mirror(screen=8, target_transform="standard").fit(x, t) for t in (y, changed))
    np.testing.assert_allclose(other.mirror_statistics_, one.mirror_statistics_, rtol=1e-5, atol=1e-7)


@QUIET
def test_screening_keeps_rare_classes():
    x, t = data(n=60)
    y = (t > 0).astype(int)
    y[:2] = 2
    for seed in range(3):
        mirror(screen=4, random_state=seed).fit(x, y)
