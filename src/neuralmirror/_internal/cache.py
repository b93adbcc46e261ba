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
    if folder is None:
        return compute()
    path = Path(folder) / f"{name}.npz"
    stored = _stored(path, kind)
    if stored is not None:
        return stored
    piece = compute()
    try:
        _store(path, piece)
    except OSError as reason:  # a piece that cannot be kept costs time after a kill, never the result
        warnings.warn(f"completed work could not be kept in {folder} ({reason.strerror})", stacklevel=2)
    return piece


def _stored(path: Path, kind: type[T]) -> T | None:
    """The piece in a file; None where there is none, or a damaged one."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files if key != "json"}
            return kind(**arrays, **json.loads(str(file["json"])))
    except DAMAGED:
        return None


def _store(path: Path, piece: Any) -> None:
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
