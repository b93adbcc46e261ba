"""BGEN: phased or not, certain or not, with and without a .sample file, cut and damaged."""

from pathlib import Path

import numpy as np
import pytest
from fuzz_bases import NAMES, SAMPLES, bgen, genotypes

from neuralmirror.io.formats import read_table, sniff
from neuralmirror.io.loading import Source, load
from neuralmirror.io.tables import DataError

pytest.importorskip("bgen")
TOY = Path(__file__).parents[3] / "shared" / "data" / "knockoffgwas_toy"
SAMPLE_FILE = "ID_1 ID_2 missing sex height\n0 0 0 D P\n" + "".join(
    f"F {name} 0 {1 + i % 2} {i / 4 if i else 'NA'}\n" for i, name in enumerate(SAMPLES)
)


def panel(folder: Path, phased: bool = False, samples: bool = True) -> Path:
    path = folder / "f.bgen"
    path.write_bytes(bgen(phased, samples)["f.bgen"])
    return path


def variants(path: Path, *cases: tuple[list[str], np.ndarray, dict]) -> Path:
    from bgen import BgenWriter

    n = len(cases[0][1])
    with BgenWriter(str(path), n, samples=[f"s{i}" for i in range(n)]) as writer:
        for j, (alleles, values, more) in enumerate(cases):
            writer.add_variant(f"v{j}", "." if j == 0 else f"rs{j}", "X", 10 + j, alleles, values, **more)
    return path


@pytest.mark.parametrize("phased", [False, True])
def test_genotypes_are_what_was_written(phased: bool, tmp_path: Path) -> None:
    table = read_table(panel(tmp_path, phased))
    np.testing.assert_array_equal(table.values, genotypes())
    assert (table.names, table.samples, table.form) == (tuple(NAMES), tuple(SAMPLES), "BGEN")
    assert set(table.notes["allele"]) == {"A"}
    assert list(table.notes["position"]) == [100 * j for j in range(len(NAMES))]


def test_uncertain_genotypes_are_missing_and_told(tmp_path: Path) -> None:
    values = np.array([[0.95, 0.05, 0], [0.8, 0.2, 0], [0, 0.04, 0.96], [0.2, 0.6, 0.2]])
    table = read_table(variants(tmp_path / "f.bgen", (["G", "A"], values, {})))
    assert list(table.values[:, 0]) == [0, -1, 2, -1]
    assert table.names == ("v0",)
    assert "2 of 4 (50%) have none of at least 0.9 and are missing" in str(table.decisions[-1])


def test_phases_that_are_uncertain_may_still_make_a_certain_genotype(tmp_path: Path) -> None:
    values = np.array([[1, 0, 0.02, 0.98], [0.5, 0.5, 0.5, 0.5], [0.02, 0.98, 0.02, 0.98]])
    table = read_table(variants(tmp_path / "f.bgen", (["G", "A"], values, {"phased": True})))
    assert list(table.values[:, 0]) == [1, -1, 2]


@pytest.mark.parametrize("phased", [False, True])
def test_one_allele_stands_for_two_of_its_kind(phased: bool, tmp_path: Path) -> None:
    pair = [0.0, 1.0, 1.0, 0.0] if phased else [0.0, 1.0, 0.0]
    filled = [np.nan] * (len(pair) - 2)
    values = np.array([[0.0, 1.0, *filled], pair, [1.0, 0.0, *filled]])
    more = {"ploidy": np.array([1, 2, 1], dtype=np.uint8), "phased": phased}
    table = read_table(variants(tmp_path / "f.bgen", (["G", "A"], values, more)))
    assert list(table.values[:, 0]) == [2, 1, 0]


def test_variants_of_several_alleles_are_left_out(tmp_path: Path) -> None:
    three = np.eye(6)[[0, 3]]
    table = read_table(variants(tmp_path / "f.bgen", (["G", "A", "T"], three, {}), (["G", "A"], np.eye(3)[:2], {})))
    assert table.names == ("rs1",)
    assert table.dropped[0].names == ("v0",)


def test_a_sample_file_names_and_describes_samples(tmp_path: Path) -> None:
    path = panel(tmp_path, samples=False)
    with pytest.raises(DataError, match=r"f\.bgen does not name its samples; put f\.sample"):
        read_table(path)
    (tmp_path / "f.sample").write_text(SAMPLE_FILE)
    table = read_table(path)
    assert table.samples == tuple(SAMPLES)
    assert list(table.traits["sex"][:2]) == ["1", "2"]
    data = load(Source(path, "height"))
    assert data.y[-1] == (len(SAMPLES) - 1) / 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n".join(SAMPLE_FILE.splitlines()[:9]), r"names 7 samples, but f\.bgen has 24"),
        ("ID_1 ID_2\ns0 s0\ns1 s1\n", r"is no \.sample file"),
        (SAMPLE_FILE.replace("0.25", "tall"), "must hold numbers"),
        (SAMPLE_FILE.replace("F s3 0", "F s3"), r"line 6: 4 columns, but the header names 5"),
    ],
)
def test_a_wrong_sample_file_gives_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "f.sample").write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(panel(tmp_path))


def test_cut_files_are_refused_at_any_place(tmp_path: Path) -> None:
    path = panel(tmp_path)
    whole = path.read_bytes()
    for size in range(20, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"f\.bgen.*copy it again"):
            read_table(path)


def test_text_that_mentions_the_name_is_text(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("sample,height,x,bgen\n" * 3)
    assert path.read_bytes()[16:20] == b"bgen"
    assert sniff(path) == "text"


@pytest.mark.skipif(not TOY.is_dir(), reason="measured haplotypes are not here")
def test_measured_haplotypes_are_the_measured_genotypes() -> None:
    phased = read_table(TOY / "haplotypes" / "example_chr21.bgen")
    packed = read_table(TOY / "genotypes" / "example_chr21.bed")
    assert phased.samples == packed.samples
    same = phased.notes["allele"] == packed.notes["allele"]
    np.testing.assert_array_equal(np.where(same, phased.values, 2 - phased.values), packed.values)
