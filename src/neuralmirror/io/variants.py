"""What the readers of genotypes share: names and notes of variants."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.errors import DataError
from neuralmirror.io.names import counted, few
from neuralmirror.io.tables import Column, Decision, distinct_names

PLACE = ("chromosome", "position", "other_allele", "allele")


def variant_notes(
    chromosomes: Column, positions: Column, alternates: Column, references: Column, path: Path
) -> dict[str, Column]:
    """What is known of each variant."""
    return {
        "chromosome": chromosomes,
        "position": as_positions(positions, path),
        "allele": alternates,
        "other_allele": references,
    }


def as_positions(values: Column, path: Path) -> NDArray[np.int64]:
    """Positions in base pairs."""
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path}: a variant's position must be a whole number ({error}); correct it") from error


def variant_names(ids: Column, notes: dict[str, Column]) -> tuple[tuple[str, ...], tuple[Decision, ...]]:
    """The variants' own ids; those without one or with one of another are named chromosome:position:other:allele."""
    counts = Counter(map(str, ids))
    places = [":".join(map(str, place)) for place in zip(*(notes[key] for key in PLACE), strict=True)]
    names = [
        place if name == "." or counts[name] > 1 else name for name, place in zip(map(str, ids), places, strict=True)
    ]
    repeated = [name for name, count in counts.items() if count > 1 and name != "."]
    unique, told = distinct_names(names, "variant")
    if not repeated:
        return unique, told
    occur = "occurs" if len(repeated) == 1 else "occur"
    example = places[list(map(str, ids)).index(repeated[0])]
    text = f"{counted(len(repeated), 'variant id')} {occur} more than once ({few(repeated, 2)})"
    return unique, (Decision(f"{text}, so the variants are named by their place, such as {example}"), *told)
