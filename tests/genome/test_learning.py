"""The second pass: statistics of the groups that were kept, whichever direction comes first."""

import numpy as np
import pytest

from genomes import linked_counts, panel_of, response_of
from neuralmirror.genome.learning import learn
from neuralmirror.genome.scan import scan
from neuralmirror.genome.windows import cut_chromosome
from neuralmirror.learner.outcome import Response

N, P, K = 250, 60, 3


@pytest.fixture(scope="module")
def work():
    panel = panel_of(linked_counts(N, P, width=5), covariates=1)
    response = response_of(panel, {12: 0.8, 40: 0.8})
    stretches = cut_chromosome(panel, 0, P, size=30, margin=10)
    found = scan(panel, response, stretches, (0.5,), None, K, [1])
    return panel, response, stretches, found


def learnt(work, kept, classes=0):
    panel, response, stretches, found = work
    values = response[:, None].astype(float) if not classes else (response > 0)[:, None].astype(float)
    labels = Response(values, classes)
    return learn(panel, response, labels, stretches, found.groups, found.blocks, kept[None, None], K, [1])


@pytest.mark.parametrize("classes", [0, 2])
def test_groups_that_matter_win(work, classes):
    groups = work[3].groups[0]
    statistics = learnt(work, np.ones(P, dtype=bool), classes).statistics[0, 0]
    best = {int(groups[j]) for j in np.argsort(-statistics)[:2]}
    assert best <= {groups[12], groups[40]}
    assert statistics[12] > 0
    assert statistics[40] > 0


def test_only_kept_groups_are_learnt_from_and_share_one_statistic(work):
    groups = work[3].groups[0]
    kept = np.isin(groups, np.unique(groups)[::2])
    statistics = learnt(work, kept).statistics[0, 0]
    assert not statistics[~kept].any()
    assert statistics[kept].any()
    for group in np.unique(groups[kept]):
        assert len(np.unique(statistics[groups == group])) == 1


def test_nothing_kept_is_nothing_learnt(work):
    found = learnt(work, np.zeros(P, dtype=bool))
    assert found.statistics.shape == found.leads.shape == (1, 1, P)
    assert not found.statistics.any()
    assert not found.leads.any()


def test_the_same_again(work):
    kept = np.ones(P, dtype=bool)
    first, again = learnt(work, kept), learnt(work, kept)
    np.testing.assert_array_equal(first.statistics, again.statistics)
    np.testing.assert_array_equal(first.leads, again.leads)
