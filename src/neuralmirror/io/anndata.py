"""AnnData's .h5ad in, read by h5py from the published layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.arrays import NOTE_NAMES
from neuralmirror.io.errors import DataError, readable, require
from neuralmirror.io.hdf5_trial import check_references
from neuralmirror.io.names import find_name
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import Column, Table, distinct_names

MOST_PACKED = 2000  # bytes out of one byte, twice what deflate can do


def read_h5ad(path: Path, options: ReadOptions) -> Table:
    """X or a layer, dense or sparse, with obs as traits and var as notes."""
    h5py = require("h5py", "h5py", "omics")
    check_references(path)
    with readable(path, "AnnData .h5ad"), h5py.File(path, "r") as file:
        _check_layout(file, path, h5py)
        samples, traits = _frame(file["obs"])
        genes, notes = _frame(file["var"])
        values = _matrix(_chosen(file, path, options), (len(samples), len(genes)))
    names, told = distinct_names(genes, "gene")
    notes = {NOTE_NAMES.get(name, name): column for name, column in notes.items() if len(column) == len(names)}
    traits = {name: column for name, column in traits.items() if len(column) == len(samples)}
    return Table(values, names, samples, traits=traits, notes=notes, form="AnnData .h5ad", decisions=told)


def _check_layout(file: Any, path: Path, h5py: Any) -> None:
    missing = [key for key in ("obs", "var") if key not in file]
    if missing:
        raise DataError(f"{path} is HDF5 but not AnnData: it has no {missing[0]}; export the table as .h5ad or CSV")
    old = [key for key in ("obs", "var") if isinstance(file[key], h5py.Dataset) or "_index" not in file[key].attrs]
    matrix = file.get("X")
    sparse_without_type = isinstance(matrix, h5py.Group) and "encoding-type" not in matrix.attrs
    if old or sparse_without_type:
        raise DataError(
            f"{path} has the layout of AnnData before 0.7, which is not read; open it with a newer anndata and write "
            "it again (anndata.read_h5ad, then write_h5ad)"
        )


def _chosen(file: Any, path: Path, options: ReadOptions) -> Any:
    """The layer that was named, or X."""
    layers = list(file.get("layers", ()))
    if options.layer is not None and (options.layer != "X" or "X" not in file):
        return file["layers"][find_name(options.layer, layers, "layer")]
    if "X" in file:
        return file["X"]
    if layers:
        raise DataError(f"{path} has no X but the layers {', '.join(layers)}; choose one with --layer {layers[0]}")
    raise DataError(f"{path} has neither X nor layers; write the matrix into X")


def _matrix(x: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    found = tuple(int(size) for size in (x.attrs["shape"] if hasattr(x, "keys") else x.shape))
    if found != shape:
        raise DataError(f"the matrix is {' × '.join(map(str, found))}, but obs and var name {shape[0]} × {shape[1]}")
    if not hasattr(x, "keys"):
        return np.asarray(_values(x), dtype=float)
    from scipy import sparse

    kinds = {"csr_matrix": sparse.csr_matrix, "csc_matrix": sparse.csc_matrix}
    kind = kinds[find_name(_text(x.attrs["encoding-type"]), kinds, "kind of sparse matrix")]
    packed = kind((_values(x["data"]), _values(x["indices"]), _values(x["indptr"])), shape=shape)
    packed.check_format(full_check=True)  # damaged indices would write outside of the matrix
    return np.asarray(packed.toarray(), dtype=float)


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _values(item: Any) -> Any:
    """All values of a dataset, unless it claims more than the file can hold, packed as tightly as can be."""
    claimed = (item.size or 0) * item.id.get_type().get_size()
    if claimed > item.file.id.get_filesize() * (1 if item.chunks is None else MOST_PACKED):
        raise DataError(f"{item.name} claims more values than the file can hold; it is damaged, copy it again")
    return item.asstr()[...] if item.dtype.kind in "OS" else item[...]


def _frame(group: Any) -> tuple[tuple[str, ...], dict[str, Column]]:
    """A data frame as AnnData stores it: its index and its columns."""
    key = _text(group.attrs["_index"])
    columns = {_text(name): _column(group[name]) for name in group.attrs["column-order"]}
    return tuple(str(value) for value in _column(group[key])), columns


def _column(item: Any) -> Column:
    if not hasattr(item, "keys"):
        return np.asarray(_values(item))
    if "codes" in item:
        categories = np.append(_column(item["categories"]).astype(object), "")
        codes = _values(item["codes"])
        return np.asarray(categories[np.where(codes < 0, len(categories) - 1, codes)])
    values = _column(item["values"])
    if "mask" not in item:
        return values
    missing = "" if values.dtype.kind in "OU" else np.nan
    return np.where(_values(item["mask"]), missing, values.astype(object if missing == "" else float))
