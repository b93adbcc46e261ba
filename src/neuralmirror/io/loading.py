"""From files to a question: which table, which response, which covariates, sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.cells import are_dates, as_numbers
from neuralmirror.io.errors import DataError
from neuralmirror.io.formats import read_table
from neuralmirror.io.names import check_distinct, counted, few, find_name
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.sample_names import named_by
from neuralmirror.io.tables import Column, Decision, Dropped, Table, is_missing


@dataclass(frozen=True)
class Source:
    """What the user named: the data, the target, and where phenotypes and covariates are."""

    data: Path
    target: str | None = None
    pheno: Path | None = None
    covar: Path | None = None
    covariates: tuple[str, ...] = ()  # columns of the data or of its traits
    drop: tuple[str, ...] = ()
    array: str | None = None
    sample_id: str | None = None
    keep_matching: bool = False
    layer: str | None = None  # of an .h5ad, in place of X
    sheet: str | None = None  # of an .xlsx
    na: tuple[str, ...] = ()  # more words that mean a missing value
    decimal: str | None = None  # "." or ",", the decimal mark of text
    encoding: str | None = None  # of text
    genotypes: bool | None = None  # whether an integer matrix of an NPZ holds genotypes

    @property
    def options(self) -> ReadOptions:
        """How to read the data."""
        named = frozenset({self.target or "", *self.covariates, *self.drop}) - {""}
        return ReadOptions(
            array=self.array,
            layer=self.layer,
            sheet=self.sheet,
            sample_id=self.sample_id,
            na=self.na,
            decimal=self.decimal,
            encoding=self.encoding,
            genotypes=self.genotypes,
            columns=named,
        )

    @property
    def files(self) -> list[Path]:
        """The files that were read."""
        return [path for path in (self.data, self.pheno, self.covar) if path is not None]


@dataclass(frozen=True)
class Dataset:
    """Features, a response and covariates with the same rows, none of the response missing.

    `decisions` lists what was decided about the files, for the user to see.
    """

    table: Table
    target: str
    y: Column
    covariates: dict[str, Column] = field(default_factory=dict)
    dropped_samples: tuple[Dropped, ...] = ()
    decisions: list[Decision] = field(default_factory=list)


def load(source: Source) -> Dataset:
    """Read, join by sample id, take the target and the covariates out of the features, drop rows without a target."""
    table = read_table(source.data, source.options)
    gone = [name for dropped in table.dropped for name in dropped.names]
    for name in source.drop:
        find_name(name, [*table.names, *table.texts, *table.traits, *gone], "column to drop")
    table = table.without(source.drop)
    dropped: list[Dropped] = []  # samples
    if source.pheno is not None:
        table, pheno = _joined(table, source.pheno, source, dropped)
        table = replace(table, traits={**table.traits, **pheno})
    covariates: dict[str, Column] = {}
    if source.covar is not None:
        table, covariates = _joined(table, source.covar, source, dropped)
    target = _target_name(table, source)
    y = table.column(target)
    covariates |= _named_covariates(table, target, source)
    table = table.without({target, *source.covariates})
    if not table.shape[1]:
        raise DataError(f"{source.data} has no feature besides the target {target!r}; name a file with features")
    return _with_response(Dataset(table, target, y, covariates, tuple(dropped), list(table.decisions)))


def _named_covariates(table: Table, target: str, source: Source) -> dict[str, Column]:
    for name in source.covariates:
        find_name(name, [*table.traits, *table.names, *table.texts], "covariate")
        if name == target:
            raise DataError(f"the target {target!r} cannot be a covariate too; leave it out of --covariates")
    return {name: table.column(name) for name in source.covariates}


def _joined(table: Table, path: Path, source: Source, dropped: list[Dropped]) -> tuple[Table, dict[str, Column]]:
    """The rows of the table that `path` knows, and the columns of `path` in their order."""
    side = read_table(path, source.options.for_file_beside())
    if side.samples is None:
        side = _first_column_as_ids(side, path)
    if table.samples is None:
        raise DataError(f"{source.data} has no sample ids to join {path} by; name their column with --id")
    check_distinct(table.samples, "sample id", source.data)
    check_distinct(side.samples or (), "sample id", path)
    place = {name: i for i, name in enumerate(side.samples or ())}
    rows = np.array([i for i, name in enumerate(table.samples) if name in place], dtype=np.intp)
    unknown = [name for name in table.samples if name not in place]
    if not len(rows):
        raise DataError(
            f"none of the {len(table.samples)} sample ids of {source.data} is in {path} ({table.samples[0]!r} there, "
            f"{next(iter(place), '')!r} here); name the column of ids with --id"
        )
    if unknown and not source.keep_matching:
        raise DataError(
            f"{len(unknown)} of {len(table.samples)} sample ids of {source.data} are not in {path}: {few(unknown, 3)}; "
            "add them, or go on without them with --keep-matching"
        )
    if unknown:
        dropped.append(Dropped(f"not in {path.name}", tuple(unknown)))
    order = np.array([place[table.samples[i]] for i in rows], dtype=np.intp)
    names = [*side.names, *side.texts, *side.traits]
    told = (replace(d, text=f"{path.name}: {d.text}") for d in side.decisions)
    return table.rows(rows).told(*told), {name: side.column(name)[order] for name in names}


def _first_column_as_ids(side: Table, path: Path) -> Table:
    names = [*side.texts, *side.names]
    if len(names) < 2:
        raise DataError(
            f"{path} needs a column of sample ids and at least one more, found {counted(len(names), 'column')}"
        )
    return named_by(side, names[0]).told(Decision(f"column {names[0]!r} was taken as sample names", "--id NAME"))


def _target_name(table: Table, source: Source) -> str:
    """The column to explain: the one named, or the only one that can be meant."""
    candidates = [name for name, column in table.traits.items() if not is_missing(column).all()]
    known = [*table.traits, *table.texts, *table.names]
    if source.target is None and len(candidates) == 1:
        return candidates[0]
    if table.genotypes and source.pheno is None and source.target not in known and not candidates:
        raise DataError(
            f"{source.data} holds genotypes and no phenotype; name a file with sample ids and phenotypes by --pheno, "
            "and the phenotype to explain by --target"
        )
    if source.target is None:
        raise DataError(
            f"name the column to explain with --target; {source.data} offers "
            f"{few(candidates or [*table.names[-3:], *table.texts])}"
        )
    for dropped in table.dropped:
        if source.target in dropped.names:
            raise DataError(f"the target {source.target!r} cannot be used: {dropped.reason}; choose another")
    return find_name(source.target, known, "target")


def _with_response(data: Dataset) -> Dataset:
    """Drop samples without a response; text that spells numbers becomes numbers."""
    numbers = as_numbers(data.y)
    y = data.y if numbers is None else _whole(numbers)
    missing = is_missing(y)
    if missing.all():
        raise DataError(f"the target {data.target!r} has no value in any of the {len(y)} samples; choose another")
    kept = np.flatnonzero(~missing)
    dropped = list(data.dropped_samples)
    if missing.any():
        ids = data.table.samples or tuple(f"row {i + 1}" for i in range(len(y)))
        dropped.append(Dropped(f"no value of {data.target}", tuple(ids[i] for i in np.flatnonzero(missing))))
    y = _whole(y[kept].astype(float)) if numbers is not None else y[kept].astype(str)
    _check_classes(y, data.target)
    covariates = {name: column[kept] for name, column in data.covariates.items()}
    return replace(data, table=data.table.rows(kept), y=y, covariates=covariates, dropped_samples=tuple(dropped))


def _check_classes(y: Column, target: str) -> None:
    """Text must name classes, which have members."""
    if y.dtype.kind != "U":
        return
    if are_dates(y.astype(object)):
        raise DataError(f"the target {target!r} holds dates such as {y[0]!r}; give days or years as numbers")
    if len(set(y)) == len(y):
        raise DataError(
            f"the target {target!r} is text with a different value in every sample ({y[0]!r}, for one), so there are "
            "no classes to tell apart; choose another target, or write it as numbers"
        )


def _whole(numbers: NDArray[np.float64]) -> Column:
    """Integers where every value is one, so that codes 0 and 1 count as classes."""
    if np.isfinite(numbers).all() and (numbers == np.round(numbers)).all():
        return numbers.astype(np.int64)
    return numbers


def covariate_matrix(columns: dict[str, Column]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Covariates as numbers (n, c): means for missing ones, one column per level of text but the first."""
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    for name, column in columns.items():
        numbers = as_numbers(column)
        if numbers is not None:
            parts.append(np.where(np.isnan(numbers), np.nanmean(numbers), numbers))
            names.append(name)
            continue
        levels: Sequence[str] = sorted({str(value) for value in column[~is_missing(column)]})
        for level in levels[1:]:
            parts.append((column == level).astype(float))
            names.append(f"{name}={level}")
    n = len(next(iter(columns.values()), ()))
    return (np.column_stack(parts) if parts else np.empty((n, 0))), tuple(names)
