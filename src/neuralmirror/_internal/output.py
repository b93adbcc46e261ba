"""Results on disk: all of them or none, and never over a user's files unless told so."""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

MARKER = ".neuralmirror"  # the file by which we know a temporary folder as our own
LEAST_SPACE = 1 << 20
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
ELSEWHERE = "name another place with --out"


class OutputError(OSError):
    """Results that cannot be written: which path, why, and what to do."""


@contextmanager
def results_folder(out: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder; its files move to `out` at the end, and only if all went well.

    `force` lets them replace files of the same names. Whatever else `out` holds stays as it is.
    """
    check_folder(out, force)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(out) as folder:
            yield folder
            check_folder(out, force)
            _move(folder, out)
    except OutputError:
        raise
    except OSError as reason:
        raise OutputError(f"the results could not be written to {out}: {_why(reason)}; {ELSEWHERE}") from reason


@contextmanager
def temporary_folder(out: Path) -> Iterator[Path]:
    """A folder of ours inside `out` where that is there, else beside it; what dead runs left there is swept."""
    place = out if out.is_dir() else out.parent
    for left in [path for path in place.iterdir() if path.name.startswith(_stem(out))]:
        _sweep(left)
    folder = Path(tempfile.mkdtemp(prefix=_stem(out), dir=place))
    folder.chmod(0o777 & ~_umask())
    try:
        with (folder / MARKER).open("ab") as marker:
            _lock(marker)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def short_name(path: Path, most: int = 100) -> str:
    """The name of a folder, cut so that something can be added to it."""
    return os.fsencode(path.resolve().name)[:most].decode(errors="ignore")


def _stem(out: Path) -> str:
    return f".{short_name(out)}-neuralmirror-"


def _sweep(folder: Path) -> None:
    """Remove a temporary folder of ours whose run is dead, which is when nobody holds its marker."""
    with suppress(OSError):
        if not folder.is_symlink() and (folder / MARKER).is_file():
            with (folder / MARKER).open("ab") as marker:
                if _lock(marker):
                    shutil.rmtree(folder)


def sweep_below(folder: Path) -> None:
    """Remove what dead runs left in any folder inside this one."""
    for marker in list(folder.rglob(MARKER)):
        _sweep(marker.parent)


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed or the process ends; False where another holds it or nothing can be locked."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _move(folder: Path, out: Path) -> None:
    """All files at once where `out` is not there yet, else one after the other."""
    (folder / MARKER).unlink(missing_ok=True)
    if not out.exists():
        folder.rename(out)
        return
    for file in sorted(folder.iterdir()):
        file.replace(out / file.name)


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


# ---- before any work: can the results be written at all? ----


def check_folder(out: Path, force: bool = False) -> None:
    """`out` must be absent or an empty folder, or with `force` any folder."""
    try:
        _check_path(out)
        if out.is_dir() and not force and any(not _ours(path, out) for path in out.iterdir()):
            raise ValueError(f"the folder {out} is not empty; name another one, or add --force to replace its results")
    except OSError as reason:
        raise OutputError(f"results cannot be written to {out}: {_why(reason)}; {ELSEWHERE}") from reason


def _check_path(out: Path) -> None:
    for path in (out, *out.parents):
        if path.is_symlink() and not path.exists():
            raise ValueError(f"{path} is a link to {path.readlink()}, which is not there; {ELSEWHERE}")
        if path.exists() and not path.is_dir():
            under = "" if path == out else f", so {out} cannot be a folder"
            raise ValueError(f"{path} is a file, but results go to a folder{under}; name another one")


def _ours(path: Path, out: Path) -> bool:
    """A temporary folder that a dead run left inside `out`."""
    return path.name.startswith(_stem(out)) and (path / MARKER).is_file()


def check_writable(out: Path, needed: int = LEAST_SPACE) -> None:
    """Write a little in the nearest folder that exists, under names as long as those to come."""
    parent = out if out.is_dir() else next(folder for folder in (*out.parents, Path()) if folder.is_dir())
    try:
        for part in [part for part in (out, *out.parents) if not part.exists()]:
            with suppress(FileNotFoundError):
                (parent / part.name).lstat()  # fails when the name is too long
        with tempfile.TemporaryDirectory(prefix=_stem(out), dir=parent) as folder:
            (Path(folder) / MARKER).write_bytes(b"1")
        free = shutil.disk_usage(parent).free
    except OSError as reason:
        raise OutputError(f"the folder {parent} cannot take {out.name} ({_why(reason)}); {ELSEWHERE}") from reason
    if free < needed:
        short = f"{free / 2**20:.1f} MB free, about {needed / 2**20:.1f} MB needed"
        raise OutputError(f"no space left for the results in {parent} ({short}); free some, or {ELSEWHERE}")


def _why(reason: OSError) -> str:
    return str(reason.strerror or reason)


# ---- files ----


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table with one header line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """A record that people read too."""
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def escaped(name: str) -> str:
    """A name that no spreadsheet takes for a formula: an apostrophe goes before =, +, -, @, tab and return."""
    return f"'{name}" if name.startswith(FORMULAS) else name


def unescaped(name: str) -> str:
    """The name that `escaped` was given."""
    return name[1:] if name.startswith("'") and name[1:].startswith(FORMULAS) else name
