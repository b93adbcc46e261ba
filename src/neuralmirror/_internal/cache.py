"""Pieces of long work kept on disk as they are completed, so that a killed run need not repeat them."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)


def fingerprint(arrays: Iterable[NDArray[Any]], settings: object) -> str:
    """A name for exactly this work: the same version, data and settings, and no others, find its pieces again."""
    whole = [np.ascontiguousarray(array) for array in arrays]
    return str(joblib.hash((version("neuralmirror"), whole, settings)))


def cached(folder: str | Path | None, name: str, kind: type[T], compute: Callable[[], T]) -> T:
    """What `compute` returns, from `folder` where it was computed before. `kind` is a dataclass of arrays and JSON."""
    found = load(folder, name, kind)
    if found is None:
        found = compute()
        store(folder, name, found)
    return found


def load(folder: str | Path | None, name: str, kind: type[T]) -> T | None:
    """The piece of that name; None where there is none, or a damaged one."""
    if folder is None:
        return None
    try:
        with np.load(_path(folder, name), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files if key != "json"}
            return kind(**arrays, **json.loads(str(file["json"])))
    except DAMAGED:
        return None


def store(folder: str | Path | None, name: str, piece: object) -> None:
    """Keep a piece; one that cannot be kept costs time after a kill and a warning, the same words for all of a run."""
    if folder is None:
        return
    try:
        _write(_path(folder, name), piece)
    except OSError as reason:
        warnings.warn(f"completed work could not be kept in {folder} ({reason.strerror})", stacklevel=2)


def _path(folder: str | Path, name: str) -> Path:
    return Path(folder) / f"{name}.npz"


def _write(path: Path, piece: Any) -> None:
    values = {field.name: getattr(piece, field.name) for field in fields(piece)}
    arrays: dict[str, Any] = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
    rest = {key: value for key, value in values.items() if key not in arrays}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp.npz")
    try:
        np.savez(unfinished, json=np.array(json.dumps(rest)), **arrays)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
