"""From rows of words to columns of numbers and of text, whichever file the rows came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.cells import AMONG_NUMBERS, Notation
from neuralmirror.io.errors import DataError
from neuralmirror.io.names import check_distinct, counted
from neuralmirror.io.sample_names import SURE_NAMES, named_by
from neuralmirror.io.tables import Decision, Table

LOOK = 100  # rows from which the types of the columns are told


class Row(NamedTuple):
    """The cells of a row and the line of the file on which it begins."""

    line: int
    cells: list[str]


@dataclass
class Parser:
    """Numbers row by row; remembers which words were taken as missing, and in which column."""

    names: list[str]
    notation: Notation
    path: Path
    unusual: Counter[tuple[str, str]]

    def numbers(self, cells: list[str], line: int) -> NDArray[np.float64]:
        """A row of numbers, the fast way where it is complete and plainly written."""
        if self.notation.decimal == ".":
            for row in (cells, self._filled(cells)):
                try:
                    return np.array(list(row), dtype=np.float64)
                except ValueError:
                    pass
        return np.array([self._number(cell, j, line) for j, cell in enumerate(cells)], dtype=np.float64)

    def _filled(self, cells: list[str]) -> Iterator[str]:
        missing = self.notation.missing
        return ("nan" if cell in missing else cell for cell in cells)

    def _number(self, cell: str, j: int, line: int) -> float:
        cell = cell.strip()
        if cell in self.notation.missing:
            return np.nan
        if cell in AMONG_NUMBERS:
            self.unusual[cell, self.names[j]] += 1
            return np.nan
        parsed = self.notation.number(cell)
        if parsed is None:
            raise DataError(
                f"{self.path}, line {line}: text {cell!r} in the numeric column {self.names[j]!r}; correct it, call it "
                f"missing with --na {cell!r}, or leave the column out with --drop {self.names[j]!r}"
            )
        return parsed

    def decisions(self) -> tuple[Decision, ...]:
        """The words among numbers that were taken as missing."""
        return tuple(
            Decision(f"{word!r} in column {name!r} was taken as missing ({counted(count, 'cell')})")
            for (word, name), count in self.unusual.items()
        )


def table_from_rows(
    header: list[str], rows: Iterable[Row], notation: Notation, path: Path, form: str, sample_id: str | None = None
) -> Table:
    """A column is text if most of its first values are; every value of the others is a number or missing.

    Codes of samples stay as they are written: 007 is not 7.
    """
    rows = _even(iter(rows), len(header), path)
    ahead = list(islice(rows, LOOK))
    names = _filled(header)
    check_distinct(names, "column name", path)
    text = [
        name == sample_id or _is_text(name, [row.cells[j].strip() for row in ahead], notation)
        for j, name in enumerate(names)
    ]
    table = _columns(names, text, chain(ahead, rows), notation, path, form)
    return _unnamed_told(table, header, names, numbered=sample_id is None)


def _is_text(name: str, cells: list[str], notation: Notation) -> bool:
    codes = name.lower() in SURE_NAMES and any(c.isdigit() and (c[0] == "0" < c[1:] or len(c) > 15) for c in cells)
    return codes or notation.mostly_text(cells)


def _even(rows: Iterator[Row], width: int, path: Path) -> Iterator[Row]:
    """Rows of one width; empty cells at the end do not count."""
    for row in rows:
        cells = row.cells
        while len(cells) > width and not cells[-1]:
            cells = cells[:-1]
        if len(cells) != width:
            hint = "; is a quotation mark not closed?" if any("\n" in cell for cell in cells) else ""
            raise DataError(
                f"{path}, line {row.line}: {counted(len(cells), 'cell')}, but the header names "
                f"{counted(width, 'column')}; correct that line{hint}"
            )
        yield Row(row.line, cells)


def _filled(header: list[str]) -> list[str]:
    """Columns without a name are called by their number."""
    made_up = (f"column_{j}" for j in range(1, len(header) + 1))
    return [name or other for name, other in zip(header, made_up, strict=True)]


def _columns(
    names: list[str], text: list[bool], rows: Iterable[Row], notation: Notation, path: Path, form: str
) -> Table:
    numeric = [j for j, is_text in enumerate(text) if not is_text]
    texts: dict[int, list[str]] = {j: [] for j, is_text in enumerate(text) if is_text}
    parser = Parser([names[j] for j in numeric], notation, path, Counter())
    lines = []
    for line, cells in rows:
        lines.append(parser.numbers([cells[j] for j in numeric] if texts else cells, line))
        for j, column in texts.items():
            word = cells[j].strip()
            column.append("" if word in notation.missing else word)
    return Table(
        np.stack(lines),
        tuple(parser.names),
        texts={names[j]: np.array(column, dtype=object) for j, column in texts.items()},
        form=form,
        decisions=parser.decisions(),
    )


def _unnamed_told(table: Table, header: list[str], names: list[str], numbered: bool) -> Table:
    """Columns without a name are kept, but for empty ones and for row numbers in front."""
    unnamed = [name for name, given in zip(names, header, strict=True) if not given]
    empty = [name for name in unnamed if name in table.names and np.isnan(table.column(name)).all()]
    table = table.without(empty)
    for name in (name for name in unnamed if name not in empty):
        place = int(name.removeprefix("column_"))
        if numbered and place == 1 and name in table.names and counts_rows(table.column(name)):
            table = named_by(table, name)
            text = "the first column has no name and numbers the rows; it was taken as sample names"
            table = table.told(Decision(text, "--id none", warns=True))
        elif place > 1 or name in table.names:
            table = table.told(
                Decision(f"column {place} has no name and is called {name!r}", f"--drop {name}", warns=True)
            )
    return table


def counts_rows(column: NDArray[np.float64]) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …"""
    return len(column) > 2 and bool(column[0] in (0, 1) and (np.diff(column) == 1).all())
