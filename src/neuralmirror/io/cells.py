"""What a cell says: a number, however it is written, a missing value, a date, or a word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.tables import MISSING_WORDS, Column

# Words that mean "missing" beside numbers but may be a level of text: the strand "-", the category "none".
AMONG_NUMBERS = frozenset({"-", "--", "..", "...", "*", "missing", "Missing", "MISSING", "none", "NONE", "/"})

EXPONENT = r"(?:[eE][+-]?\d+)?"
MARKS = r" '’\u00a0\u202f"  # separate thousands everywhere
DECIMAL = {
    ".": re.compile(rf"[+-]?\d*\.\d+{EXPONENT}"),
    ",": re.compile(rf"[+-]?\d*,\d+{EXPONENT}|[+-]?\d{{1,3}}(?:\.\d{{3}})+,\d+"),
}
GROUPED = {
    mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}([{other}{MARKS}])\d{{3}}(?:\1\d{{3}})*(?:{re.escape(mark)}\d*)?")
    for mark, other in ((".", ","), (",", "."))
}
DAY = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4})"
CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?"
DATE = re.compile(rf"{DAY}(?:[T ]{CLOCK}(?: ?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}}))?)?|{CLOCK}")


@dataclass(frozen=True)
class Notation:
    """How a file writes numbers and missing values."""

    decimal: str = "."
    missing: frozenset[str] = MISSING_WORDS  # anywhere

    def is_missing(self, cell: str) -> bool:
        """Whether a cell among numbers holds no value."""
        return cell in self.missing or cell in AMONG_NUMBERS

    def number(self, cell: str) -> float | None:
        """The number that a cell holds; None where it holds none. Missing values are none."""
        plain = _float(cell) if self.decimal == "." else None
        return plain if plain is not None else self._written_otherwise(cell)

    def _written_otherwise(self, cell: str) -> float | None:
        """Numbers with a decimal comma, with separated thousands, with a true minus sign."""
        cell = cell.replace("\N{MINUS SIGN}", "-")
        if GROUPED[self.decimal].fullmatch(cell):
            cell = "".join(c for c in cell if c.isdigit() or c in f"+-{self.decimal}")
        if self.decimal == "," and "." in cell:
            return None
        return _float(cell.replace(self.decimal, "."))

    def mostly_text(self, cells: Iterable[str]) -> bool:
        """Whether more than half of the cells that hold something are no numbers."""
        told = [cell for cell in cells if not self.is_missing(cell)]
        words = sum(self.number(cell) is None for cell in told)
        return words * 2 > len(told)


def _float(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def guess_decimal(cells: Iterable[str], delimiter: str) -> tuple[str, bool]:
    """The decimal mark, and whether the cells leave no doubt.

    A comma before one, two or more than three digits is a decimal comma; "1,234" may be either, and counts as
    thousands except where semicolons separate the cells, as programs write that use decimal commas.
    """
    cells = list(cells)
    if not any("," in cell for cell in cells):
        return ".", True
    count = {m: sum(bool(_one_way(cell, m)) for cell in cells) for m in ".,"}
    if count[","] or count["."]:
        return ("," if count[","] > count["."] else "."), not (count[","] and count["."])
    doubtful = any("," in cell and GROUPED["."].fullmatch(cell) for cell in cells)
    return ("," if doubtful and delimiter == ";" else "."), not doubtful


def _one_way(cell: str, mark: str) -> bool:
    other = "," if mark == "." else "."
    return bool(DECIMAL[mark].fullmatch(cell)) and not GROUPED[other].fullmatch(cell)


def as_numbers(column: Column, notation: Notation | None = None) -> NDArray[np.float64] | None:
    """A column of text as numbers where every value is one or missing; None otherwise."""
    if column.dtype.kind in "fiub":
        return column.astype(float)
    notation = notation or Notation()
    words = [str(value).strip() for value in column]
    numbers = [np.nan if word in notation.missing else notation.number(word) for word in words]
    return None if None in numbers else np.array(numbers, dtype=float)


def are_dates(column: Column) -> bool:
    """Whether a column of text holds dates or times and nothing else."""
    told = [word for word in column if word not in MISSING_WORDS]
    return bool(told) and all(isinstance(word, str) and DATE.fullmatch(word.strip()) for word in told)
