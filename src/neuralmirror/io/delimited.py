"""Delimited text in: CSV, TSV and their like, plain or in gzip, row by row."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.genotypes import check_whole
from neuralmirror.io.tables import MISSING_WORDS, DataError, Table, check_distinct

LOOK = 100  # rows from which the types of the columns are told


def read_text(path: Path) -> Table:
    """CSV or TSV with a header line. A column is text if most of its first values are, else every value is a number."""
    with _open_text(path) as file:
        first = file.readline()
        delimiter = _delimiter(first)
        header = next(csv.reader([first.lstrip("\ufeff")], delimiter=delimiter, skipinitialspace=True))
        header = [name.strip() for name in header]
        rows = _rows(file, delimiter, len(header), path)
        ahead = list(islice(rows, LOOK))
        if not ahead:
            raise DataError(f"{path} has a header line but no rows")
        _check_header(header, path)
        text = [_mostly_text([row[j] for row in ahead]) for j in range(len(header))]
        return _columns(header, text, chain(ahead, rows), path)


def _open_text(path: Path) -> IO[str]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        check_whole(path)
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _delimiter(line: str) -> str:
    """The separator that occurs most often in the header; white space where there is no other."""
    counts = {mark: line.count(mark) for mark in "\t,;|"}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else " "


def _rows(file: Iterable[str], delimiter: str, width: int, path: Path) -> Iterator[list[str]]:
    reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
    for number, row in enumerate(reader, start=2):
        if not row or row == [""]:
            continue
        if delimiter == " ":
            row = [cell for cell in row if cell]
        if len(row) != width:
            raise DataError(
                f"{path}, line {number}: {len(row)} cells, but the header names {width} columns; mend that line"
            )
        yield row


def _check_header(header: list[str], path: Path) -> None:
    check_distinct(header, "column name")
    if all(_number(cell) is not None for cell in header):
        raise DataError(f"{path} begins with numbers ({', '.join(header[:3])} …), not with names; add a header")


def _mostly_text(cells: list[str]) -> bool:
    told = [cell.strip() for cell in cells if cell.strip() not in MISSING_WORDS]
    return sum(_number(cell) is None for cell in told) * 2 > len(told)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _columns(header: list[str], text: list[bool], rows: Iterator[list[str]], path: Path) -> Table:
    """Numbers row by row, the fast way where a row is complete; text as it stands."""
    numeric = [j for j, is_text in enumerate(text) if not is_text]
    texts: dict[int, list[str]] = {j: [] for j, is_text in enumerate(text) if is_text}
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = [row[j] for j in numeric] if texts else row
        try:
            lines.append(np.array(cells, dtype=np.float64))
        except ValueError:
            lines.append(_slowly(cells, [header[j] for j in numeric], number, path))
        for j, column in texts.items():
            word = row[j].strip()
            column.append("" if word in MISSING_WORDS else word)
    return Table(
        np.stack(lines),
        tuple(header[j] for j in numeric),
        texts={header[j]: np.array(column, dtype=object) for j, column in texts.items()},
        form="delimited text",
    )


def _slowly(cells: list[str], names: list[str], number: int, path: Path) -> NDArray[np.float64]:
    """A row with missing values, or the error that names its first cell of text."""
    values = np.full(len(cells), np.nan)
    for j, cell in enumerate(cells):
        if cell.strip() in MISSING_WORDS:
            continue
        parsed = _number(cell)
        if parsed is None:
            raise DataError(
                f"{path}: text {cell!r} in row {number} of the numeric column {names[j]!r}; correct it, or drop the "
                f"column with --drop {names[j]}"
            )
        values[j] = parsed
    return values
