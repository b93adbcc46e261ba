"""Text out of bytes: gzip or not, UTF-8, UTF-16 or Latin-1, found out from the whole file before it is parsed."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from neuralmirror.io.errors import DataError, one_line
from neuralmirror.io.tables import Decision

GZIP = b"\x1f\x8b"
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")  # closes every BGZF file
CHUNK = 1 << 20
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def open_text(path: Path, given: str | None = None) -> tuple[IO[str], tuple[Decision, ...]]:
    """The file as lines of text, and what is to be told about its encoding."""
    encoding, decisions = (given, ()) if given else find_encoding(path)
    if given:
        _check_decodes(path, given)
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline=""), decisions


def open_bytes(path: Path) -> IO[bytes]:
    """The file as bytes, unpacked if it is gzip."""
    return gzip.open(path) if is_gzip(path) else path.open("rb")  # type: ignore[return-value]


def is_gzip(path: Path) -> bool:
    """Whether the file begins as gzip does."""
    with path.open("rb") as file:
        return file.read(2) == GZIP


def chunks(path: Path) -> Iterator[bytes]:
    """The content of a file, unpacked if it is gzip; an error where it is cut short or damaged."""
    if is_gzip(path):
        _check_blocked_end(path)
    with open_bytes(path) as file:
        try:
            while chunk := file.read(CHUNK):
                yield chunk
        except (EOFError, OSError, zlib.error) as error:
            raise DataError(
                f"{path} is cut short or damaged: it ends or breaks inside its gzip data ({one_line(error)}); "
                "copy it again"
            ) from error


def check_whole(path: Path) -> None:
    """Read a gzip file to its end, so that one cut short is an error and never a shorter table."""
    if is_gzip(path):
        for _ in chunks(path):
            pass


def _check_blocked_end(path: Path) -> None:
    """BGZF, the gzip of genotype files, is whole only with its empty last block."""
    with path.open("rb") as file:
        blocked = file.read(16)[12:14] == b"BC"
        file.seek(max(0, path.stat().st_size - len(BGZF_END)))
        if blocked and file.read() != BGZF_END:
            raise DataError(f"{path} is cut short: its last block, which marks the end, is missing; copy it again")


def find_encoding(path: Path) -> tuple[str, tuple[Decision, ...]]:
    """UTF-8 where the whole file is; else UTF-16 by its mark or its zeros; else Latin-1 in Windows' variant."""
    parts = chunks(path)
    head = next(parts, b"")
    for mark, name in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            _check_decodes(path, name)
            return name, () if name == "utf-8-sig" else (_told(name.upper()),)
    wide = _wide(head)
    if wide:
        _check_decodes(path, wide)
        return wide, (_told("UTF-16"),)
    if _decodes(path, "utf-8"):
        return "utf-8", ()
    name = "cp1252" if _decodes(path, "cp1252") else "latin-1"
    return name, (_told("Latin-1 (Windows-1252)", warns=True),)


def _told(name: str, warns: bool = False) -> Decision:
    return Decision(f"the text is not UTF-8 and was read as {name}", "--encoding NAME", warns)


def _wide(head: bytes) -> str | None:
    """UTF-16 without a mark: half of the bytes of plain letters are zero."""
    even, odd = head[:4000:2], head[1:4000:2]
    if len(odd) < 4:
        return None
    if odd.count(0) > 0.7 * len(odd) and not even.count(0):
        return "utf-16-le"
    return "utf-16-be" if even.count(0) > 0.7 * len(even) and not odd.count(0) else None


def _check_no_zero(chunk: bytes, place: int, path: Path) -> None:
    if b"\0" in chunk:
        place += chunk.index(b"\0")
        raise DataError(f"{path} holds a zero byte at position {place}, which text never does; export it again")


def _decodes(path: Path, encoding: str) -> bool:
    decoder, place = codecs.getincrementaldecoder(encoding)(), 0
    try:
        for chunk in chunks(path):
            if encoding == "utf-8":  # found out first, and the wide encodings are full of zeros
                _check_no_zero(chunk, place, path)
            place += len(chunk)
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def _check_decodes(path: Path, encoding: str) -> None:
    if not _decodes(path, encoding):
        raise DataError(f"{path} is not valid {encoding.upper()} text; export it as UTF-8, or name its --encoding")
