"""NPZ, NPY, Parquet, Excel and .h5ad as people have them, and one clear line where they cannot be read."""

import datetime
import io
import sys
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from fuzz_bases import delimited, h5ad, xlsx

from neuralmirror.io.formats import read_table
from neuralmirror.io.loading import Source, load
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import DataError, Table

N = 30
RNG = np.random.default_rng(0)


def npz(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "t.npz", **arrays)  # type: ignore[arg-type]
    return folder / "t.npz"


def told(table: Table) -> str:
    return " | ".join(str(decision) for decision in table.decisions)


def likert(low: int, high: int, dtype: type = np.int8) -> np.ndarray:
    return RNG.integers(low, high + 1, (N, 5)).astype(dtype)


@pytest.mark.parametrize("x", [likert(-3, 3), likert(-1, 1), likert(-1, 2, np.int64), likert(-1, 2), likert(1, 5)])
def test_small_integers_stay_numbers(x: np.ndarray, tmp_path: Path) -> None:
    table = read_table(npz(tmp_path, X=x))
    np.testing.assert_array_equal(table.values, x)
    assert table.values.dtype == float
    assert not table.genotypes


def rare_missing() -> np.ndarray:
    x = RNG.integers(0, 3, (N, 5)).astype(np.int8)
    x[:2, 0] = -1
    return x


def test_genotypes_of_an_npz_are_told_and_can_be_refused(tmp_path: Path) -> None:
    x = rare_missing()
    table = read_table(npz(tmp_path, X=x))
    assert table.genotypes
    assert "read as genotypes, -1 (2 times) as a missing one (to change this: --no-genotypes)" in told(table)
    assert table.decisions[0].warns
    assert read_table(tmp_path / "t.npz", ReadOptions(genotypes=False)).values.min() == -1.0
    assert read_table(npz(tmp_path, X=x.astype(float)), ReadOptions(genotypes=True)).genotypes
    with pytest.raises(DataError, match="other values than the genotypes"):
        read_table(npz(tmp_path, X=x + 5), ReadOptions(genotypes=True))


def test_objects_in_an_npz_are_refused(tmp_path: Path) -> None:
    path = npz(tmp_path, X=np.ones((N, 2)), names=np.array(["a", None], dtype=object))
    with pytest.raises(DataError, match=r"t\.npz: the array 'names' holds Python objects.*dtype=str"):
        read_table(path)
    with pytest.raises(DataError, match="no two-dimensional numeric array"):
        read_table(npz(tmp_path, a=np.ones(3)))


def test_repeated_names_of_an_npz_are_made_unique(tmp_path: Path) -> None:
    table = read_table(npz(tmp_path, X=np.ones((N, 4)), features=np.array(["a", "b", "a", "a"])))
    assert table.names == ("a", "b", "a_2", "a_3")
    assert "repeated feature names were made unique, 2 in all" in told(table)


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", RNG.standard_normal((N, 3)))
    assert read_table(tmp_path / "t.npy").names == ("x1", "x2", "x3")


def parquet(folder: Path, **columns: object) -> Path:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table(columns), folder / "t.parquet")
    return folder / "t.parquet"


def test_parquet_types(tmp_path: Path) -> None:
    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i) for i in range(N)]
    path = parquet(
        tmp_path,
        stamp=days,
        wait=[day - days[0] for day in days],
        price=[Decimal("1.50") * i for i in range(N)],
        spelt=[f"{i},5" for i in range(N)],
        flag=[None, True, False] * (N // 3),
        parts=[[1, 2]] * N,
        raw=[b"\0"] * N,
        word=["x", "y"] * (N // 2),
    )
    table = read_table(path)
    assert set(table.names) == {"wait", "price", "spelt", "flag"}
    assert table.column("price")[2] == 3.0
    assert table.column("wait")[3] == 3.0
    assert table.column("spelt")[1] == 1.5
    assert np.isnan(table.column("flag")[0])
    assert {name for group in table.dropped for name in group.names} == {"stamp", "parts", "raw"}
    assert "stored as text" in told(table)
    with pytest.raises(DataError, match="the target 'parts' cannot be used: lists"):
        load(Source(path, "parts"))


def test_damaged_parquet(tmp_path: Path) -> None:
    path = parquet(tmp_path, parts=[[1, 2]] * N, a=list(range(N)))
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as Parquet, it is cut short or damaged"):
        read_table(path)


def test_excel(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "book.xlsx"
    path.write_bytes(xlsx())
    table = read_table(path)
    assert table.names == ("a", "b", "y")
    assert table.samples is not None
    assert set(table.texts["word"]) == {"x", "y"}
    assert "of 2 sheets the first, 'Sheet', was read (to change this: --sheet NAME)" in told(table)
    with pytest.raises(DataError, match="no sheet is named 'Blatt'"):
        read_table(path, ReadOptions(sheet="Blatt"))
    with pytest.raises(DataError, match="the sheet 'notes' has no rows"):
        read_table(path, ReadOptions(sheet="notes"))


def test_excel_cells(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["name", "n", "day", "flag", None, "y"])
    for i in range(N):
        day = datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i)
        book.active.append([f"p{i}", None if i == 2 else i / 2, day, bool(i % 2), i * i, "#N/A" if i == 3 else i])
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx")
    assert table.names == ("n", "column_5", "y")
    assert np.isnan(table.values[2, 0])
    assert np.isnan(table.values[3, 2])
    assert table.dropped[0].names == ("day",)
    assert set(table.texts["flag"]) == {"True", "False"}


def test_excel_without_openpyxl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.xlsx").write_bytes(xlsx())
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"read by openpyxl, which is not installed; pip install openpyxl"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xd0\xcf\x11\xe0\xa1\xb1", r"save it as \.xlsx"), (b"BZh91AY&SY", "bunzip2"), (b"RDX3\nX\n", "write.csv")],
)
def test_formats_that_are_refused_say_what_to_do(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.dat").write_bytes(content * 5)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.dat")


def test_zip_is_refused_by_its_content(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.csv", delimited())
    (tmp_path / "t.csv").write_bytes(file.getvalue())
    with pytest.raises(DataError, match=r"is a zip archive of data\.csv; unpack it"):
        read_table(tmp_path / "t.csv")


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    path.write_bytes(h5ad())
    return path


def test_layers_of_h5ad(cells: Path) -> None:
    import h5py

    raw = read_table(cells, ReadOptions(layer="raw"))
    np.testing.assert_array_equal(raw.values, read_table(cells).values)
    with pytest.raises(DataError, match="no layer is named 'rae'; did you mean 'raw'"):
        read_table(cells, ReadOptions(layer="rae"))
    with h5py.File(cells, "a") as file:
        del file["X"]
    with pytest.raises(DataError, match="has no X but the layers raw; choose one with --layer raw"):
        read_table(cells)


def test_repeated_genes_are_made_unique(cells: Path) -> None:
    import h5py

    with h5py.File(cells, "a") as file:
        file["var"]["gene"][1] = "rs0"
    table = read_table(cells)
    assert table.names[:3] == ("rs0", "rs0_2", "rs2")
    assert "repeated gene names were made unique, 1 in all" in told(table)


def test_the_old_layout_and_other_hdf5_are_refused(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        file["X"] = np.ones((3, 2))
        file["obs"] = np.array([(b"a", 1.0)] * 3, dtype=[("index", "S3"), ("age", float)])
        file["var"] = np.array([(b"g",)] * 2, dtype=[("index", "S3")])
    with pytest.raises(DataError, match=r"layout of AnnData before 0\.7.*write_h5ad"):
        read_table(tmp_path / "old.h5ad")
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["X"] = np.ones((3, 2))
    with pytest.raises(DataError, match="is HDF5 but not AnnData"):
        read_table(tmp_path / "plain.h5")
