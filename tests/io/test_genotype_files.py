"""Files of genotypes opened packed: every format against the same numbers, one file or one a chromosome."""

import gzip
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fuzz_bases import NAMES, SAMPLES, bed, bgen, genotypes, pgen, vcf

from neuralmirror.io import genotype_parts
from neuralmirror.io.errors import DataError
from neuralmirror.io.formats import read_table
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.io.genotype_paths import genotype_paths

TOY = Path(__file__).parents[3] / "shared" / "data" / "knockoffgwas_toy"
FORMS: dict[str, tuple[str, Callable[[], dict[str, bytes]]]] = {
    "bed": ("", bed),
    "pgen": ("pgenlib", pgen),
    "bgen": ("bgen", bgen),
    "vcf": ("", lambda: {"f.vcf": vcf()}),
    "vcf.gz": ("", lambda: {"f.vcf.gz": gzip.compress(vcf())}),
}


def written(folder: Path, form: str) -> Path:
    needed, make = FORMS[form]
    if needed:
        pytest.importorskip(needed)
    folder.mkdir(exist_ok=True)
    files = make()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / next(iter(files))


def panel(folder: Path, chromosome: int) -> Path:
    """A .bed of one chromosome with genotypes of its own."""
    files = bed()
    names = f"rs{chromosome}_"
    path = folder / f"chr{chromosome}.bed"
    path.write_bytes(files["f.bed"][:3] + bytes(byte ^ (chromosome % 4) for byte in files["f.bed"][3:]))
    path.with_suffix(".bim").write_bytes(files["f.bim"].replace(b"1\trs", f"{chromosome}\t{names}".encode()))
    path.with_suffix(".fam").write_bytes(files["f.fam"])
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scratch", [False, True])
def test_every_format_packed_is_what_it_holds(form: str, scratch: bool, tmp_path: Path) -> None:
    opened = open_genotypes(written(tmp_path / "in", form), tmp_path / "scratch" if scratch else None)
    p = len(NAMES)
    np.testing.assert_array_equal(opened.counts(0, p), genotypes().T)
    assert (opened.samples, tuple(opened.names)) == (tuple(SAMPLES), tuple(NAMES))
    assert (opened.n_samples, opened.n_markers) == genotypes().shape
    assert set(opened.alleles) == {"A"}
    assert set(opened.other_alleles) == {"G"}
    assert opened.parts_by_chromosome() == {"1": slice(0, p)}
    np.testing.assert_array_equal(opened.positions, 100 * np.arange(p))


def test_traits_come_along(tmp_path: Path) -> None:
    assert open_genotypes(written(tmp_path, "bed")).traits["phenotype"][2] == 2.5
    path = written(tmp_path, "pgen")
    for scratch in (None, tmp_path / "scratch", tmp_path / "scratch"):
        assert list(open_genotypes(path, scratch).traits["height"][:2]) == ["0.5", "1.5"]


def test_a_second_run_takes_up_what_the_first_has_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, scratch = written(tmp_path, "bgen"), tmp_path / "scratch"
    first = open_genotypes(path, scratch)
    assert len(list(scratch.iterdir())) == 1
    assert len(pickle.dumps(first.matrix)) < 1000

    def fails(path: Path) -> None:
        raise AssertionError("packed again")

    monkeypatch.setitem(genotype_parts.OPENERS, "bgen", fails)
    second = open_genotypes(path, scratch)
    assert second.decisions == first.decisions
    np.testing.assert_array_equal(first.counts(0, len(NAMES)), second.counts(0, len(NAMES)))
    os.utime(path, (1, 1))
    with pytest.raises(AssertionError, match="packed again"):
        open_genotypes(path, scratch)


def test_a_damaged_file_leaves_nothing_behind(tmp_path: Path) -> None:
    path = written(tmp_path, "bgen")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"f\.bgen cannot be read as BGEN"):
        open_genotypes(path, tmp_path / "scratch")
    assert not list((tmp_path / "scratch").iterdir())


def test_a_killed_run_is_not_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, scratch = written(tmp_path, "bgen"), tmp_path / "scratch"
    with monkeypatch.context() as patched:
        patched.setattr(genotype_parts.shutil, "rmtree", lambda *_, **__: None)
        patched.setattr(genotype_parts, "_about", lambda part: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            open_genotypes(path, scratch)
    assert "unfinished" in next(scratch.iterdir()).name
    np.testing.assert_array_equal(open_genotypes(path, scratch).counts(0, len(NAMES)), genotypes().T)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "scratch").write_text("a file")
    with pytest.raises(DataError, match="scratch"):
        open_genotypes(written(tmp_path, "bgen"), tmp_path / "scratch")


@pytest.mark.parametrize("pattern", ["chr{2:11}.bed", "chr*.bed", "chr*", "chr?*.bed"])
def test_one_file_a_chromosome(pattern: str, tmp_path: Path) -> None:
    parts = [read_table(panel(tmp_path, chromosome)) for chromosome in range(2, 12)]
    opened = open_genotypes(str(tmp_path / pattern))
    assert list(opened.parts_by_chromosome()) == [str(number) for number in range(2, 12)]
    whole = np.concatenate([part.values for part in parts], axis=1)
    np.testing.assert_array_equal(opened.counts(0, opened.n_markers), whole.T)
    np.testing.assert_array_equal(opened.counts(4, 27), whole.T[4:27])
    assert tuple(opened.names) == tuple(name for part in parts for name in part.names)
    listed = open_genotypes([tmp_path / f"chr{number}" for number in range(2, 12)])  # PLINK's prefixes
    np.testing.assert_array_equal(listed.counts(0, listed.n_markers), whole.T)


def swapped(fam: str) -> str:
    lines = fam.splitlines()
    return "\n".join([lines[1], lines[0], *lines[2:]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            swapped,
            r"chr2\.bed and .*chr1\.bed must have.*sample 1 is s1 in the one and s0 in the other; .*--indiv-sort",
        ),
        (lambda fam: fam.replace("s3 ", "t3 "), r"s3 is in the second only"),
    ],
)
def test_other_samples_are_refused(change: Callable[[str], str], message: str, tmp_path: Path) -> None:
    fam = panel(tmp_path, 1) and panel(tmp_path, 2).with_suffix(".fam")
    fam.write_text(change(fam.read_text()))
    with pytest.raises(DataError, match=message):
        open_genotypes(str(tmp_path / "chr{1:2}.bed"))


def test_another_number_of_samples_is_refused(tmp_path: Path) -> None:
    path = panel(tmp_path, 1) and panel(tmp_path, 2)
    few = "".join(path.with_suffix(".fam").read_text().splitlines(keepends=True)[:21])
    path.with_suffix(".fam").write_text(few)  # as many bytes a marker
    with pytest.raises(DataError, match="they have 21 and 24"):
        open_genotypes(str(tmp_path / "chr*.bed"))


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ("chr{3:1}.bed", "a range counts upwards"),
        ("none*.bed", "no file matches"),
        ([], "no file of genotypes is named"),
        (["a.bed", "a.bed"], "named more than once"),
        ("a.bed", r"no such file: a\.bed"),
    ],
)
def test_wrong_paths_give_one_line(paths: str | list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_genotypes(paths)


def test_ranges_may_be_two_and_brackets_are_letters(tmp_path: Path) -> None:
    assert genotype_paths("a{1:2}b{9:10}") == [Path(name) for name in ("a1b9", "a1b10", "a2b9", "a2b10")]
    folder = tmp_path / "run [1]"
    folder.mkdir()
    panel(folder, 10), panel(folder, 9)
    assert [path.name for path in genotype_paths(folder / "chr*.bed")] == ["chr9.bed", "chr10.bed"]


def test_a_table_is_no_genotypes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"t\.csv holds no genotypes but text"):
        open_genotypes(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("\t100\t", "\tten\t", r"f\.bim, line 2: expected"), ("rs1\t", "", r"f\.bim, line 2: expected")],
)
def test_a_damaged_bim_gives_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "bed")
    bim = path.with_suffix(".bim")
    bim.write_text(bim.read_text().replace(old, new))
    with pytest.raises(DataError, match=message):
        open_genotypes(path)


def test_variants_of_several_alleles_are_left_out_and_told(tmp_path: Path) -> None:
    path = written(tmp_path, "vcf")
    path.write_text(vcf().decode().replace("rs2\tG\tA", "rs2\tG\tA,T"))
    opened = open_genotypes(path)
    assert "rs2" not in opened.names
    assert any("1 variant of f.vcf" in decision.text and "rs2" in decision.text for decision in opened.decisions)


@pytest.mark.parametrize("cut", [30, 300])
def test_a_cut_vcf_is_refused(cut: int, tmp_path: Path) -> None:
    path = written(tmp_path, "vcf")
    path.write_bytes(vcf()[:-cut])
    with pytest.raises(DataError, match=r"f\.vcf"):
        open_genotypes(path)


def test_calls_of_one_allele_and_half_calls(tmp_path: Path) -> None:
    path = written(tmp_path, "vcf")
    text = vcf().decode().splitlines()
    text[4] = "\t".join([*text[4].split("\t")[:9], *["1", "0", ".", "./1", "0|1:3"] * 4, *["0/0"] * 4])
    path.write_text("\n".join(text) + "\n")
    assert list(open_genotypes(path).counts(0, 1)[0, :5]) == [2, 0, -1, -1, 1]


@pytest.mark.parametrize("scratch", [False, True])
def test_bcf_is_what_the_vcf_holds(scratch: bool, tmp_path: Path) -> None:
    cyvcf2 = pytest.importorskip("cyvcf2")
    path = written(tmp_path, "vcf")
    text = vcf().decode().replace("##FORMAT", "##FORMAT=<ID=DP,Number=1,Type=Integer,Description=D>\n##FORMAT", 1)
    lines = text.splitlines()
    lines[5] = "\t".join([*lines[5].split("\t")[:9], *["1", "0", ".", "./1", "0|1:3"] * 4, *["0/0"] * 4])
    path.write_text("\n".join(lines) + "\n")
    source = cyvcf2.VCF(str(path))
    writer = cyvcf2.Writer(str(tmp_path / "f.bcf"), source, mode="wb")
    for variant in source:
        writer.write_record(variant)
    writer.close()
    bcf = open_genotypes(tmp_path / "f.bcf", tmp_path / "scratch" if scratch else None)
    np.testing.assert_array_equal(bcf.counts(0, len(NAMES)), open_genotypes(path).counts(0, len(NAMES)))
    assert list(bcf.counts(0, 1)[0, :5]) == [2, 0, -1, -1, 1]


@pytest.mark.skipif(not TOY.is_dir(), reason="measured genotypes are not here")
def test_measured_files_of_two_chromosomes() -> None:
    opened = open_genotypes(str(TOY / "genotypes" / "example_chr{21:22}.bed"))
    phased = open_genotypes(str(TOY / "haplotypes" / "example_chr*.bgen"))
    assert list(opened.parts_by_chromosome()) == ["21", "22"] == list(phased.parts_by_chromosome())
    assert opened.samples == phased.samples
    same = (opened.alleles == phased.alleles)[:, None]
    counts = phased.counts(0, 2000)
    np.testing.assert_array_equal(np.where(same, counts, 2 - counts), opened.counts(0, 2000))
