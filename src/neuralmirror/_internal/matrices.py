"""Tables as the checks want them: dense, and with names that are text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scipy.sparse import issparse


def dense(x: Any) -> Any:
    """A sparse matrix, or a frame with sparse columns, with every zero written out, where memory allows it."""
    if issparse(x):
        _check_memory(x.shape)
        return x.toarray()
    kinds = dict(getattr(x, "dtypes", {}).items()) if hasattr(x, "sparse") else {}
    sparse = {name: kind.subtype for name, kind in kinds.items() if type(kind).__name__ == "SparseDtype"}
    if sparse:
        _check_memory(x.shape)
        return x.astype(sparse)
    return x


def _check_memory(shape: tuple[int, int]) -> None:
    needed, free = 8 * shape[0] * shape[1], _free_memory()
    if needed > free:
        raise ValueError(
            f"X is sparse and takes {needed / 2**30:.1f} GB with its zeros written out, but {free / 2**30:.1f} GB of "
            "memory are free; drop rare columns first"
        )


def _free_memory() -> int:
    """Bytes of memory that are available; no limit where the system does not tell."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return 1 << 62
    lines = dict(line.split(":", 1) for line in meminfo.read_text(encoding="ascii").splitlines() if ":" in line)
    return int(lines.get("MemAvailable", f"{1 << 52} kB").split()[0]) * 1024


def with_text_names(x: Any) -> Any:
    """A pandas frame whose column names (numbers, tuples of a MultiIndex) are strings of themselves."""
    names = list(getattr(x, "columns", ()))
    if not hasattr(x, "iloc") or all(isinstance(name, str) for name in names):
        return x
    renamed = x.copy(deep=False)
    renamed.columns = [str(name) for name in names]
    return renamed
