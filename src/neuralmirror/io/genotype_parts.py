"""One file of packed genotypes: a .bed as it lies, or another format packed once, into memory or a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from neuralmirror.io.bed_writer import BED_HEAD
from neuralmirror.io.bgen import open_bgen
from neuralmirror.io.errors import DataError, one_line
from neuralmirror.io.formats import find_file, sniff
from neuralmirror.io.names import counted, few
from neuralmirror.io.packed_matrix import MappedFile, Packed, pack, packed_width
from neuralmirror.io.plink import (
    BLOCK,
    FAM,
    check_size,
    companion,
    fam_phenotype,
    pgen_blocks,
    pgen_content,
    sample_ids,
    split_lines,
    text_lines,
)
from neuralmirror.io.tables import Column, Decision
from neuralmirror.io.variants import Variant, VariantSource, is_biallelic, label
from neuralmirror.io.vcf import open_bcf, open_vcf

LAYOUT = 1  # of what is left in a scratch folder; a new number makes old ones be packed anew
BESIDE = (".bim", ".fam", ".pvar", ".psam", ".sample")


@dataclass
class Markers:
    """What is known of each marker, in columns that grow."""

    ids: list[str] = field(default_factory=list)
    chromosomes: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    alleles: list[str] = field(default_factory=list)
    other_alleles: list[str] = field(default_factory=list)

    def add(self, chromosome: str, name: str, position: int, allele: str, other: str) -> None:
        """One more; words that repeat are kept once."""
        self.ids.append(name)
        self.chromosomes.append(sys.intern(chromosome))
        self.positions.append(position)
        self.alleles.append(sys.intern(allele))
        self.other_alleles.append(sys.intern(other))


@dataclass(frozen=True)
class GenotypePart:
    """One file: its genotypes, samples and markers."""

    path: Path
    genotypes: Packed | MappedFile
    samples: tuple[str, ...]
    markers: Markers
    traits: dict[str, Column]
    decisions: tuple[Decision, ...] = ()


def open_part(path: Path, scratch: Path | None) -> GenotypePart:
    """Any file of genotypes; what is no .bed is packed first, unless `scratch` has it packed already."""
    path = find_file(path)
    form = sniff(path)
    if form == "bed":
        return _bed_part(path)
    if form not in OPENERS:
        raise DataError(f"{path} holds no genotypes but {form}; expected PLINK .bed or .pgen, BGEN, VCF or BCF")
    if scratch is None:
        return _packed_in_memory(path, form)
    folder = scratch / f"{path.stem}-{_fingerprint(path)}"
    if not folder.is_dir():
        _pack_into(folder, path, form)
    return _taken_up(folder, path)


def _bed_part(path: Path) -> GenotypePart:
    """PLINK 1, left where it lies."""
    fam_path = companion(path, ".fam")
    fam, markers = split_lines(fam_path, FAM), _bim(companion(path, ".bim"))
    n, p = len(fam["IID"]), len(markers.ids)
    check_size(path, n, p)
    genotypes = MappedFile(path.resolve(), len(BED_HEAD), p, packed_width(n))
    return GenotypePart(path, genotypes, sample_ids(fam), markers, fam_phenotype(fam["phenotype"], fam_path))


def _bim(path: Path) -> Markers:
    """The markers of a .bim, line by line."""
    markers = Markers()
    for number, line in enumerate(text_lines(path), start=1):
        cells = line.split()
        if len(cells) != 6 or not cells[3].removeprefix("-").isdecimal():
            raise DataError(
                f"{path}, line {number}: expected chromosome, id, centimorgan, position (a whole number) and two "
                f"alleles, found {few(cells, 7)!r}"
            )
        markers.add(cells[0], cells[1], int(cells[3]), cells[4], cells[5])
    if not markers.ids:
        raise DataError(f"{path} is empty; copy it again")
    return markers


# ---- packing ----


def _open_pgen(path: Path) -> VariantSource:
    """PLINK 2, variant after variant."""
    content = pgen_content(path)
    variants = _pgen_variants(path, content.samples, content.ids, content.notes)
    return VariantSource(content.samples, variants, content.traits)


def _pgen_variants(path: Path, samples: tuple[str, ...], ids: Column, notes: dict[str, Column]) -> Iterator[Variant]:
    """The variants of a .pgen, out of its blocks."""
    for start, block in pgen_blocks(path, len(samples), len(ids)):
        for j, copies in enumerate(block, start=start):
            place = str(notes["chromosome"][j]), int(notes["position"][j]), str(ids[j])
            yield Variant(*place, str(notes["other_allele"][j]), str(notes["allele"][j]), copies)


OPENERS = {"pgen": _open_pgen, "bgen": open_bgen, "vcf": open_vcf, "bcf": open_bcf}


class _Packing:
    """A file on its way into 2 bits a genotype: blocks, and the markers and decisions that gather meanwhile."""

    def __init__(self, path: Path, form: str) -> None:
        self.path = path
        self.source: VariantSource = OPENERS[form](path)
        self.markers = Markers()
        self.skipped: list[str] = []

    def blocks(self) -> Iterator[Packed]:
        """Packed blocks of variants with one alternate allele."""
        variants = self._kept()
        while block := list(islice(variants, BLOCK)):
            yield pack(np.stack([variant.copies for variant in block]))

    def _kept(self) -> Iterator[Variant]:
        """Variants with one alternate allele, noted down as they pass."""
        for variant in self.source.variants:
            if is_biallelic(variant.alternates):
                place = variant.chromosome, variant.name, variant.position
                self.markers.add(*place, variant.alternates, variant.reference)
                yield variant
            else:
                self.skipped.append(label(variant))

    def finished(self, genotypes: Packed | MappedFile) -> GenotypePart:
        """The whole, once every block has been taken."""
        if not self.markers.ids:
            raise DataError(f"{self.path} holds no variant with one alternate allele; there is nothing to select from")
        decisions = self.source.decisions()
        if self.skipped:
            left = f"{counted(len(self.skipped), 'variant')} of {self.path.name}"
            decisions += (Decision(f"{left} without exactly one alternate allele are left out: {few(self.skipped)}"),)
        traits = dict(self.source.traits)
        return GenotypePart(self.path, genotypes, self.source.samples, self.markers, traits, decisions)


def _packed_in_memory(path: Path, form: str) -> GenotypePart:
    """A file packed into memory."""
    packing = _Packing(path, form)
    blocks = list(packing.blocks())
    return packing.finished(np.concatenate(blocks) if blocks else np.empty((0, 0), np.uint8))


# ---- a folder for what has been packed ----


def _fingerprint(path: Path) -> str:
    """A file by its place, size and time of change, and those of its companions."""
    files = [path.resolve(), *(path.with_suffix(suffix).resolve() for suffix in BESIDE)]
    known = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    return hashlib.sha256(repr((LAYOUT, known)).encode()).hexdigest()[:16]


def _pack_into(folder: Path, path: Path, form: str) -> None:
    """Pack a file under another name and rename it when it is whole, so that a killed run leaves nothing to trust."""
    unfinished = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(mkdtemp(prefix=f"{folder.name}.unfinished-", dir=folder.parent))
        _write_packed(unfinished, _Packing(path, form))
        unfinished.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # else another run was faster, and its folder holds the same
            place = f"{folder.parent} cannot take the packed genotypes of {path}"
            raise DataError(f"{place} ({one_line(error)}); name another folder") from error
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)


def _write_packed(folder: Path, packing: _Packing) -> None:
    """The genotypes, block by block, and then what is to be known of them."""
    with (folder / "genotypes.bed").open("wb") as file:
        file.write(BED_HEAD)
        for block in packing.blocks():
            file.write(block.tobytes())
    about = _about(packing.finished(np.empty((0, 0), np.uint8)))
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def _about(part: GenotypePart) -> dict[str, Any]:
    """What is to be known of a part beside its genotypes, in JSON's types."""
    traits = {name: column.tolist() for name, column in part.traits.items()}
    decisions = [asdict(decision) for decision in part.decisions]
    return {"samples": part.samples, "markers": vars(part.markers), "traits": traits, "decisions": decisions}


def _taken_up(folder: Path, path: Path) -> GenotypePart:
    """What an earlier run, or this one, has packed."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    samples, markers = tuple(about["samples"]), Markers(**about["markers"])
    bed = folder / "genotypes.bed"
    check_size(bed, len(samples), len(markers.ids))
    genotypes = MappedFile(bed.resolve(), len(BED_HEAD), len(markers.ids), packed_width(len(samples)))
    traits = {name: _column(values) for name, values in about["traits"].items()}
    return GenotypePart(
        path, genotypes, samples, markers, traits, tuple(Decision(**told) for told in about["decisions"])
    )


def _column(values: list[Any]) -> Column:
    """A column as it was before JSON: numbers or words."""
    return np.array(values, dtype=object if any(isinstance(value, str) for value in values) else float)
