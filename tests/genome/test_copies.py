"""Copies of groups: equal to the group in products and length, made again from a seed, and exchangeable with it."""

import numpy as np
import pytest
import torch

from genomes import linked_counts, panel_of, response_of
from neuralmirror.genome.copies import TURNS, Names, direction_products, draw_group, order_of_people
from neuralmirror.genome.laws import find_laws

N, P, K = 400, 60, 3
STARTS = np.array([0, 1, 4, 6], dtype=np.int64)
MEMBERS = np.array([20, 30, 31, 33, 40, 45], dtype=np.int64)
NAMES = Names(0, np.array([20, 30, 40]), np.array([4, 5, 4]))


@pytest.fixture(scope="module")
def window():
    panel = panel_of(linked_counts(N, P), covariates=2)
    x, y = panel.columns(0, P), response_of(panel, {20: 0.3, 41: 0.3})
    return panel, x, y, find_laws(x @ x.T, x @ y, STARTS, MEMBERS, N, len(panel.known))


def products(x, y, laws, names, n_known, seed=5):
    """x·y of all directions."""
    return direction_products(torch.from_numpy(x), torch.from_numpy(y), laws, names, K, seed, n_known)


def drawn(window, group, seed=5):
    panel, x, _, laws = window
    return draw_group(x, x @ x.T, panel.known, laws, group, NAMES, K, seed)


@pytest.mark.parametrize("group", [0, 1, 2])
def test_products_with_regressors_and_covariates_are_those_of_the_group(window, group):
    panel, x, _, laws = window
    copies = drawn(window, group)
    fixed = np.vstack([x[laws.regressors[group, : laws.counts[group]]], panel.known * N**0.5])
    for number in range(1, K + 1):
        np.testing.assert_allclose(copies[:, number] @ fixed.T, copies[:, 0] @ fixed.T, atol=0.02 * N**0.5)


@pytest.mark.parametrize("group", [0, 1, 2])
def test_copies_are_about_as_long_as_the_group(window, group):
    copies = drawn(window, group)
    np.testing.assert_array_equal(copies[:, 0], window[1][MEMBERS[STARTS[group] : STARTS[group + 1]]])
    np.testing.assert_allclose(np.square(copies).mean(axis=2), 1, atol=0.1)


def test_members_of_a_group_are_as_correlated_as_their_copies(window):
    copies = drawn(window, 1)
    own = np.corrcoef(copies[:, 0])
    for number in range(1, K + 1):
        np.testing.assert_allclose(np.corrcoef(copies[:, number]), own, atol=0.15)


def test_direction_products_are_those_of_drawn_copies(window):
    panel, x, y, laws = window
    found = products(x, y, laws, NAMES, len(panel.known))
    for group in range(3):
        expected = drawn(window, group) @ y
        np.testing.assert_allclose(found[STARTS[group] : STARTS[group + 1]], expected, atol=2e-3 * N)


def test_the_same_seed_makes_the_same_copies_and_another_does_not(window):
    np.testing.assert_array_equal(drawn(window, 1), drawn(window, 1))
    assert not np.allclose(drawn(window, 1, seed=6)[:, 1:], drawn(window, 1)[:, 1:])


def test_copies_do_not_look_at_the_response(window):
    panel, x, y, _ = window
    other = find_laws(x @ x.T, x @ np.roll(y, 7), STARTS, MEMBERS, N, len(panel.known))
    np.testing.assert_array_equal(draw_group(x, x @ x.T, panel.known, other, 0, NAMES, K, 5), drawn(window, 0))


def test_an_order_holds_everyone_once_and_follows_from_its_numbers():
    order = order_of_people(1000, 1, 2, 3, 0)
    assert sorted(order) == list(range(1000))
    np.testing.assert_array_equal(order, order_of_people(1000, 1, 2, 3, 0))
    for other in ((2, 2, 3, 0), (1, 3, 3, 0), (1, 2, 4, 0), (1, 2, 3, 1)):
        assert (order == order_of_people(1000, *other)).mean() < 0.05


def test_orders_are_uniform():
    firsts = np.array([order_of_people(8, 3, stretch, 0, 0)[0] for stretch in range(8000)])
    assert abs(np.bincount(firsts, minlength=8) - 1000).max() < 150  # five standard deviations


def test_a_null_group_and_its_copies_rank_alike():
    """Each of the K+1 directions of markers that do not matter is the strongest in a share of 1/(K+1)."""
    panel = panel_of(linked_counts(N, 300, seed=3, width=5))
    x, first = panel.columns(0, 300), []
    starts, members = np.arange(301, dtype=np.int64), np.arange(300, dtype=np.int64)
    for seed in range(6):
        y = response_of(panel, {}, seed)
        laws = find_laws(x @ x.T, x @ y, starts, members, N, 1)
        along = products(x, y, laws, Names(0, members, members % TURNS), 1, seed)
        first.extend(np.argmax(np.abs(along), axis=1))
    shares = np.bincount(first, minlength=K + 1) / len(first)
    np.testing.assert_allclose(shares, 1 / (K + 1), atol=0.06)


@pytest.mark.parametrize("group", [0, 1, 2])
def test_exchanging_a_group_with_a_copy_exchanges_their_scores(window, group):
    """Given the regressors, a copy has the group's coefficients, so that it takes its place with everything else."""
    panel, x, y, laws = window
    members = MEMBERS[STARTS[group] : STARTS[group + 1]]
    swapped, copies = x.copy(), drawn(window, group)
    swapped[members] = copies[:, 2]
    count = laws.counts[group]
    design = x[laws.regressors[group, :count]].T.astype(float)
    again = np.linalg.lstsq(design, copies[:, 2].T.astype(float), rcond=None)[0].T
    np.testing.assert_allclose(again, laws.coefficients[STARTS[group] : STARTS[group + 1], :count], atol=5e-3)
    before = products(x, y, laws, NAMES, len(panel.known))[STARTS[group] : STARTS[group + 1]]
    after = products(swapped, y, laws, NAMES, len(panel.known))[STARTS[group] : STARTS[group + 1]]
    np.testing.assert_allclose(after[:, 0], before[:, 2], atol=2e-3 * N)
