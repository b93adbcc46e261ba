"""Excel workbooks in, by openpyxl: one sheet, whose first row names the columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import Any

from neuralmirror.io.cells import guess_decimal
from neuralmirror.io.errors import DataError, readable, require
from neuralmirror.io.names import find_name
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.rows import LOOK, Row, table_from_rows
from neuralmirror.io.tables import Decision, Table


def read_excel(path: Path, options: ReadOptions) -> Table:
    """The first sheet of a workbook, or the one named."""
    openpyxl = require("openpyxl", "openpyxl", "excel")
    with readable(path, "an Excel workbook"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles and extensions, which say nothing about values
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            return _table(book, path, options)
        finally:
            book.close()


def _table(book: Any, path: Path, options: ReadOptions) -> Table:
    sheets = [sheet.title for sheet in book.worksheets]
    if not sheets:
        raise DataError(f"{path} has no sheet with cells; export the data as CSV")
    name = find_name(options.sheet, sheets, "sheet") if options.sheet else sheets[0]
    sheet = book[name]
    sheet.reset_dimensions()  # those of a damaged or formatted sheet may claim a million empty rows
    rows = _rows(sheet)
    header = next(rows, Row(1, []))
    ahead = list(islice(rows, LOOK))
    if not ahead:
        raise DataError(f"{path}: the sheet {name!r} has no rows below a header; choose another with --sheet")
    names = [" ".join(cell.split()) for cell in header.cells]
    width = max(len(names), *(len(row.cells) for row in ahead))
    names += [""] * (width - len(names))
    decimal = options.decimal or guess_decimal((cell for row in ahead for cell in row.cells), ",")[0]
    padded = (Row(line, cells + [""] * (width - len(cells))) for line, cells in chain(ahead, rows))
    table = table_from_rows(names, padded, options.notation(decimal), path, "Excel .xlsx", options.sample_id)
    if len(sheets) == 1 or options.sheet:
        return table
    return table.told(Decision(f"of {len(sheets)} sheets the first, {name!r}, was read", "--sheet NAME", warns=True))


def _rows(sheet: Any) -> Iterator[Row]:
    """Rows that hold something, their empty cells at the end cut off."""
    for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [_word(value) for value in values]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield Row(number, cells)


def _word(value: object) -> str:
    """A cell as text: what a CSV of the same sheet would hold."""
    if value is None:
        return ""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return str(value).strip()
