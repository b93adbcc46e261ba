"""Genotype files as they come: cut, without calls or samples, with repeated ids, with phenotypes beside them."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from fuzz_bases import NAMES, SAMPLES, bed, genotypes, vcf

from neuralmirror.io.encodings import BGZF_END
from neuralmirror.io.formats import read_table
from neuralmirror.io.loading import Source, load
from neuralmirror.io.tables import DataError


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def panel(folder: Path, **changed: bytes) -> Path:
    for name, content in bed().items():
        (folder / name).write_bytes(changed.get(name.removeprefix("f."), content))
    return folder / "f.bed"


def bgzf(content: bytes, block: int = 400) -> bytes:
    """Blocks of gzip that state their length, as bgzip writes them."""
    parts = []
    for start in range(0, len(content), block):
        piece = content[start : start + block]
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(piece) + packer.flush()
        head = bytes.fromhex("1f8b08040000000000ff0600") + b"BC\x02\0" + struct.pack("<H", len(packed) + 25)
        parts.append(head + packed + struct.pack("<II", zlib.crc32(piece), len(piece)))
    return b"".join(parts)


def test_bgzip_is_read_and_noticed_when_cut_between_blocks(tmp_path: Path) -> None:
    whole = bgzf(vcf()) + BGZF_END
    np.testing.assert_array_equal(read_table(written(tmp_path / "p.vcf.gz", whole)).values, genotypes())
    with pytest.raises(DataError, match=r"p\.vcf\.gz is cut short: its last block"):
        read_table(written(tmp_path / "p.vcf.gz", bgzf(vcf()[:800])))


def without_calls(text: str) -> str:
    return text.replace("GT:DP", "XX:DP")


def without_samples(text: str) -> str:
    return "\n".join(line if line.startswith("##") else "\t".join(line.split("\t")[:8]) for line in text.splitlines())


BROKEN = {
    "cut inside a line": (lambda text: text[:-30], r"line 10: \d+ columns, but the header names 33.*cut short"),
    "without GT": (without_calls, r"line 5: no genotypes \(GT\) but XX:DP"),
    "without samples": (without_samples, "names no samples"),
    "without a header": (lambda text: text.replace("#CHROM", "CHROM"), "no line of column names"),
    "header only": (lambda text: "\n".join(text.splitlines()[:4]), "no variant with one alternate allele"),
    "strange call": (lambda text: text.replace("0|1", "0|x"), r"'0\|x' is no genotype"),
    "strange position": (lambda text: text.replace("\t100\t", "\tten\t"), "the position 'ten'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_vcf_gives_one_line(case: str, tmp_path: Path) -> None:
    damage, message = BROKEN[case]
    with pytest.raises(DataError, match=message) as caught:
        read_table(written(tmp_path / "p.vcf", damage(vcf().decode()).encode()))
    assert "p.vcf" in str(caught.value)


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08" + bytes(range(200)), gzip.compress(vcf())[:-20]])
def test_damaged_gzip(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"p\.csv\.gz is cut short or damaged.*copy it again"):
        read_table(written(tmp_path / "p.csv.gz", content))


def test_calls_of_one_allele_and_half_calls(tmp_path: Path) -> None:
    text = vcf().decode().splitlines()
    text[4] = "\t".join([*text[4].split("\t")[:9], *["1", "0", ".", "./1", "0|1:3"] * 4, *["0/0"] * 4])
    table = read_table(written(tmp_path / "p.vcf", "\n".join(text).encode()))
    assert list(table.values[:5, 0]) == [2, 0, -1, -1, 1]


@pytest.mark.parametrize(
    ("call", "expected"),
    [("0/1", 1), ("1|1", 2), (".|1", -1), ("./.", -1), ("0|2", 1), ("01/", None), ("0/é", None)],
)
def test_plain_calls_are_read_as_any(call: str, expected: int | None, tmp_path: Path) -> None:
    text = vcf().decode().replace("GT:DP", "GT").replace(":9", "").splitlines()
    whole = read_table(written(tmp_path / "p.vcf", "\n".join(text).encode()))
    np.testing.assert_array_equal(whole.values, genotypes())
    text[4] = "\t".join([*text[4].split("\t")[:9], *["0/0"] * 23, call])
    path = written(tmp_path / "p.vcf", "\n".join(text).encode())
    if expected is None:
        with pytest.raises(DataError, match="is no genotype"):
            read_table(path)
    else:
        assert read_table(path).values[-1, 0] == expected


def test_text_agrees_with_the_library(tmp_path: Path) -> None:
    cyvcf2 = pytest.importorskip("cyvcf2")
    path = written(tmp_path / "p.vcf", vcf())
    expected = np.array([v.gt_types.copy() for v in cyvcf2.VCF(str(path), gts012=True)]).T
    np.testing.assert_array_equal(np.where(expected == 3, -1, expected), read_table(path).values)


def test_repeated_variant_ids_are_named_by_place(tmp_path: Path) -> None:
    text = vcf().decode().replace("rs1\t", "rs0\t").replace("rs2\t", ".\t").replace("\t300\trs3\t", "\t200\t.\t")
    table = read_table(written(tmp_path / "p.vcf", text.encode()))
    assert table.names == ("1:0:G:A", "1:100:G:A", "1:200:G:A", "1:200:G:A_2", "rs4", "rs5")
    assert "1 variant id occurs more than once (rs0), so the variants are named by their place" in str(
        table.decisions[0]
    )


def test_repeated_ids_of_bim(tmp_path: Path) -> None:
    pytest.importorskip("bed_reader")
    table = read_table(panel(tmp_path, bim=bed()["f.bim"].replace(b"rs1", b"rs0")))
    assert table.names[:3] == ("1:0:G:A", "1:100:G:A", "rs2")


def test_individual_major_bed_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"individual-major.*--make-bed"):
        read_table(panel(tmp_path, bed=b"\x6c\x1b\x00" + bed()["f.bed"][3:]))


def test_vcf_alone_asks_for_phenotypes(tmp_path: Path) -> None:
    path = written(tmp_path / "p.vcf", vcf())
    for target in ("height", None):
        with pytest.raises(DataError, match=r"holds genotypes and no phenotype.*--pheno"):
            load(Source(path, target))


@pytest.mark.parametrize("families", [True, False])
def test_phenotypes_without_a_header(families: bool, tmp_path: Path) -> None:
    path = written(tmp_path / "p.vcf", vcf())
    lines = [f"{'F ' * families}{sample} {i / 4}" for i, sample in enumerate(SAMPLES)]
    data = load(Source(path, "value", pheno=written(tmp_path / "p.txt", "\n".join(lines).encode())))
    assert list(data.y) == [i / 4 for i in range(len(SAMPLES))]
    assert any("p.txt has no header line" in d.text and d.warns for d in data.decisions)
    assert load(Source(path, None, pheno=tmp_path / "p.txt")).target == "value"


def test_years_as_names_are_a_header(tmp_path: Path) -> None:
    path = written(tmp_path / "p.vcf", vcf())
    lines = ["name 2019 2020", *(f"{sample} {i / 4} {i / 5}" for i, sample in enumerate(SAMPLES))]
    data = load(Source(path, "2020", pheno=written(tmp_path / "p.txt", "\n".join(lines).encode())))
    assert data.y[5] == 1.0


def test_several_phenotypes_without_a_header(tmp_path: Path) -> None:
    path = written(tmp_path / "p.vcf", vcf())
    lines = [f"F {sample} {i / 4} NA {i}" for i, sample in enumerate(SAMPLES)]
    data = load(Source(path, "value3", pheno=written(tmp_path / "p.txt", "\n".join(lines).encode())))
    assert data.y[5] == 5


def test_phenotypes_with_families(tmp_path: Path) -> None:
    path = written(tmp_path / "p.vcf", vcf())
    lines = ["FID IID height", *(f"F {sample} {i / 4}" for i, sample in enumerate(SAMPLES))]
    data = load(Source(path, "height", pheno=written(tmp_path / "p.txt", "\n".join(lines).encode())))
    assert data.table.names == tuple(NAMES)
    assert data.y[3] == 0.75
