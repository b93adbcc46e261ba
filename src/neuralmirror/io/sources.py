"""What the user named: files, columns, and how to read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralmirror.io.options import ReadOptions


@dataclass(frozen=True)
class Source:
    """What the user named: the data, the target, and where phenotypes and covariates are."""

    data: Path
    target: str | None = None
    pheno: Path | None = None
    covar: Path | None = None
    covariates: tuple[str, ...] = ()  # columns of the data or of its traits
    drop: tuple[str, ...] = ()
    array: str | None = None
    sample_id: str | None = None
    keep_matching: bool = False
    layer: str | None = None  # of an .h5ad, in place of X
    sheet: str | None = None  # of an .xlsx
    na: tuple[str, ...] = ()  # more words that mean a missing value
    decimal: str | None = None  # "." or ",", the decimal mark of text
    encoding: str | None = None  # of text
    genotypes: bool | None = None  # whether an integer matrix of an NPZ holds genotypes

    @property
    def options(self) -> ReadOptions:
        """How to read the data."""
        named = frozenset({self.target or "", *self.covariates, *self.drop}) - {""}
        return ReadOptions(
            array=self.array,
            layer=self.layer,
            sheet=self.sheet,
            sample_id=self.sample_id,
            na=self.na,
            decimal=self.decimal,
            encoding=self.encoding,
            genotypes=self.genotypes,
            columns=named,
        )

    @property
    def files(self) -> list[Path]:
        """The files that were read."""
        return [path for path in (self.data, self.pheno, self.covar) if path is not None]
