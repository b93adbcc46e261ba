"""PLINK's files in: .bed and .pgen with their companions. Every genotype is one int8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.encodings import open_text
from neuralmirror.io.errors import DataError, one_line, readable, require
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import MISSING_GENOTYPE, Column, Table
from neuralmirror.io.variants import as_positions, variant_names, variant_notes

BLOCK = 4096  # variants read at once
FAM = ("FID", "IID", "father", "mother", "sex", "phenotype")
BIM = ("chromosome", "id", "cm", "position", "allele1", "allele2")
SAMPLES_FIRST = b"\x6c\x1b\x00"


def read_bed(path: Path, options: ReadOptions) -> Table:
    """PLINK 1: .bed with its .bim and .fam; the count of allele 1."""
    bim_path, fam_path = companion(path, ".bim"), companion(path, ".fam")
    bim, fam = split_lines(bim_path, BIM), split_lines(fam_path, FAM)
    n, p = len(fam["IID"]), len(bim["id"])
    check_size(path, n, p)
    bed_reader = require("bed_reader", "bed-reader", "genotypes")
    with readable(path, "PLINK .bed"):
        reader = bed_reader.open_bed(path, iid_count=n, sid_count=p, num_threads=1)
        values = reader.read(dtype="int8")
    values[values < 0] = MISSING_GENOTYPE
    alleles = {"allele": bim["allele1"], "other_allele": bim["allele2"]}
    notes = {"chromosome": bim["chromosome"], "position": as_positions(bim["position"], bim_path), **alleles}
    names, told = variant_names(bim["id"], notes)
    return Table(
        values,
        names,
        sample_ids(fam),
        traits=fam_phenotype(fam["phenotype"], fam_path),
        notes=notes,
        form="PLINK .bed",
        genotypes=True,
        decisions=told,
    )


def check_size(path: Path, n: int, p: int) -> None:
    """Whether a .bed is stored variant after variant and holds as many genotypes as its companions say."""
    with path.open("rb") as file:
        samples_first = file.read(3) == SAMPLES_FIRST
    if samples_first:
        raise DataError(
            f"{path} is individual-major (sample after sample), as PLINK wrote before 2007; "
            "write it anew with plink --make-bed, which stores variant after variant"
        )
    expected = 3 + p * -(-n // 4)
    if path.stat().st_size != expected:
        raise DataError(
            f"{path} has {path.stat().st_size} bytes, but {n} samples in {path.stem}.fam and {p} variants in "
            f"{path.stem}.bim need {expected}; the three files do not belong together or one is cut short"
        )


def read_pgen(path: Path, options: ReadOptions) -> Table:
    """PLINK 2: .pgen with its .pvar and .psam; the count of the alternate allele."""
    content = pgen_content(path)
    n, p = len(content.samples), len(content.ids)
    values = np.empty((p, n), dtype=np.int8)
    for start, block in pgen_blocks(path, n, p):
        values[start : start + len(block)] = block
    names, told = variant_names(content.ids, content.notes)
    return Table(
        np.ascontiguousarray(values.T),
        names,
        content.samples,
        traits=content.traits,
        notes=content.notes,
        form="PLINK 2 .pgen",
        genotypes=True,
        decisions=told,
    )


class PgenContent(NamedTuple):
    """What the companions of a .pgen say."""

    samples: tuple[str, ...]
    ids: Column
    notes: dict[str, Column]
    traits: dict[str, Column]


def pgen_content(path: Path) -> PgenContent:
    """Samples and variants of a .pgen, from its .psam and .pvar."""
    pvar = headed_lines(companion(path, ".pvar"), ("#CHROM",), ("#CHROM", "POS", "ID", "REF", "ALT"))
    psam = headed_lines(companion(path, ".psam"), ("#IID", "#FID"), ())
    ids = psam.get("#IID", psam.get("IID", np.array([], dtype=object)))
    n, p = len(ids), len(pvar["ID"])
    if not n or not p:
        raise DataError(f"{path}: its .psam names {n} samples and its .pvar {p} variants; there is nothing to read")
    notes = variant_notes(pvar["#CHROM"], pvar["POS"], pvar["ALT"], pvar["REF"], path.with_suffix(".pvar"))
    traits = {k: v for k, v in psam.items() if k not in ("#FID", "#IID", "IID", "PAT", "MAT")}
    return PgenContent(tuple(ids), pvar["ID"], notes, traits)


def pgen_blocks(path: Path, n: int, p: int) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """Blocks of variants (m, n) of a .pgen, with the number of the first of each."""
    pgenlib = require("pgenlib", "Pgenlib", "genotypes")
    try:
        reader = pgenlib.PgenReader(str(path).encode(), raw_sample_ct=n, variant_ct=p)
        for start in range(0, p, BLOCK):
            block = np.empty((min(BLOCK, p - start), n), dtype=np.int8)
            reader.read_range(start, start + len(block), block)
            block[block < 0] = MISSING_GENOTYPE
            yield start, block
    except (RuntimeError, MemoryError) as error:
        raise DataError(
            f"{path} does not hold the {n} samples of its .psam and {p} variants of its .pvar, or is damaged "
            f"({one_line(error)}); copy all three files again"
        ) from error


def companion(path: Path, suffix: str) -> Path:
    """The file beside `path` with another suffix, which must be there."""
    beside = path.with_suffix(suffix)
    if not beside.is_file():
        raise DataError(f"{path} needs {beside.name} beside it, and there is none; put all three files in one folder")
    return beside


def split_lines(path: Path, fields: Sequence[str]) -> dict[str, Column]:
    """The columns of a file without a header, split at white space."""
    rows = []
    for number, line in enumerate(text_lines(path), start=1):
        cells = line.split()
        if len(cells) != len(fields):
            raise DataError(
                f"{path}, line {number}: expected the {len(fields)} columns {', '.join(fields)}, found {len(cells)}"
            )
        rows.append(cells)
    if not rows:
        raise DataError(f"{path} is empty; copy it again")
    columns = zip(*rows, strict=True)
    return {field: np.array(column, dtype=object) for field, column in zip(fields, columns, strict=True)}


def headed_lines(path: Path, starts: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Column]:
    """The columns of a PLINK 2 text file, named by the header line that begins with one of `starts`."""
    lines = [line for line in text_lines(path) if not line.startswith("##")]
    if not lines or not lines[0].startswith(starts):
        raise DataError(f"{path} has no header line that begins with {' or '.join(starts)}; write it with PLINK 2")
    header, *rows = (line.split() for line in lines)
    absent = [name for name in needed if name not in header]
    if absent:
        raise DataError(f"{path} has no column {absent[0]}; write it with PLINK 2")
    for number, cells in enumerate(rows, start=1):
        if len(cells) != len(header):
            raise DataError(f"{path}, row {number}: expected {len(header)} columns, found {len(cells)}")
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    return {name: np.array(column, dtype=object) for name, column in zip(header, columns, strict=True)}


def text_lines(path: Path) -> Iterator[str]:
    """Lines that are not blank."""
    file, _ = open_text(path)
    with file:
        yield from (line.rstrip("\r\n") for line in file if line.strip())


def sample_ids(fam: dict[str, Column]) -> tuple[str, ...]:
    """The individuals' ids, or family and individual where those alone repeat."""
    ids = tuple(map(str, fam["IID"]))
    return ids if len(set(ids)) == len(ids) else tuple(f"{f}:{i}" for f, i in zip(fam["FID"], ids, strict=True))


def fam_phenotype(values: Column, path: Path) -> dict[str, Column]:
    """The sixth column of a .fam: −9 is missing, and so is 0 where the rest says 1 and 2 (control, case)."""
    try:
        numbers = np.array([np.nan if value == "NA" else float(value) for value in values])
    except ValueError as error:
        raise DataError(f"{path}: column 6, the phenotype, must hold numbers ({error}); give it by --pheno") from error
    numbers[numbers == -9] = np.nan
    if set(numbers[~np.isnan(numbers)]) <= {0.0, 1.0, 2.0} and (numbers == 2).any():
        words = {1.0: "control", 2.0: "case"}
        return {"phenotype": np.array([words.get(number, "") for number in numbers], dtype=object)}
    return {} if np.isnan(numbers).all() else {"phenotype": numbers}
