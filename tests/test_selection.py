"""From statistics to a selected set: brute force on random inputs with ties and zeros, and laws of every level."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuralmirror import selection

# Few distinct values, so that ties and zeros are the rule.
COARSE = arrays(float, st.integers(1, 25), elements=st.integers(-4, 6).map(float))
FINE = arrays(float, st.integers(1, 25), elements=st.floats(-10, 10))
STATISTICS = COARSE | FINE
LEVELS = st.floats(0.01, 0.99)
OFFSETS = st.sampled_from([0, 1])
MIRRORS = st.integers(1, 4)


def brute_fdp(m, t, offset, k):
    """The estimate by counting, one feature after the other."""
    negatives = positives = 0
    for value in m:
        negatives += value <= -t
        positives += value >= t
    return (offset + negatives) / (k * max(1, positives))


def brute_threshold(m, fdr, offset, k):
    """The first t among the sizes of the statistics that passes, else infinity."""
    for t in sorted({abs(value) for value in m if value != 0}):
        if brute_fdp(m, t, offset, k) <= fdr:
            return t
    return np.inf


@given(m=STATISTICS, t=st.floats(0, 10), offset=OFFSETS, k=MIRRORS)
def test_estimated_fdp_equals_counting(m, t, offset, k):
    assert selection.estimated_fdp(m, t, offset=offset, n_mirrors=k) == pytest.approx(brute_fdp(m, t, offset, k))


@given(m=STATISTICS, fdr=LEVELS, offset=OFFSETS, k=MIRRORS)
@example(m=np.zeros(5), fdr=0.9, offset=0, k=1)
@example(m=np.array([3.0]), fdr=0.5, offset=0, k=1)
@example(m=-np.arange(5.0), fdr=0.9, offset=1, k=1)
@settings(max_examples=300)
def test_threshold_and_selection_equal_brute_force(m, fdr, offset, k):
    threshold = brute_threshold(m, fdr, offset, k)
    assert selection.mirror_threshold(m, fdr, offset=offset, n_mirrors=k) == threshold
    expected = [value >= threshold for value in m]
    assert selection.select(m, fdr, offset=offset, n_mirrors=k).tolist() == expected


@given(m=STATISTICS, fdr=LEVELS, offset=OFFSETS, k=MIRRORS)
@settings(max_examples=300)
def test_q_values_agree_with_the_selection_at_every_level(m, fdr, offset, k):
    q = selection.mirror_q_values(m, offset=offset, n_mirrors=k)
    assert ((q >= 0) & (q <= 1)).all()
    for level in [fdr, *np.unique(q[(q > 0) & (q < 1)])]:  # q itself is the sharpest level
        selected = selection.select(m, level, offset=offset, n_mirrors=k)
        np.testing.assert_array_equal(selected, (q <= level) & (m > 0))


@given(m=STATISTICS, fdr=LEVELS, offset=OFFSETS, k=MIRRORS)
def test_the_estimate_holds_on_what_is_selected(m, fdr, offset, k):
    threshold = selection.mirror_threshold(m, fdr, offset=offset, n_mirrors=k)
    selected = selection.select(m, fdr, offset=offset, n_mirrors=k)
    if selected.any():
        assert selection.estimated_fdp(m, threshold, offset=offset, n_mirrors=k) <= fdr
        assert (m[selected] > 0).all()
        assert selected.sum() >= offset / (k * fdr) - 1e-9  # offset 1 needs 1/(K·fdr) discoveries


@given(m=STATISTICS, low=LEVELS, high=LEVELS, offset=OFFSETS)
def test_a_higher_level_never_selects_less(m, low, high, offset):
    low, high = sorted((low, high))
    assert not (selection.select(m, low, offset=offset) & ~selection.select(m, high, offset=offset)).any()


@given(m=STATISTICS, fdr=LEVELS)
def test_offset_one_never_selects_more_than_offset_zero(m, fdr):
    assert not (selection.select(m, fdr, offset=1) & ~selection.select(m, fdr, offset=0)).any()


@given(m=STATISTICS, fdr=LEVELS, seed=st.integers(0, 99), factor=st.floats(0.01, 100))
def test_selection_follows_permutations_and_ignores_units(m, fdr, seed, factor):
    order = np.random.default_rng(seed).permutation(m.size)
    selected = selection.select(m, fdr)
    np.testing.assert_array_equal(selection.select(m[order], fdr), selected[order])
    np.testing.assert_array_equal(selection.select(m * factor, fdr), selected)


@pytest.mark.parametrize("m", [np.zeros(9), -np.ones(9), np.ones(9), np.array([5.0, -5.0] * 20)])
def test_an_infinite_threshold_selects_nothing(m):
    assert selection.mirror_threshold(m, 0.1) == np.inf
    assert not selection.select(m, 0.1).any()
    assert not (m >= np.inf).any()


def test_ten_clean_discoveries_pass_at_one_tenth_and_nine_do_not():
    assert selection.select(np.ones(10), 0.1).all()
    assert not selection.select(np.ones(9), 0.1).any()
    assert selection.select(np.ones(5), 0.1, n_mirrors=2).all()
    assert selection.select(np.ones(1), 0.1, offset=0).all()


def test_the_papers_example_by_hand():
    m = [5, 4, 3, -1, 2, 1, -3.5]  # at t = 4: 2 positives, 0 negatives; at t = 1: 5 positives, 2 negatives
    assert selection.estimated_fdp(m, [4, 3, 1], offset=0).tolist() == [0, 1 / 3, 2 / 5]
    assert selection.mirror_threshold(m, 0.2, offset=0) == 4
    assert selection.mirror_threshold(m, 0.4, offset=0) == 1


# ---- several draws ----


@given(m=STATISTICS, fdr=LEVELS, draws=st.integers(2, 5))
def test_equal_draws_select_what_one_draw_selects(m, fdr, draws):
    repeated = selection.select_repeated(np.tile(m, (draws, 1)), fdr)
    np.testing.assert_array_equal(repeated, selection.select(m, fdr))


DRAWS = arrays(float, st.tuples(st.integers(1, 5), st.just(12)), elements=st.integers(-3, 9).map(float))


@given(draws=DRAWS, fdr=LEVELS, k=MIRRORS)
def test_several_draws_select_what_at_least_half_of_them_select(draws, fdr, k):
    votes = sum(selection.select(m, fdr, n_mirrors=k).astype(int) for m in draws)
    np.testing.assert_array_equal(selection.select_repeated(draws, fdr, n_mirrors=k), 2 * votes >= len(draws))


@given(draws=DRAWS, low=LEVELS, high=LEVELS, k=MIRRORS)
def test_q_values_of_several_draws_agree_with_the_selection_at_every_level(draws, low, high, k):
    q = selection.repeated_q_values(draws, n_mirrors=k)
    low, high = sorted((low, high))
    for level in [low, high, *np.unique(q[q < 1])]:
        np.testing.assert_array_equal(selection.select_repeated(draws, level, n_mirrors=k), q <= level)
    at_low, at_high = (selection.select_repeated(draws, level, n_mirrors=k) for level in (low, high))
    assert not (at_low & ~at_high).any()


@given(draws=DRAWS, seed=st.integers(0, 99))
def test_the_order_of_the_draws_does_not_matter(draws, seed):
    order = np.random.default_rng(seed).permutation(len(draws))
    one, other = (selection.repeated_q_values(d) for d in (draws, draws[order]))
    np.testing.assert_array_equal(one, other)


def test_one_draw_is_selected_directly():
    m = np.random.default_rng(0).standard_normal(30) + 1
    np.testing.assert_array_equal(selection.select_repeated(m[None], 0.2), selection.select(m, 0.2))
    np.testing.assert_array_equal(selection.repeated_q_values(m), selection.mirror_q_values(m))


# ---- p-values ----


@given(p_values=arrays(float, st.integers(1, 20), elements=st.floats(1e-6, 1)), fdr=LEVELS)
def test_bh_and_by_are_step_up_procedures(p_values, fdr):
    n = p_values.size
    for procedure, penalty in (
        (selection.benjamini_hochberg, 1.0),
        (selection.benjamini_yekutieli, sum(1 / k for k in range(1, n + 1))),
    ):
        ordered = np.sort(p_values)
        passing = [p for k, p in enumerate(ordered, start=1) if p * penalty * n / k <= fdr * (1 - 1e-12)]
        cut = max(passing, default=-np.inf)
        selected = procedure(p_values, fdr)
        assert selected[p_values <= cut].all()
        loose = [p for k, p in enumerate(ordered, start=1) if p * penalty * n / k <= fdr * (1 + 1e-12)]
        assert not selected[p_values > max(loose, default=-np.inf)].any()


# ---- truth ----


@given(masks=arrays(bool, st.tuples(st.just(2), st.integers(1, 12))))
def test_fdp_and_power_are_shares(masks):
    selected, truth = masks
    false = sum(s and not t for s, t in zip(selected, truth, strict=True))
    found = sum(s and t for s, t in zip(selected, truth, strict=True))
    assert selection.false_discovery_proportion(selected, truth) == false / max(1, selected.sum())
    assert selection.power(selected, truth) == found / max(1, truth.sum())


# ---- nothing selected ----


@given(m=STATISTICS, fdr=LEVELS, offset=OFFSETS, k=MIRRORS)
def test_the_nearest_level_named_is_one_that_selects(m, fdr, offset, k):
    text = selection.explain_empty(m, fdr, offset=offset, n_mirrors=k)
    assert f"at fdr={fdr:g}" in text
    nearest = selection.mirror_q_values(m, offset=offset, n_mirrors=k).min()
    if nearest < 1:
        assert f"fdr={nearest:.3g}" in text
        assert selection.select(m, nearest, offset=offset, n_mirrors=k).any()
    else:
        assert "No level below 1" in text


def test_the_explanation_counts_what_offset_one_needs():
    text = selection.explain_empty(np.r_[np.ones(4), -np.ones(2)], 0.1)
    assert "needs at least 10 features" in text
    assert "4 had a positive" in text
    assert "needs at least 5 features" in selection.explain_empty(np.zeros(9), 0.1, n_mirrors=2)
    assert "needs at least" not in selection.explain_empty(np.zeros(9), 0.1, offset=0)
