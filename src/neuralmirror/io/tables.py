"""A table of samples by features as it came from a file, and the error that says why a file cannot be used."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING_GENOTYPE = -1
MISSING_WORDS = frozenset({"", "NA", "N/A", "NaN", "nan", "na", "null", "NULL", "None", ".", "?"})
ID_NAMES = ("iid", "#iid", "id", "sample", "sample_id", "sampleid", "sample id", "samples", "ids", "taxa", "")

Column = NDArray[Any]


class DataError(ValueError):
    """A user's mistake in one line: what was expected, what was found, what to do."""


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


def widened(genotypes: NDArray[Any]) -> NDArray[np.float64]:
    """Genotypes as floats, missing ones as NaN."""
    return np.where(genotypes == MISSING_GENOTYPE, np.nan, genotypes.astype(float))


def check_distinct(names: Sequence[str], noun: str) -> None:
    """Every name once."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    repeated = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    raise DataError(f"duplicate {noun} {repeated[0]!r} ({len(repeated)} repeated in all); make every {noun} unique")


def find_name(name: str, names: Iterable[str], noun: str) -> str:
    """The name itself if it is there, or an error with the nearest one."""
    known = list(names)
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    few = ", ".join(map(repr, known[:8])) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {few or 'none'}"
    raise DataError(f"no {noun} is named {name!r}{hint}")


def is_missing(column: Column) -> NDArray[np.bool_]:
    """Where a column of numbers or text has no value."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "OU":
        return np.array([value is None or value != value or str(value) in MISSING_WORDS for value in column])
    return np.zeros(len(column), dtype=bool)


def as_numbers(column: Column) -> NDArray[np.float64] | None:
    """A column of text as numbers where every value is one or missing; None otherwise."""
    if column.dtype.kind in "fiub":
        return column.astype(float)
    try:
        return np.array([np.nan if str(value) in MISSING_WORDS else float(value) for value in column])
    except (TypeError, ValueError):
        return None


def few(names: Sequence[str], most: int = 5) -> str:
    """The first few of many names."""
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def with_samples(table: Table, sample_id: str | None = None) -> Table:
    """Take the column of sample ids out of the features: the named one, or a first column that looks like ids."""
    name = sample_id if sample_id is not None else _guess_id(table)
    if name is None:
        return table
    find_name(name, [*table.texts, *table.names], "column")
    ids = table.column(name)
    words = [f"{value:.15g}" for value in ids] if ids.dtype.kind == "f" else [str(value) for value in ids]
    rest = table.without({name, "FID", "#FID"}) if name in ("IID", "#IID") else table.without({name})
    return replace(rest, samples=tuple(words))


def _guess_id(table: Table) -> str | None:
    names = [*table.texts, *table.names]
    for known in ID_NAMES:
        for name in names:
            if name.lower() == known:
                return name
    for name, column in islice(table.texts.items(), 1):
        if len(set(column)) == len(column):
            return name
    return None
