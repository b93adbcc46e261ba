"""Who and what takes part: people with a trait and covariates, markers that vary, partitions of them."""

import numpy as np
import pytest

from genomes import small_genome
from neuralmirror.genome.cohort import check_offsets, gather
from neuralmirror.genome.components import principal_components
from neuralmirror.genome.partitions import Partitions
from neuralmirror.io.bed_writer import BedWriter
from neuralmirror.io.genotype_files import open_genotypes

N = 160


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_genome(tmp_path_factory.mktemp("genome"))


def written(folder, counts):
    """Genotypes (p, n) of one chromosome."""
    with BedWriter(folder / "made", [f"s{i}" for i in range(counts.shape[1])]) as writer:
        writer.write(counts.astype(np.int8), "1", np.arange(1, len(counts) + 1) * 100)
    return open_genotypes(writer.path)


def test_people_without_a_trait_or_a_covariate_are_left_out(data):
    genotypes, trait = data
    y, covariates = trait.copy(), np.random.default_rng(0).standard_normal((N, 2))
    y[[3, 9]] = np.nan
    covariates[20, 1] = np.nan
    cohort = gather(genotypes, y, covariates, 0.01, 0.2)
    assert sorted(set(range(N)) - set(cohort.rows)) == [3, 9, 20]
    assert cohort.n == len(cohort.labels.values) == len(cohort.covariates) == N - 3
    assert cohort.labels.classes == 0


@pytest.mark.parametrize("trait", [[0.0, 1.0], ["case", "control"], [True, False]])
def test_two_values_are_classes(data, trait):
    labels = gather(data[0], np.resize(np.array(trait), N), None, 0.01, 0.2).labels
    assert labels.classes == 2
    assert set(labels.values.ravel()) == {0.0, 1.0}


def test_words_may_be_missing(data):
    y = np.resize(np.array(["case", "control"], dtype=object), N)
    y[:5] = ["", None, "", None, ""]
    assert gather(data[0], y, None, 0.01, 0.2).n == N - 5


def test_rare_missing_and_constant_markers_are_left_out(tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (6, 200))
    counts[1] = 0
    counts[2] = 1  # heterozygous in everyone
    counts[3, :60] = -1
    counts[4] = np.arange(200) < 3
    cohort = gather(written(tmp_path, counts), rng.standard_normal(200), None, 0.01, 0.2)
    assert cohort.markers.tolist() == [0, 5]
    assert (cohort.rare, cohort.missing) == (3, 1)


def test_a_marker_is_judged_by_the_people_in_use(tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (3, 240))
    counts[1, :200] = 0
    y = rng.standard_normal(240)
    y[200:] = np.nan
    assert gather(written(tmp_path, counts), y, None, 0.01, 0.2).markers.tolist() == [0, 2]


def test_the_panel_and_the_response_are_free_of_covariates_and_offset(data):
    genotypes, trait = data
    covariates, offset = np.random.default_rng(0).standard_normal((N, 2)), np.random.default_rng(1).standard_normal(N)
    cohort = gather(genotypes, trait, covariates, 0.01, 0.2)
    panel = cohort.panel(genotypes, offset)
    response = cohort.response(panel)
    assert panel.known.shape == (4, N)
    assert np.square(response).mean() == pytest.approx(1, abs=1e-4)
    for column in (np.ones(N), covariates[:, 0], covariates[:, 1], offset):
        assert abs(column @ response) < 1e-3
        assert np.abs(panel.columns(0, 9) @ column.astype(np.float32)).max() < 1e-2


@pytest.mark.parametrize(
    ("y", "covariates", "told"),
    [
        (np.zeros(N - 1), None, "one per person"),
        (np.full(N, np.nan), None, "at least 100"),
        (np.ones(N), None, "constant"),
        (np.resize(["a", "b", "c"], N), None, "3 classes"),
        (np.arange(N), np.zeros((N - 1, 1)), "covariates must have"),
    ],
)
def test_what_is_refused(data, y, covariates, told):
    with pytest.raises(ValueError, match=told):
        gather(data[0], y, covariates, 0.01, 0.2)


def test_a_trait_that_covariates_explain_is_refused(data):
    genotypes, trait = data
    cohort = gather(genotypes, trait, trait[:, None], 0.01, 0.2)
    with pytest.raises(ValueError, match="explains all of y"):
        cohort.response(cohort.panel(genotypes))


def test_offsets_must_be_there_and_known():
    rows = np.array([0, 2])
    assert check_offsets({"1": [1.0, np.nan, 3.0]}, ["1"], rows)["1"].tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="without chromosome 2"):
        check_offsets({"1": [1.0, 2.0, 3.0]}, ["1", "2"], rows)
    with pytest.raises(ValueError, match="missing for some people"):
        check_offsets({"1": [1.0, 2.0, np.nan]}, ["1"], rows)


def test_components_tell_populations_apart(tmp_path):
    rng = np.random.default_rng(0)
    home = np.repeat([0, 1], 100)
    frequencies = rng.uniform(0.2, 0.8, (400, 2))
    frequencies[:, 1] = np.clip(frequencies[:, 0] + 0.15 * rng.standard_normal(400), 0.05, 0.95)
    genotypes = written(tmp_path, rng.binomial(2, frequencies[:, home]))
    panel = gather(genotypes, rng.standard_normal(200), None, 0.01, 0.2).panel(genotypes)
    found = principal_components(panel, 3, 0)
    assert found.shape == (200, 3)
    assert abs(np.corrcoef(found[:, 0], home)[0, 1]) > 0.95
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-4)
    np.testing.assert_allclose(np.abs(principal_components(panel, 3, 1).T @ found).diagonal()[:1], 1, atol=1e-3)
    with pytest.raises(ValueError, match="components must lie between 1 and 199"):
        principal_components(panel, 200, 0)


def test_cuts_are_correlations(data):
    used = np.arange(120)
    assert Partitions.of((0.9, 0.5), data[0], used).cuts == (0.9, 0.5)
    assert Partitions.of((0.9, 0.5), data[0], used).names == ["0.9", "0.5"]
    for wrong in ((), (0.0,), (1.2,), ("fine",), {}):
        with pytest.raises(ValueError, match="resolutions must"):
            Partitions.of(wrong, data[0], used)


def test_given_labels_become_first_markers_in_use(data):
    genotypes = data[0]
    labels = np.arange(120) // 4
    used = np.setdiff1d(np.arange(120), [0, 4, 5, 6, 7])
    found = Partitions.of({"mine": labels}, genotypes, used)
    assert found.labels[0, :6].tolist() == [0, 0, 0, 3, 3, 3]
    assert found.may_cut[:6].tolist() == [True, False, False, True, False, False]
    end = int(np.flatnonzero(genotypes.chromosomes[used] == "2")[0])
    whole = Partitions.of({"all": np.zeros(120)}, genotypes, used)
    assert np.unique(whole.labels).tolist() == [0, end]  # groups end with their chromosome


def test_labels_that_do_not_fit_are_refused(data):
    with pytest.raises(ValueError, match="120 labels"):
        Partitions.of({"mine": np.zeros(5)}, data[0], np.arange(120))
    with pytest.raises(ValueError, match="not side by side"):
        Partitions.of({"mine": np.arange(120) % 2}, data[0], np.arange(120))
