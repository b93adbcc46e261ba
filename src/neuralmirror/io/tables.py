"""A table of samples by features as it came from a file, and what was decided on the way."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.errors import DataError as DataError
from neuralmirror.io.names import check_distinct, made_unique

MISSING_GENOTYPE = -1
ERRORS_OF_SPREADSHEETS = {"#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"}
MISSING_WORDS = frozenset(
    {"", "NA", "N/A", "n/a", "<NA>", "NaN", "NAN", "nan", "na", "NaT", "null", "NULL", "Null", "None", ".", "?"}
    | ERRORS_OF_SPREADSHEETS
)

Column = NDArray[Any]


@dataclass(frozen=True)
class Decision:
    """Something that was decided about the data and not asked for.

    `text` is one plain line; `option` is what to type to have it otherwise ("" where nothing can be); `warns` marks
    those that a user must see, because features or samples may be lost or the result misleading.
    """

    text: str
    option: str = ""
    warns: bool = False

    def __str__(self) -> str:
        return f"{self.text} (to change this: {self.option})" if self.option else self.text


@dataclass(frozen=True)
class Dropped:
    """Something that cleaning set aside: why, which, and what stands for it where something does."""

    reason: str
    names: tuple[str, ...]
    stand_ins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Samples by features. Genotypes are int8 with −1 for missing, numbers are floats with NaN, text is kept apart."""

    values: NDArray[Any]  # (n, p)
    names: tuple[str, ...]  # (p,)
    samples: tuple[str, ...] | None = None  # (n,)
    texts: dict[str, Column] = field(default_factory=dict)  # columns of text (n,), "" for missing
    traits: dict[str, Column] = field(default_factory=dict)  # columns that describe samples, never features
    notes: dict[str, Column] = field(default_factory=dict)  # columns that describe features (p,)
    form: str = "table"
    genotypes: bool = False
    dropped: tuple[Dropped, ...] = ()  # what the reader itself left out
    decisions: tuple[Decision, ...] = ()  # what the reader decided, for the user to know

    def __post_init__(self) -> None:
        check_distinct([*self.names, *self.texts], "column name")

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, and features of every type."""
        return len(self.values), len(self.names) + len(self.texts)

    def column(self, name: str) -> Column:
        """One column by name, whatever its type; missing numbers are NaN."""
        for group in (self.traits, self.texts):
            if name in group:
                return group[name]
        values = self.values[:, self.names.index(name)]
        return widened(values) if values.dtype == np.int8 else values

    def without(self, names: Collection[str]) -> Table:
        """The table with some of its columns left out."""
        kept = np.array([j for j, name in enumerate(self.names) if name not in names], dtype=np.intp)
        texts = {name: column for name, column in self.texts.items() if name not in names}
        return replace(self.columns(kept), texts=texts)

    def columns(self, index: NDArray[np.intp]) -> Table:
        """Some of the numeric columns; text stays."""
        if len(index) == len(self.names):
            return self
        notes = {name: column[index] for name, column in self.notes.items()}
        return replace(self, values=self.values[:, index], names=tuple(self.names[j] for j in index), notes=notes)

    def rows(self, index: NDArray[np.intp]) -> Table:
        """Some of the samples, in the given order."""
        samples = None if self.samples is None else tuple(self.samples[i] for i in index)
        texts = {name: column[index] for name, column in self.texts.items()}
        traits = {name: column[index] for name, column in self.traits.items()}
        return replace(self, values=self.values[index], samples=samples, texts=texts, traits=traits)

    def told(self, *decisions: Decision) -> Table:
        """The table with more decisions to tell."""
        return replace(self, decisions=(*self.decisions, *decisions))


def distinct_names(names: Collection[str], noun: str) -> tuple[tuple[str, ...], tuple[Decision, ...]]:
    """Names made unique by suffixes, and the decision where that was needed."""
    unique = made_unique(list(names))
    changed = [(old, new) for old, new in zip(names, unique, strict=True) if old != new]
    if not changed:
        return unique, ()
    first = f"a second {changed[0][0]!r} is called {changed[0][1]!r}"
    return unique, (Decision(f"repeated {noun} names were made unique, {len(changed)} in all: {first}"),)


def widened(genotypes: NDArray[Any]) -> NDArray[np.float64]:
    """Genotypes as floats, missing ones as NaN."""
    return np.where(genotypes == MISSING_GENOTYPE, np.nan, genotypes.astype(float))


def is_missing(column: Column) -> NDArray[np.bool_]:
    """Where a column of numbers or text has no value."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "OU":
        return np.array([value is None or value != value or str(value) in MISSING_WORDS for value in column], bool)
    return np.zeros(len(column), dtype=bool)
