"""The first pass: groups of every resolution, symmetric scores, and which groups are kept."""

import numpy as np
import pytest

from genomes import linked_counts, panel_of, response_of
from neuralmirror.genome.copies import draw_group
from neuralmirror.genome.scan import Groups, Scan, Window, best_groups, scan
from neuralmirror.genome.windows import Stretch, cut_chromosome

N, P = 250, 90
CUTS, SEEDS, K = (0.9, 0.3), [1, 2], 2


@pytest.fixture(scope="module")
def work():
    panel = panel_of(linked_counts(N, P, width=5), covariates=1)
    return panel, response_of(panel, {12: 0.6, 60: 0.6}), cut_chromosome(panel, 0, P, size=40, margin=10)


def scanned(work, stretches=None, cuts=CUTS, partitions=None):
    panel, response, whole = work
    return scan(panel, response, stretches or whole, cuts, partitions, K, SEEDS)


def test_every_marker_is_in_a_group_named_by_its_first_marker(work):
    found = scanned(work)
    assert found.groups.shape == (2, P)
    for groups in (*found.groups, found.blocks):
        assert (groups <= np.arange(P)).all()
        np.testing.assert_array_equal(groups[groups], groups)


def test_finer_groups_lie_within_coarser_ones(work):
    fine, coarse = scanned(work).groups
    assert len(np.unique(fine)) > len(np.unique(coarse)) > 5
    for one in np.unique(fine):
        assert len(np.unique(coarse[fine == one])) == 1


def test_a_score_is_the_largest_product_of_any_direction(work):
    panel, response, stretches = work
    found = scanned(work)
    stretch = stretches[0]
    window = Window.read(panel, stretch, response, "cpu")
    groups = Groups.of_labels(stretch, found.groups[1, stretch.first : stretch.last])
    laws = window.laws(groups)
    for number, code in enumerate(groups.names.codes):
        copies = draw_group(window.columns, window.products, panel.known, laws, number, groups.names, K, SEEDS[1])
        assert found.scores[1, 1, code] == pytest.approx(np.abs(copies @ response).max(), abs=2e-3 * N)


def test_scores_stand_at_the_first_marker_alone(work):
    found = scanned(work)
    for row in range(2):
        first = np.isin(np.arange(P), found.groups[row])
        assert (found.scores[row][:, first] > 0).all()
        assert (found.scores[row][:, ~first] == 0).all()


def test_groups_that_matter_score_highest(work):
    found = scanned(work)
    best = np.argsort(-found.scores[1, 0])[:2]
    assert set(best) == {found.groups[1, 12], found.groups[1, 60]}


def test_a_scan_in_parts_is_the_scan_of_the_whole(work):
    whole, parts = scanned(work), Scan.joined([scanned(work, [one]) for one in work[2]])
    for name in ("groups", "blocks", "scores", "explained"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_given_partitions_take_the_place_of_cuts(work):
    labels = (np.arange(P) // 3 * 3)[None].astype(np.int64)
    stretches = [Stretch(0, 45, 0, 55), Stretch(45, P, 35, P)]
    found = scanned(work, stretches, (), labels)
    np.testing.assert_array_equal(found.groups, labels)
    assert (found.scores[0, 0] > 0).sum() == P // 3


def test_best_groups_are_whole_and_fill_the_size():
    groups = np.array([0, 0, 2, 3, 3, 3, 6, 7])
    scores = np.array([5.0, 0, 9.0, 7.0, 0, 0, 1.0, 8.0])
    assert best_groups(scores, groups, 2).tolist() == [False, False, True, False, False, False, False, True]
    assert best_groups(scores, groups, 4).tolist() == best_groups(scores, groups, 2).tolist()  # the next has three
    assert best_groups(scores, groups, 5).sum() == 5
    assert best_groups(scores, groups, 100).all()


def test_groups_of_labels_hold_their_members_in_order():
    stretch = Stretch(10, 16, 7, 20)
    found = Groups.of_labels(stretch, np.array([10, 11, 10, 13, 11, 13]))
    assert found.names.codes.tolist() == [10, 11, 13]
    assert found.members.tolist() == [3, 5, 4, 7, 6, 8]
    some = Groups.of_labels(stretch, np.array([10, 11, 10, 13, 11, 13]), np.array([0, 1, 0, 0, 1, 0], dtype=bool))
    assert some.names.codes.tolist() == [11]
    assert some.members.tolist() == [4, 7]
    assert some.names.turns.tolist() == [1]  # as among all groups, so that the copies are the same
