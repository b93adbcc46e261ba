"""Genotype files in: PLINK's .bed and .pgen with their companions, and VCF. Every genotype is one int8."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.tables import MISSING_GENOTYPE, Column, DataError, Dropped, Table

BLOCK = 4096  # variants read at once
FAM = ("FID", "IID", "father", "mother", "sex", "phenotype")
BIM = ("chromosome", "id", "cm", "position", "allele1", "allele2")


def require(module: str, package: str, extra: str) -> Any:
    """An optional package, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DataError(
            f"this format is read by {package}, which is not installed; pip install 'neuralmirror[{extra}]'"
        ) from error


def read_bed(path: Path) -> Table:
    """PLINK 1: .bed with its .bim and .fam; the count of allele 1."""
    bim_path, fam_path = companion(path, ".bim"), companion(path, ".fam")
    bim, fam = split_lines(bim_path, BIM), split_lines(fam_path, FAM)
    n, p = len(fam["IID"]), len(bim["id"])
    expected = 3 + p * -(-n // 4)
    if path.stat().st_size != expected:
        raise DataError(
            f"{path} has {path.stat().st_size} bytes, but {n} samples in {fam_path.name} and {p} variants in "
            f"{bim_path.name} need {expected}; the three files do not belong together or one is cut short"
        )
    reader = require("bed_reader", "bed-reader", "genotypes").open_bed(path, iid_count=n, sid_count=p, num_threads=1)
    values = reader.read(dtype="int8")
    values[values < 0] = MISSING_GENOTYPE
    alleles = {"allele": bim["allele1"], "other_allele": bim["allele2"]}
    notes = {"chromosome": bim["chromosome"], "position": as_positions(bim["position"]), **alleles}
    traits = fam_phenotype(fam["phenotype"])
    names = variant_names(bim["id"], notes)
    return Table(values, names, sample_ids(fam), traits=traits, notes=notes, form="PLINK .bed", genotypes=True)


def read_pgen(path: Path) -> Table:
    """PLINK 2: .pgen with its .pvar and .psam; the count of the alternate allele."""
    pvar = headed_lines(companion(path, ".pvar"), "#CHROM")
    psam = headed_lines(companion(path, ".psam"), ("#IID", "#FID"))
    ids = psam.get("#IID", psam.get("IID", np.array([], dtype=object)))
    n, p = len(ids), len(pvar["ID"])
    pgenlib = require("pgenlib", "Pgenlib", "genotypes")
    try:
        reader = pgenlib.PgenReader(str(path).encode(), raw_sample_ct=n, variant_ct=p)
        values = np.empty((p, n), dtype=np.int8)
        for start in range(0, p, BLOCK):
            reader.read_range(start, min(start + BLOCK, p), values[start : start + BLOCK])
    except RuntimeError as error:
        raise DataError(
            f"{path} does not hold the {n} samples of its .psam and {p} variants of its .pvar, or is damaged ({error})"
        ) from error
    values[values < 0] = MISSING_GENOTYPE
    notes = variant_notes(pvar["#CHROM"], pvar["POS"], pvar["ALT"], pvar["REF"])
    traits = {name: column for name, column in psam.items() if name not in ("#FID", "#IID", "IID", "PAT", "MAT")}
    names = variant_names(pvar["ID"], notes)
    return Table(
        np.ascontiguousarray(values.T),
        names,
        tuple(ids),
        traits=traits,
        notes=notes,
        form="PLINK 2 .pgen",
        genotypes=True,
    )


def read_vcf(path: Path) -> Table:
    """VCF or BCF: biallelic variants, by the count of the alternate allele."""
    check_whole(path)
    source = require("cyvcf2", "cyvcf2", "genotypes").VCF(str(path), gts012=True)
    rows, fields, skipped = [], [], []
    for variant in source:
        name = variant.ID or f"{variant.CHROM}:{variant.POS}"
        if len(variant.ALT) != 1:
            skipped.append(name)
            continue
        rows.append(variant.gt_types.astype(np.int8))
        fields.append((variant.ID or ".", variant.CHROM, variant.POS, variant.ALT[0], variant.REF))
    if not rows:
        raise DataError(f"{path} holds no variant with one alternate allele; there is nothing to select from")
    values = np.stack(rows, axis=1)
    values[values == 3] = MISSING_GENOTYPE
    ids, chromosomes, positions, alternates, references = (np.array(c, dtype=object) for c in zip(*fields, strict=True))
    notes = variant_notes(chromosomes, positions, alternates, references)
    dropped = (Dropped("not biallelic", tuple(skipped)),) if skipped else ()
    names = variant_names(ids, notes)
    return Table(values, names, tuple(source.samples), notes=notes, form="VCF", genotypes=True, dropped=dropped)


def companion(path: Path, suffix: str) -> Path:
    """The file beside `path` with another suffix, which must be there."""
    beside = path.with_suffix(suffix)
    if not beside.is_file():
        raise DataError(f"{path} needs {beside.name} beside it, and there is none; put all three files in one folder")
    return beside


def check_whole(path: Path) -> None:
    """Read a gzip file to its end, so that one cut short is an error and never a shorter table."""
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return
    with gzip.open(path) as file:
        while file.read(1 << 20):
            pass


def split_lines(path: Path, fields: Sequence[str]) -> dict[str, Column]:
    """The columns of a file without a header, split at white space."""
    rows = []
    for number, line in enumerate(text_lines(path), start=1):
        cells = line.split()
        if len(cells) != len(fields):
            raise DataError(f"{path}, line {number}: expected {len(fields)} columns, found {len(cells)}")
        rows.append(cells)
    if not rows:
        raise DataError(f"{path} is empty")
    columns = zip(*rows, strict=True)
    return {field: np.array(column, dtype=object) for field, column in zip(fields, columns, strict=True)}


def headed_lines(path: Path, starts: str | tuple[str, ...]) -> dict[str, Column]:
    """The columns of a PLINK 2 text file, named by the header line that begins with one of `starts`."""
    lines = [line for line in text_lines(path) if not line.startswith("##")]
    if not lines or not lines[0].startswith(starts):
        raise DataError(f"{path} has no header line that begins with {starts}; write it with PLINK 2")
    header, *rows = (line.split() for line in lines)
    for number, cells in enumerate(rows, start=1):
        if len(cells) != len(header):
            raise DataError(f"{path}, row {number}: expected {len(header)} columns, found {len(cells)}")
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    return {name: np.array(column, dtype=object) for name, column in zip(header, columns, strict=True)}


def text_lines(path: Path) -> Iterator[str]:
    """Lines that are not blank."""
    with path.open(encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file if line.strip())


def variant_notes(chromosomes: Column, positions: Column, alternates: Column, references: Column) -> dict[str, Column]:
    """What is known of each variant."""
    return {
        "chromosome": chromosomes,
        "position": as_positions(positions),
        "allele": alternates,
        "other_allele": references,
    }


def as_positions(values: Column) -> NDArray[np.int64]:
    """Positions in base pairs."""
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except ValueError as error:
        raise DataError(f"a variant's position must be a whole number ({error})") from error


def variant_names(ids: Column, notes: dict[str, Column]) -> tuple[str, ...]:
    """The variants' own ids; those without one are named chromosome:position:other:allele."""
    places = zip(ids, *(notes[k] for k in ("chromosome", "position", "other_allele", "allele")), strict=True)
    return tuple(f"{c}:{p}:{o}:{a}" if name == "." else str(name) for name, c, p, o, a in places)


def sample_ids(fam: dict[str, Column]) -> tuple[str, ...]:
    """The individuals' ids, or family and individual where those alone repeat."""
    ids = tuple(map(str, fam["IID"]))
    return ids if len(set(ids)) == len(ids) else tuple(f"{f}:{i}" for f, i in zip(fam["FID"], ids, strict=True))


def fam_phenotype(values: Column) -> dict[str, Column]:
    """The sixth column of a .fam: −9 is missing, and so is 0 where the rest says 1 and 2 (control, case)."""
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError as error:
        raise DataError(f"the phenotypes of a .fam must be numbers ({error}); give others with --pheno") from error
    numbers[numbers == -9] = np.nan
    if set(numbers[~np.isnan(numbers)]) <= {0.0, 1.0, 2.0} and (numbers == 2).any():
        words = {1.0: "control", 2.0: "case"}
        return {"phenotype": np.array([words.get(number, "") for number in numbers], dtype=object)}
    return {} if np.isnan(numbers).all() else {"phenotype": numbers}
