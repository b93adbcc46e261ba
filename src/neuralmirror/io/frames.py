"""Data frames in: Parquet and Feather, by pyarrow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror.io.cells import as_numbers, guess_decimal
from neuralmirror.io.errors import readable, require
from neuralmirror.io.names import check_distinct, few
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import MISSING_WORDS, Column, Decision, Dropped, Table


def read_parquet(path: Path, options: ReadOptions) -> Table:
    """Parquet; columns that only pandas needs are left out."""
    require("pyarrow", "pyarrow", "frames")
    import pyarrow.parquet

    with readable(path, "Parquet"):
        return _table(pyarrow.parquet.read_table(path, use_threads=False), path, "Parquet", options)


def read_feather(path: Path, options: ReadOptions) -> Table:
    """Feather, both versions."""
    require("pyarrow", "pyarrow", "frames")
    import pyarrow.feather

    with readable(path, "Feather"):
        return _table(pyarrow.feather.read_table(path, use_threads=False), path, "Feather", options)


def _table(frame: Any, path: Path, form: str, options: ReadOptions) -> Table:
    check_distinct(frame.column_names, "column name", path)
    frame.validate(full=True)
    names = [name for name in frame.column_names if not name.startswith("__index_level_")]
    nested = tuple(name for name in names if not _is_flat(frame.schema.field(name).type))
    columns = {name: _column(frame.column(name)) for name in names if name not in nested}
    table = from_columns(columns, frame.num_rows, form, options)
    dropped = (Dropped("lists, structures or bytes instead of one value a cell", nested),) if nested else ()
    return replace(table, dropped=dropped)


def _is_flat(kind: Any) -> bool:
    from pyarrow import types

    return not (types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind))


def _column(column: Any) -> Column:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_boolean(kind) and column.null_count:
        column = column.cast(pa.int8())
    return np.asarray(column.to_numpy())


def from_columns(columns: dict[str, Column], n: int, form: str, options: ReadOptions) -> Table:
    """A table from named columns: numbers and booleans are features, everything else is text."""
    numeric = {name: column.astype(float) for name, column in columns.items() if column.dtype.kind in "fiub"}
    numeric |= {name: _days(column) for name, column in columns.items() if column.dtype.kind == "m"}
    texts = {name: _words(column) for name, column in columns.items() if name not in numeric}
    spelt = {name: numbers for name, column in texts.items() if (numbers := _spelt(column, options)) is not None}
    values = np.column_stack([*numeric.values(), *spelt.values()]) if numeric or spelt else np.empty((n, 0))
    texts = {name: column for name, column in texts.items() if name not in spelt}
    text = f"numbers that are stored as text were read as numbers: {few(list(spelt))}"
    told = (Decision(text),) if spelt else ()
    return Table(values, (*numeric, *spelt), texts=texts, form=form, decisions=told)


def _days(column: Column) -> Column:
    """Durations, in days."""
    return np.where(np.isnat(column), np.nan, column / np.timedelta64(1, "D"))


def _spelt(column: Column, options: ReadOptions) -> Column | None:
    """Text whose every word is a number, with either decimal mark."""
    told = [word for word in column if word]
    decimal = options.decimal or guess_decimal(told, ",")[0]
    return as_numbers(column, options.notation(decimal)) if told else None


def _words(column: Column) -> Column:
    return np.array(["" if v is None or v != v or str(v) in MISSING_WORDS else str(v) for v in column], dtype=object)
