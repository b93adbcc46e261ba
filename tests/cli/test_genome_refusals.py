"""What `neuralmirror genome` refuses: one line, exit code 2, and nothing written."""

import numpy as np
import pytest
from genomes import small_genome, write, write_loco

from neuralmirror.cli import main
from neuralmirror.simulation.genomes import simulate_genotypes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small genome, and files beside it with one mistake each."""
    place = tmp_path_factory.mktemp("genome")
    genotypes, trait = small_genome(place)
    ids, n = genotypes.samples, genotypes.n_samples
    words = np.resize(["a", "b", "c"], n)
    columns = {
        "constant": np.ones(n),
        "three": words,
        "names": [f"x{i}" for i in range(n)],
        "empty": ["NA"] * n,
        "few": [*range(50), *["NA"] * (n - 50)],
        "infinite": ["inf", *range(n - 1)],
        "dates": [f"2020-01-{1 + i % 28:02d}" for i in range(n)],
    }
    write(place / "bad.tsv", ["IID", *columns], ids, *columns.values())
    write(place / "strangers.tsv", ["IID", "height"], [f"other{i}" for i in range(n)], trait)
    write(place / "twice.tsv", ["IID", "height"], [*ids[:-1], ids[0]], trait)
    write(place / "leaky.tsv", ["IID", "copy"], ids, trait.round(5))
    write(place / "same.tsv", ["IID", "height"], ids, trait)
    write(place / "void.tsv", ["IID", "age"], ids, ["NA"] * n)
    (place / "ragged.csv").write_text("IID,height\ns1,1\ns2,2,3\n")
    labels = np.repeat(np.arange(genotypes.n_markers // 4), 4)
    write(place / "groups.txt", ["SNP", "mine"], genotypes.names[4:], labels[4:])
    write(place / "torn.txt", ["SNP", "mine"], genotypes.names, np.arange(genotypes.n_markers) % 2)
    (place / "header.txt").write_text("SNP mine\n")
    write_loco(place / "one.list", ids, ["1"], {"1": trait})
    write_loco(place / "some.list", ids[:100], ["1", "2"], {"1": trait[:100], "2": trait[:100]})
    (place / "no.list").write_text("weight weight.loco\n")
    _damaged(place)
    return place


def _damaged(place):
    """Genotypes that cannot be read as they are."""
    bed, bim, fam = ((place / f"cohort.{end}").read_bytes() for end in ("bed", "bim", "fam"))
    lines = bim.decode().splitlines()
    swapped = [*lines[:5], lines[6], lines[5], *lines[7:]]
    for name, markers in (("unsorted", swapped), ("split", [lines[-1].replace("2", "1", 1), *lines[1:]])):
        _write(place / name, bed, "\n".join(markers).encode() + b"\n", fam)
    _write(place / "back", bed, "\n".join([lines[-1], *lines[1:]]).encode() + b"\n", fam)
    _write(place / "short", bed[:-7], bim, fam)
    _write(place / "lonely", bed, bim, fam)
    (place / "lonely.fam").unlink()
    _write(place / "broken", bed, b"1 rs1 0 here A C\n" * len(lines), fam)
    simulate_genotypes(100, 40, place / "others", 5, 1)


def _write(prefix, bed, bim, fam):
    for end, content in (("bed", bed), ("bim", bim), ("fam", fam)):
        prefix.with_suffix(f".{end}").write_bytes(content)


GOOD = "--pheno pheno.tsv --target height"
CASES = {
    "": "no file of genotypes is named",
    f"absent.bed {GOOD}": "absent",
    f"nothing*.bed {GOOD}": "no file matches",
    f"chr{{3:1}}.bed {GOOD}": "a range counts upwards",
    f"chr{{1:2}}.bed {GOOD}": "chr1.bed",
    f"pheno.tsv {GOOD}": "holds no genotypes",
    f"lonely.bed {GOOD}": "needs lonely.fam",
    f"short.bed {GOOD}": "bytes",
    f"broken.bed {GOOD}": "line 1",
    f"unsorted.bed {GOOD}": "not in order of position",
    f"back.bed {GOOD}": "side by side",
    f"cohort.bed others.bed {GOOD}": "the same samples",
    f"cohort.bed cohort.bed {GOOD}": "more than once",
    "cohort.bed": "holds genotypes and no phenotype",
    "cohort.bed --pheno pheno.tsv": "--target",
    "cohort.bed --pheno absent.tsv --target height": "absent.tsv",
    "cohort.bed --pheno pheno.tsv --target hieght": "did you mean 'height'",
    "cohort.bed --pheno strangers.tsv --target height": "none of the 160 sample ids",
    "cohort.bed --pheno twice.tsv --target height": "duplicate sample id",
    "cohort.bed --pheno ragged.csv --target height": "line 3",
    "cohort.bed --pheno bad.tsv --target constant": "constant",
    "cohort.bed --pheno bad.tsv --target three": "got 3 classes",
    "cohort.bed --pheno bad.tsv --target names": "a different value in every sample",
    "cohort.bed --pheno bad.tsv --target empty": "no value",
    "cohort.bed --pheno bad.tsv --target few": "at least 100",
    "cohort.bed --pheno bad.tsv --target infinite": "inf",
    "cohort.bed --pheno bad.tsv --target dates": "dates",
    f"cohort.bed {GOOD} --covar strangers.tsv": "none of the 160 sample ids",
    f"cohort.bed {GOOD} --covar absent.tsv": "absent.tsv",
    f"cohort.bed {GOOD} --covar void.tsv": "no value at all",
    f"cohort.bed {GOOD} --covar same.tsv": "cannot be a covariate",
    f"cohort.bed {GOOD} --covar leaky.tsv": "explains all of y",
    f"cohort.bed {GOOD} --maf 0.6": "0 of 120 markers",
    f"cohort.bed {GOOD} --maf 1.5": "--maf",
    f"cohort.bed {GOOD} --max-missing -1": "--max-missing",
    f"cohort.bed {GOOD} --fdr 0": "fdr",
    f"cohort.bed {GOOD} --fdr 2": "fdr",
    f"cohort.bed {GOOD} --n-mirrors 0": "--n-mirrors",
    f"cohort.bed {GOOD} --n-mirrors 51": "--n-mirrors",
    f"cohort.bed {GOOD} --n-repeats 0": "--n-repeats",
    f"cohort.bed {GOOD} --n-repeats 1.5": "whole number",
    f"cohort.bed {GOOD} --screen 0": "--screen",
    f"cohort.bed {GOOD} --components -1": "--components",
    f"cohort.bed {GOOD} --components 500": "components",
    f"cohort.bed {GOOD} --resolutions fine": "--resolutions",
    f"cohort.bed {GOOD} --resolutions 1.2": "--resolutions",
    f"cohort.bed {GOOD} --resolutions 0.5 --partitions groups.txt": "both",
    f"cohort.bed {GOOD} --partitions absent.txt": "absent.txt",
    f"cohort.bed {GOOD} --partitions groups.txt": "no row for",
    f"cohort.bed {GOOD} --partitions torn.txt": "side by side",
    f"cohort.bed {GOOD} --partitions header.txt": "expected a header",
    f"cohort.bed {GOOD} --pred absent.list": "absent.list",
    f"cohort.bed {GOOD} --pred no.list": "trait",
    f"cohort.bed {GOOD} --pred one.list": "no line for chromosome 2",
    f"cohort.bed {GOOD} --pred some.list": "no predictions for 60 samples",
    f"cohort.bed {GOOD} --pred one.list --no-polygenic": "--no-polygenic",
    f"cohort.bed {GOOD} --scratch pheno.tsv": "--scratch",
    f"cohort.bed {GOOD} --device abacus": "device",
    f"cohort.bed {GOOD} --jobs 0": "--jobs",
    f"cohort.bed {GOOD} --out pheno.tsv": "is a file",
    f"cohort.bed {GOOD} --out .": "not empty",
    f"cohort.bed {GOOD} --cluster nowhere.json": "nowhere.json",
    f"cohort.bed {GOOD} --resolution 0.5": "resolution",
}


@pytest.mark.parametrize("words", CASES)
def test_bad_input_is_one_line_and_leaves_nothing(words, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    given = words.split()
    assert main(["genome", *given, *([] if "--out" in given else ["--out", "out"]), "--quiet"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.strip().splitlines()
    assert line.startswith("neuralmirror: ")
    assert CASES[words] in line, line
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("words", [f"unsorted.bed {GOOD}", f"cohort.bed {GOOD} --maf 0.6"])
def test_a_dry_run_refuses_the_same(words, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["genome", *words.split(), "--dry-run"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
