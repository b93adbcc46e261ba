"""Polygenic predictions in: what regenie's first step leaves for each trait, without one chromosome at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.errors import DataError
from neuralmirror.io.names import counted, few, find_name
from neuralmirror.io.plink import text_lines
from neuralmirror.io.tables import MISSING_WORDS

HEADER = "FID_IID"  # begins the line of samples of a .loco file
SEX_CHROMOSOMES = {"X": "23", "Y": "24", "XY": "25", "MT": "26", "M": "26"}

Offsets = dict[str, NDArray[np.float64]]


def read_offsets(path: Path, trait: str, samples: Sequence[str], chromosomes: Sequence[str] = ()) -> Offsets:
    """Predictions of a trait without each chromosome, (n,) in the order of `samples`.

    `path` is the list of regenie's --pred, such as fit_out_pred.list, or a .loco file itself. With `chromosomes` the
    predictions are given by those names (chr1, X) and every one must be there; else by the names of the file (1, 23).
    """
    loco = _file_of(path, trait)
    lines = text_lines(loco)
    header = next(lines, "").split()
    if not header or header[0] != HEADER:
        raise DataError(f"{loco} is no .loco file of regenie: expected a first line that begins with {HEADER}")
    index = _index(header[1:], samples, loco)
    found: Offsets = {}
    for number, line in enumerate(lines, start=2):
        cells = line.split()
        if len(cells) != len(header):
            raise DataError(
                f"{loco}, line {number}: {counted(len(cells), 'column')}, but the header names {len(header)}"
            )
        if cells[0] in found:
            raise DataError(f"{loco}, line {number}: chromosome {cells[0]} is there twice; run regenie --step 1 again")
        found[cells[0]] = _numbers(cells[1:], f"{loco}, line {number}")[index]
    _check_known(found, samples, loco)
    return _by_name(found, chromosomes, loco) if chromosomes else found


def plain_chromosome(name: str) -> str:
    """A chromosome as regenie names it: chr1 and 01 are 1, X is 23."""
    short = name.removeprefix("chr").upper()
    return SEX_CHROMOSOMES.get(short, short.lstrip("0") or short)


def _file_of(path: Path, trait: str) -> Path:
    """The .loco file of a trait: `path` itself, or the one that the list at `path` names."""
    if not path.is_file():
        raise DataError(f"no such file: {path}; name the _pred.list that regenie --step 1 wrote")
    files: dict[str, str] = {}
    for number, line in enumerate(text_lines(path), start=1):
        if number == 1 and line.startswith(HEADER):
            return path
        cells = line.split(maxsplit=1)
        if len(cells) != 2:
            raise DataError(
                f"{path}, line {number}: expected a trait and the path of its .loco file, found {line[:80]!r}"
            )
        files[cells[0]] = cells[1].strip()
    named = Path(files[find_name(trait, files, f"trait in {path}")])
    candidates = (named, path.parent / named, path.parent / named.name)
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise DataError(f"{path} names {named} for {trait}, which is neither there nor beside the list; correct the path")


def _index(ids: Sequence[str], samples: Sequence[str], path: Path) -> NDArray[np.intp]:
    """Where each sample is among ids of the form family_individual."""
    places = {name: place for place, name in enumerate(ids)}
    alone: dict[str, int] = {}
    for name, place in places.items():
        individual = name.partition("_")[2]  # a family with a _ in its name is found by both names only
        alone[individual] = place if individual not in alone else -1
    index = [_place(sample, places, alone) for sample in samples]
    absent = [sample for sample, place in zip(samples, index, strict=True) if place is None]
    if absent:
        raise DataError(
            f"{path} has no predictions for {counted(len(absent), 'sample')} of {len(samples)} ({few(absent, 3)}); "
            "run regenie --step 1 with these samples, or leave them out"
        )
    return np.array(index, dtype=np.intp)


def _place(sample: str, places: dict[str, int], alone: dict[str, int]) -> int | None:
    """A sample by family and individual, by individual in a family of the same name, or by individual alone."""
    for name in (sample, sample.replace(":", "_", 1), f"{sample}_{sample}", f"0_{sample}"):
        if name in places:
            return places[name]
    place = alone.get(sample, -1)
    return None if place < 0 else place


def _numbers(cells: Sequence[str], place: str) -> NDArray[np.float64]:
    """A line of predictions; NA is left to the check of the samples that are asked for."""
    try:
        return np.array([np.nan if cell in MISSING_WORDS else float(cell) for cell in cells])
    except ValueError as error:
        raise DataError(f"{place}: a prediction must be a number ({error}); run regenie --step 1 again") from error


def _check_known(found: Offsets, samples: Sequence[str], path: Path) -> None:
    """Whether every sample has its predictions."""
    if not found:
        raise DataError(f"{path} holds no predictions; run regenie --step 1 again")
    for chromosome, values in found.items():
        absent = [sample for sample, value in zip(samples, values, strict=True) if not np.isfinite(value)]
        if absent:
            raise DataError(
                f"{path}: no prediction without chromosome {chromosome} for {counted(len(absent), 'sample')} "
                f"({few(absent, 3)}); leave them out, or give regenie --step 1 their phenotype"
            )


def _by_name(found: Offsets, chromosomes: Sequence[str], path: Path) -> Offsets:
    """The predictions by the names that the genotypes have for their chromosomes."""
    plain = {plain_chromosome(name): values for name, values in found.items()}
    absent = [name for name in chromosomes if plain_chromosome(name) not in plain]
    if absent:
        raise DataError(
            f"{path} has no line for chromosome {absent[0]}, only for {few(list(found), 30)}; "
            "run regenie --step 1 on genotypes of all chromosomes"
        )
    return {name: plain[plain_chromosome(name)] for name in chromosomes}
