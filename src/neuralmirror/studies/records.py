"""Records of fits, one JSON line each. A line that is there is never computed again, so a killed run can go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from operator import call
from os import SEEK_END
from pathlib import Path
from typing import NamedTuple

from neuralmirror._internal.pieces import run_pieces
from neuralmirror._internal.progress import progress
from neuralmirror.evaluation import Record


class Job(NamedTuple):
    """One replicate of one method on one scenario, or None where the method cannot do it."""

    scenario: str
    method: str
    seed: int
    run: Callable[[], Record | None]


def complete(
    path: Path,
    jobs: Sequence[Job],
    title: str,
    n_jobs: int | None = None,
    show: bool | None = None,
    *,
    alone: bool = False,
) -> list[Record]:
    """Run what the file of records does not hold yet, append each line as it comes, and return all records.

    `alone` is for what is timed: one after the other in this process, whatever workers the caller has chosen.
    """
    done = {(r["row"], r["method"], r["seed"]) for r in read_records(path)}
    waiting = [job for job in jobs if (job.scenario, job.method, job.seed) not in done]
    with progress(title, len(jobs), show) as tick:
        tick(len(jobs) - len(waiting))
        here = ((number, job.run()) for number, job in enumerate(waiting))
        for _, record in here if alone else run_pieces(call, [(job.run,) for job in waiting], n_jobs=n_jobs):
            append(path, [record] if record is not None else [])
            tick(1)
    return read_records(path)


def append(path: Path, records: Iterable[Record]) -> None:
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
