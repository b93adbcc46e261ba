"""Results on disk: all of them or none, and never over a user's files unless told so."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def results_folder(out: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside `out`; its files move to `out` at the end, and only if all went well.

    `force` lets them replace files of the same names. Whatever else `out` holds stays as it is.
    """
    check_folder(out, force)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
        yield Path(folder)
        out.mkdir(exist_ok=True)
        for file in Path(folder).iterdir():
            file.replace(out / file.name)


def check_folder(out: Path, force: bool = False) -> None:
    """`out` must be absent or an empty folder, or with `force` any folder."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file, but results go to a folder; name another one")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise ValueError(f"the folder {out} is not empty; name another one, or add --force to replace its results")


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table with one header line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """A record that people read too."""
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
