"""Files in: the format is told by the content of a file, and every reader returns a `Table`."""

from __future__ import annotations

import codecs
import gzip
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.delimited import read_text
from neuralmirror.io.genotypes import read_bed, read_pgen, read_vcf, require
from neuralmirror.io.tables import MISSING_WORDS, Column, DataError, Table, check_distinct, find_name, with_samples

HEAD = 1 << 16  # bytes from which the format is told
NAME_KEYS = ("features", "names", "feature_names", "markers", "columns", "snps", "variants", "genes")
SAMPLE_KEYS = ("samples", "sample_ids", "ids", "isolate", "individuals", "taxa")
NOTE_NAMES = {"chrom": "chromosome", "chr": "chromosome", "pos": "position", "bp": "position"}


def read_table(path: Path, array: str | None = None, sample_id: str | None = None) -> Table:
    """Read any supported file. `array` names the matrix inside an NPZ, `sample_id` the column of sample ids."""
    path = find_file(path)
    form = sniff(path)
    try:
        if form == "npz":
            return read_npz(path, array)
        if form == "text":
            return with_samples(read_text(path), sample_id)
        table = READERS[form](path)
    except (EOFError, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is cut short or damaged ({error}); copy it again") from error
    return with_samples(table, sample_id) if table.samples is None else table


def find_file(path: Path) -> Path:
    """The file itself; for PLINK also by the common prefix or by any companion."""
    if path.suffix in (".bim", ".fam", ".pvar", ".psam"):
        path = path.with_suffix(".bed" if path.suffix in (".bim", ".fam") else ".pgen")
    for candidate in (path, Path(f"{path}.bed"), Path(f"{path}.pgen")):
        if candidate.is_file():
            return candidate
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it")
    raise DataError(f"no such file: {path}")


def sniff(path: Path) -> str:
    """The format by the first bytes of the file, inside gzip too."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head:
        raise DataError(f"{path} is empty")
    if head.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path) as file:
                head = file.read(HEAD)
        except (EOFError, OSError) as error:
            raise DataError(f"{path} is cut short or damaged ({error}); copy it again") from error
    for magic, form in MAGIC.items():
        if head.startswith(magic):
            return form
    if not head.strip():
        raise DataError(f"{path} is empty")
    if b"\0" in head or not _is_text(head):
        raise DataError(
            f"{path} has an unknown format; expected CSV or TSV, Parquet, Feather, NPZ, PLINK .bed or .pgen, VCF, "
            "or AnnData .h5ad"
        )
    return "text"


def _is_text(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def read_frame(path: Path) -> Table:
    """Parquet and Feather, by pyarrow."""
    require("pyarrow", "pyarrow", "frames")
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    form, read = {
        "parquet": ("Parquet", pyarrow.parquet.read_table),
        "feather": ("Feather", pyarrow.feather.read_table),
    }[sniff(path)]
    try:
        frame = read(path)
    except pa.ArrowException as error:
        raise DataError(f"{path} cannot be read as {form} ({error})") from error
    check_distinct(frame.column_names, "column name")
    frame = frame.select([name for name in frame.column_names if not name.startswith("__index_level_")])
    columns = {name: _arrow_column(frame.column(name)) for name in frame.column_names}
    return from_columns(columns, form)


def _arrow_column(column: Any) -> Column:
    values = column.to_pylist() if "dictionary" in str(column.type) else column.to_numpy()
    return np.array(values, dtype=object) if isinstance(values, list) else np.asarray(values)


def from_columns(columns: dict[str, Column], form: str) -> Table:
    """A table from named columns: numbers and booleans are features, everything else is text."""
    numeric = {name: column.astype(float) for name, column in columns.items() if column.dtype.kind in "fiub"}
    texts = {name: _words(column) for name, column in columns.items() if name not in numeric}
    n = len(next(iter(columns.values()), ()))
    values = np.column_stack(list(numeric.values())) if numeric else np.empty((n, 0))
    return Table(values, tuple(numeric), texts=texts, form=form)


def _words(column: Column) -> Column:
    return np.array(["" if v is None or v != v or str(v) in MISSING_WORDS else str(v) for v in column], dtype=object)


def read_npz(path: Path, array: str | None = None) -> Table:
    """NPZ: a matrix X (or the only one, or the one named), with names, samples, traits and notes told by length."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    matrices = [name for name, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "fiub"]
    if not matrices:
        raise DataError(f"{path} holds no two-dimensional numeric array; expected one, named X")
    if array is None and "X" not in matrices and len(matrices) > 1:
        raise DataError(f"{path} holds several matrices ({', '.join(matrices)}); choose one with --array")
    name = find_name(array, matrices, "matrix in the file") if array else ("X" if "X" in matrices else matrices[0])
    x = arrays.pop(name)
    n, p = x.shape
    names, samples = _pick(arrays, NAME_KEYS, p), _pick(arrays, SAMPLE_KEYS, n)
    traits = {key: a for key, a in arrays.items() if a.shape == (n,)}
    for key, a in arrays.items():
        if a.ndim == 2 and len(a) == n and a.shape != (n, p):
            traits |= _trait_columns(key, a, arrays)
    notes = {NOTE_NAMES.get(key, key): a for key, a in arrays.items() if a.shape == (p,) and p != n}
    genotypes = x.dtype.kind == "i" and x.min(initial=0) >= -1 and x.max(initial=0) == 2
    values = x.astype(np.int8) if genotypes or x.dtype == np.int8 else x.astype(float)
    return Table(
        values,
        tuple(names) if names is not None else tuple(f"x{j + 1}" for j in range(p)),
        None if samples is None else tuple(samples),
        traits=traits,
        notes=notes,
        form="NPZ",
        genotypes=bool(genotypes),
    )


def _pick(arrays: dict[str, NDArray[Any]], keys: Iterable[str], length: int) -> list[str] | None:
    """Take the first array of that length under one of the keys."""
    for key in keys:
        if key in arrays and arrays[key].shape == (length,):
            return [str(value) for value in arrays.pop(key)]
    return None


def _trait_columns(key: str, a: NDArray[Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Column]:
    """The columns of a matrix of traits, named by an array of text of that length."""
    width = a.shape[1]
    labels = next((b for b in arrays.values() if b.shape == (width,) and b.dtype.kind == "U"), None)
    names = [f"{key}{j + 1}" for j in range(width)] if labels is None else [str(label) for label in labels]
    return {name: a[:, j] for j, name in enumerate(names)}


def read_h5ad(path: Path) -> Table:
    """AnnData's .h5ad, read by h5py from the published layout: X, dense or sparse, with obs as traits."""
    h5py = require("h5py", "h5py", "omics")
    try:
        with h5py.File(path, "r") as file:
            missing = [key for key in ("X", "obs", "var") if key not in file]
            if missing:
                raise DataError(f"{path} is HDF5 but not AnnData: it has no {missing[0]}")
            obs_index, traits = _h5_frame(file["obs"])
            var_index, notes = _h5_frame(file["var"])
            values = _h5_matrix(file["X"])
    except OSError as error:
        raise DataError(f"{path} is cut short or damaged ({error}); copy it again") from error
    notes = {NOTE_NAMES.get(name, name): column for name, column in notes.items()}
    return Table(values, var_index, obs_index, traits=traits, notes=notes, form="AnnData .h5ad")


def _h5_matrix(x: Any) -> NDArray[np.float64]:
    if not hasattr(x, "keys"):
        return np.asarray(x[...], dtype=float)
    from scipy import sparse

    kind = sparse.csr_matrix if x.attrs["encoding-type"] == "csr_matrix" else sparse.csc_matrix
    parts = (x["data"][...], x["indices"][...], x["indptr"][...])
    return np.asarray(kind(parts, shape=tuple(x.attrs["shape"])).toarray(), dtype=float)


def _h5_frame(group: Any) -> tuple[tuple[str, ...], dict[str, Column]]:
    """A data frame as AnnData stores it: its index and its columns."""
    key = group.attrs["_index"]
    columns = {name: _h5_column(group[name]) for name in group.attrs["column-order"]}
    return tuple(str(value) for value in _h5_column(group[key])), columns


def _h5_column(item: Any) -> Column:
    if not hasattr(item, "keys"):
        values = item.asstr()[...] if item.dtype.kind == "O" else item[...]
        return np.asarray(values)
    if "codes" in item:
        categories = np.append(_h5_column(item["categories"]).astype(object), "")
        return np.asarray(categories[item["codes"][...]])  # code −1, missing, takes the last
    values = _h5_column(item["values"])
    if "mask" not in item:
        return values
    missing = "" if values.dtype.kind in "OU" else np.nan
    return np.where(item["mask"][...], missing, values.astype(object if missing == "" else float))


MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"PK\x03\x04": "npz",
    b"\x6c\x1b\x01": "bed",
    b"\x6c\x1b": "pgen",
    b"##fileformat=VCF": "vcf",
    b"BCF\x02": "vcf",
    b"\x89HDF\r\n": "h5ad",
}
READERS: dict[str, Callable[[Path], Table]] = {
    "parquet": read_frame,
    "feather": read_frame,
    "bed": read_bed,
    "pgen": read_pgen,
    "vcf": read_vcf,
    "h5ad": read_h5ad,
}
