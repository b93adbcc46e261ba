"""Screening: how many features, which rows rank them, and that the others see nothing of these rows."""

from dataclasses import replace

import numpy as np
import pytest

from builders import problem
from fitting import QUIET, SCHEMES, data, mirror, paper, small_paper_network
from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner.engine import Engine
from neuralmirror.mirror.directions import conditional_directions
from neuralmirror.mirror.response import standard_response
from neuralmirror.mirror.screening import best_by_any_direction, best_on_a_third, screen_size, split_rows

SEED = 7


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
    assert not np.array_equal(ranking, split_rows(q, 9)[0])


def test_rare_classes_are_in_both_parts():
    q = replace(problem(n=60, classes=3), y=np.r_[np.zeros(40), np.ones(18), 2, 2])
    for part in split_rows(q, SEED):
        assert set(q.y[part]) == {0, 1, 2}
    with pytest.raises(ValueError, match="at least 2 rows of every class"):
        split_rows(replace(q, y=np.r_[np.zeros(40), np.ones(19), 2]), SEED)


def test_relevant_features_are_kept():
    x, y = data(n=200, p=12)
    q = StandardisedData(standardised(x), y, np.empty((200, 0)))
    response = standard_response(q)
    kept = best_by_any_direction(conditional_directions(q, 4, (7,)), response, 4, Engine(), SEED)
    assert kept.tolist() == [0, 1, 2, 3]
    engine = Engine("network", small_paper_network(steps=300))
    assert best_on_a_third(q, response, 4, engine, SEED).tolist() == [0, 1, 2, 3]


@QUIET
@pytest.mark.parametrize("make", [mirror, paper])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [3, "half", "log"])
def test_screening_mirrors_only_the_best_features(scheme, screen, make):
    x, y = data(n=60, p=40)
    fitted = make(scheme=scheme, screen=screen).fit(x, y)
    kept = {3: 3, "half": 30, "log": int(120 / np.log(60))}[screen]
    assert (fitted.scales_ > 0).sum() == kept
    assert (fitted.q_values_[fitted.scales_ == 0] == 1).all()
    assert not fitted.support_[fitted.scales_ == 0].any()


@QUIET
@pytest.mark.parametrize("make", [mirror, paper])
def test_groups_are_kept_whole(make):
    x, y = data(n=90)
    fitted = make(screen=2, feature_groups=list("aabbccdd")).fit(x, y)
    kept = (fitted.scales_ > 0).reshape(4, 2)
    assert kept.sum(axis=0).tolist() == [2, 2]
    np.testing.assert_array_equal(kept[:, 0], kept[:, 1])


@QUIET
def test_given_scales_follow_their_features():
    x, y = data(n=90)
    given = np.linspace(0.5, 2, 8)
    fitted = paper(screen=3, scale=given).fit(x, y)
    kept = fitted.scales_ > 0
    assert kept.sum() == 3
    np.testing.assert_allclose(fitted.scales_[kept], given[kept], rtol=1e-6)


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_that_ranked_do_not_change_the_papers_statistics(scheme):
    """Only which features are kept may come from the ranking rows; their values must not leak further."""
    x, y = data(n=90)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    ranking, _ = split_rows(StandardisedData(standardised(x), y, np.empty((90, 0))), seed)
    changed = y.copy()
    changed[ranking] = np.random.default_rng(5).permutation(changed[ranking])
    one, other = (paper(scheme=scheme, screen=8).fit(x, t) for t in (y, changed))
    np.testing.assert_allclose(other.mirror_statistics_, one.mirror_statistics_, rtol=1e-5, atol=1e-7)


@QUIET
def test_screening_keeps_rare_classes():
    x, t = data(n=60)
    y = (t > 0).astype(int)
    y[:2] = 2
    for seed in range(3):
        assert paper(screen=4, task="classification", random_state=seed).fit(x, y).classes_.tolist() == [0, 1, 2]
