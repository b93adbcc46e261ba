"""Readers: every format gives back the table that was written, and every broken file one clear line."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from neuralmirror.io.formats import read_table, sniff
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import DataError, Table, widened

N, P = 13, 7
SAMPLES = tuple(f"s{i}" for i in range(N))
NAMES = tuple(f"rs{j}" for j in range(P))


def genotypes(seed: int = 0) -> NDArray[np.int8]:
    """0/1/2 with some missing, −1."""
    return np.random.default_rng(seed).integers(-1, 3, (N, P)).astype(np.int8)


def write_bed(folder: Path, values: NDArray[np.int8], phenotype: list[str] | None = None) -> Path:
    """PLINK 1 by the published layout: two bits a genotype, four samples a byte, variant after variant."""
    n, p = values.shape
    codes = np.array([0b11, 0b10, 0b00, 0b01])[values]  # copies of allele 1; −1 (the last) is missing
    padded = np.zeros((-(-n // 4) * 4, p), dtype=int)
    padded[:n] = codes
    packed = (padded.reshape(-1, 4, p) << np.array([0, 2, 4, 6])[:, None]).sum(axis=1).astype(np.uint8)
    path = folder / "panel.bed"
    path.write_bytes(b"\x6c\x1b\x01" + packed.T.tobytes())
    path.with_suffix(".bim").write_text(
        "".join(f"{1 + j // 4}\t{name}\t0\t{100 * (j + 1)}\tA\tG\n" for j, name in enumerate(NAMES[:p]))
    )
    phenotype = phenotype or ["-9"] * n
    path.with_suffix(".fam").write_text("".join(f"F {SAMPLES[i]} 0 0 1 {phenotype[i]}\n" for i in range(n)))
    return path


def write_vcf(folder: Path, values: NDArray[np.int8], name: str = "panel.vcf", extra: str = "") -> Path:
    words = {0: "0/0", 1: "0/1", 2: "1/1", -1: "./."}
    header = "##fileformat=VCFv4.2\n##contig=<ID=1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description=G>\n"
    lines = ["\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *SAMPLES])]
    for j in range(values.shape[1]):
        calls = [words[int(v)] for v in values[:, j]]
        lines.append("\t".join(["1", str(100 * (j + 1)), NAMES[j], "G", "A", ".", ".", ".", "GT", *calls]))
    text = header + "\n".join(lines) + "\n" + extra
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def write_pgen(folder: Path, values: NDArray[np.int8]) -> Path:
    pgenlib = pytest.importorskip("pgenlib")
    path = folder / "panel.pgen"
    with pgenlib.PgenWriter(str(path).encode(), N, variant_ct=P, nonref_flags=False) as writer:
        for column in values.T:
            writer.append_biallelic(np.ascontiguousarray(np.where(column < 0, -9, column).astype(np.int8)))
    rows = "".join(f"1\t{100 * (j + 1)}\t{name}\tG\tA\n" for j, name in enumerate(NAMES))
    path.with_suffix(".pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n" + rows)
    people = "".join(f"{sample}\t1\t{i}.5\n" for i, sample in enumerate(SAMPLES))
    path.with_suffix(".psam").write_text("#IID\tSEX\theight\n" + people)
    return path


@pytest.mark.parametrize("write", [write_bed, write_vcf, write_pgen])
def test_genotypes_come_back(write: Callable[..., Path], tmp_path: Path) -> None:
    module = {write_bed: "bed_reader", write_vcf: "cyvcf2", write_pgen: "pgenlib"}[write]
    pytest.importorskip(module)
    values = genotypes()
    table = read_table(write(tmp_path, values))
    assert table.values.dtype == np.int8
    assert table.genotypes
    np.testing.assert_array_equal(table.values, values)
    assert table.names == NAMES
    assert table.samples == SAMPLES
    assert list(table.notes["position"][:2]) == [100, 200]
    assert table.notes["allele"][0] == "A"


def test_gzipped_vcf_and_multiallelic_variants(tmp_path: Path) -> None:
    pytest.importorskip("cyvcf2")
    triple = "\t".join(["1", "999", "multi", "G", "A,T", ".", ".", ".", "GT", *["0/1"] * N]) + "\n"
    table = read_table(write_vcf(tmp_path, genotypes(), "panel.vcf.gz", extra=triple))
    np.testing.assert_array_equal(table.values, genotypes())
    assert table.dropped[0].names == ("multi",)


def test_bed_is_found_by_prefix_and_by_companion(tmp_path: Path) -> None:
    pytest.importorskip("bed_reader")
    write_bed(tmp_path, genotypes())
    for name in ("panel", "panel.fam", "panel.bim"):
        np.testing.assert_array_equal(read_table(tmp_path / name).values, genotypes())


@pytest.mark.parametrize(
    ("codes", "expected"),
    [(["1", "2"], {"control", "case"}), (["1.5", "-9"], {1.5}), (["-9", "-9"], set())],
)
def test_fam_phenotypes(codes: list[str], expected: set[object], tmp_path: Path) -> None:
    pytest.importorskip("bed_reader")
    table = read_table(write_bed(tmp_path, genotypes(), [codes[i % 2] for i in range(N)]))
    found = {v for v in table.traits.get("phenotype", np.array([])) if v == v}
    assert found == expected


def numbers() -> Table:
    rng = np.random.default_rng(1)
    values = rng.standard_normal((N, 3))
    values[2, 1] = np.nan
    colour = np.array([["red", "green", ""][i % 3] for i in range(N)], dtype=object)
    return Table(values, ("a", "b", "c d"), SAMPLES, texts={"colour": colour})


def write_csv(path: Path, table: Table, mark: str = ",") -> Path:
    lines = [mark.join(["id", *table.names, *table.texts])]
    for i, sample in enumerate(table.samples or ()):
        cells = ["NA" if np.isnan(v) else repr(float(v)) for v in table.values[i]]
        lines.append(mark.join([sample, *cells, *(column[i] for column in table.texts.values())]))
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.dat", "parquet", "feather"])
def test_tables_come_back_whatever_their_name(name: str, tmp_path: Path) -> None:
    table, path = numbers(), tmp_path / name
    if name in ("parquet", "feather"):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(table.values, columns=table.names)
        frame.insert(0, "id", SAMPLES)
        frame["colour"] = [word or None for word in table.texts["colour"]]
        getattr(frame, f"to_{name}")(path)
    else:
        write_csv(path, table, {"t.tsv": "\t", "t.dat": ";"}.get(name, ","))
    back = read_table(path)
    np.testing.assert_array_equal(back.values, table.values)
    assert back.names == table.names
    assert back.samples == SAMPLES
    assert list(back.texts["colour"]) == list(table.texts["colour"])


def test_npz_tells_names_traits_and_positions_by_length(tmp_path: Path) -> None:
    path = tmp_path / "panel.npz"
    np.savez(
        path,
        X=genotypes(),
        markers=np.array(NAMES),
        samples=np.array(SAMPLES),
        chrom=np.ones(P, int),
        pos=np.arange(P),
        traits=np.ones((N, 2)),
        trait_names=np.array(["height", "weight"]),
        raw=np.zeros((N, P)),
    )
    table = read_table(path)
    np.testing.assert_array_equal(table.values, genotypes())
    assert (table.names, table.samples) == (NAMES, SAMPLES)
    assert {"height", "weight"} <= set(table.traits)
    assert set(table.notes) == {"chromosome", "position"}
    assert read_table(path, ReadOptions(array="raw")).values.sum() == 0


@pytest.mark.parametrize("sparse", ["", "csr_matrix", "csc_matrix"])
def test_h5ad_comes_back(sparse: str, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    import scipy.sparse

    counts, path = np.random.default_rng(2).poisson(0.7, (N, P)).astype(float), tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        if sparse:
            packed = getattr(scipy.sparse, sparse)(counts)
            group = file.create_group("X")
            group.attrs.update({"encoding-type": sparse, "shape": counts.shape})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(packed, part)
        else:
            file["X"] = counts
        obs, var = file.create_group("obs"), file.create_group("var")
        obs.attrs.update({"_index": "cell", "column-order": ["kind", "age"]})
        obs["cell"], obs["age"] = list(SAMPLES), np.arange(N, dtype=float)
        kind = obs.create_group("kind")
        kind["codes"], kind["categories"] = np.array([-1] + [0, 1] * 6, np.int8), ["B cell", "T cell"]
        var.attrs.update({"_index": "gene", "column-order": np.array([], dtype=float)})
        var["gene"] = list(NAMES)
    table = read_table(path)
    np.testing.assert_array_equal(table.values, counts)
    assert (table.names, table.samples) == (NAMES, SAMPLES)
    assert list(table.traits["kind"][:3]) == ["", "B cell", "T cell"]


def cut(path: Path, share: float = 0.5) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def without(path: Path, suffix: str) -> Path:
    path.with_suffix(suffix).unlink()
    return path


def foreign_fam(path: Path) -> Path:
    fam = path.with_suffix(".fam")
    fam.write_text("".join(fam.read_text().splitlines(keepends=True)[:4]))
    return path


BROKEN: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no such file": (lambda d: d / "no.csv", "no such file"),
    "a folder": (lambda d: d, "is a folder"),
    "empty": (lambda d: written(d / "e.csv", ""), "is empty"),
    "header only": (lambda d: written(d / "e.csv", "a,b\n"), "no rows"),
    "no header": (lambda d: written(d / "e.csv", "1,2\n3,4\n"), "add a header"),
    "unknown": (lambda d: written(d / "u.csv", bytes(range(256))), "unknown format"),
    "duplicate names": (lambda d: written(d / "d.csv", "a,b,a\n1,2,3\n"), "duplicate column name 'a'"),
    "ragged": (lambda d: written(d / "r.csv", "a,b\n1,2\n3\n"), r"line 3: 1 cell, but the header names 2"),
    "text": (
        lambda d: written(d / "t.csv", "a,b\n1,2\n3,oops\n5,6\n"),
        r"line 3: text 'oops' in the numeric",
    ),
    "cut gzip": (lambda d: cut(write_csv(d / "t.csv.gz", numbers()), 0.7), "cut short"),
    "cut npz": (lambda d: cut(_npz(d)), "cut short"),
    "no bim": (lambda d: without(write_bed(d, genotypes()), ".bim"), "needs panel.bim"),
    "no fam": (lambda d: without(write_bed(d, genotypes()), ".fam"), "needs panel.fam"),
    "cut bed": (lambda d: cut(write_bed(d, genotypes()), 0.8), "need 31"),
    "other fam": (lambda d: foreign_fam(write_bed(d, genotypes())), "4 samples in panel.fam"),
}


def _npz(folder: Path) -> Path:
    np.savez(folder / "n.npz", X=np.zeros((N, P)))
    return folder / "n.npz"


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_give_one_clear_line(case: str, tmp_path: Path) -> None:
    make, message = BROKEN[case]
    with pytest.raises(DataError, match=message) as caught:
        read_table(make(tmp_path))
    assert "\n" not in str(caught.value)


def test_the_format_is_told_by_content(tmp_path: Path) -> None:
    assert sniff(written(tmp_path / "data.parquet", "a,b\n1,2\n")) == "text"
    assert sniff(written(tmp_path / "data.csv", b"PAR1....")) == "parquet"


def test_widening_turns_missing_genotypes_into_nan() -> None:
    np.testing.assert_array_equal(widened(np.array([0, -1, 2], np.int8)), [0.0, np.nan, 2.0])
