"""Files in: the format is told by the content of a file, and every reader returns a `Table`."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from neuralmirror.io.anndata import read_h5ad
from neuralmirror.io.arrays import read_npy, read_npz
from neuralmirror.io.bgen import read_bgen
from neuralmirror.io.delimited import read_text
from neuralmirror.io.encodings import BYTE_ORDER_MARKS, GZIP, chunks
from neuralmirror.io.errors import DataError, one_line
from neuralmirror.io.excel import read_excel
from neuralmirror.io.frames import read_feather, read_parquet
from neuralmirror.io.missing import with_missing
from neuralmirror.io.names import few
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.plink import read_bed, read_pgen
from neuralmirror.io.sample_names import with_samples
from neuralmirror.io.tables import Table
from neuralmirror.io.vcf import read_bcf, read_vcf

HEAD = 1 << 16  # bytes from which the format is told
SUPPORTED = "CSV or TSV, Excel .xlsx, Parquet, Feather, NPZ, PLINK .bed or .pgen, BGEN, VCF, or AnnData .h5ad"
DEFAULTS = ReadOptions()


def read_table(path: Path, options: ReadOptions = DEFAULTS) -> Table:
    """Read any supported file; `table.decisions` tells what had to be decided about it."""
    path = find_file(path)
    try:
        table = READERS[sniff(path)](path, options)
    except MemoryError as error:
        raise DataError(f"{path} needs more memory than there is, or is damaged; name a smaller file") from error
    table = with_missing(table, options)
    return with_samples(table, options) if table.samples is None else table


def find_file(path: Path) -> Path:
    """The file itself; for PLINK also by the common prefix or by any companion."""
    if path.suffix in (".bim", ".fam", ".pvar", ".psam"):
        path = path.with_suffix(".bed" if path.suffix in (".bim", ".fam") else ".pgen")
    for candidate in (path, Path(f"{path}.bed"), Path(f"{path}.pgen")):
        if candidate.is_file():
            return candidate
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it")
    raise DataError(f"no such file: {path}")


def sniff(path: Path) -> str:
    """The format by the first bytes of the file, inside gzip too."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(GZIP):
        head = next(chunks(path), b"")[:HEAD]
    if not head.strip():
        raise DataError(f"{path} is empty; name a file with data")
    if _is_bgen(head):
        return "bgen"
    if head.startswith(b"PK"):
        return _in_zip(path)
    for magic, form in MAGIC.items():
        if head.startswith(magic):
            return form
    for magic, what in REFUSED.items():
        if head.startswith(magic):
            raise DataError(f"{path} {what}")
    if MARKUP.match(head) or JSON.match(head):
        raise DataError(
            f"{path} is {'JSON' if JSON.match(head) else 'a web page or XML'}, not a table; export it as CSV"
        )
    if not head.startswith(tuple(BYTE_ORDER_MARKS)) and not _is_text(head):
        raise DataError(f"{path} has an unknown format; expected {SUPPORTED}")
    return "text"


def _is_text(head: bytes) -> bool:
    """Text in any encoding holds next to no control characters; zeros are left to UTF-16."""
    controls = sum(byte < 32 and byte not in b"\0\t\n\r\f\x0b\x1a\x1b" for byte in head)
    return controls <= max(3, len(head) // 100)


def _is_bgen(head: bytes) -> bool:
    """BGEN begins with four numbers, in which text would have no zero, and then its name."""
    return head[16:20] == b"bgen" and b"\0" in head[:16]


def _in_zip(path: Path) -> str:
    """Three formats are zip archives; the members tell which."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is cut short or damaged ({one_line(error)}); copy it again") from error
    if "xl/workbook.xml" in members:
        return "xlsx"
    if any(member.endswith(".npy") for member in members):
        return "npz"
    raise DataError(f"{path} is a zip archive of {few(members, 3) or 'nothing'}; unpack it and name a file in it")


Reader = Callable[[Path, ReadOptions], Table]

MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"\x93NUMPY": "npy",
    b"\x6c\x1b\x01": "bed",
    b"\x6c\x1b\x00": "bed",
    b"\x6c\x1b": "pgen",
    b"##fileformat=VCF": "vcf",
    b"BCF\x02": "bcf",
    b"\x89HDF\r\n": "h5ad",
}
REFUSED = {
    b"\xd0\xcf\x11\xe0": "is an old Excel file (.xls) or has a password; save it as .xlsx without one, or as CSV",
    b"BZh91AY": "is packed with bzip2; unpack it first (bunzip2)",
    b"\xfd7zXZ": "is packed with xz; unpack it first (unxz)",
    b"\x28\xb5\x2f\xfd": "is packed with zstd; unpack it first (unzstd)",
    b"RDX2\n": "is R's own format; write it as CSV (write.csv)",
    b"RDX3\n": "is R's own format; write it as CSV (write.csv)",
    b"X\n\0\0\0": "is R's own format; write it as CSV (write.csv)",
    b"%PDF": "is a PDF document; name a table instead",
}
MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
JSON = re.compile(rb"\s*(\{\s*\"|\[\s*[\[{])")
READERS: dict[str, Reader] = {
    "text": read_text,
    "xlsx": read_excel,
    "parquet": read_parquet,
    "feather": read_feather,
    "npz": read_npz,
    "npy": read_npy,
    "bed": read_bed,
    "pgen": read_pgen,
    "bgen": read_bgen,
    "vcf": read_vcf,
    "bcf": read_bcf,
    "h5ad": read_h5ad,
}
