"""`neuralmirror report`: render the report of a result again. Heavy imports wait until the command runs."""

from __future__ import annotations

from pathlib import Path

from neuralmirror._internal.output import OutputError
from neuralmirror.cli.terminal import say


def report(folder: Path, /) -> None:
    """Render report.html again from the other files of a result.

    Parameters
    ----------
    folder
        The folder that `neuralmirror select` or `neuralmirror genome` wrote.
    """
    from jinja2 import UndefinedError

    from neuralmirror.report.genome_page import is_genome, render_genome
    from neuralmirror.report.rendering import render

    page, command = folder / "report.html", "genome" if is_genome(folder) else "select"
    try:
        text = render_genome(folder) if command == "genome" else render(folder)
    except (KeyError, TypeError, AttributeError, IndexError, UndefinedError) as reason:
        lost = " ".join(str(reason).split())
        raise ValueError(f"{folder} holds a damaged result ({lost}); run `neuralmirror {command}` again") from None
    unfinished = page.with_suffix(".tmp")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(page)
    except OSError as reason:
        raise OutputError(f"{page} could not be written: {reason.strerror}; free some space or copy {folder}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    say(str(page))
