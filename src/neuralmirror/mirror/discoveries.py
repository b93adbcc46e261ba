"""Discovered groups as geneticists know them: a row each, with lead, position, W, q, span, size and members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Row = dict[str, Any]

COLUMNS = ("resolution", "CHR", "lead", "position", "W", "q", "BP.min", "BP.max", "width", "size", "members")


@dataclass(frozen=True)
class Resolved:
    """Groups of all columns at several resolutions with their statistics, and where the columns lie."""

    resolutions: Sequence[str]
    groups: NDArray[Any]  # (resolutions, columns): the first column of each column's group
    statistics: Floats  # (resolutions, columns): of each column's group
    q_values: Floats  # (resolutions, columns)
    leads: Floats  # (resolutions, columns): how strongly the fit follows each column
    name: Callable[[int], str]
    chromosomes: ArrayLike | None = None
    positions: ArrayLike | None = None

    def rows(self, supports: NDArray[np.bool_]) -> list[Row]:
        """The groups of some columns (resolutions, columns): each resolution in turn, strongest first."""
        return [
            self._row(number, int(leader))
            for number, support in enumerate(supports)
            for leader in sorted(set(self.groups[number][support]), key=lambda j: -self.statistics[number][j])
        ]

    def _row(self, number: int, leader: int) -> Row:
        """One discovery."""
        members = np.flatnonzero(self.groups[number] == leader)
        lead = int(members[np.argmax(self.leads[number][members])])
        low, high, position = None, None, None
        if self.positions is not None:
            places = np.asarray(self.positions)
            low, high, position = places[members].min().item(), places[members].max().item(), places[lead].item()
        values = (
            self.resolutions[number],
            None if self.chromosomes is None else str(np.asarray(self.chromosomes)[lead]),
            self.name(lead),
            position,
            float(self.statistics[number][leader]),
            float(self.q_values[number][leader]),
            low,
            high,
            None if low is None or high is None else high - low,
            len(members),
            [self.name(int(j)) for j in members],
        )
        return dict(zip(COLUMNS, values, strict=True))


def as_frame(rows: list[Row]) -> Any:
    """The rows as a pandas frame where there is pandas."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows, columns=list(COLUMNS))
