"""Packed genotypes with their samples and markers: what a genome-wide analysis reads from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.errors import DataError
from neuralmirror.io.packed_matrix import AlleleCounts, Packed, PackedMatrix
from neuralmirror.io.tables import Column, Decision

SORTING = "sort it with plink --bfile OLD --make-bed --out NEW, or plink2 --pfile OLD --sort-vars --make-pgen --out NEW"


@dataclass(frozen=True)
class PackedGenotypes:
    """Genotypes of many markers in 2 bits each, in PLINK 1's coding, read in pieces.

    `matrix` alone knows neither names nor places, and is what to send to workers: it is pickled as paths and offsets.
    """

    matrix: PackedMatrix
    samples: tuple[str, ...]  # (n,)
    names: Column  # (p,) of str
    chromosomes: Column  # (p,) of str
    positions: NDArray[np.int64]  # (p,)
    alleles: Column  # (p,) of str, the allele that is counted
    other_alleles: Column  # (p,) of str
    decisions: tuple[Decision, ...] = ()  # what was decided on reading, for the user to know
    traits: Mapping[str, Column] = field(default_factory=dict)  # columns that describe samples, from a .fam or .psam

    def __post_init__(self) -> None:
        if len(self.samples) != self.matrix.n_samples:
            raise ValueError(f"{len(self.samples)} samples are named, of {self.matrix.n_samples}")
        for what in ("names", "chromosomes", "positions", "alleles", "other_alleles"):
            if len(getattr(self, what)) != self.matrix.n_markers:
                raise ValueError(f"{what} has {len(getattr(self, what))} entries for {self.matrix.n_markers} markers")

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return self.matrix.n_samples

    @property
    def n_markers(self) -> int:
        """How many markers there are."""
        return self.matrix.n_markers

    def packed(self, first: int, last: int) -> Packed:
        """Markers from `first` up to but not including `last`, (m, ceil(n/4)), four genotypes a byte."""
        return self.matrix.packed(first, last)

    def counts(self, first: int, last: int) -> NDArray[np.int8]:
        """Copies of the allele for markers from `first` up to but not including `last`, (m, n), −1 for missing."""
        return self.matrix.counts(first, last)

    def allele_counts(self, rows: NDArray[np.bool_] | NDArray[np.integer] | None = None) -> AlleleCounts:
        """Known genotypes, copies and squared copies of each marker, over all samples or some."""
        return self.matrix.allele_counts(rows)

    def parts_by_chromosome(self) -> dict[str, slice]:
        """The markers of each chromosome, which must lie side by side and in order of position."""
        bounds = [0, *(np.flatnonzero(self.chromosomes[1:] != self.chromosomes[:-1]) + 1), self.n_markers]
        parts: dict[str, slice] = {}
        for first, last in pairwise(bounds):
            if first == last:
                continue
            name = str(self.chromosomes[first])
            if name in parts:
                raise DataError(
                    f"the markers of chromosome {name} do not lie side by side: marker {first + 1} "
                    f"({self.names[first]}) comes after another chromosome; {SORTING}"
                )
            self._check_order(name, int(first), int(last))
            parts[name] = slice(int(first), int(last))
        return parts

    def _check_order(self, chromosome: str, first: int, last: int) -> None:
        """Whether the markers of a chromosome are in order of position."""
        back = np.flatnonzero(np.diff(self.positions[first:last]) < 0)
        if len(back):
            at = first + int(back[0])
            raise DataError(
                f"chromosome {chromosome} is not in order of position: {self.names[at + 1]} at "
                f"{self.positions[at + 1]} comes after {self.names[at]} at {self.positions[at]}; {SORTING}"
            )
