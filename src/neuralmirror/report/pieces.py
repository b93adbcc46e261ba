"""Completed pieces of a run, kept beside its output folder until the results are written.

A folder of pieces carries a marker of our own, and nothing is ever written into or removed from a folder without it.
Inside, each run has a folder named by a fingerprint of its data, settings and version: the same command takes up what
is complete, and another one leaves it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from neuralmirror._internal.output import short_name, sweep_below

MARKER = ".neuralmirror-pieces"
NOTE = (
    "Completed pieces of a neuralmirror run that was cut off. The same command takes them up; else delete the folder.\n"
)


@contextmanager
def completed_pieces(out: Path, fingerprint: str) -> Iterator[Path | None]:
    """A folder for the pieces of one run: emptied when the run ends well, kept when it does not.

    None where no such folder can be made, as when `out` is writable and the folder around it is not.
    """
    made = [folder for folder in out.parents if not folder.exists()]
    home = _home(out)
    if home is None:
        yield None
        return
    try:
        yield home / fingerprint
        _remove_pieces(home / fingerprint)
    finally:
        _remove_if_empty(home, made)


def count_pieces(folder: Path | None) -> int:
    """Pieces that an earlier run completed."""
    return 0 if folder is None else sum(1 for _ in folder.rglob("*.npz"))


def _home(out: Path) -> Path | None:
    """OUT.partial, or with a number behind it where a user's own folder has that name."""
    stem = f"{short_name(out, 200)}.partial"
    names = (stem if number == 0 else f"{stem}-{number}" for number in count())
    place = out.parent if out.name else out.resolve().parent
    home = next(folder for folder in (place / name for name in names) if _is_ours_or_free(folder))
    try:
        home.mkdir(parents=True, exist_ok=True)
        (home / MARKER).write_text(NOTE, encoding="utf-8")
    except OSError:
        return None
    return home


def _is_ours_or_free(folder: Path) -> bool:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        return False
    return not folder.exists() or (folder / MARKER).is_file()


def _remove_pieces(folder: Path) -> None:
    """Remove pieces, which are .npz files, arrays that a killed run had sent, and the folders that then are empty."""
    with suppress(OSError):
        sweep_below(folder)
        for piece in folder.rglob("*.npz"):
            piece.unlink(missing_ok=True)
    for inner in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        with suppress(OSError):
            inner.rmdir()


def _remove_if_empty(home: Path, made: list[Path]) -> None:
    """Remove a folder of pieces that holds none, and the folders that were made for it."""
    with suppress(OSError):
        for inner in home.iterdir():
            if inner.is_dir():
                with suppress(OSError):
                    inner.rmdir()
        if {path.name for path in home.iterdir()} <= {MARKER}:
            (home / MARKER).unlink(missing_ok=True)
            home.rmdir()
            for folder in made:
                folder.rmdir()
