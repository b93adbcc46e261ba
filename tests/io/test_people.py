"""The people of packed genotypes: joined by sample id, left out where something is missing."""

from pathlib import Path

import numpy as np
import pytest

from genomes import write
from neuralmirror.io.errors import DataError
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.io.people import read_people
from neuralmirror.io.sources import Source
from neuralmirror.simulation.genomes import simulate_genotypes

IDS = [f"s{i + 1}" for i in range(12)]


@pytest.fixture
def genotypes(tmp_path):
    return open_genotypes(simulate_genotypes(12, 8, tmp_path / "cohort", 0, 1))


def source(folder, **more):
    return Source(folder / "cohort.bed", keep_matching=True, **more)


def test_files_are_joined_by_sample_id(genotypes, tmp_path):
    order = [7, 3, 0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    pheno = write(tmp_path / "p.tsv", ["FID", "IID", "y"], [IDS[i] for i in order], [IDS[i] for i in order], order)
    covar = write(tmp_path / "c.tsv", ["IID", "age", "sex"], IDS, range(30, 42), ["f", "m"] * 6)
    people = read_people(genotypes, source(tmp_path, pheno=pheno, covar=covar, target="y"))
    assert people.y.tolist() == list(range(12))
    assert people.covariate_names == ("age", "sex=m")
    assert people.covariates.tolist() == [[30 + i, i % 2] for i in range(12)]
    assert people.dropped == ()


def test_people_without_a_value_are_left_out_and_named(genotypes, tmp_path):
    pheno = write(tmp_path / "p.tsv", ["IID", "y"], IDS[1:], ["NA", *range(10)])
    covar = write(
        tmp_path / "c.tsv", ["IID", "age", "sex"], IDS, [1, 2, 3, "NA", *range(8)], ["f"] * 5 + ["", *"mmffmm"]
    )
    people = read_people(genotypes, source(tmp_path, pheno=pheno, covar=covar, target="y"))
    gone = {dropped.reason: dropped.names for dropped in people.dropped}
    assert gone == {
        "not in p.tsv": ("s1",),
        "no value of y": ("s2",),
        "no value of the covariate age": ("s4",),
        "no value of the covariate sex": ("s6",),
    }
    left = [0, 1, 3, 5]
    assert np.isnan(people.y[left]).all()
    assert np.isnan(people.covariates[left]).all()
    kept = np.setdiff1d(np.arange(12), left)
    assert people.y[kept].tolist() == [0, 2, 4, 5, 6, 7, 8, 9]
    assert np.isfinite(people.covariates[kept]).all()


def test_words_are_classes_with_blanks_for_the_others(genotypes, tmp_path):
    pheno = write(tmp_path / "p.tsv", ["IID", "y"], IDS, ["NA", *["case", "control"] * 5, "case"])
    people = read_people(genotypes, source(tmp_path, pheno=pheno))
    assert people.target == "y"
    assert people.y[:3].tolist() == ["", "case", "control"]
    assert people.covariates.shape == (12, 0)


def test_the_phenotype_of_the_fam(genotypes, tmp_path):
    fam = [[*line.split()[:5], str(i)] for i, line in enumerate((tmp_path / "cohort.fam").read_text().splitlines())]
    (tmp_path / "cohort.fam").write_text("\n".join(map(" ".join, fam)) + "\n")
    people = read_people(open_genotypes(tmp_path / "cohort.bed"), source(tmp_path))
    assert people.target == "phenotype"
    assert people.y.tolist() == list(range(12))


def test_what_cannot_be_joined(genotypes, tmp_path):
    strangers = write(tmp_path / "p.tsv", ["IID", "y"], [f"x{i}" for i in range(12)], range(12))
    with pytest.raises(DataError, match="none of the 12 sample ids"):
        read_people(genotypes, source(tmp_path, pheno=strangers, target="y"))
    with pytest.raises(DataError, match="no phenotype"):
        read_people(genotypes, source(tmp_path))
    pheno = write(tmp_path / "p.tsv", ["IID", "y"], IDS, range(12))
    void = write(tmp_path / "c.tsv", ["IID", "age"], IDS, ["NA"] * 12)
    with pytest.raises(DataError, match="no value at all"):
        read_people(genotypes, source(tmp_path, pheno=pheno, target="y", covar=void))
    with pytest.raises(DataError, match=r"absent\.tsv"):
        read_people(genotypes, source(tmp_path, pheno=Path("absent.tsv"), target="y"))
