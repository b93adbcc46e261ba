"""From files to a question: which table, which response, which covariates, sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.formats import read_table
from neuralmirror.io.tables import (
    Column,
    DataError,
    Dropped,
    Table,
    as_numbers,
    check_distinct,
    few,
    find_name,
    is_missing,
    with_samples,
)


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

    @property
    def files(self) -> list[Path]:
        """The files that were read."""
        return [path for path in (self.data, self.pheno, self.covar) if path is not None]


@dataclass(frozen=True)
class Dataset:
    """Features, a response and covariates with the same rows, none of the response missing."""

    table: Table
    target: str
    y: Column
    covariates: dict[str, Column] = field(default_factory=dict)
    dropped_samples: tuple[Dropped, ...] = ()


def load(source: Source) -> Dataset:
    """Read, join by sample id, take the target and the covariates out of the features, drop rows without a target."""
    table = read_table(source.data, source.array, source.sample_id)
    for name in source.drop:
        find_name(name, [*table.names, *table.texts, *table.traits], "column to drop")
    table = table.without(source.drop)
    dropped: list[Dropped] = []
    if source.pheno is not None:
        table, pheno = _joined(table, source.pheno, source, dropped)
        table = replace(table, traits={**table.traits, **pheno})
    covariates: dict[str, Column] = {}
    if source.covar is not None:
        table, covariates = _joined(table, source.covar, source, dropped)
    target = _target_name(table, source)
    y = table.column(target)
    for name in source.covariates:
        find_name(name, [*table.traits, *table.names, *table.texts], "covariate")
        covariates[name] = table.column(name)
    table = table.without({target, *source.covariates})
    if not table.shape[1]:
        raise DataError(f"{source.data} has no feature besides the target {target!r}; name a file with features")
    return _with_response(Dataset(table, target, y, covariates, tuple(dropped)))


def _joined(table: Table, path: Path, source: Source, dropped: list[Dropped]) -> tuple[Table, dict[str, Column]]:
    """The rows of the table that `path` knows, and the columns of `path` in their order."""
    side = read_table(path, sample_id=source.sample_id)
    if side.samples is None:
        side = _first_column_as_ids(side, path)
    if table.samples is None:
        raise DataError(f"{source.data} has no sample ids to join {path} by; name their column with --id")
    check_distinct(table.samples, f"sample id of {source.data}")
    check_distinct(side.samples or (), f"sample id of {path}")
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
    return table.rows(rows), {name: side.column(name)[order] for name in names}


def _first_column_as_ids(side: Table, path: Path) -> Table:
    names = [*side.texts, *side.names]
    if len(names) < 2:
        raise DataError(f"{path} needs a column of sample ids and at least one more, found {len(names)} column")
    return with_samples(side, names[0])


def _target_name(table: Table, source: Source) -> str:
    """The column to explain: the one named, or the only one that can be meant."""
    candidates = [name for name, column in table.traits.items() if not is_missing(column).all()]
    if source.target is not None:
        return find_name(source.target, [*table.traits, *table.texts, *table.names], "target")
    if len(candidates) == 1:
        return candidates[0]
    known = candidates or [*table.names[-3:], *table.texts]
    raise DataError(f"name the column to explain with --target; {source.data} offers {few(known)}")


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
    covariates = {name: column[kept] for name, column in data.covariates.items()}
    return Dataset(data.table.rows(kept), data.target, y, covariates, tuple(dropped))


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
