"""GenomeMirror as a whole: what it finds, that it repeats itself, and that a killed fit is taken up."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from genomes import small_genome
from neuralmirror import GenomeMirror, open_genotypes
from neuralmirror._internal import cache
from neuralmirror.genome import estimator
from neuralmirror.io.packed_matrix import PackedMatrix, pack
from neuralmirror.mirror.discoveries import COLUMNS

N, P = 400, 240
CAUSAL = (20, 45, 70, 95, 150, 180, 205, 225)
ARRAYS = ("groups_", "group_statistics_", "group_q_values_", "group_supports_", "leads_", "screened_")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_genome(tmp_path_factory.mktemp("genome"), N, P, causal=CAUSAL)


@pytest.fixture(scope="module")
def fitted(data):
    return mirror().fit(*data)


def mirror(**settings):
    return GenomeMirror(**{"resolutions": (0.9, 0.5), "random_state": 3, "n_jobs": 1, "progress": False, **settings})


def same(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_groups_of_causal_markers_are_discovered(data, fitted):
    assert fitted.resolutions_ == ["0.9", "0.5"]
    for number in (0, 1):
        found = set(np.unique(fitted.groups_[number][fitted.group_supports_[number]]))
        true = set(fitted.groups_[number][list(CAUSAL)])
        assert len(found & true) >= 4
        assert len(found - true) <= 2
    assert fitted.n_people_ == N
    assert set(fitted.polygenic_share_) == {"1", "2"}
    assert fitted.used_.sum() == P - fitted.rare_ - fitted.missing_


def test_rows_name_the_groups(data, fitted):
    genotypes = data[0]
    rows = fitted.discovered()
    assert rows
    assert tuple(rows[0]) == COLUMNS
    places = {str(name): j for j, name in enumerate(genotypes.names)}
    for row in rows:
        number, members = fitted.resolutions_.index(row["resolution"]), [places[name] for name in row["members"]]
        assert len(set(fitted.groups_[number][members])) == 1
        assert row["lead"] in row["members"]
        assert row["BP.min"] == genotypes.positions[members].min()
        assert row["BP.max"] - row["BP.min"] == row["width"]
    assert list(fitted.discoveries().columns) == list(COLUMNS)
    assert len(fitted.discovered(0.5)) >= len(rows) >= len(fitted.discovered(0.01))


def test_markers_left_out_are_alone_and_never_discovered(data):
    found = mirror(min_frequency=0.15, polygenic=False).fit(*data)
    out = ~found.used_
    assert 0 < out.sum() == found.rare_
    np.testing.assert_array_equal(found.groups_[:, out], np.tile(np.flatnonzero(out), (2, 1)))
    assert not found.group_supports_[:, out].any()
    assert not found.group_statistics_[:, out].any()


def test_jobs_and_the_way_genotypes_travel_do_not_matter(data, fitted):
    same(fitted, mirror(n_jobs=2).fit(*data))
    same(fitted, mirror().fit(pickle.loads(pickle.dumps(data[0])), data[1]))


def test_another_seed_draws_other_copies(data, fitted):
    other = mirror(random_state=4, polygenic=False).fit(*data)
    assert (other.group_statistics_ != fitted.group_statistics_).any()
    assert other.polygenic_share_ == {}
    np.testing.assert_array_equal(other.groups_, fitted.groups_)


def test_a_killed_fit_is_taken_up(data, fitted, tmp_path, monkeypatch):
    stored, keep = [], cache.store

    def dies(folder, name, piece):
        if len(stored) == 4:
            raise KeyboardInterrupt
        stored.append(name)
        keep(folder, name, piece)

    monkeypatch.setattr(estimator, "store", dies)
    with pytest.raises(KeyboardInterrupt):
        mirror(checkpoint=tmp_path).fit(*data)
    monkeypatch.undo()
    (folder,) = tmp_path.iterdir()
    assert len(list(folder.glob("*.npz"))) == 4
    same(fitted, mirror(checkpoint=tmp_path).fit(*data))
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    again = mirror(checkpoint=tmp_path, n_jobs=2, fdr=0.2).fit(*data)  # the level and the jobs may change
    np.testing.assert_array_equal(again.group_statistics_, fitted.group_statistics_)
    assert before == {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}


def test_another_trait_finds_no_pieces(data, tmp_path):
    mirror(checkpoint=tmp_path, polygenic=False).fit(*data)
    mirror(checkpoint=tmp_path, polygenic=False).fit(data[0], -data[1] + 0.1 * np.arange(N))
    assert len(list(tmp_path.iterdir())) == 2


def test_two_classes(data):
    genotypes, trait = data
    found = mirror(resolutions=(0.5,), polygenic=False).fit(genotypes, np.where(trait > 0, "case", "control"))
    best = found.groups_[0][np.argsort(-found.group_statistics_[0])[:3]]
    assert set(best) & set(found.groups_[0][list(CAUSAL)])


def test_given_partitions(data):
    labels = np.arange(P) // 6
    found = mirror(resolutions={"sixes": labels, "ones": np.arange(P)}, polygenic=False).fit(*data)
    assert found.resolutions_ == ["sixes", "ones"]
    used = np.flatnonzero(found.used_)
    assert (labels[found.groups_[0][used]] == labels[used]).all()
    np.testing.assert_array_equal(found.groups_[1], np.arange(P))


def test_offsets_are_adjusted_for(data):
    genotypes, trait = data
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(N)
    given = {"1": 5 * noise, "2": 5 * noise}
    plain = mirror(polygenic=False).fit(genotypes, trait + 5 * noise)
    adjusted = mirror().fit(genotypes, trait + 5 * noise, offsets=given)
    assert adjusted.group_supports_.sum() > plain.group_supports_.sum()
    assert adjusted.polygenic_share_["1"] > 0.8
    with pytest.raises(ValueError, match="without chromosome 2"):
        mirror().fit(genotypes, trait, offsets={"1": noise})


def test_covariates_and_components_are_adjusted_for(data):
    genotypes, trait = data
    covariate = np.random.default_rng(1).standard_normal((N, 1))
    y = trait + 5 * covariate[:, 0]
    plain, adjusted = mirror().fit(genotypes, y), mirror(components=2).fit(genotypes, y, covariate)
    assert adjusted.group_supports_.sum() > plain.group_supports_.sum()


def test_a_screen_bounds_what_the_learner_sees(data):
    found = mirror(screen=30, polygenic=False).fit(*data)
    assert 0 < found.screened_.sum(axis=1).max() <= 30
    assert not found.group_statistics_[~found.screened_].any()
    assert (found.group_statistics_ > 0).any()


def test_pieces_of_other_genotypes_are_left_alone(data, tmp_path):
    genotypes, trait = data
    mirror(checkpoint=tmp_path).fit(genotypes, trait)
    counts = genotypes.counts(0, P)[:, ::-1]  # other people, with the same frequencies of every marker
    others = replace(genotypes, matrix=PackedMatrix([pack(counts)], genotypes.n_samples))
    found = mirror(checkpoint=tmp_path).fit(others, trait)
    np.testing.assert_array_equal(found.group_statistics_, mirror().fit(others, trait).group_statistics_)


def test_several_draws_vote(data):
    found = mirror(n_repeats=3, resolutions=(0.5,), screen=60).fit(*data)
    assert found._group_draws.shape == (1, 3, P)
    assert found.group_supports_.any()


def test_one_chromosome(tmp_path):
    genotypes, trait = small_genome(tmp_path, 150, 60, 1, causal=(10, 20, 30, 45))
    assert mirror().fit(genotypes, trait).polygenic_share_ == {}


def test_seconds_of_the_parts(fitted):
    assert {"copying and screening groups", "learning from groups"} <= set(fitted.seconds_)
    assert all(seconds >= 0 for seconds in fitted.seconds_.values())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"fdr": 0}, "fdr"),
        ({"n_mirrors": 0}, "n_mirrors"),
        ({"n_repeats": 1.5}, "n_repeats"),
        ({"screen": -1}, "screen"),
        ({"components": -1}, "components"),
        ({"min_frequency": 1}, "min_frequency"),
        ({"max_missing": -0.1}, "max_missing"),
        ({"offset": 2}, "offset"),
        ({"device": "abacus"}, "device"),
        ({"resolutions": (2.0,)}, "resolutions"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_settings_that_make_no_sense(data, settings, told):
    with pytest.raises(ValueError, match=told):
        mirror(**settings).fit(*data)


def test_markers_out_of_order_are_refused(tmp_path):
    small_genome(tmp_path, 120, 40, 1, causal=(3,))
    lines = (tmp_path / "cohort.bim").read_text().splitlines()
    (tmp_path / "cohort.bim").write_text("\n".join([*lines[1::-1], *lines[2:]]) + "\n")
    with pytest.raises(ValueError, match="not in order of position"):
        mirror().fit(open_genotypes(tmp_path / "cohort.bed"), np.arange(120.0))
