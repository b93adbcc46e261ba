"""Which column holds the names of the samples. Whatever is taken for them is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuralmirror.io.cells import are_dates
from neuralmirror.io.names import find_name
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import Column, Decision, Dropped, Table, is_missing

SURE_NAMES = ("iid", "#iid", "id", "sample_id", "sampleid", "sample id", "sample_name", "sample name")
NAMES = (*SURE_NAMES, "sample", "samples", "ids", "taxa")
NO_NAMES = "none"  # --id none


def with_samples(table: Table, options: ReadOptions) -> Table:
    """Take the column of sample names out of the features: the one named, or one that can be nothing else."""
    table = _without_dates(table, options)
    known = [*table.texts, *table.names]
    if options.sample_id == NO_NAMES and NO_NAMES not in known:
        return table
    if options.sample_id in known or (options.sample_id is not None and not options.beside):
        return named_by(table, find_name(options.sample_id, known, "column"))
    name = _guess(table, options)
    if name is None:
        return table
    numeric = name in table.names
    what = "numbers, all different" if numeric else "text"
    text = f"column {name!r} ({what}) was taken as sample names and is not a feature"
    return named_by(table, name).told(Decision(text, "--id none", warns=numeric and not options.beside))


def named_by(table: Table, name: str) -> Table:
    """The table whose samples are named by one of its columns, which leaves the features."""
    ids = table.column(name)
    words = [f"{value:.15g}" for value in ids] if ids.dtype.kind == "f" else [str(value) for value in ids]
    rest = table.without({name, "FID", "#FID"}) if name in ("IID", "#IID") else table.without({name})
    return replace(rest, samples=tuple(words))


def _guess(table: Table, options: ReadOptions) -> str | None:
    texts = {name: column for name, column in table.texts.items() if name not in options.columns}
    numbers = [name for name in table.names if name not in options.columns and name.lower() in SURE_NAMES]
    for known in NAMES:
        for name in texts:
            if name.lower() == known and (options.beside or _all_different(texts[name])):
                return name
        for name in numbers:
            if name.lower() == known and (options.beside or _whole_and_different(table.column(name))):
                return name
    first = next(iter(texts), None)
    return first if first is not None and _all_different(texts[first]) else None


def _all_different(column: Column) -> bool:
    return len(set(column)) == len(column) and not is_missing(column).any()


def _whole_and_different(column: Column) -> bool:
    return _all_different(column) and bool(np.isfinite(column).all() and (column == np.round(column)).all())


def _without_dates(table: Table, options: ReadOptions) -> Table:
    """Dates are neither numbers nor categories nor names: they are set aside, which is told."""
    named = options.columns | {options.sample_id or ""}
    dates = tuple(name for name, column in table.texts.items() if name not in named and are_dates(column))
    if not dates:
        return table
    reason = "dates or times; give days or years as numbers to use them"
    return replace(table.without(dates), dropped=(*table.dropped, Dropped(reason, dates)))
