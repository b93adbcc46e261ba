"""Files beside the data, phenotypes and covariates, joined by sample id."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from neuralmirror.io.errors import DataError
from neuralmirror.io.formats import read_table
from neuralmirror.io.names import check_distinct, counted, few
from neuralmirror.io.sample_names import named_by
from neuralmirror.io.sources import Source
from neuralmirror.io.tables import Column, Decision, Dropped, Table


def joined(table: Table, path: Path, source: Source, dropped: list[Dropped]) -> tuple[Table, dict[str, Column]]:
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
