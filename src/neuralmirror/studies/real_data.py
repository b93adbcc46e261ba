"""The measured data of the studies: genotypes of plants, and the resistance of HIV to protease inhibitors.

They do not travel with the package: `--data` or the environment variable NEURALMIRROR_DATA says where they are.
"""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.formats import read_table
from neuralmirror.io.tables import DataError, widened

VARIABLE = "NEURALMIRROR_DATA"  # names the folder of the data where --data does not
DRUGS = ("APV", "ATV", "IDV", "LPV", "NFV", "RTV", "SQV")
CODE = re.compile(r"\.|-|[A-Zid]+")  # unknown, as in the consensus, or amino acids (i: inserted, d: deleted)
LEAST_CARRIERS = 3  # a mutation seen in fewer isolates is left out
BLOCK = 256  # columns compared at once when pruning
PLACES = {
    "tomato": (
        "tomato_bauchet/tomato_bauchet.npz",
        "the genotypes of tomato accessions (Bauchet et al. 2017), for instance data/tomato.RData of "
        "github.com/BioAlgs/GM; store that matrix as CSV, NPZ or PLINK",
    ),
    "hiv": (
        "hiv_drug_resistance/PI_DATA.txt.gz",
        "PI_DATA.txt and, beside it, the treatment-selected mutations as PI_TSM.txt (Rhee et al. 2006, PNAS; "
        "hivdb.stanford.edu, published analysis genophenoPNAS2006)",
    ),
    "maize": (
        "maize282_gapit/maize282.npz",
        "the genotypes of 282 maize lines (GAPIT's demo data) as X of an NPZ file",
    ),
    "sugarbeet": ("sugarbeet_lange/sugarbeet.npz", "the sugar beet genotypes of Lange et al. as X of an NPZ file"),
}

Floats = NDArray[np.float64]


def data_place(given: Path | None) -> Path | None:
    """The place that was named, or the one that NEURALMIRROR_DATA names, or none."""
    named = os.environ.get(VARIABLE)
    return given if given is not None else Path(named) if named else None


def find_data(name: str, given: Path | None) -> Path:
    """The file of these data, in the folder named or named itself; otherwise how to get it."""
    usual, what = PLACES[name]
    place = data_place(given)
    if place is None:
        raise DataError(f"the {name} data are needed: {what}; name their file or folder with --data, or set {VARIABLE}")
    path = place / usual if place.is_dir() else place
    if not path.exists() and path.suffix == ".gz" and path.with_suffix("").exists():
        return path.with_suffix("")
    if not path.exists() and not path.with_suffix(".bed").exists():
        raise DataError(f"{path} is not there; get {what}, and name the file or its folder with --data")
    return path


def read_genotypes(path: Path) -> Floats:
    """All columns that vary, missing calls replaced by the mean of their column."""
    values = read_table(path).values
    x = widened(values) if values.dtype == np.int8 else values
    x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    return np.asarray(x[:, np.ptp(x, axis=0) > 0], dtype=np.float64)


def prune(x: Floats, limit: float = 0.95) -> Floats:
    """Columns in their order, without those correlated at |r| ≥ limit with one that was kept before."""
    z = x - x.mean(axis=0)
    z = (z / np.linalg.norm(z, axis=0)).T  # (p, n)
    kept = np.empty_like(z)
    chosen: list[int] = []
    for start in range(0, len(z), BLOCK):
        block = z[start : start + BLOCK]
        free = (np.abs(block @ kept[: len(chosen)].T) < limit).all(axis=1)
        near = np.abs(block @ block.T) >= limit
        for i in np.flatnonzero(free):
            if free[i]:
                free[i + 1 :] &= ~near[i, i + 1 :]
                kept[len(chosen)] = block[i]
                chosen.append(start + int(i))
    return x[:, chosen]


@dataclass(frozen=True)
class Resistance:
    """Mutations of HIV protease (n, p), the log fold change of one drug's resistance, and what treatment selects."""

    x: Floats
    y: Floats
    positions: NDArray[np.intp]  # (p,): the place of each mutation in the protein
    listed: NDArray[np.bool_]  # (p,): whether its place is on the list, which stands for the truth

    def sample(self, random_state: int, /) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The same data for every seed."""
        return self.x, self.y, self.listed


def read_resistance(path: Path, drug: str) -> Resistance:
    """One drug of PI_DATA.txt: isolates with a measurement; mutations with 3 carriers, each pattern once."""
    header, *lines = (line.split("\t") for line in _lines(path))
    if drug not in header:
        raise DataError(f"{path} has no column {drug!r}; expected the drugs {', '.join(DRUGS)}")
    place, places = header.index(drug), [at for at, name in enumerate(header) if re.fullmatch(r"P\d+", name)]
    lines = [line for line in lines if _measured(line[place]) and all(CODE.fullmatch(line[at]) for at in places)]
    columns: dict[bytes, tuple[int, NDArray[Any]]] = {}  # by pattern, so that equal mutations are one
    for at in places:
        cells = [line[at] for line in lines]
        for letter in sorted(set("".join(cells)) - set(".-")):
            carriers = np.array([letter in cell for cell in cells])
            if carriers.sum() >= LEAST_CARRIERS:
                columns.setdefault(carriers.tobytes(), (int(header[at][1:]), carriers))
    positions = np.array([position for position, _ in columns.values()])
    listed = [int(line.split()[0]) for line in _lines(path.with_name("PI_TSM.txt"))]
    return Resistance(
        np.column_stack([carriers for _, carriers in columns.values()]).astype(float),
        np.log([float(line[place]) for line in lines]),
        positions,
        np.isin(positions, listed),
    )


def _lines(path: Path) -> list[str]:
    if not path.exists():
        raise DataError(f"{path} is not there; get {PLACES['hiv'][1]}")
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [line for line in text.splitlines() if line.strip()]


def _measured(cell: str) -> bool:
    return re.fullmatch(r"\d*\.?\d+|\d+\.", cell) is not None and float(cell) > 0
