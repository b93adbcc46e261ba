"""Laws of the mirror statistic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuralmirror.mirror.statistic import mirror_statistics

FINITE = st.floats(-100, 100)
SEVERAL = arrays(float, st.tuples(st.integers(1, 5), st.integers(2, 5)), elements=st.floats(0, 100))


@given(plus=arrays(float, 6, elements=FINITE), minus=arrays(float, 6, elements=FINITE))
@settings(deadline=None)
def test_with_one_opponent_it_is_the_papers_statistic(plus, minus):
    directions = np.abs(np.stack([plus + minus, plus - minus], axis=-1))
    expected = np.abs(plus + minus) - np.abs(plus - minus)
    np.testing.assert_allclose(mirror_statistics(directions), expected, atol=1e-12)


@given(strengths=SEVERAL)
@settings(deadline=None)
def test_it_is_the_margin_of_the_winner(strengths):
    for row, m in zip(strengths, mirror_statistics(strengths), strict=True):
        others = max(row[1:])
        if row[0] > others:
            assert m == pytest.approx(row[0] - others)
        else:  # an opponent won: its lead over the runner-up, or zero for a tie
            first, second = sorted(row)[:-3:-1]
            assert m == pytest.approx(-(first - second))


@given(strengths=arrays(float, (4, 4), elements=st.floats(0, 100)), order=st.permutations([1, 2, 3]))
@settings(deadline=None)
def test_the_opponents_of_a_feature_are_interchangeable(strengths, order):
    np.testing.assert_array_equal(mirror_statistics(strengths), mirror_statistics(strengths[:, [0, *order]]))


@given(row=arrays(float, 4, elements=st.floats(0, 100)), k=st.integers(1, 3))
@settings(deadline=None)
def test_it_keeps_its_size_when_the_feature_changes_places_with_an_opponent(row, k):
    exchanged = row.copy()
    exchanged[[0, k]] = row[[k, 0]]
    assert abs(mirror_statistics(row)) == abs(mirror_statistics(exchanged))


@given(pair=arrays(float, (5, 2), elements=st.floats(0, 100)))
@settings(deadline=None)
def test_exchanging_a_feature_with_its_only_opponent_turns_its_sign(pair):
    np.testing.assert_array_equal(mirror_statistics(pair), -mirror_statistics(pair[:, ::-1]))
