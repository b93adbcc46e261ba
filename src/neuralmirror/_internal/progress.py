"""A progress bar with the time left, on terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def progress(description: str, total: int, show: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function to be called with each piece of work done; silent unless on a terminal or told to show."""
    console = Console(stderr=True, force_terminal=show or None)
    visible = console.is_terminal if show is None else show
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not visible) as bar:
        task = bar.add_task(description, total=total)
        yield lambda done: bar.advance(task, done)
