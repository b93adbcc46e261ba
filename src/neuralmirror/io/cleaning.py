"""Cleaning that is stated, never silent: what was dropped, imputed, collapsed and encoded, and why.

Genotypes stay int8 until the columns that are left are widened at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal import checks
from neuralmirror.io import suspicions
from neuralmirror.io.blocks import missing_shares
from neuralmirror.io.errors import DataError
from neuralmirror.io.filters import Rules as Rules
from neuralmirror.io.filters import drop_constant, drop_copies, drop_linked, drop_missing, drop_rare
from neuralmirror.io.loading import Dataset, covariate_matrix
from neuralmirror.io.names import counted, few
from neuralmirror.io.tables import Column, Decision, Dropped, Table
from neuralmirror.io.values import encode, impute


@dataclass(frozen=True)
class Cleaned:
    """Numbers for the selector, and an account of how they came about.

    `steps` says what was done to the values, sentence by sentence. `decisions` says what was taken for granted about
    the files or looks like a mistake in them: one plain line each, the option that changes it, and whether it is a
    warning. Whoever shows a run shows both.
    """

    x: NDArray[np.float64]  # (n, p)
    names: tuple[str, ...]  # (p,)
    groups: tuple[str, ...]  # (p,) the feature that each column belongs to: itself, or its categorical column
    y: Column
    covariates: NDArray[np.float64]
    covariate_names: tuple[str, ...]
    missing_share: dict[str, float]
    notes: dict[str, dict[str, object]]  # by feature
    dropped: tuple[Dropped, ...]
    dropped_samples: tuple[Dropped, ...]
    steps: tuple[str, ...] = field(default=())
    decisions: list[Decision] = field(default_factory=list)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of each categorical feature


def clean(data: Dataset, rules: Rules) -> Cleaned:
    """Filter, collapse, prune, impute, encode: in this order, each step stated."""
    table, dropped = data.table, list(data.table.dropped)
    _check_all_missing(table)
    missing = missing_shares(table)
    for step in (drop_missing, drop_rare, drop_constant, drop_copies, drop_linked):
        table, out = step(table, rules)
        dropped += out
    told = [*_told_samples(data), *_told_features(dropped)]
    x, imputed = impute(table, rules)
    _check_finite(x, table.names)
    checks.check_spread(x, [f"column {name!r}" for name in table.names])
    words = encode(table.texts, len(x))
    told += [*imputed, *words.told]
    _check_enough(x.shape[1] + len(words.levels), told)
    covariates, covariate_names = covariate_matrix(data.covariates)
    _check_finite(covariates, covariate_names)
    return Cleaned(
        np.hstack([x, words.columns]),
        (*table.names, *words.names),
        (*table.names, *words.groups),
        data.y,
        covariates if len(covariate_names) else np.empty((len(x), 0)),
        covariate_names,
        {name: missing[name] for name in (*table.names, *table.texts)},
        _notes_by_feature(table),
        (*dropped, *words.dropped),
        data.dropped_samples,
        tuple(told),
        [*data.decisions, *_suspicions(x, table, data)],
        words.levels,
    )


def _suspicions(x: NDArray[np.float64], table: Table, data: Dataset) -> list[Decision]:
    found = suspicions.copies_of_target(x, table.names, table.texts, data.y, data.target)
    if not table.genotypes:
        found += suspicions.codes_for_missing(x, table.names)
        found += suspicions.row_numbers(x, table.names)
    return found + suspicions.linear_functions(x, table.names)


def _told_samples(data: Dataset) -> list[str]:
    return [f"{counted(len(d.names), 'sample')} dropped, {d.reason}: {few(d.names)}" for d in data.dropped_samples]


def _told_features(dropped: list[Dropped]) -> list[str]:
    return [f"{counted(len(d.names), 'feature')} dropped, {d.reason}: {few(d.names)}" for d in dropped]


def _check_enough(count: int, told: list[str]) -> None:
    if count >= 2:
        return
    left = "only 1 usable feature is" if count else "no usable feature is"
    why = f"; {'; '.join(told)}" if told else "; name a file with more columns"
    raise DataError(f"{left} left after cleaning, and at least 2 are needed{why}")


def _check_all_missing(table: Table) -> None:
    empty = [name for name, share in missing_shares(table).items() if share == 1]
    if empty:
        such = f" ({len(empty)} such columns)" if len(empty) > 1 else ""
        raise DataError(
            f"column {empty[0]!r} has no value at all{such}; "
            f"leave {'it' if len(empty) == 1 else 'them'} out with --drop {','.join(empty[:3])}"
        )


def _check_finite(x: NDArray[np.float64], names: tuple[str, ...]) -> None:
    bad = ~np.isfinite(x)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"inf in column {names[column]!r}, sample {row + 1} ({counted(int(bad.sum()), 'such cell')} in all); "
            "correct it, or call it missing with --na inf"
        )


def _notes_by_feature(table: Table) -> dict[str, dict[str, object]]:
    columns = {key: column.tolist() for key, column in table.notes.items()}
    return {name: {key: column[j] for key, column in columns.items()} for j, name in enumerate(table.names)}
