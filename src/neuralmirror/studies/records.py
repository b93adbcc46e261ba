"""Records of fits, one JSON line each. A line that is there is never computed again, so a killed run can go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from os import SEEK_END
from pathlib import Path
from typing import NamedTuple

from neuralmirror._internal.progress import progress
from neuralmirror.evaluation import Record


class Task(NamedTuple):
    """One method on one row: `run` yields the records of the seeds it is given, in groups of any size."""

    row: str
    method: str
    replicates: int
    run: Callable[[list[int]], Iterable[list[Record]]]


def complete(path: Path, tasks: Sequence[Task], title: str, show: bool | None = None) -> list[Record]:
    """Run what the file of records does not hold yet, append it line by line, and return all records."""
    done = {(r["row"], r["method"], r["seed"]) for r in read_records(path)}
    with progress(title, sum(task.replicates for task in tasks), show) as tick:
        for task in tasks:
            seeds = [seed for seed in range(task.replicates) if (task.row, task.method, seed) not in done]
            tick(task.replicates - len(seeds))
            for records in task.run(seeds) if seeds else ():
                _append(path, records)
                tick(len(records))
    return read_records(path)


def _append(path: Path, records: Iterable[Record]) -> None:
    """Add lines to the file, which need not exist; one cut off by a kill must not swallow the next record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.seek(0, SEEK_END):
            file.seek(-1, SEEK_END)
            file.write(b"" if file.read(1) == b"\n" else b"\n")
        file.writelines(f"{json.dumps(one)}\n".encode() for one in records)


def read_records(path: Path) -> list[Record]:
    """All whole lines of a file of records; a line cut off by a kill is ignored."""
    records = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records
