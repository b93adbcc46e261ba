"""Measured columns by name, from which scenarios draw their features."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.tables import DataError
from neuralmirror.studies.real_data import DRUGS, find_data, prune, read_genotypes, read_resistance

Floats = NDArray[np.float64]


def pruned_genotypes(path: Path) -> Floats:
    """Columns without a partner at |r| ≥ 0.95: those listed as r95 in prune_idx.npz beside the file, or found."""
    listed = path.with_name("prune_idx.npz")
    if not listed.exists():
        return prune(read_genotypes(path))
    return np.asarray(np.load(path)["X"][:, np.load(listed)["r95"]], dtype=np.float64)


def mutations(path: Path) -> Floats:
    """The mutations of the isolates that have a measurement of the first drug."""
    return read_resistance(path, DRUGS[0]).x


# name: (the data of `real_data.PLACES`, how columns are read)
PANELS: dict[str, tuple[str, Callable[[Path], Floats]]] = {
    "tomato": ("tomato", pruned_genotypes),
    "tomato-all": ("tomato", read_genotypes),
    "maize": ("maize", pruned_genotypes),
    "sugarbeet": ("sugarbeet", pruned_genotypes),
    "hiv": ("hiv", mutations),
}


def panel(name: str, data: Path | None = None) -> Floats:
    """The columns of that name (n, p); DataError says how to give the data where they are not there."""
    source, _ = PANELS[name]
    return _read(name, find_data(source, data))


def available(name: str, data: Path | None = None) -> bool:
    """Whether the data of these columns are there."""
    try:
        find_data(PANELS[name][0], data)
    except DataError:
        return False
    return True


@cache
def _read(name: str, path: Path) -> Floats:
    return PANELS[name][1](path)
