"""A fitted selector in one file of numbers and JSON. Reading one never runs anything that the file says."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from neuralmirror._internal.columns import Columns

PER_FEATURE = ("support_", "q_values_", "selection_frequencies_")


def write_selector(path: str | Path, selector: Any) -> None:
    """Arrays as they are, everything else as JSON."""
    arrays = {
        name: np.ascontiguousarray(value)
        for name, value in vars(selector).items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    }
    rest = {k: v for k, v in vars(selector).items() if k not in arrays and not isinstance(v, Columns)}
    header = {"class": type(selector).__name__, "version": version("neuralmirror"), "state": rest}
    # One entry: safetensors writes several in an order of its own, and a result must be the same bytes every time.
    Path(path).write_bytes(save(arrays, metadata={"neuralmirror": json.dumps(header, default=_plain)}))


def read_selector(path: str | Path, selector: Any) -> None:
    """Fill a new selector with what `write_selector` wrote of one of its class."""
    kind = type(selector).__name__
    header, arrays = _contents(path)
    if header.get("class") != kind:
        raise ValueError(f"{path} holds a {header.get('class')}, not a {kind}; load it with that class")
    state = header.get("state")
    if not isinstance(state, dict):
        raise ValueError(f"{path} is damaged: its parameters are missing")
    for name, value in {**{key: _rebuilt(key, value) for key, value in state.items()}, **arrays}.items():
        if not _is_state(name, selector):
            raise ValueError(f"{path} is damaged: it holds {name!r}, which a {kind} does not have")
        setattr(selector, name, value)
    if not _is_whole(vars(selector)):
        raise ValueError(f"{path} is damaged: its results do not fit together")


def _contents(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays; 0.1.0 wrote the header as three entries."""
    try:
        with safe_open(path, framework="numpy") as file:
            entries = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        old = {**entries, "state": json.loads(entries.get("state", "null"))}
        header = json.loads(entries["neuralmirror"]) if "neuralmirror" in entries else old
    except (SafetensorError, RecursionError, ValueError, TypeError, KeyError, OverflowError) as reason:
        raise ValueError(f"{path} is damaged, or no file that `save` wrote ({reason})") from None
    return header if isinstance(header, dict) else {}, arrays


def _plain(value: Any) -> Any:
    """What JSON does not know: arrays as lists, NumPy scalars as Python's; the rest (a RandomState) as nothing."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else None


def _rebuilt(name: str, value: Any) -> Any:
    return np.array(value, dtype=object) if name.endswith("_") and isinstance(value, list) else value


def _is_state(name: str, selector: Any) -> bool:
    """A parameter or something fitted; never a method or a name of Python's own."""
    if name in selector.get_params(deep=False):
        return True
    fitted = (name.endswith("_") or name.startswith("_")) and not name.startswith("__")
    return fitted and name.isidentifier() and not hasattr(type(selector), name)


def _is_whole(held: dict[str, Any]) -> bool:
    """Whether the arrays of a loaded selector agree about the number of features."""
    p, draws, leaders = held.get("n_features_in_"), held.get("_draws"), held.get("_leaders")
    if not isinstance(p, int) or not isinstance(draws, np.ndarray) or not isinstance(leaders, np.ndarray):
        return False
    shapes = [held[name].shape for name in PER_FEATURE if isinstance(held.get(name), np.ndarray)]
    inside = leaders.dtype.kind in "iu" and leaders.shape == (p,) and bool(((leaders >= 0) & (leaders < p)).all())
    return inside and draws.ndim == 2 and draws.shape[1] == p and shapes == [(p,)] * len(PER_FEATURE)
