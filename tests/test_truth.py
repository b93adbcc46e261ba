"""What a known truth tells: signs of nulls, the oracle against brute force, and the ranking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralmirror.truth import null_signs, oracle_power, truth_first, win_share

statistics = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=12)


def split(pairs):
    values, truth = zip(*pairs, strict=True)
    return np.array(values, dtype=float), np.array(truth, dtype=bool)


@given(statistics, st.floats(0, 1))
def test_the_oracle_is_the_best_of_all_cuts(pairs, level):
    ranking, truth = split(pairs)
    best = 0.0
    for t in set(ranking):
        chosen = ranking >= t
        if (chosen & ~truth).sum() <= level * chosen.sum():
            best = max(best, (chosen & truth).sum() / max(1, truth.sum()))
    assert oracle_power(ranking, truth, level) == pytest.approx(best)


def test_what_ranks_at_minus_infinity_cannot_be_selected():
    assert oracle_power(np.array([-np.inf, 1.0]), np.array([True, True]), 0.5) == 0.5
    assert oracle_power(np.full(3, -np.inf), np.ones(3, dtype=bool), 0.5) == 0


@given(statistics)
def test_reflecting_the_statistics_exchanges_wins_and_losses(pairs):
    values, truth = split(pairs)
    here, there = null_signs(values, truth), null_signs(-values, truth)
    for part in ("null", "tail"):
        assert (here[f"{part}_won"], here[f"{part}_lost"]) == (there[f"{part}_lost"], there[f"{part}_won"])
        assert here[f"{part}_won"] <= here["null_won"]


@given(statistics)
def test_the_tail_is_at_most_half_of_the_signed_nulls(pairs):
    signs = null_signs(*split(pairs))
    assert 2 * (signs["tail_won"] + signs["tail_lost"]) <= signs["null_won"] + signs["null_lost"]


def test_symmetric_nulls_win_half_of_the_time_in_the_tail_too():
    values = np.random.default_rng(0).standard_normal(20_000)
    signs = null_signs(values, np.zeros(20_000, dtype=bool))
    assert win_share(signs["null_won"], signs["null_lost"]) == pytest.approx(0.5, abs=0.02)
    assert win_share(signs["tail_won"], signs["tail_lost"]) == pytest.approx(0.5, abs=0.025)
    assert win_share(0, 0) is None


def test_the_truth_is_first_only_above_every_null():
    truth = np.array([True, True, False])
    assert truth_first(np.array([2.0, 3, 1]), truth)
    assert not truth_first(np.array([1.0, 3, 1]), truth)
    assert not truth_first(np.array([1.0, 3, 1]), np.zeros(3, dtype=bool))
    assert truth_first(np.array([1.0, 3, 1]), np.ones(3, dtype=bool))
