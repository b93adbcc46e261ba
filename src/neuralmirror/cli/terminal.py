"""Words on the terminal: names are printed as they are, and nothing in them is an instruction to it."""

from __future__ import annotations

import codecs
import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LETTERS = {"×": "x", "•": "*", "±": "+/-", "–": "-", "—": "-", "−": "-", "…": "...", "→": "->", "≥": ">=", "≤": "<="}
TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # marks that reverse what follows them


def prepare_streams() -> None:
    """Let terminals that know only ASCII, say, print x for × instead of failing."""
    codecs.register_error("neuralmirror", _nearest_letters)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="neuralmirror")


def _nearest_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(LETTERS.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def visible(text: str) -> str:
    """Control characters (escape codes, bells, reversing marks) as what one would type for them in Python."""
    return "".join(repr(c)[1:-1] if unicodedata.category(c) == "Cc" or c in TURNING else c for c in str(text))


def say(text: str) -> None:
    """One line, wrapped by the terminal alone."""
    print(visible(text))


def show_filled(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table without the columns that are empty in every row."""
    filled = [j for j in range(len(header)) if any(row[j] for row in rows)]
    show_table([header[j] for j in filled], [[row[j] for j in filled] for row in rows])


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table whose cells are taken literally, square brackets and all."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    table = Table(*(escape(name) for name in header))
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(table)


def show_facts(facts: Mapping[str, Sequence[str]]) -> None:
    """Names with one or more lines beside each."""
    width = max(map(len, facts), default=0)
    for name, lines in facts.items():
        for number, line in enumerate(lines or ["none"]):
            say(f"{name if not number else '':{width}}  {line}")


def print_json(values: Mapping[str, Any]) -> None:
    """JSON on standard output, in ASCII where that is all it can take."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    print(json.dumps(values, indent=2, ensure_ascii=not encoding.startswith("utf")))


def close_output() -> None:
    """After a broken pipe: let Python flush into nothing at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
