"""BGEN in: probabilities of genotypes, taken as the most probable genotype where that is certain enough."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.errors import DataError, readable, require
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.plink import sample_ids, text_lines
from neuralmirror.io.tables import MISSING_GENOTYPE, MISSING_WORDS, Column, Decision, Table
from neuralmirror.io.variants import Variant, VariantSource, is_biallelic, variants_table

CERTAIN = 0.9  # the least probability of a genotype that is taken
TOLERANCE = 0.01  # of probabilities that are stored in few bits
SAMPLE_TYPES = set("DCPB0")  # what the second line of a .sample file may hold
NO_CALLS = np.empty(0, np.int8)


def read_bgen(path: Path, options: ReadOptions) -> Table:
    """BGEN; the count of the second allele."""
    return variants_table(open_bgen(path), "BGEN", path)


def open_bgen(path: Path) -> VariantSource:
    """BGEN, variant after variant, with the samples of the .sample file beside it or its own."""
    bgen = require("bgen", "bgen", "genotypes")
    with readable(path, "BGEN"), warnings.catch_warnings():
        warnings.simplefilter("error")
        _check_header(path)
        reader = bgen.BgenReader(str(path), delay_parsing=True)
        n, own = reader.header.nsamples, tuple(reader.samples) if reader.header.has_sample_ids else None
    samples, traits = _samples(path, n, own)
    calls = _Calls()
    return VariantSource(samples, _variants(reader, path, calls), traits, calls.told)


def _check_header(path: Path) -> None:
    """Whether the counts of the header can be true of a file of this size, before memory is asked for by them."""
    with path.open("rb") as file:
        head = file.read(24)
    start, length, variants, samples = (int.from_bytes(head[at : at + 4], "little") for at in (0, 4, 8, 12))
    size = path.stat().st_size
    if len(head) < 24 or not 20 <= length <= start or start + 4 > size or not samples or not variants:
        raise DataError(f"{path} is no BGEN file with variants, or it is cut short or damaged; copy it again")
    if variants > size or samples > 1000 * size:
        raise DataError(f"{path} has {size} bytes, too few for {variants} variants of {samples} samples; copy it again")


class _Calls:
    """Turns probabilities into genotypes, and remembers how many were not certain enough."""

    def __init__(self) -> None:
        self.seen = 0
        self.uncertain = 0

    def call(self, variant: Any) -> NDArray[np.int8]:
        """Copies of the second allele, the most probable number of them; missing where that is not certain enough."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the library warns where a file contradicts the format
            none, one, two = _of_copies(variant)
        total = none + one + two
        known = np.isfinite(total)
        if (np.fmin(np.fmin(none, one), two) < -TOLERANCE).any() or (total > 1 + TOLERANCE).any():
            raise DataError(f"{variant.rsid or variant.pos}: probabilities that sum to more than 1; copy it again")
        taken = CERTAIN - 1e-6
        copies = np.where(one >= taken, 1, np.where(two >= taken, 2, np.where(none >= taken, 0, MISSING_GENOTYPE)))
        self.seen += int(known.sum())
        self.uncertain += int((known & (copies == MISSING_GENOTYPE)).sum())
        return copies.astype(np.int8)

    def told(self) -> tuple[Decision, ...]:
        """What became of the probabilities."""
        share = 100 * self.uncertain / max(self.seen, 1)
        text = f"the probabilities of BGEN are taken as the most probable genotype; {self.uncertain} of {self.seen}"
        return (Decision(f"{text} ({share:.2g}%) have none of at least {CERTAIN:g} and are missing"),)


def _of_copies(variant: Any) -> NDArray[np.floating]:
    """The probabilities (3, n) of no, one and two copies of the second allele; of one allele, no or two."""
    ploidy = np.asarray(variant.ploidy)
    values = np.ascontiguousarray(variant.probabilities.T)
    if ploidy.max(initial=2) > 2 or ploidy.min(initial=2) < 1:
        raise DataError(f"{variant.rsid or variant.pos}: a genotype of {ploidy.max()} alleles; expected one or two")
    if variant.is_phased and len(values) == 4:
        a, b, c, d = values
        pairs = np.stack([a * c, a * d + b * c, b * d])
    else:
        pairs = values if len(values) == 3 else np.full((3, len(ploidy)), np.nan)
    single = ploidy == 1
    return np.where(single, np.stack([values[0], np.zeros(len(ploidy)), values[1]]), pairs) if single.any() else pairs


def _variants(reader: Any, path: Path, calls: _Calls) -> Iterator[Variant]:
    """The variants as the library gives them; whatever it raises means that the file is damaged."""
    with readable(path, "BGEN"):
        for v in reader:
            first, *others = v.alleles
            second, name = ",".join(others), v.rsid if v.rsid not in ("", ".") else v.varid or "."
            copies = calls.call(v) if is_biallelic(second) else NO_CALLS
            yield Variant(v.chrom, v.pos, name, first, second, copies)


def _samples(path: Path, n: int, own: tuple[str, ...] | None) -> tuple[tuple[str, ...], dict[str, Column]]:
    """The names of the samples and what a .sample file says about them; without one, the names in the file itself."""
    beside = path.with_suffix(".sample")
    if beside.is_file():
        columns = _sample_file(beside)
        ids = sample_ids({"FID": columns["ID_1"], "IID": columns["ID_2"]})
        if len(ids) != n:
            raise DataError(f"{beside} names {len(ids)} samples, but {path.name} has {n}; they do not belong together")
        return ids, {name: column for name, column in columns.items() if name not in ("ID_1", "ID_2", "missing")}
    if own is None or len(own) != n or len(set(own)) != n:
        raise DataError(f"{path} does not name its samples; put {beside.name}, which does, beside it")
    return own, {}


def _sample_file(path: Path) -> dict[str, Column]:
    """The columns of a .sample file: a line of names, a line of types, a line a sample."""
    rows = [line.split() for line in text_lines(path)]
    if len(rows) < 3 or len(rows[0]) < 2 or not set(rows[1]) <= SAMPLE_TYPES:
        raise DataError(f"{path} is no .sample file: expected a line ID_1 ID_2 missing, a line of types, then samples")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise DataError(f"{path}, line {number}: {len(row)} columns, but the header names {width}; correct it")
    names = ["ID_1", "ID_2", *rows[0][2:]]
    cells = np.array(rows[2:], dtype=object)
    kinds = rows[1]
    return {name: _typed(cells[:, j], kinds[j] in "CP", path) for j, name in enumerate(names)}


def _typed(column: Column, numeric: bool, path: Path) -> Column:
    """Numbers where the file declares them, else words; NA is missing."""
    if not numeric:
        return np.array(["" if cell in MISSING_WORDS else cell for cell in column], dtype=object)
    try:
        return np.array([np.nan if cell in MISSING_WORDS else float(cell) for cell in column])
    except ValueError as error:
        raise DataError(f"{path}: a column of type C or P must hold numbers ({error}); correct it") from error
