"""Laws of clusters: nested, what a cut joins, contiguous along positions, never over two chromosomes."""

from itertools import pairwise

import numpy as np
import pytest

from neuralmirror._internal.standardised import standardised
from neuralmirror.mirror.clusters import LINKAGES, MOST, correlation_clusters


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.standard_normal((300, 6)), 5, axis=1) + 0.5 * rng.standard_normal((300, 30))
    return standardised(np.hstack([x, x[:, :1], -x[:, 7:8]]))  # two columns repeat others, one of them with its sign


def lies_within(fine, coarse):
    return all(len(set(coarse[fine == label])) == 1 for label in np.unique(fine))


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("contiguous", [False, True])
def test_finer_clusters_lie_within_coarser_ones(blocks, linkage, contiguous):
    places = np.arange(blocks.shape[1]) if contiguous else None
    found = correlation_clusters(blocks, (1.0, 0.9, 0.7, 0.4, 0.1), linkage=linkage, positions=places)
    assert all(lies_within(fine, coarse) for fine, coarse in pairwise(found))


def test_a_cut_at_one_joins_only_what_repeats(blocks):
    (found,) = correlation_clusters(blocks, (1.0,))
    assert len(np.unique(found)) == 30
    assert found[0] == found[30]
    assert found[7] == found[31]


def test_a_cut_below_the_blocks_finds_them(blocks):
    (found,) = correlation_clusters(blocks[:, :30], (0.5,))
    assert len(np.unique(found)) == 6
    assert all(len(set(found[first : first + 5])) == 1 for first in range(0, 30, 5))


def test_single_linkage_leaves_no_correlation_above_the_cut_between_clusters(blocks):
    (found,) = correlation_clusters(blocks, (0.6,), linkage="single")
    r = np.abs(blocks.T @ blocks) / len(blocks)
    assert r[found[:, None] != found].max() < 0.6


def test_contiguous_clusters_have_no_gaps(blocks):
    places = np.random.default_rng(1).permutation(32)
    (found,) = correlation_clusters(blocks, (0.3,), positions=places)
    along = found[np.argsort(places)]
    assert (np.diff(along) != 0).sum() == len(np.unique(found)) - 1


def test_no_cluster_reaches_over_two_chromosomes(blocks):
    chromosomes = np.where(np.arange(32) % 2, "21", "22")
    for found in correlation_clusters(blocks, (0.9, 0.01), chromosomes=chromosomes):
        assert all(len(set(chromosomes[found == label])) == 1 for label in np.unique(found))


def test_too_many_columns_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match="give chromosomes, or fit some"):
        correlation_clusters(np.zeros((2, MOST + 1)), (0.5,))
