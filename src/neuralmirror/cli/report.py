"""`neuralmirror report`: render the report of a result again. Heavy imports wait until the command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def report(folder: Path, /) -> None:
    """Render report.html again from the other files of a result.

    Parameters
    ----------
    folder
        The folder that `neuralmirror select` wrote.
    """
    from neuralmirror.report.rendering import render

    page = folder / "report.html"
    text = render(folder)
    unfinished = page.with_suffix(".tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(page)
    print(page)
