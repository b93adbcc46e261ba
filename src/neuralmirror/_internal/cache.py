"""Pieces of long work kept on disk as they are completed, so that a killed run need not repeat them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def fingerprint(arrays: Iterable[NDArray[Any]], settings: object) -> str:
    """A name for exactly this work: the same data and settings, and no others, find its pieces again."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def cached(folder: str | Path | None, name: str, kind: type[T], compute: Callable[[], T]) -> T:
    """What `compute` returns, from `folder` where it was computed before. `kind` is a dataclass of arrays and JSON."""
    if folder is None:
        return compute()
    path = Path(folder) / f"{name}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as file:
            stored = {key: file[key] for key in file.files if key != "json"}
            return kind(**stored, **json.loads(str(file["json"])))
    piece = compute()
    values = {field.name: getattr(piece, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    arrays: dict[str, Any] = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
    rest = {key: value for key, value in values.items() if key not in arrays}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp.npz")
    np.savez(unfinished, json=np.array(json.dumps(rest)), **arrays)
    unfinished.replace(path)
    return piece
