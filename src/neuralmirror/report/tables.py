"""The tables of a result: selection.csv, dropped.csv, and the selected features as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.output import escaped, write_csv
from neuralmirror.io.cleaning import Cleaned
from neuralmirror.io.tables import Dropped
from neuralmirror.mirror.effects import BY_LEVEL, ONLY_WITH_OTHERS, Effect
from neuralmirror.mirror.estimator import NeuralGaussianMirror

Floats = NDArray[np.float64]
COLUMNS = [
    "feature",
    "mirror_statistic",
    "scale",
    "selected",
    "q_value",
    "selection_frequency",
    "missing_share",
    "represents",
]
WEAK = 0.01  # of the median statistic of the selected features: below it, evidence is pointed out as weak
DROPPED = ["feature", "reason", "represented_by"]


def write_tables(folder: Path, cleaned: Cleaned, mirror: NeuralGaussianMirror, escape: bool = False) -> None:
    """selection.csv and dropped.csv; `escape` keeps spreadsheets from taking names for formulas."""
    header, rows = selection_table(cleaned, mirror)
    texts = {0, *range(len(COLUMNS) - 1, len(header))}  # names and annotations; the other columns hold numbers
    if escape:
        rows = [[escaped(cell) if j in texts else cell for j, cell in enumerate(row)] for row in rows]
    write_csv(folder / "selection.csv", header, rows)
    dropped = dropped_rows(cleaned.dropped)
    write_csv(folder / "dropped.csv", DROPPED, [tuple(map(escaped, row)) if escape else row for row in dropped])


def feature_rows(cleaned: Cleaned) -> list[int]:
    """The first column of each feature; a categorical one has several."""
    first: dict[str, int] = {}
    for j, name in enumerate(cleaned.groups):
        first.setdefault(name, j)
    return list(first.values())


def ranked(cleaned: Cleaned, mirror: NeuralGaussianMirror) -> list[int]:
    """Features from the strongest evidence to the weakest, the selected ones first."""
    q, m = mirror.q_values_, mirror.mirror_statistics_
    return sorted(feature_rows(cleaned), key=lambda j: (not mirror.support_[j], q[j], -m[j], j))


def dropped_rows(dropped: Sequence[Dropped]) -> Iterator[tuple[str, str, str]]:
    """One row for each dropped feature."""
    for group in dropped:
        stand_ins = group.stand_ins or ("",) * len(group.names)
        yield from ((name, group.reason, by) for name, by in zip(group.names, stand_ins, strict=True))


def selection_table(cleaned: Cleaned, mirror: NeuralGaussianMirror) -> tuple[list[str], list[list[str]]]:
    """Header and rows of selection.csv, the strongest evidence first."""
    annotations = list(dict.fromkeys(key for notes in cleaned.notes.values() for key in notes))
    stands_for: dict[str, list[str]] = {}
    for name, _, by in dropped_rows(cleaned.dropped):
        stands_for.setdefault(by, []).append(name)
    rows = [_row(j, cleaned, mirror, stands_for, annotations) for j in ranked(cleaned, mirror)]
    return [*COLUMNS, *annotations], rows


def _row(
    j: int, cleaned: Cleaned, mirror: NeuralGaussianMirror, stands_for: dict[str, list[str]], annotations: list[str]
) -> list[str]:
    name = cleaned.groups[j]
    members = [k for k, group in enumerate(cleaned.groups) if group == name] if name != cleaned.names[j] else [j]
    notes = cleaned.notes.get(name, {})
    numbers = (mirror.mirror_statistics_[j], mirror.scales_[members].mean())
    shares = (mirror.q_values_[j], mirror.selection_frequencies_[j], cleaned.missing_share.get(name, 0.0))
    return [
        name,
        *(f"{v:.10g}" for v in numbers),
        str(bool(mirror.support_[j])).lower(),
        *(f"{v:.6g}" for v in shares),
        ";".join(stands_for.get(name, [])),
        *(str(notes.get(key, "")) for key in annotations),
    ]


def selected_features(cleaned: Cleaned, mirror: NeuralGaussianMirror) -> list[dict[str, Any]]:
    """The selected features as data, the strongest first."""
    effects = mirror.effects()
    feature = dict(zip(cleaned.names, cleaned.groups, strict=True))
    chosen = [j for j in ranked(cleaned, mirror) if mirror.support_[j]]
    usual = float(np.median(mirror.mirror_statistics_[chosen])) if chosen else 0.0
    return [
        {
            "feature": cleaned.groups[j],
            "statistic": float(mirror.mirror_statistics_[j]),
            "q_value": float(mirror.q_values_[j]),
            "selection_frequency": float(mirror.selection_frequencies_[j]),
            "weak": bool(mirror.mirror_statistics_[j] < WEAK * usual),
            "effect": _effect(effects.get(cleaned.names[j]), feature, cleaned.levels.get(cleaned.groups[j], ())),
        }
        for j in chosen
    ]


def _effect(effect: Effect | None, feature: Mapping[str, str], levels: Sequence[str]) -> dict[str, Any] | None:
    """An effect as data, with features and not columns as partners; nothing where the fit does not tell."""
    if effect is None:
        return None
    numbers = {name: [float(f"{v:.6g}") for v in getattr(effect, name)] for name in ("x", "y", "low", "high")}
    partners = list(dict.fromkeys(feature.get(name, name) for name in effect.partners))
    told = {**numbers, "levels": [], "shape": effect.shape, "size": effect.size, "partners": partners}
    return _of_category(told, effect, levels) if levels else told


def _of_category(told: dict[str, Any], effect: Effect, levels: Sequence[str]) -> dict[str, Any]:
    """The same with one value for each level in place of a curve; without values where a level is a copy of another."""
    told["shape"] = ONLY_WITH_OTHERS if effect.shape == ONLY_WITH_OTHERS else BY_LEVEL
    if effect.levels:
        return {**told, "x": [], "levels": list(levels)}
    if len(levels) == 2:
        ends = {name: _at_zero_and_one(effect.x, getattr(effect, name)) for name in ("y", "low", "high")}
        return {**told, **ends, "x": [], "levels": list(levels)}
    return {**told, "x": [], "y": [], "low": [], "high": [], "size": None}


def _at_zero_and_one(x: Floats, y: Floats) -> list[float]:
    """A curve over a column of 0 and 1, which is a line, at its two values."""
    slope = (y[-1] - y[0]) / (x[-1] - x[0])
    return [float(f"{y[0] + slope * (value - x[0]):.6g}") for value in (0.0, 1.0)]


def interactions(cleaned: Cleaned, mirror: NeuralGaussianMirror) -> list[dict[str, Any]]:
    """Pairs of features that act together, the strongest first, with the size of what they do in units of y."""
    feature = dict(zip(cleaned.names, cleaned.groups, strict=True))
    return [{"features": [feature[a], feature[b]], "strength": float(size)} for a, b, size in mirror.interactions_]


def weak_ones(features: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on selected features whose evidence is a small fraction of that for the others."""
    weak = [str(one["feature"]) for one in features if one["weak"]]
    if not weak:
        return []
    names = ", ".join(weak[:5]) + (f" and {len(weak) - 5} more" if len(weak) > 5 else "")
    return [
        f"weak evidence beside the others for {names}: less than {WEAK:.0%} of the usual statistic of the selected "
        "features. The level allows some false ones, and they are most likely here"
    ]


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's, for JSON; what is not finite as nothing."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
