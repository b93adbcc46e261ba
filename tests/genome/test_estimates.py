"""What a fit would take: counts are exact or near, memory follows its formula, and nothing is fitted."""

import numpy as np
import pytest

from genomes import small_genome
from neuralmirror import GenomeMirror
from neuralmirror.genome.estimates import LIBRARIES, _drawn_out, estimate

PARTS = {
    "counting alleles",
    "cutting",
    "predicting from the rest of the genome",
    "copying and screening groups",
    "learning from groups",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_genome(tmp_path_factory.mktemp("genome"), 150, 200)


def mirror(**settings):
    return GenomeMirror(**{"resolutions": (0.9, 0.5), "random_state": 0, "n_jobs": 1, "progress": False, **settings})


def test_people_markers_and_groups_are_those_of_the_fit(data):
    genotypes, trait = data
    y = np.where(np.arange(150) < 10, np.nan, trait)
    found, fitted = estimate(mirror(), genotypes, y), mirror().fit(genotypes, y)
    assert found.people == fitted.n_people_ == 140
    assert found.markers == fitted.used_.sum()
    assert (found.rare, found.missing) == (fitted.rare_, fitted.missing_)
    for number, name in enumerate(fitted.resolutions_):
        assert found.groups[name] == pytest.approx(len(np.unique(fitted.groups_[number][fitted.used_])), rel=0.3)
    assert set(found.seconds) == PARTS
    assert all(seconds >= 0 for seconds in found.seconds.values())
    assert found.jobs == 1
    assert found.memory > LIBRARIES


def test_what_is_given_is_not_predicted(data):
    genotypes, trait = data
    assert estimate(mirror(polygenic=False), genotypes, trait).seconds["predicting from the rest of the genome"] == 0
    given = {"1": trait, "2": trait}
    assert estimate(mirror(), genotypes, trait, None, given).seconds["predicting from the rest of the genome"] == 0


def test_memory_grows_with_copies_and_jobs(data):
    genotypes, trait = data
    few = estimate(mirror(), genotypes, trait).memory
    assert estimate(mirror(n_mirrors=40), genotypes, trait).memory > few
    assert estimate(mirror(n_jobs=8), genotypes, trait).memory > few


def test_partitions_of_ones_own(data):
    genotypes, trait = data
    labels = np.arange(200) // 5
    found = estimate(mirror(resolutions={"mine": labels}, components=2), genotypes, trait)
    assert found.groups["mine"] == pytest.approx(40, rel=0.2)


def test_mistakes_are_those_of_the_fit(data):
    genotypes, trait = data
    for settings, told in (({"fdr": 0}, "fdr"), ({"min_frequency": 0.6}, "0 of 200 markers")):
        with pytest.raises(ValueError, match=told):
            estimate(mirror(**settings), genotypes, trait)


def test_times_are_drawn_out_from_two_measurements():
    line = _drawn_out((10, 2.0), (20, 3.0))
    assert (line(10), line(15), line(20), line(5)) == pytest.approx((2.0, 2.5, 3.0, 1.5))
    assert line(40) == pytest.approx(6.0)  # at least in proportion
    square = _drawn_out((10, 1.0), (20, 4.0))
    assert square(80) == pytest.approx(4.0 * 4**1.2)  # at most with the power 1.2
    assert _drawn_out((5, 3.0), (5, 3.0))(5) == pytest.approx(3.0)
