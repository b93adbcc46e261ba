"""Discoveries at several resolutions within a run: what is asked for, the table, and the picture as numbers."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror._internal.genome import Floats, Ticks, column_places, spans
from neuralmirror._internal.output import escaped, write_csv
from neuralmirror.base import SelectionWarning
from neuralmirror.io.cleaning import Cleaned
from neuralmirror.io.errors import DataError
from neuralmirror.mirror.discoveries import COLUMNS
from neuralmirror.mirror.resolutions import MultiResolutionMirror
from neuralmirror.report.request import Resolving

FILE = "resolutions.csv"
LEFT, RIGHT, LANE, TOP, WIDTH = 70.0, 990.0, 26.0, 8.0, 1000.0  # of the picture
LEAST = 2.5  # width of a bar that can be seen
SHARED = ("fdr", "offset", "n_mirrors", "n_repeats", "task", "random_state", "n_jobs")


def check_columns(resolving: Resolving, cleaned: Cleaned) -> None:
    """Groups are made of numeric columns; a category has several of its own. A file of partitions has all of them."""
    levels = [group for name, group in zip(cleaned.names, cleaned.groups, strict=True) if name != group]
    if resolving and levels:
        raise DataError(
            f"groups at several resolutions are made of numeric columns, and {levels[0]!r} is a category; "
            "leave it out with --drop, or leave out --resolutions and --partitions"
        )
    if resolving.partitions is not None:
        read_partitions(resolving.partitions, cleaned)


def find_groups(
    resolving: Resolving, cleaned: Cleaned, parameters: Mapping[str, Any], progress: bool | None
) -> dict[str, Any]:
    """The discoveries of every resolution, and the picture of them, as the record holds them."""
    c, p = len(cleaned.covariate_names), len(cleaned.names)
    chromosomes, positions = (_note(cleaned, name) for name in ("chromosome", "position"))
    behind = np.arange(c)  # covariates lie behind the features and in no group
    mirror = MultiResolutionMirror(
        read_partitions(resolving.partitions, cleaned, c) if resolving.partitions else resolving.cuts,
        covariates=list(range(p, p + c)) or None,
        chromosomes=None if chromosomes is None else [*chromosomes, *("" for _ in behind)],
        positions=None if positions is None else [*positions, *(0 for _ in behind)],
        contiguous=resolving.contiguous,
        progress=progress,
        **{name: parameters[name] for name in SHARED if name in parameters},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)  # that the finest finds nothing stands in its count
        mirror.fit(np.hstack([cleaned.x, cleaned.covariates]), cleaned.y)
    mirror.feature_names_in_ = np.array([*cleaned.names, *cleaned.covariate_names], dtype=object)
    rows = mirror.discovered()
    places, ticks = column_places(p, chromosomes, positions)
    return {
        "levels": [
            {
                "resolution": name,
                "groups": len(np.unique(groups[:p])),
                "discoveries": sum(row["resolution"] == name for row in rows),
            }
            for name, groups in zip(mirror.resolutions_, mirror.groups_, strict=True)
        ],
        "discoveries": rows,
        "picture": picture(mirror.resolutions_, rows, cleaned.names, places, ticks, whole=positions is not None),
    }


def _note(cleaned: Cleaned, key: str) -> list[Any] | None:
    """What the file says of every feature under some heading; None where it does not say it of all."""
    found = [cleaned.notes.get(name, {}).get(key) for name in cleaned.names]
    return None if any(value is None for value in found) else found


def read_partitions(path: Path, cleaned: Cleaned, n_covariates: int = 0) -> dict[str, list[str]]:
    """The groups of every feature at each resolution of a file; covariates lie behind the features and in no group."""
    chromosomes = _note(cleaned, "chromosome") or [""] * len(cleaned.names)
    found = labels_of(path, cleaned.names, chromosomes)
    return {name: labels + ["covariate"] * n_covariates for name, labels in found.items()}


def labels_of(
    path: Path, names: Sequence[str], chromosomes: Sequence[str], remedy: str = "add it, or --drop them"
) -> dict[str, list[str]]:
    """A table with a feature's name first and a column of group labels for each resolution; names head the columns.

    Commas, tabs or spaces separate the cells, as in the partitions of KnockoffGWAS. A file for one chromosome after the
    other may be concatenated: groups of one label on two chromosomes are two groups.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    comma = bool(lines) and "," in lines[0]
    header, *rows = [next(csv.reader([line])) if comma else line.split() for line in lines] or [[]]
    if len(header) < 2 or not rows:
        raise DataError(f"{path}: expected a header and rows of a name and one label per resolution, found {header}")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise DataError(f"{path}, line {number}: expected {len(header)} cells, found {len(row)}")
    known = {row[0]: row[1:] for row in rows}
    absent = [name for name in names if name not in known]
    if absent:
        raise DataError(f"{path} has no row for {absent[0]!r} ({len(absent)} such features); {remedy}")
    return {
        name: [f"{c}:{known[feature][j]}" for feature, c in zip(names, chromosomes, strict=True)]
        for j, name in enumerate(header[1:])
    }


def write_groups(folder: Path, found: Mapping[str, Any], escape: bool = False) -> None:
    """resolutions.csv: a row for each discovery, its members in one cell, separated by blanks."""
    rows = []
    for row in found["discoveries"]:
        cells = [" ".join(row[key]) if key == "members" else "" if row[key] is None else row[key] for key in COLUMNS]
        texts = [escaped(cell) if escape and isinstance(cell, str) else cell for cell in cells]
        rows.append(texts)
    write_csv(folder / FILE, list(COLUMNS), rows)


def picture(
    resolutions: list[str],
    rows: list[dict[str, Any]],
    names: Sequence[str],
    places: Floats,
    ticks: Ticks,
    whole: bool,
) -> dict[str, Any]:
    """Each discovery a bar over its span, in the lane of its resolution; the coarsest lane is the lowest."""
    low, order = float(places.min()), {name: j for j, name in enumerate(names)}
    scale = (RIGHT - LEFT) / max(float(np.ptp(places)), 1.0)
    lanes = [{"resolution": name, "y": TOP + LANE * number} for number, name in enumerate(resolutions)]
    bars = []
    for row in rows:
        members = [order[name] for name in row["members"] if name in order]
        told = f"{row['lead']}: {row['size']} features, W = {row['W']:.3g}, q = {row['q']:.2g}"
        for start, end in spans(members, places, whole):
            width = max(LEAST, (end - start) * scale)
            middle = LEFT + ((start + end) / 2 - low) * scale
            y = TOP + LANE * resolutions.index(row["resolution"])
            bars.append({"x": round(middle - width / 2, 1), "width": round(width, 1), "y": y, "told": told})
    return {
        "height": TOP + LANE * len(resolutions) + 24,
        "lanes": lanes,
        "bars": bars,
        "ticks": [{"label": label, "x": round(LEFT + (at - low) * scale, 1)} for label, at in ticks],
        "along": "column" if not whole else "chromosome" if ticks else "position",
    }
