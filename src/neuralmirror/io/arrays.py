"""NumPy's files in: a matrix with whatever lies beside it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.errors import DataError, readable
from neuralmirror.io.names import find_name
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import MISSING_GENOTYPE, Column, Decision, Table, distinct_names

MARKER_KEYS = ("markers", "snps", "variants")
NAME_KEYS = ("features", "names", "feature_names", *MARKER_KEYS, "columns", "genes")
SAMPLE_KEYS = ("samples", "sample_ids", "ids", "isolate", "individuals", "taxa")
NOTE_NAMES = {"chrom": "chromosome", "chr": "chromosome", "pos": "position", "bp": "position"}
MOST_MISSING = 0.2  # a larger share of −1 in a typical column speaks for numbers

Arrays = dict[str, NDArray[Any]]


def read_npy(path: Path, options: ReadOptions) -> Table:
    """NPY: one matrix, whose columns are called x1, x2, …"""
    with readable(path, "NPY"), path.open("rb") as file:
        arrays = {"X": _loaded(file, "X", path)}
    return _table(arrays, options, path, "NPY")


def read_npz(path: Path, options: ReadOptions) -> Table:
    """NPZ: a matrix X (or the only one, or the one named), with names, samples, traits and notes told by length."""
    arrays = {}
    with readable(path, "NPZ"), zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if member.endswith(".npy"):
                with archive.open(member) as file:
                    name = member.removesuffix(".npy")
                    arrays[name] = _loaded(file, name, path)
    return _table(arrays, options, path, "NPZ")


def _loaded(file: Any, name: str, path: Path) -> NDArray[Any]:
    """One array. Python objects are refused: loading them would run code out of the file."""
    try:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        raise DataError(
            f"{path}: the array {name!r} holds Python objects, which are not loaded because they could run code; "
            "save it as numbers or as text (dtype=str)"
        ) from error


def _table(arrays: Arrays, options: ReadOptions, path: Path, form: str) -> Table:
    matrices = [name for name, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "fiub"]
    if not matrices:
        raise DataError(f"{path} holds no two-dimensional numeric array; expected one, named X")
    array = options.array
    if array is None and "X" not in matrices and len(matrices) > 1:
        raise DataError(f"{path} holds several matrices ({', '.join(matrices)}); choose one with --array")
    name = find_name(array, matrices, "matrix in the file") if array else ("X" if "X" in matrices else matrices[0])
    x = arrays.pop(name)
    n, p = x.shape
    if not n or not p:
        raise DataError(f"{path}: the matrix {name!r} is empty, {n} × {p}; expected samples by features")
    marked = any(key in arrays for key in (*MARKER_KEYS, *NOTE_NAMES))
    genotypes, told = _genotypes(x, options.genotypes, marked)
    names, samples = _pick(arrays, NAME_KEYS, p), _pick(arrays, SAMPLE_KEYS, n)
    features, renamed = distinct_names(names or [f"x{j + 1}" for j in range(p)], "feature")
    notes = {NOTE_NAMES.get(key, key): a for key, a in arrays.items() if a.shape == (p,) and p != n}
    return Table(
        x.astype(np.int8) if genotypes else x.astype(float),
        features,
        None if samples is None else tuple(samples),
        traits=_traits(arrays, n, p),
        notes=notes,
        form=form,
        genotypes=genotypes,
        decisions=(*told, *renamed),
    )


def _genotypes(x: NDArray[Any], said: bool | None, marked: bool) -> tuple[bool, tuple[Decision, ...]]:
    """Whether a matrix holds genotypes, −1 for missing: {−1, 0, 1, 2} as int8, or as integers beside marker names."""
    if said is not None or x.dtype.kind not in "iu" or not x.size:
        return _said(x, bool(said)), ()
    possible = x.max() == 2 and x.min() >= MISSING_GENOTYPE and (marked or x.dtype == np.int8)
    if not possible:
        return False, ()
    share = float(np.median(np.mean(x == MISSING_GENOTYPE, axis=0)))
    if share > MOST_MISSING and not marked:
        text = f"the matrix of -1, 0, 1 and 2 was read as numbers; as genotypes, {share:.0%} would be missing"
        return False, (Decision(text, "--genotypes", warns=True),)
    missing = int((x == MISSING_GENOTYPE).sum())
    how = f", -1 ({missing} times) as a missing one" if missing else ""
    text = f"the matrix of 0, 1 and 2 was read as genotypes{how}"
    return True, (Decision(text, "--no-genotypes", warns=bool(missing) and not marked),)


def _said(x: NDArray[Any], genotypes: bool) -> bool:
    if genotypes and not np.isin(x, [-1, 0, 1, 2]).all():
        raise DataError("the matrix holds other values than the genotypes 0, 1, 2 and -1 (missing); read it as numbers")
    return genotypes


def _pick(arrays: Arrays, keys: Iterable[str], length: int) -> list[str] | None:
    """Take the first array of that length under one of the keys."""
    for key in keys:
        if key in arrays and arrays[key].shape == (length,):
            return [str(value) for value in arrays.pop(key)]
    return None


def _traits(arrays: Arrays, n: int, p: int) -> dict[str, Column]:
    traits = {key: a for key, a in arrays.items() if a.shape == (n,) and a.dtype.kind in "fiubU"}
    for key, a in arrays.items():
        if a.ndim == 2 and len(a) == n and a.shape != (n, p) and a.dtype.kind in "fiubU":
            traits |= _trait_columns(key, a, arrays)
    return traits


def _trait_columns(key: str, a: NDArray[Any], arrays: Arrays) -> dict[str, Column]:
    """The columns of a matrix of traits, named by an array of text of that length."""
    width = a.shape[1]
    labels = next((b for b in arrays.values() if b.shape == (width,) and b.dtype.kind == "U"), None)
    names = [f"{key}{j + 1}" for j in range(width)] if labels is None else [str(label) for label in labels]
    return {name: a[:, j] for j, name in enumerate(names)}
