"""The tables of a result: selection.csv, dropped.csv, and the selected features as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror._internal.output import escaped, write_csv
from neuralmirror.io.cleaning import Cleaned
from neuralmirror.io.tables import Dropped
from neuralmirror.mirror.estimator import NeuralGaussianMirror

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
GAP = 30  # from one selected feature to the next, a drop of M by this factor is pointed out
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
    scales = getattr(mirror, "scales_", np.zeros(mirror.n_features_in_))
    numbers = (mirror.mirror_statistics_[j], scales[members].mean())
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
    effects = effects_by_feature(mirror)
    return [
        {
            "feature": cleaned.groups[j],
            "statistic": float(mirror.mirror_statistics_[j]),
            "q_value": float(mirror.q_values_[j]),
            "selection_frequency": float(mirror.selection_frequencies_[j]),
            "effect": effects.get(cleaned.groups[j], effects.get(cleaned.names[j])),
        }
        for j in ranked(cleaned, mirror)
        if mirror.support_[j]
    ]


def weak_tail(features: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence where the evidence for the last selected features is a small fraction of that for the others."""
    sizes = [one["statistic"] for one in features]
    for place in range(1, len(sizes)):
        if 0 < sizes[place] * GAP < sizes[place - 1]:
            names = ", ".join(str(one["feature"]) for one in features[place:][:5])
            return [
                f"from {names} on, the evidence is {sizes[place - 1] / sizes[place]:.0f} times weaker than for the "
                "features before: the level allows some false ones, and they are most likely there"
            ]
    return []


def effects_by_feature(mirror: Any) -> dict[str, Any]:
    """Sign and size of each feature's effect, where the fitted selector tells them."""
    ask = getattr(mirror, "effects", None)
    found: Any = ask() if callable(ask) else {}
    if hasattr(found, "to_dict"):
        found = found.to_dict("records")
    if isinstance(found, Mapping):
        return {str(name): plain(value) for name, value in found.items()}
    rows = [dict(row) for row in found]
    return {str(row.pop("feature")): plain(row) for row in rows if "feature" in row}


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's, for JSON; what is not finite as nothing."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
