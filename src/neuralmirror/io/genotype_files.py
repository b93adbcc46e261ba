"""Files of genotypes in, one or one a chromosome, without ever holding them as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from neuralmirror.io.errors import DataError
from neuralmirror.io.genotype_parts import GenotypePart, open_part
from neuralmirror.io.genotype_paths import genotype_paths
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.io.packed_matrix import PackedMatrix
from neuralmirror.io.tables import Column
from neuralmirror.io.variants import variant_names


def open_genotypes(paths: Sequence[Path | str] | Path | str, scratch: Path | None = None) -> PackedGenotypes:
    """Genotypes of one file or several with the same samples, such as one a chromosome.

    Parameters
    ----------
    paths : path, pattern or list of them
        PLINK .bed or .pgen, BGEN, VCF or BCF. A pattern is `chr{1:22}.bed` or `chr*.bed`.
    scratch : Path, optional
        A folder in which what is no .bed is packed once and found again by later runs; without one it is packed
        into memory, at a quarter of a byte a genotype. A .bed is read where it lies.
    """
    parts = [open_part(path, scratch) for path in genotype_paths(paths)]
    _check_samples(parts)
    notes = {
        "chromosome": _joined(parts, "chromosomes"),
        "position": np.array([position for part in parts for position in part.markers.positions], dtype=np.int64),
        "allele": _joined(parts, "alleles"),
        "other_allele": _joined(parts, "other_alleles"),
    }
    names, told = variant_names(_joined(parts, "ids"), notes)
    decisions = dict.fromkeys(chain(told, *(part.decisions for part in parts)))
    return PackedGenotypes(
        PackedMatrix([part.genotypes for part in parts], len(parts[0].samples)),
        parts[0].samples,
        np.array(names, dtype=object),
        notes["chromosome"],
        notes["position"],
        notes["allele"],
        notes["other_allele"],
        tuple(decisions),
        parts[0].traits,
    )


def _joined(parts: Sequence[GenotypePart], what: str) -> Column:
    """A column of the markers of all parts."""
    return np.array(list(chain.from_iterable(getattr(part.markers, what) for part in parts)), dtype=object)


def _check_samples(parts: Sequence[GenotypePart]) -> None:
    """Whether all files have the same samples in the same order."""
    first = parts[0]
    for part in parts[1:]:
        if part.samples != first.samples:
            how = _difference(first, part)
            raise DataError(f"{part.path} and {first.path} must have the same samples in the same order, but {how}")


def _difference(first: GenotypePart, other: GenotypePart) -> str:
    """How the samples of two files differ, and what to do."""
    remedy = "write both with plink --keep FILE --indiv-sort file FILE --make-bed and one list of samples"
    there = set(other.samples)
    absent = next((name for name in first.samples if name not in there), None)
    if len(first.samples) != len(other.samples):
        return f"they have {len(other.samples)} and {len(first.samples)}; {remedy}"
    if absent is not None:
        return f"{absent} is in the second only; {remedy}"
    pairs = zip(first.samples, other.samples, strict=True)
    at = next(i for i, (one, two) in enumerate(pairs, start=1) if one != two)
    return f"sample {at} is {other.samples[at - 1]} in the one and {first.samples[at - 1]} in the other; {remedy}"
