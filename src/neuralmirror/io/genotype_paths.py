"""Which files are meant: one, a list, or a pattern such as chr{1:22}.bed or chr*.bed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from neuralmirror.io.errors import DataError

RANGE = re.compile(r"\{(\d+):(\d+)\}")
COMPANIONS = (".bim", ".fam", ".pvar", ".psam", ".sample", ".bgi", ".tbi", ".csi", ".log")
WILD = re.compile(r"[*?]")


def genotype_paths(paths: Sequence[Path | str] | Path | str) -> list[Path]:
    """The files, in order: a range as it counts, a wildcard with chr2 before chr10."""
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    found = [path for one in given for path in _expanded(str(one))]
    if not found:
        raise DataError("no file of genotypes is named; name one, or a pattern such as chr{1:22}.bed")
    repeated = [path for path in found if found.count(path) > 1]
    if repeated:
        raise DataError(f"{repeated[0]} is named more than once; name every file of genotypes once")
    return found


def _expanded(text: str) -> list[Path]:
    """The files of one pattern; a name that is there as it stands is no pattern."""
    if Path(text).is_file():
        return [Path(text)]
    if match := RANGE.search(text):
        first, last = int(match[1]), int(match[2])
        if first > last:
            raise DataError(f"{text}: a range counts upwards, such as {{1:22}}, and not from {first} to {last}")
        head, tail = text[: match.start()], text[match.end() :]
        return [path for number in range(first, last + 1) for path in _expanded(f"{head}{number}{tail}")]
    if not WILD.search(text):
        return [Path(text)]
    anchor = Path(text).anchor
    pattern = str(Path(text).relative_to(anchor)).replace("[", "[[]")
    files = (path for path in Path(anchor).glob(pattern) if path.suffix not in COMPANIONS)
    found = sorted(files, key=_natural)
    if not found:
        raise DataError(f"no file matches {text}; look at the pattern and at the folder")
    return found


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """A key by which numbers in names are ordered as numbers."""
    parts = re.split(r"(\d+)", str(path))
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
