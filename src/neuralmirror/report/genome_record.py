"""The record of an analysis of whole genomes, which its run.json holds, and the pictures of its page as numbers."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror import selection
from neuralmirror._internal.genome import Ticks, genome_places
from neuralmirror._internal.responses import guess_task
from neuralmirror.genome.estimator import GenomeMirror
from neuralmirror.report.diagnostics import balance, left_out, upper_half
from neuralmirror.report.genome_request import GenomeRequest, Study
from neuralmirror.report.record import PACKAGES, checksum, summary
from neuralmirror.report.request import SCHEMA
from neuralmirror.report.resolutions import LEFT, RIGHT, picture
from neuralmirror.report.tables import plain

KIND = "genome"
ASIDE = ("progress", "checkpoint", "n_jobs", "resolutions")  # parameters that are no settings
HASHED = 1 << 32  # bytes of a file up to which its checksum is taken
TOP, BOTTOM, HEIGHT = 12.0, 252.0, 284.0  # of the picture along the genome


def describe(request: GenomeRequest, study: Study, mirror: GenomeMirror, warnings: list[str]) -> dict[str, Any]:
    """Everything that run.json says but the seconds."""
    rows = mirror.discovered()
    places, ticks = genome_places(study.genotypes.chromosomes, study.genotypes.positions)
    names = [str(name) for name in study.genotypes.names]
    levels = [_level(mirror, number, rows) for number in range(len(mirror.resolutions_))]
    finest = int(np.argmax([level["groups"] for level in levels]))
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "command": request.command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": _data(request, study, mirror),
        "settings": {k: v for k, v in mirror.get_params().items() if k not in ASIDE},
        "decisions": [*study.decisions, *_left_out_lines(mirror)],
        "left_out": {
            "rare": mirror.rare_,
            "missing": mirror.missing_,
            "people": [summary(one) for one in study.people.dropped],
        },
        "polygenic": plain({"given": request.pred is not None, "shares": mirror.polygenic_share_}),
        "resolutions": {
            "levels": levels,
            "discoveries": rows,
            "picture": picture(mirror.resolutions_, rows, names, places, ticks, whole=True),
        },
        "along": along_genome(mirror, finest, levels[finest]["threshold"], names, places, ticks),
        "diagnostics": _diagnostics(mirror, finest),
        "explanation": explanation(mirror, levels),
        "warnings": warnings,
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _data(request: GenomeRequest, study: Study, mirror: GenomeMirror) -> dict[str, Any]:
    """Files and counts."""
    y = study.people.y[study.rows]
    task = guess_task(y, "auto")
    return {
        "files": [_file(path) for path in request.files],
        "target": study.people.target,
        "task": task,
        "classes": [str(one) for one in np.unique(y)] if task == "classification" else [],
        "people": mirror.n_people_,
        "people_read": study.genotypes.n_samples,
        "markers": int(mirror.used_.sum()),
        "markers_read": study.genotypes.n_markers,
        "chromosomes": list(study.genotypes.parts_by_chromosome()),
        "covariates": list(study.people.covariate_names),
        "components": mirror.components,
    }


def _file(path: Path) -> dict[str, Any]:
    """Name, size and checksum; none of a file that would take minutes to read once more."""
    size = path.stat().st_size if path.is_file() else 0
    return checksum(path) if size <= HASHED else {"name": path.name, "bytes": size, "sha256": None}


def _left_out_lines(mirror: GenomeMirror) -> list[str]:
    """Markers that took no part, and why."""
    found = {
        f"minor allele rarer than {mirror.min_frequency:g}, or no variation (--maf)": mirror.rare_,
        f"more than {mirror.max_missing:.0%} missing (--max-missing)": mirror.missing_,
    }
    return [f"{count} markers left out: {why}" for why, count in found.items() if count]


def _level(mirror: GenomeMirror, number: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One resolution: its groups, those that the learner saw, the threshold and the discoveries."""
    name, groups = mirror.resolutions_[number], mirror.groups_[number]
    cuts = [
        selection.mirror_threshold(draw, mirror.fdr, offset=mirror.offset, n_mirrors=mirror.n_mirrors)
        for draw in mirror._group_draws[number]
    ]
    middle = float(np.median(cuts))
    return {
        "resolution": name,
        "groups": len(np.unique(groups[mirror.used_])),
        "screened": len(np.unique(groups[mirror.screened_[number]])),
        "discoveries": sum(row["resolution"] == name for row in rows),
        "threshold": middle if np.isfinite(middle) else None,
    }


def _diagnostics(mirror: GenomeMirror, number: int) -> dict[str, Any]:
    """Whether groups left out win and lose as groups that do not matter would, at the finest resolution."""
    first = np.unique(mirror.groups_[number][mirror.screened_[number]])
    rest = left_out(mirror._group_draws[number][:, first], mirror.group_supports_[number][first])
    return {
        "resolution": mirror.resolutions_[number],
        "sign_balance": balance(rest, mirror.n_mirrors).as_record(),
        "sign_balance_upper": balance(upper_half(rest), mirror.n_mirrors).as_record(),
    }


def explanation(mirror: GenomeMirror, levels: list[dict[str, Any]]) -> str:
    """What was found in one sentence, or why nothing was."""
    if any(level["discoveries"] for level in levels):
        told = ", ".join(f"{one['discoveries']} of {one['groups']} at {one['resolution']}" for one in levels)
        return f"Groups discovered at fdr={mirror.fdr:g}, each resolution with its own guarantee: {told}."
    needed = int(np.ceil(mirror.offset / (mirror.fdr * mirror.n_mirrors) - 1e-9))
    nearest = float(mirror.group_q_values_.min(initial=1.0))
    told = f"No group was discovered at fdr={mirror.fdr:g}, at any resolution."
    if needed > 1:
        told += f" At least {needed} groups of a resolution must stand out together."
    return told + (f" The nearest level with a discovery is {nearest:.3g}." if nearest < 1 else "")


def along_genome(
    mirror: GenomeMirror,
    number: int,
    threshold: float | None,
    names: list[str],
    places: NDArray[np.float64],
    ticks: Ticks,
) -> dict[str, Any]:
    """W of every group of one resolution that the learner saw, at its first marker, and the threshold."""
    first = np.unique(mirror.groups_[number][mirror.screened_[number]])
    values = mirror.group_statistics_[number][first]
    first, values = first[values != 0], values[values != 0]
    top, low = max(float(values.max(initial=0)), threshold or 0, 1e-12), float(values.min(initial=0))
    across, height = (RIGHT - LEFT) / max(float(np.ptp(places)), 1.0), (BOTTOM - TOP) / (top - low)
    start = float(places.min())

    def at(value: float) -> float:
        return round(TOP + (top - value) * height, 1)

    found = mirror.group_supports_[number][first]
    points = [(round(LEFT + (places[j] - start) * across, 1), at(w)) for j, w in zip(first, values, strict=True)]
    told = [f"{names[j]}, W = {w:.3g}" for j, w in zip(first, values, strict=True)]
    return {
        "resolution": mirror.resolutions_[number],
        "height": HEIGHT,
        "dots": "".join(f"M{x:g} {y:g}h0" for (x, y), chosen in zip(points, found, strict=True) if not chosen),
        "found": [
            {"x": float(x), "y": y, "told": text}
            for (x, y), text, chosen in zip(points, told, found, strict=True)
            if chosen
        ],
        "zero": at(0.0),
        "threshold": None if threshold is None else {"y": at(threshold), "value": threshold},
        "labels": [{"y": at(value), "text": f"{value:.3g}"} for value in {top, 0.0, low}],
        "ticks": [{"label": label, "x": round(LEFT + (place - start) * across, 1)} for label, place in ticks],
    }
