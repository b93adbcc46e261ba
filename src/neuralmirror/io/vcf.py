"""VCF in: biallelic variants, by the count of the alternate allele. BCF, its binary form, by cyvcf2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.encodings import check_whole, open_text
from neuralmirror.io.errors import DataError, readable, require
from neuralmirror.io.names import counted
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import MISSING_GENOTYPE, Dropped, Table
from neuralmirror.io.variants import variant_names, variant_notes

FIXED = 9  # columns before the samples
COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]


class Variant(NamedTuple):
    """A line of a VCF."""

    chromosome: str
    position: int
    name: str
    reference: str
    alternates: str  # with commas where there are several
    copies: NDArray[np.int8]  # (n,) of the alternate allele


def read_vcf(path: Path, options: ReadOptions) -> Table:
    """VCF as text, plain or in gzip."""
    file, told = open_text(path)
    with file:
        lines = enumerate(file, start=1)
        samples = _samples(lines, path)
        return _table(_variants(lines, len(samples), path), samples, path).told(*told)


def read_bcf(path: Path, options: ReadOptions) -> Table:
    """BCF, by cyvcf2."""
    check_whole(path)
    cyvcf2 = require("cyvcf2", "cyvcf2", "genotypes")
    with readable(path, "BCF"):
        source = cyvcf2.VCF(str(path), gts012=True)
        return _table(_from_library(source), tuple(source.samples), path)


def _from_library(source: Iterable[object]) -> Iterator[Variant]:
    for v in source:
        copies = v.gt_types.astype(np.int8)  # type: ignore[attr-defined]
        copies[copies == 3] = MISSING_GENOTYPE
        yield Variant(v.CHROM, v.POS, v.ID or ".", v.REF, ",".join(v.ALT), copies)  # type: ignore[attr-defined]


def _samples(lines: Iterator[tuple[int, str]], path: Path) -> tuple[str, ...]:
    """The names of the samples, from the line that begins with #CHROM."""
    for _, line in lines:
        if line.startswith("##"):
            continue
        cells = line.rstrip("\r\n").split("\t")
        if cells[: FIXED - 1] != COLUMNS[: FIXED - 1]:
            break
        if len(cells) <= FIXED:
            raise DataError(f"{path} names no samples, so it holds no genotypes; export it with them")
        return tuple(cells[FIXED:])
    raise DataError(f"{path} has no line of column names that begins with #CHROM, POS, ID; it is cut short or damaged")


def _variants(lines: Iterator[tuple[int, str]], n: int, path: Path) -> Iterator[Variant]:
    known: dict[str, int] = {}  # copies by call: a file has few different calls
    for number, line in lines:
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) != FIXED + n:
            raise DataError(
                f"{path}, line {number}: {counted(len(cells), 'column')}, but the header names {FIXED + n}; "
                "the file is cut short or damaged, copy it again"
            )
        if not cells[1].isdigit():
            raise DataError(f"{path}, line {number}: the position {cells[1]!r} is no whole number; copy the file again")
        copies = _copies(cells, known, f"{path}, line {number}") if _is_biallelic(cells[4]) else np.empty(0, np.int8)
        yield Variant(cells[0], int(cells[1]), cells[2], cells[3], cells[4], copies)


def _copies(cells: list[str], known: dict[str, int], place: str) -> NDArray[np.int8]:
    fields = cells[FIXED - 1].split(":")
    if "GT" not in fields:
        raise DataError(f"{place}: no genotypes (GT) but {cells[FIXED - 1]}; export the file with GT")
    at = fields.index("GT")
    calls = cells[FIXED:] if len(fields) == 1 else [_field(cell, at) for cell in cells[FIXED:]]
    for call in set(calls) - known.keys():
        known[call] = _count(call, place)
    return np.array([known[call] for call in calls], dtype=np.int8)


def _field(cell: str, at: int) -> str:
    parts = cell.split(":", at + 1)
    return parts[at] if len(parts) > at else "."


def _count(call: str, place: str) -> int:
    """Copies of the alternate allele in a call of one or two alleles; one allele stands for two of its kind."""
    alleles = call.replace("|", "/").split("/")
    if len(alleles) > 2 or not all(allele == "." or allele.isdigit() for allele in alleles):
        raise DataError(f"{place}: {call!r} is no genotype of one or two alleles, such as 0/1; copy the file again")
    if "." in alleles:
        return MISSING_GENOTYPE
    count = sum(int(allele) > 0 for allele in alleles)
    return 2 * count if len(alleles) == 1 else count


def _is_biallelic(alternates: str) -> bool:
    return "," not in alternates and alternates not in (".", "")


def _table(variants: Iterable[Variant], samples: tuple[str, ...], path: Path) -> Table:
    kept, skipped = [], []
    for variant in variants:
        if _is_biallelic(variant.alternates):
            kept.append(variant)
        else:
            skipped.append(variant.name if variant.name != "." else f"{variant.chromosome}:{variant.position}")
    if not kept:
        raise DataError(f"{path} holds no variant with one alternate allele; there is nothing to select from")
    columns = (np.array(column, dtype=object) for column in zip(*(v[:5] for v in kept), strict=True))
    chromosomes, positions, ids, references, alternates = columns
    notes = variant_notes(chromosomes, positions, alternates, references, path)
    names, told = variant_names(ids, notes)
    return Table(
        np.stack([variant.copies for variant in kept], axis=1),
        names,
        samples,
        notes=notes,
        form="VCF",
        genotypes=True,
        dropped=(Dropped("not biallelic", tuple(skipped)),) if skipped else (),
        decisions=told,
    )
