"""PLINK 1 out: .bed, .bim and .fam, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.packed_matrix import pack

BED_HEAD = b"\x6c\x1b\x01"  # PLINK 1, variant after variant


class BedWriter:
    """Genotypes of markers as they come, into PREFIX.bed and PREFIX.bim, and of `samples` into PREFIX.fam."""

    def __init__(self, prefix: Path, samples: Sequence[str]) -> None:
        self.path = prefix.parent / f"{prefix.name}.bed"  # a prefix may have dots
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fam = "".join(f"{sample}\t{sample}\t0\t0\t0\t-9\n" for sample in samples)
        (prefix.parent / f"{prefix.name}.fam").write_text(fam, encoding="utf-8")
        self._bed = self.path.open("wb")
        self._bim = (prefix.parent / f"{prefix.name}.bim").open("w", encoding="utf-8")
        self._bed.write(BED_HEAD)
        self._n = len(samples)

    def write(self, counts: NDArray[np.int8], chromosome: str, positions: NDArray[np.int64]) -> None:
        """Markers (m, n) of one chromosome, by copies of allele 1, −1 for missing; named by chromosome and position."""
        if counts.shape != (len(positions), self._n):
            raise ValueError(f"{len(positions)} markers of {self._n} samples are expected, not {counts.shape}")
        self._bed.write(pack(counts).tobytes())
        self._bim.writelines(f"{chromosome}\t{chromosome}:{at}\t0\t{at}\tA\tG\n" for at in positions)

    def close(self) -> None:
        """Finish the files."""
        self._bed.close()
        self._bim.close()

    def __enter__(self) -> BedWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
