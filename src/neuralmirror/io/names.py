"""Names of columns and samples: found with a hint, made unique, listed in few words."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence

from neuralmirror.io.errors import DataError


def check_distinct(names: Sequence[str], noun: str, place: object = None) -> None:
    """Every name once."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    repeated = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    where = f" in {place}" if place else ""
    raise DataError(
        f"duplicate {noun} {repeated[0]!r}{where} ({len(repeated)} repeated in all); make every {noun} unique"
    )


def find_name(name: str, names: Iterable[str], noun: str) -> str:
    """The name itself if it is there, or an error with the nearest one."""
    known = list(names)
    if name in known:
        return name
    lower = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    some = ", ".join(map(repr, known[:8])) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    hint = f"; did you mean {lower[near[0]]!r}?" if near else f"; there are {some or 'none'}"
    raise DataError(f"no {noun} is named {name!r}{hint}")


def made_unique(names: Sequence[str]) -> tuple[str, ...]:
    """A second occurrence of a name gets the suffix _2, a third _3, past names that exist already."""
    taken, counts = set(names), Counter[str]()
    if len(taken) == len(names):
        return tuple(names)
    return tuple(_numbered(name, counts, taken) for name in names)


def _numbered(name: str, counts: Counter[str], taken: set[str]) -> str:
    counts[name] += 1
    if counts[name] == 1:
        return name
    while (numbered := f"{name}_{counts[name]}") in taken:
        counts[name] += 1
    taken.add(numbered)
    return numbered


def few(names: Sequence[str], most: int = 5) -> str:
    """The first few of many names."""
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(count: int, noun: str) -> str:
    """A number and its noun: 1 cell, 2 cells."""
    return f"{count} {noun}" + "s" * (count != 1)
