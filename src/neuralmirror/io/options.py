"""How to read a file, where its content leaves a choice."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace

from neuralmirror.io.cells import Notation
from neuralmirror.io.errors import DataError
from neuralmirror.io.tables import MISSING_WORDS


@dataclass(frozen=True)
class ReadOptions:
    """What the user said about a file; None leaves it to the content."""

    array: str | None = None  # the matrix inside an NPZ
    layer: str | None = None  # the layer of an .h5ad that takes the place of X
    sheet: str | None = None  # the sheet of an .xlsx
    sample_id: str | None = None  # the column of sample names; "none" for none
    na: tuple[str, ...] = ()  # more words that mean a missing value
    decimal: str | None = None  # the decimal mark of text, "." or ","
    encoding: str | None = None  # of text, such as "latin-1"
    genotypes: bool | None = None  # whether an integer matrix of an NPZ holds genotypes, −1 for missing
    columns: frozenset[str] = frozenset()  # columns that the user named, which are never taken as sample names
    beside: bool = False  # a file of phenotypes or covariates, to be joined by sample name; may lack a header

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise DataError(f"the decimal mark must be . or , and not {self.decimal!r}")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    def notation(self, decimal: str) -> Notation:
        """How numbers and missing values are written."""
        return Notation(decimal, MISSING_WORDS | set(self.na))

    def for_file_beside(self) -> ReadOptions:
        """The same for a file of phenotypes or covariates."""
        return replace(self, array=None, layer=None, sheet=None, genotypes=None, beside=True)


def _check_encoding(name: str) -> None:
    try:
        codecs.lookup(name)
    except LookupError:
        raise DataError(f"no encoding is named {name!r}; utf-8, utf-16 and latin-1 are common ones") from None
