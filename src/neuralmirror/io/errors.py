"""The one error of files, and the guard that turns whatever a damaged file provokes into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


class DataError(ValueError):
    """A user's mistake in one line: what was expected, what was found, what to do."""


def require(module: str, package: str, extra: str, purpose: str = "this format is read by") -> Any:
    """An optional package, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DataError(
            f"{purpose} {package}, which is not installed; "
            f"pip install {package}, or install neuralmirror with its extra [{extra}]"
        ) from error


@contextmanager
def readable(path: Path, form: str) -> Iterator[None]:
    """Around foreign code that parses a file: anything it raises means that the file is no such file, or damaged.

    Foreign readers answer damage with exceptions of any class, hence the broad net; our own parsing stays outside.
    """
    try:
        yield
    except DataError as error:
        raise error if str(path) in str(error) else DataError(f"{path}: {error}") from error
    except MemoryError as error:
        raise DataError(f"{path} needs more memory than there is, or is damaged; name a smaller file") from error
    except Exception as error:
        cause = one_line(error)
        raise DataError(
            f"{path} cannot be read as {form}, it is cut short or damaged ({cause}); copy it again"
        ) from error


def one_line(error: BaseException, most: int = 160) -> str:
    """What an exception says, in one line of moderate length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= most else text[: most - 1] + "…"
