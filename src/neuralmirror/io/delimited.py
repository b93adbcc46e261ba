"""Delimited text in: CSV, TSV and their like, plain or in gzip, row by row."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from neuralmirror.io.cells import DECIMAL, GROUPED, Notation, guess_decimal
from neuralmirror.io.encodings import open_text
from neuralmirror.io.errors import DataError, one_line
from neuralmirror.io.names import counted
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.rows import LOOK, Row, table_from_rows
from neuralmirror.io.sample_names import SURE_NAMES
from neuralmirror.io.tables import Decision, Table

HEAD = 30  # lines from which the separator is told
DELIMITERS = "\t,;|"


def read_text(path: Path, options: ReadOptions) -> Table:
    """CSV or TSV with a header line; separator, decimal mark, encoding and comments before the header are found out."""
    file, decisions = open_text(path, options.encoding)
    with file:
        skipped, lines = _skip_comments(file)
        head = list(islice(lines, HEAD))
        delimiter = find_delimiter(head)
        rows = _rows(chain(head, lines), delimiter, path, len(skipped))
        header = next(rows, Row(0, []))
        ahead = list(islice(rows, LOOK))
        comments = sum(line.startswith("#") for line in skipped)
        if comments:
            decisions += (Decision(f"{counted(comments, 'comment line')} before the header skipped"),)
        names, ahead, told = _named(header, ahead, options, path)
        notation, more = _notation(ahead, delimiter, options)
        table = table_from_rows(names, chain(ahead, rows), notation, path, "delimited text", options.sample_id)
    return replace(table, decisions=(*decisions, *told, *more, *table.decisions))


def _skip_comments(lines: Iterable[str]) -> tuple[list[str], Iterator[str]]:
    """Lines with # and blank ones before the header; a # line is the header itself where numbers follow it."""
    lines = iter(lines)
    skipped: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            break
        skipped.append(line)
    else:
        line = ""
    if skipped and _is_header(skipped[-1], line):
        return skipped[:-1], chain([skipped[-1], line], lines)
    return skipped, chain([line] if line else [], lines)


def _is_header(line: str, following: str) -> bool:
    mark = find_delimiter([following])
    cells, values = _split(line, mark), _split(following, mark)
    known = line.split(None, 1)[:1] in (["#IID"], ["#FID"], ["#CHROM"])
    numbers = any(Notation().number(value) is not None for value in values)
    return known or (line.startswith("#") and len(cells) == len(values) > 1 and numbers)


def _split(line: str, mark: str) -> list[str]:
    try:
        return line.split() if mark == " " else next(csv.reader([line], delimiter=mark), [])
    except csv.Error:
        return []


def find_delimiter(lines: list[str]) -> str:
    """The separator by which most lines have as many cells as the header; white space where there is none."""
    best, most = " ", (0.0, 0)
    for mark in DELIMITERS:
        widths = _widths(lines, mark)
        if widths and widths[0] > 1:
            agree = sum(abs(width - widths[0]) <= (width > widths[0]) for width in widths) / len(widths)
            best, most = max((best, most), (mark, (agree, widths[0])), key=lambda found: found[1])
    return best


def _widths(lines: list[str], mark: str) -> list[int]:
    """Cells of each record; the last of several may be cut and does not count."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark, skipinitialspace=True) if row]
    except csv.Error:
        return []
    return widths[:-1] if len(widths) > 2 else widths


def _rows(lines: Iterable[str], delimiter: str, path: Path, skipped: int) -> Iterator[Row]:
    """Cells, with the number of the line on which each row begins."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    number = skipped + 1
    try:
        for cells in reader:
            cells = [cell for cell in cells if cell] if delimiter == " " else cells
            if any(cells) or len(cells) > 1:
                yield Row(number, cells)
            number = skipped + reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}, line {number}: the row cannot be read ({one_line(error)}); is a quotation mark not closed?"
        ) from error


def _named(
    header: Row, ahead: list[Row], options: ReadOptions, path: Path
) -> tuple[list[str], list[Row], tuple[Decision, ...]]:
    """The names of the columns, which a file of phenotypes may lack and a file with row names has one too few of."""
    names = [" ".join(name.removeprefix("\ufeff").split()) for name in header.cells]
    numbers = [Notation().number(name) is not None for name in names]
    width = len(names)
    if options.beside and _lacks_header(names, [header, *ahead]):
        values = ["value"] if width < 4 else [f"value{j}" for j in range(1, width - 1)]
        names = ["FID", "IID", *values][-width:]
        text = f"{path.name} has no header line; its columns are called {', '.join(names)}; add one for other names"
        return names, [header, *ahead], (Decision(text, warns=True),)
    if names and all(numbers):
        raise DataError(f"{path} begins with numbers ({', '.join(names[:3])} …), not with names; add a header line")
    if not ahead:
        raise DataError(f"{path} has a header line but no rows below it; name a file with data")
    if all(len(row.cells) == width + 1 and row.cells[-1] for row in ahead):
        names = ["", *names]  # R leaves out the name above its row names
    return names, ahead, ()


def _lacks_header(names: list[str], rows: list[Row]) -> bool:
    """Whether the first line of a file of phenotypes is FID, IID, values (or IID, value) of a sample already."""
    at = min(1, len(names) - 2)  # of the IID
    if at < 0 or any(name.lower().lstrip("#") in SURE_NAMES for name in names):
        return False
    ids = [row.cells[at].strip() for row in rows if len(row.cells) == len(names)]
    values = [Notation().is_missing(name) or Notation().number(name) is not None for name in names[at + 1 :]]
    return all(values) and len(set(ids)) == len(ids) and not any(DECIMAL["."].fullmatch(word) for word in ids)


def _notation(ahead: list[Row], delimiter: str, options: ReadOptions) -> tuple[Notation, tuple[Decision, ...]]:
    """How the first rows write numbers, unless the user said so."""
    if options.decimal is not None:
        return options.notation(options.decimal), ()
    cells = [cell.strip() for row in ahead for cell in row.cells]
    decimal, sure = guess_decimal(cells, delimiter)
    if decimal == ",":
        return options.notation(","), (Decision("numbers are written with a decimal comma", "--decimal .", not sure),)
    grouped = next((cell for cell in cells if "," in cell and GROUPED["."].fullmatch(cell)), None)
    if grouped is None:
        return options.notation("."), ()
    return options.notation("."), (
        Decision(f"commas in numbers such as {grouped} separate thousands", "--decimal ,", not sure),
    )
