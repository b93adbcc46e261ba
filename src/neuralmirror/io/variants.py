"""What the readers of genotypes share: variants one after the other, their names and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.errors import DataError
from neuralmirror.io.names import counted, few
from neuralmirror.io.tables import Column, Decision, Dropped, Table, distinct_names

PLACE = ("chromosome", "position", "other_allele", "allele")


class Variant(NamedTuple):
    """One variant of a file that is read variant after variant."""

    chromosome: str
    position: int
    name: str
    reference: str
    alternates: str  # with commas where there are several
    copies: NDArray[np.int8]  # (n,) of the alternate allele


@dataclass(frozen=True)
class VariantSource:
    """A file that is read variant after variant, once."""

    samples: tuple[str, ...]
    variants: Iterator[Variant]
    traits: Mapping[str, Column] = field(default_factory=dict)
    decisions: Callable[[], tuple[Decision, ...]] = tuple  # to be asked for after the last variant


def is_biallelic(alternates: str) -> bool:
    """Whether there is one alternate allele."""
    return "," not in alternates and alternates not in (".", "")


def label(variant: Variant) -> str:
    """A variant's own name, or its place."""
    return variant.name if variant.name != "." else f"{variant.chromosome}:{variant.position}"


def variants_table(source: VariantSource, form: str, path: Path) -> Table:
    """All variants with one alternate allele, as a table."""
    kept: list[Variant] = []
    skipped: list[str] = []
    for variant in source.variants:
        if is_biallelic(variant.alternates):
            kept.append(variant)
        else:
            skipped.append(label(variant))
    if not kept:
        raise DataError(f"{path} holds no variant with one alternate allele; there is nothing to select from")
    columns = (np.array(column, dtype=object) for column in zip(*(v[:5] for v in kept), strict=True))
    chromosomes, positions, ids, references, alternates = columns
    notes = variant_notes(chromosomes, positions, alternates, references, path)
    names, told = variant_names(ids, notes)
    return Table(
        np.stack([variant.copies for variant in kept], axis=1),
        names,
        source.samples,
        traits=dict(source.traits),
        notes=notes,
        form=form,
        genotypes=True,
        dropped=(Dropped("not biallelic", tuple(skipped)),) if skipped else (),
        decisions=(*told, *source.decisions()),
    )


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
