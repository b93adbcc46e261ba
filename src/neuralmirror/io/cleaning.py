"""Cleaning that is stated, never silent: what was dropped, imputed, collapsed and encoded, and why.

Genotypes stay int8 until the columns that are left are widened at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal import checks
from neuralmirror.io.loading import Dataset, covariate_matrix
from neuralmirror.io.tables import MISSING_GENOTYPE, Column, DataError, Dropped, Table, few

Block = NDArray[Any]  # some columns of a table, (n, b)

BLOCK = 1024  # columns looked at together
ALL_PAIRS = 20_000  # up to here pruning compares every pair of columns, beyond it neighbours only
WINDOW = 1000  # kept columns to which a later one is compared then
MAX_LEVELS = 30


@dataclass(frozen=True)
class Rules:
    """What cleaning does. `maf` None applies 0.01 to genotype files and nothing elsewhere."""

    missing: str = "mean"  # or "mode" or "error"
    max_missing: float = 0.2
    maf: float | None = None
    prune: float | None = None


@dataclass(frozen=True)
class Cleaned:
    """Numbers for the selector, and an account of how they came about."""

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


def clean(data: Dataset, rules: Rules) -> Cleaned:
    """Filter, collapse, prune, impute, encode: in this order, each step stated."""
    table, dropped = data.table, list(data.table.dropped)
    _check_all_missing(table)
    missing = missing_shares(table)
    told = _told_samples(data)
    for step in (_drop_missing, _drop_rare, _drop_constant, _drop_copies, _drop_linked):
        table, out = step(table, rules)
        dropped += out
    told += [f"{len(d.names)} {_features(len(d.names))} dropped, {d.reason}: {few(d.names)}" for d in dropped]
    shares = {name: float(missing[name]) for name in (*table.names, *table.texts)}
    x, imputed = _impute(table, rules)
    checks.check_finite(x, table.names)
    checks.check_spread(x, [f"column {name!r}" for name in table.names])
    told += imputed
    levels, level_names, groups, out, sentences = _encode(table.texts, len(x))
    dropped += out
    covariates, covariate_names = covariate_matrix(data.covariates)
    checks.check_finite(covariates, covariate_names)
    if x.shape[1] + levels.shape[1] < 2:
        raise DataError(
            f"{x.shape[1] + levels.shape[1]} usable feature is left after cleaning and at least 2 are needed; "
            f"{'; '.join(told) or 'nothing was dropped'}"
        )
    return Cleaned(
        np.hstack([x, levels]),
        (*table.names, *level_names),
        (*table.names, *groups),
        data.y,
        covariates if len(covariate_names) else np.empty((len(x), 0)),
        covariate_names,
        shares,
        _notes_by_feature(table),
        tuple(dropped),
        data.dropped_samples,
        (*told, *sentences),
    )


def missing_shares(table: Table) -> dict[str, float]:
    """The share of samples without a value, by feature."""
    shares = dict(zip(table.names, _column_means(table, _absent), strict=True))
    return shares | {name: float(np.mean(column == "")) for name, column in table.texts.items()}


def allele_frequencies(table: Table) -> NDArray[np.float64]:
    """Half the mean of the known genotypes of each column."""
    known = np.array(_column_means(table, lambda block: ~_absent(block)))
    total = np.array(_column_means(table, lambda block: np.where(_absent(block), 0, block)))
    return np.asarray(total / np.maximum(known, 1e-300) / 2)


def _absent(block: Block) -> NDArray[np.bool_]:
    return np.asarray(block == MISSING_GENOTYPE if block.dtype == np.int8 else np.isnan(block))


def _blocks(table: Table) -> Iterator[Block]:
    for start in range(0, len(table.names), BLOCK):
        yield table.values[:, start : start + BLOCK]


def _column_means(table: Table, function: Callable[[Block], NDArray[Any]]) -> list[float]:
    return [float(v) for block in _blocks(table) for v in np.mean(function(block), axis=0)]


def _told_samples(data: Dataset) -> list[str]:
    return [
        f"{len(d.names)} sample{'s' * (len(d.names) > 1)} dropped, {d.reason}: {few(d.names)}"
        for d in data.dropped_samples
    ]


def _features(count: int) -> str:
    return "feature" + "s" * (count != 1)


def _check_all_missing(table: Table) -> None:
    empty = [name for name, share in missing_shares(table).items() if share == 1]
    if empty:
        raise DataError(
            f"column {empty[0]!r} has no value at all ({len(empty)} such {'column' + 's' * (len(empty) > 1)}); "
            f"drop {'it' if len(empty) == 1 else 'them'} with --drop {','.join(empty[:3])}"
        )


# ---- filters: a table and the rules to a smaller table and what was dropped ----

Filtered = tuple[Table, list[Dropped]]


def _keep(table: Table, kept: NDArray[np.bool_], reason: str) -> Filtered:
    if kept.all():
        return table, []
    out = tuple(table.names[j] for j in np.flatnonzero(~kept))
    return table.columns(np.flatnonzero(kept)), [Dropped(reason, out)]


def _drop_missing(table: Table, rules: Rules) -> Filtered:
    shares = missing_shares(table)
    reason = f"more than {rules.max_missing:.0%} missing"
    smaller, out = _keep(table, np.array([shares[name] <= rules.max_missing for name in table.names], bool), reason)
    texts = [name for name in table.texts if shares[name] > rules.max_missing]
    return smaller.without(texts), out + ([Dropped(reason, tuple(texts))] if texts else [])


def _drop_rare(table: Table, rules: Rules) -> Filtered:
    least = rules.maf if rules.maf is not None else (0.01 if table.genotypes else 0.0)
    if not least:
        return table, []
    if not table.genotypes and not np.isin(np.nan_to_num(_with_nan(table.values)), [0, 1, 2]).all():
        raise DataError("--maf is for genotypes coded 0, 1, 2, and this table holds other numbers; leave it out")
    frequencies = allele_frequencies(table)
    minor = np.minimum(frequencies, 1 - frequencies)
    return _keep(table, minor >= least, f"minor allele frequency below {least:g}")


def _drop_constant(table: Table, rules: Rules) -> Filtered:
    varies = [
        v
        for block in _blocks(table)
        for v in np.nanmax(_with_nan(block), axis=0, initial=-np.inf)
        > np.nanmin(_with_nan(block), axis=0, initial=np.inf)
    ]
    smaller, out = _keep(table, np.array(varies, dtype=bool), "constant")
    texts = [name for name, column in table.texts.items() if len(set(column) - {""}) < 2]
    return smaller.without(texts), out + ([Dropped("constant", tuple(texts))] if texts else [])


def _with_nan(block: Block) -> NDArray[np.float64]:
    return np.where(_absent(block), np.nan, block.astype(np.float64))


def _drop_copies(table: Table, rules: Rules) -> Filtered:
    """Exact copies of an earlier column, missing values included, are represented by it."""
    first: dict[bytes, int] = {}
    stands_for = [first.setdefault(column.tobytes(), j) for j, column in enumerate(table.values.T)]
    return _represented(table, stands_for, "an exact copy of another")


def _represented(table: Table, stands_for: list[int], reason: str) -> Filtered:
    copies = [j for j, k in enumerate(stands_for) if j != k]
    if not copies:
        return table, []
    kept = np.array([j for j, k in enumerate(stands_for) if j == k], dtype=np.intp)
    out, by = (tuple(table.names[j] for j in index) for index in (copies, [stands_for[j] for j in copies]))
    return table.columns(kept), [Dropped(reason, out, by)]


def _drop_linked(table: Table, rules: Rules) -> Filtered:
    """Greedy pruning in the order of the file: a column with |r| > `prune` to a kept one is represented by it."""
    if rules.prune is None:
        return table, []
    p = len(table.names)
    window = p if p <= ALL_PAIRS else WINDOW
    kept: list[int] = []
    stands_for = list(range(p))
    scores = np.empty((p, len(table.values)), dtype=np.float32)  # unit columns, as rows
    for start in range(0, p, BLOCK):
        block = _unit_columns(table.values[:, start : start + BLOCK])  # (b, n)
        recent = kept[-window:]
        before = block @ scores[: len(kept)][-window:].T if recent else np.empty((len(block), 0), np.float32)
        within = block @ block.T
        here: list[int] = []
        for j in range(len(block)):
            near = np.concatenate([np.abs(before[j]), np.abs(within[j, here])])
            if near.size and near.max() > rules.prune:
                stands_for[start + j] = [*recent, *(start + i for i in here)][int(near.argmax())]
                continue
            scores[len(kept)] = block[j]
            here.append(j)
            kept.append(start + j)
    reach = "" if window == p else f" (within {WINDOW} kept neighbours)"
    return _represented(table, stands_for, f"correlated above {rules.prune:g} with another{reach}")


def _unit_columns(block: Block) -> NDArray[np.float32]:
    values = _with_nan(block)
    centred = np.nan_to_num(values - np.nanmean(values, axis=0))
    scale = np.maximum(np.linalg.norm(centred, axis=0), 1e-12)
    return np.asarray((centred / scale).T, dtype=np.float32)


# ---- values ----


def _impute(table: Table, rules: Rules) -> tuple[NDArray[np.float64], list[str]]:
    """The columns as floats with no value missing."""
    x = _with_nan(table.values)
    holes = np.isnan(x)
    if not holes.any():
        return x, []
    row, column = np.argwhere(holes)[0]
    if rules.missing == "error":
        raise DataError(
            f"{int(holes.sum())} values are missing (the first in row {row + 1} of {table.names[column]!r}); "
            "impute them with --missing mean or --missing mode"
        )
    for j in np.flatnonzero(holes.any(axis=0)):
        known = x[~holes[:, j], j]
        x[holes[:, j], j] = known.mean() if rules.missing == "mean" else _mode(known)
    some = int(holes.any(axis=0).sum())
    share = holes.sum() / holes.size
    count = f"{int(holes.sum())} missing values ({share:.2%}) in {some} {_features(some)}"
    return x, [f"{count} set to the {rules.missing} of the feature"]


def _mode(values: NDArray[np.float64]) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


Encoded = tuple[NDArray[np.float64], list[str], list[str], list[Dropped], list[str]]


def _encode(texts: dict[str, Column], n: int) -> Encoded:
    """One column per level, all of one feature's levels a group; two levels need one column."""
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    groups: list[str] = []
    dropped: list[Dropped] = []
    told: list[str] = []
    for name, column in texts.items():
        words = np.where(column == "", "(missing)", column)
        levels = sorted(set(words))
        if len(levels) > MAX_LEVELS:
            dropped.append(Dropped(f"text with more than {MAX_LEVELS} distinct values", (name,)))
            told.append(f"1 feature dropped, text with {len(levels)} distinct values: {name}")
            continue
        shown = levels if len(levels) > 2 else levels[1:]
        parts += [(words == level).astype(float) for level in shown]
        names += [f"{name}={level}" for level in shown]
        groups += [name] * len(shown)
        told.append(f"{name} is categorical: {len(levels)} levels, selected together")
    return (np.column_stack(parts) if parts else np.empty((n, 0))), names, groups, dropped, told


def _notes_by_feature(table: Table) -> dict[str, dict[str, object]]:
    columns = {key: column.tolist() for key, column in table.notes.items()}
    return {name: {key: column[j] for key, column in columns.items()} for j, name in enumerate(table.names)}
