"""Tables wider than the learner has room for: which features it sees, and that X_j and its copies are treated alike."""

from dataclasses import replace

import numpy as np
import pytest

from builders import problem
from fitting import QUIET, data, mirror
from neuralmirror import SelectionWarning
from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner.engine import Engine
from neuralmirror.learner.network import Network
from neuralmirror.mirror import draw, screening
from neuralmirror.mirror.directions import conditional_directions
from neuralmirror.mirror.draw import Plan
from neuralmirror.mirror.screening import closest_relations, most_features

SEED = 3
CASES = {
    "numbers": {"p": 20},
    "two classes": {"classes": 2, "n": 100, "p": 20},
    "three classes": {"classes": 3, "n": 80, "p": 20},
    "groups": {"p": 20, "groups": [0, 0, 1, 2, 3, 3, *range(4, 18)]},
    "covariates": {"covariates": 2, "p": 20},
}


def exchanged(directions, feature, copy):
    """The same directions, but X_j and one of its copies have changed places."""
    values, columns = directions.values.copy(), np.flatnonzero(directions.feature == feature)
    values[columns, 0], values[columns, copy] = directions.values[columns, copy], directions.values[columns, 0]
    return replace(directions, values=values)


def drawn_with(monkeypatch, directions, q, scheme):
    """A draw whose directions are given."""
    monkeypatch.setattr(draw, "conditional_directions", lambda *_: directions)
    plan = Plan(scheme, "conditional", None, directions.values.shape[1] - 1, "marginal", q.group)
    return plan.draw(q, Engine("auto", Network(steps=60, hidden_sizes=16)), SEED)


def table(x, y):
    return StandardisedData(standardised(x), y, np.empty((len(x), 0)))


# ---- the room there is ----


def test_tables_of_moderate_width_are_learnt_from_whole():
    assert most_features(1000, 5) >= 5000
    assert most_features(2000, 5) >= 4000


def test_room_shrinks_with_rows_and_with_copies_and_does_not_vanish():
    assert most_features(4000, 5) < most_features(1000, 5)
    assert most_features(1000, 9) < most_features(1000, 5)
    assert 2300 < most_features(10**9, 5) < 2400


def test_few_rows_leave_room_by_the_memory_of_a_turn():
    columns = most_features(50, 5) * (1 + 4 / 16)
    assert 0.99 * screening.MOST_BYTES < 4 * columns**2 <= screening.MOST_BYTES


# ---- the law ----


@pytest.mark.parametrize("case", CASES)
def test_an_exchange_changes_nothing_about_which_features_are_learnt_from(case):
    q = problem(**CASES[case])
    drawn = conditional_directions(q, 4, (7,))
    kept = closest_relations(drawn, q, 6, Engine(), SEED)
    assert len(kept) == 6
    for feature in range(0, drawn.n_features, 3):
        other = exchanged(drawn, feature, 1 + feature % 4)
        np.testing.assert_array_equal(closest_relations(other, q, 6, Engine(), SEED), kept)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scheme", ["turns", "simultaneous"])
def test_an_exchange_exchanges_strengths_where_the_table_is_too_wide(monkeypatch, scheme, case):
    """In turns only that feature is compared: the learners of other turns see X_j, so theirs is another problem."""
    monkeypatch.setattr(screening, "most_features", lambda n, n_directions: 6)
    q = problem(**CASES[case])
    drawn = conditional_directions(q, 4, (7,))
    before = drawn_with(monkeypatch, drawn, q, scheme)
    assert before.n_learnt == 6
    learnt = np.flatnonzero(before.strengths.any(axis=1))
    assert 0 < len(learnt) <= 6
    for feature in (int(learnt[0]), int(np.flatnonzero(~before.strengths.any(axis=1))[0])):
        after = drawn_with(monkeypatch, exchanged(drawn, feature, 2), q, scheme)
        expected = before.strengths.copy()
        expected[feature, [0, 2]] = before.strengths[feature, [2, 0]]
        compared = [feature] if scheme == "turns" else slice(None)
        np.testing.assert_array_equal(after.strengths[compared], expected[compared])


# ---- what is kept ----


def test_lines_curves_and_what_only_shows_beside_others_are_kept():
    """The third feature is unrelated to y by itself: what it takes away its neighbour has given."""
    rng = np.random.default_rng(5000)
    x = rng.standard_normal((500, 60))
    x[:, 2] = 0.8 * x[:, 0] + 0.6 * x[:, 2]
    y = 2 * x[:, 0] + 1.2 * (x[:, 1] ** 2 - 1)
    y -= x[:, 2] * np.cov(x[:, 2], y)[0, 1] / x[:, 2].var()
    y += 0.3 * rng.standard_normal(500)
    assert abs(np.corrcoef(x[:, 2], y)[0, 1]) < 0.05
    q = table(x, y)
    kept = closest_relations(conditional_directions(q, 4, (7,)), q, 8, Engine(), SEED)
    assert {0, 1, 2} <= set(kept.tolist())


@QUIET
def test_features_without_a_place_have_no_statistic_and_keep_their_scale(monkeypatch):
    x, y = data(n=100, p=30)
    monkeypatch.setattr(screening, "most_features", lambda n, n_directions: 8)
    with pytest.warns(SelectionWarning, match="8 of 30 features"):
        fitted = mirror().fit(x, y)
    assert fitted.n_learnt_ == 8
    assert (fitted.mirror_statistics_ != 0).sum() <= 8
    assert (fitted.scales_ > 0).all()


@QUIET
def test_a_table_with_room_for_all_is_as_it_was(monkeypatch):
    x, y = data(n=100, p=12)
    free = mirror().fit(x, y)
    monkeypatch.setattr(screening, "most_features", lambda n, n_directions: 12)
    exact = mirror().fit(x, y)
    assert free.n_learnt_ == exact.n_learnt_ == 12
    np.testing.assert_array_equal(free.strengths_, exact.strengths_)


@QUIET
@pytest.mark.parametrize(("asked", "learnt"), [(4, 4), (15, 15)])
def test_a_users_screening_is_what_it_says_whatever_the_room(monkeypatch, asked, learnt):
    x, y = data(n=100, p=30)
    monkeypatch.setattr(screening, "most_features", lambda n, n_directions: 10)
    fitted = mirror(screen=asked).fit(x, y)
    assert fitted.n_learnt_ == (fitted.scales_ > 0).sum() == learnt


@QUIET
def test_networks_alone_see_all_features(monkeypatch):
    x, y = data(n=100, p=12)
    monkeypatch.setattr(screening, "most_features", lambda n, n_directions: 5)
    assert mirror(learner="network", network=Network(steps=20, hidden_sizes=8)).fit(x, y).n_learnt_ == 12
