"""Genotypes in 2 bits each, marker after marker, read in pieces and never widened all at once."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.tables import MISSING_GENOTYPE

PIECE = 1 << 24  # bytes of packed genotypes looked at at once
COPIES = (2, MISSING_GENOTYPE, 1, 0)  # copies of the allele by the code, which is PLINK 1's
CODES = np.array([0b11, 0b10, 0b00, 0b01], dtype=np.uint8)  # the code by copies; −1, the last, is missing


def _table() -> NDArray[np.uint32]:
    """What each byte stands for: its four genotypes, one int8 each, seen as one number."""
    codes = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3
    genotypes: NDArray[np.int8] = np.array(COPIES, dtype=np.int8)[codes]
    return genotypes.view(np.uint32).ravel()


GENOTYPES_OF_BYTE = _table()

Packed = NDArray[np.uint8]


class AlleleCounts(NamedTuple):
    """Sums over the samples, for each marker."""

    known: NDArray[np.int64]  # samples with a genotype
    total: NDArray[np.int64]  # copies of the allele
    squares: NDArray[np.int64]  # squared copies


@dataclass(frozen=True)
class MappedFile:
    """Where packed genotypes lie in a file; what is pickled in place of them."""

    path: Path
    offset: int
    markers: int
    width: int

    def open(self) -> Packed:
        """The genotypes, read from the file as they are looked at."""
        shape = (self.markers, self.width)
        return np.memmap(self.path, dtype=np.uint8, mode="r", offset=self.offset, shape=shape)


class PackedMatrix:
    """Markers by samples in one or several parts, each an array in memory or a stretch of a file.

    Parts that lie in files are pickled as their places, and opened anew where they arrive.
    """

    def __init__(self, parts: Sequence[Packed | MappedFile], n_samples: int) -> None:
        self._sources = tuple(parts)
        self.n_samples = n_samples
        self._open()
        width = packed_width(n_samples)
        if any(part.shape[1:] != (width,) or part.dtype != np.uint8 for part in self._parts):
            raise ValueError(f"{n_samples} samples need parts of bytes of shape (markers, {width})")

    def _open(self) -> None:
        """The parts as arrays, and the first marker of each."""
        self._parts = [part.open() if isinstance(part, MappedFile) else part for part in self._sources]
        self._starts = np.cumsum([0, *map(len, self._parts)])

    def __getstate__(self) -> tuple[tuple[Packed | MappedFile, ...], int]:
        return self._sources, self.n_samples

    def __setstate__(self, state: tuple[tuple[Packed | MappedFile, ...], int]) -> None:
        self._sources, self.n_samples = state
        self._open()

    @property
    def n_markers(self) -> int:
        """Markers of all parts together."""
        return int(self._starts[-1])

    def packed(self, first: int, last: int) -> Packed:
        """Markers from `first` up to but not including `last`, (m, ceil(n/4)), four genotypes a byte."""
        self._check(first, last)
        pieces = []
        for part, start in zip(self._parts, self._starts, strict=False):
            if first < start + len(part) and last > start:
                pieces.append(part[max(first - start, 0) : last - start])
        if len(pieces) == 1:
            return np.asarray(pieces[0])
        return np.concatenate(pieces) if pieces else np.empty((0, packed_width(self.n_samples)), np.uint8)

    def counts(self, first: int, last: int) -> NDArray[np.int8]:
        """Copies of the allele for markers from `first` up to but not including `last`, (m, n), −1 for missing."""
        wide = GENOTYPES_OF_BYTE[self.packed(first, last)].view(np.int8)
        return wide[:, : self.n_samples]

    def allele_counts(self, rows: NDArray[np.bool_] | NDArray[np.integer] | None = None) -> AlleleCounts:
        """Known genotypes, copies and squared copies of each marker, over all samples or some.

        One pass over the packed bytes, which are counted bit by bit and not unpacked. `rows` is a mask of the samples,
        or their index without repetition.
        """
        chosen = self._mask(rows)
        mask = _bits_of(chosen)
        sums = np.zeros((3, self.n_markers), dtype=np.int64)
        for first, last in self.pieces():
            words = np.zeros((last - first, mask.nbytes), dtype=np.uint8)
            words[:, : packed_width(self.n_samples)] = self.packed(first, last)
            sums[:, first:last] = _sums(words.view(np.uint64), mask, int(chosen.sum()))
        return AlleleCounts(*sums)

    def code(self) -> int:
        """A number that follows from all genotypes and their order."""
        code = 0
        for first, last in self.pieces():
            code = zlib.crc32(np.ascontiguousarray(self.packed(first, last)).data, code)
        return code

    def pieces(self, size: int = PIECE) -> Iterator[tuple[int, int]]:
        """First and last marker of consecutive pieces of about `size` packed bytes."""
        step = max(size // max(packed_width(self.n_samples), 1), 1)
        for first in range(0, self.n_markers, step):
            yield first, min(first + step, self.n_markers)

    def _mask(self, rows: NDArray[np.bool_] | NDArray[np.integer] | None) -> NDArray[np.bool_]:
        """Which samples are meant."""
        if rows is None:
            return np.ones(self.n_samples, dtype=bool)
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if rows.shape != (self.n_samples,):
                raise ValueError(f"a mask of rows must have {self.n_samples} entries, this one has shape {rows.shape}")
            return rows.astype(bool)
        mask = np.zeros(self.n_samples, dtype=bool)
        mask[rows] = True
        if mask.sum() != len(rows):
            raise ValueError("an index of rows must name each sample at most once; this one repeats some")
        return mask

    def _check(self, first: int, last: int) -> None:
        """Whether a range lies within the markers."""
        if not 0 <= first <= last <= self.n_markers:
            raise IndexError(f"markers {first} to {last} are asked for, of 0 to {self.n_markers}")


def packed_width(n_samples: int) -> int:
    """Bytes of one marker."""
    return -(-n_samples // 4)


def pack(counts: NDArray[np.int8]) -> Packed:
    """Genotypes (m, n) of 0, 1, 2 and −1 for missing in 2 bits each, (m, ceil(n/4)); what fills the last byte is 0."""
    m, n = counts.shape
    codes = np.zeros((m, packed_width(n) * 4), dtype=np.uint8)
    codes[:, :n] = CODES[counts]
    packed = codes[:, 0::4].copy()
    for place in (1, 2, 3):
        packed |= codes[:, place::4] << np.uint8(2 * place)
    return packed


def _bits_of(chosen: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The lower bit of each chosen sample's genotype, in words of 8 bytes."""
    bits = np.zeros(-(-len(chosen) // 32) * 64, dtype=np.uint8)
    bits[: 2 * len(chosen) : 2] = chosen
    return np.packbits(bits, bitorder="little").view(np.uint64)


def _sums(words: NDArray[np.uint64], mask: NDArray[np.uint64], n: int) -> tuple[NDArray[np.int64], ...]:
    """Known, copies and squared copies of markers whose bytes fill words, over the `n` samples of a mask."""
    low = words & mask
    high = (words >> np.uint64(1)) & mask
    none, low_set, high_set = (np.bitwise_count(bits).sum(axis=1, dtype=np.int64) for bits in (low & high, low, high))
    one, missing = high_set - none, low_set - none
    two = n - none - one - missing
    return n - missing, one + 2 * two, one + 4 * two
