"""Stretches: they partition a chromosome, are cut where correlation is weak, and are seen with margins."""

from itertools import pairwise

import numpy as np
import pytest

from genomes import linked_counts, panel_of
from neuralmirror.genome.windows import cut_chromosome, products

SIZE, MARGIN = 40, 10


@pytest.fixture(scope="module")
def panel():
    return panel_of(linked_counts(150, 200, width=8, missing=0.02), covariates=2)


@pytest.mark.parametrize(("first", "last"), [(0, 200), (17, 183), (50, 95), (3, 5)])
def test_stretches_partition_the_chromosome(panel, first, last):
    stretches = cut_chromosome(panel, first, last, size=SIZE, margin=MARGIN)
    assert stretches[0].first == first
    assert stretches[-1].last == last
    assert all(a.last == b.first for a, b in pairwise(stretches))
    assert all(one.first < one.last for one in stretches)


def test_margins_end_with_the_chromosome(panel):
    stretches = cut_chromosome(panel, 20, 180, size=SIZE, margin=MARGIN)
    for one in stretches:
        assert one.low == max(20, one.first - MARGIN)
        assert one.high == min(180, one.last + MARGIN)
        assert np.arange(one.low, one.high)[one.own].tolist() == list(range(one.first, one.last))


def test_cuts_lie_between_blocks_of_linked_markers(panel):
    inner = [one.first for one in cut_chromosome(panel, 0, 200, size=SIZE, margin=MARGIN)[1:]]
    assert len(inner) >= 3
    assert all(cut % 8 == 0 for cut in inner)


def test_no_cut_tears_a_group_that_was_given(panel):
    may_cut = np.arange(200) % 60 == 3
    inner = [one.first for one in cut_chromosome(panel, 0, 200, may_cut, SIZE, MARGIN)[1:]]
    assert all(may_cut[cut] for cut in inner)
    assert len(cut_chromosome(panel, 0, 200, np.zeros(200, dtype=bool), SIZE, MARGIN)) == 1


def test_columns_are_free_of_what_is_adjusted_for_and_of_mean_square_one(panel):
    x = panel.columns(10, 60)
    assert x.shape == (50, 150)
    assert x.dtype == np.float32
    np.testing.assert_allclose(np.square(x).mean(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(x @ panel.known.T, 0, atol=1e-3)
    np.testing.assert_allclose(products(x), x @ x.T, rtol=1e-5, atol=1e-3)


def test_missing_genotypes_stand_at_the_mean():
    counts = linked_counts(120, 3, seed=1)
    gaps = counts.copy()
    gaps[1, :7] = -1
    x = panel_of(gaps).columns(1, 2)[0]
    mean = counts[1, 7:].mean()
    expected = np.where(np.arange(120) < 7, mean, counts[1]) - mean
    np.testing.assert_allclose(x, expected / np.sqrt(np.square(expected).mean()), atol=1e-5)


def test_some_markers_and_people():
    counts = linked_counts(120, 30)
    panel = panel_of(counts)
    rows, markers = np.arange(0, 120, 2), np.array([3, 4, 9, 20])
    few = type(panel)(panel.genotypes, markers, rows, panel_of(counts[:, rows]).known)
    expected = np.concatenate([panel_of(counts[:, rows]).columns(j, j + 1) for j in (4, 9)])
    np.testing.assert_allclose(few.columns(1, 3), expected, atol=1e-5)
