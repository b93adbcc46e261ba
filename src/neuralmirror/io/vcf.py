"""VCF in: biallelic variants, by the count of the alternate allele. BCF, its binary form, by cyvcf2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.encodings import check_whole, open_text
from neuralmirror.io.errors import DataError, readable, require
from neuralmirror.io.names import counted
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import MISSING_GENOTYPE, Table
from neuralmirror.io.variants import Variant, VariantSource, is_biallelic, variants_table

FIXED = 9  # columns before the samples
ABSENT_ALLELE = -2
NO_CALLS = np.empty(0, np.int8)  # of a variant that is left out
IS_MARK = np.isin(np.arange(256), [ord("/"), ord("|")])
COPIES_OF_LETTER = np.full(256, 50, dtype=np.int8)  # 50: a letter that no plain call has
COPIES_OF_LETTER[[ord("0"), ord("1"), ord(".")]] = 0, 1, -10
COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]


def read_vcf(path: Path, options: ReadOptions) -> Table:
    """VCF as text, plain or in gzip."""
    return variants_table(open_vcf(path), "VCF", path)


def read_bcf(path: Path, options: ReadOptions) -> Table:
    """BCF, by cyvcf2."""
    return variants_table(open_bcf(path), "VCF", path)


def open_vcf(path: Path) -> VariantSource:
    """VCF as text, variant after variant; by a parser of our own, since htslib's ends the process on damaged text."""
    file, told = open_text(path)
    lines = enumerate(file, start=1)
    try:
        samples = _samples(lines, path)
    except DataError:
        file.close()
        raise
    return VariantSource(samples, _closing(file, _variants(lines, len(samples), path)), decisions=lambda: told)


def _closing(file: IO[str], variants: Iterator[Variant]) -> Iterator[Variant]:
    """Variants out of a file that is closed after the last."""
    with file:
        yield from variants


def open_bcf(path: Path) -> VariantSource:
    """BCF, variant after variant, by cyvcf2."""
    check_whole(path)
    cyvcf2 = require("cyvcf2", "cyvcf2", "genotypes")
    with readable(path, "BCF"):
        source = cyvcf2.VCF(str(path))
        if not source.samples:
            raise DataError(f"{path} names no samples, so it holds no genotypes; export it with them")
    return VariantSource(tuple(source.samples), _from_library(source, path))


def _from_library(source: Iterable[Any], path: Path) -> Iterator[Variant]:
    """The variants as cyvcf2 gives them; whatever it raises means that the file is damaged."""
    with readable(path, "BCF"):
        for v in source:
            alternates = ",".join(v.ALT)
            copies = _called(v.genotype, f"{path}, {v.CHROM}:{v.POS}") if is_biallelic(alternates) else NO_CALLS
            yield Variant(v.CHROM, v.POS, v.ID or ".", v.REF, alternates, copies)


def _called(genotype: Any, place: str) -> NDArray[np.int8]:
    """Copies of the alternate allele; one allele stands for two of its kind, and a call known by half is missing."""
    if genotype is None:
        raise DataError(f"{place}: no genotypes (GT); export the file with GT")
    alleles = genotype.array()[:, :-1]  # −1 is a missing allele, −2 fills up calls of fewer alleles
    if alleles.shape[1] > 2:
        raise DataError(f"{place}: a genotype of {alleles.shape[1]} alleles; expected one or two, such as 0/1")
    present = (alleles != ABSENT_ALLELE).sum(axis=1)
    copies = (alleles > 0).sum(axis=1) * (2 // np.maximum(present, 1))
    unknown = (alleles == MISSING_GENOTYPE).any(axis=1) | (present == 0)
    return np.where(unknown, MISSING_GENOTYPE, copies).astype(np.int8)


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
        head = line.rstrip("\r\n").split("\t", FIXED)
        copies = _plain_copies(head[FIXED], n) if len(head) > FIXED and head[FIXED - 1] == "GT" else None
        cells = head if copies is not None else line.rstrip("\r\n").split("\t")
        if copies is None and len(cells) != FIXED + n:
            raise DataError(
                f"{path}, line {number}: {counted(len(cells), 'column')}, but the header names {FIXED + n}; "
                "the file is cut short or damaged, copy it again"
            )
        if not cells[1].isdigit():
            raise DataError(f"{path}, line {number}: the position {cells[1]!r} is no whole number; copy the file again")
        if copies is None:
            copies = _copies(cells, known, f"{path}, line {number}") if is_biallelic(cells[4]) else NO_CALLS
        yield Variant(cells[0], int(cells[1]), cells[2], cells[3], cells[4], copies)


def _plain_copies(calls: str, n: int) -> NDArray[np.int8] | None:
    """Copies where every call is two of the letters 0, 1 and . with / or | between them; None where some is not."""
    if len(calls) != 4 * n - 1 or not calls.isascii():
        return None
    letters = np.frombuffer(f"{calls}\t".encode(), dtype=np.uint8).reshape(n, 4)
    if not (IS_MARK[letters[:, 1]].all() and (letters[:, 3] == ord("\t")).all()):
        return None
    first, second = COPIES_OF_LETTER[letters[:, 0]], COPIES_OF_LETTER[letters[:, 2]]
    copies = first + second
    if (copies > 2).any():
        return None
    copies[copies < 0] = MISSING_GENOTYPE
    return copies


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
