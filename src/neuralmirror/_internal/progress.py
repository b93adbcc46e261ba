"""A progress bar with the time left on terminals, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

HEARTBEAT = 30.0  # seconds between two lines


@contextmanager
def progress(description: str, total: int, show: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function to be called with each piece of work done.

    None shows a bar on terminals and nothing elsewhere; True a bar on terminals and a line every half minute
    elsewhere; False nothing.
    """
    console = Console(stderr=True)
    if show and not console.is_terminal:
        with _heartbeat(description, total) as tick:
            yield tick
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = show is False or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(description, total=total)
        yield lambda done: bar.advance(task, done)
        bar.update(task, completed=total)  # work that proved needless counts as done


@contextmanager
def _heartbeat(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Say every half minute how much is done, into a log or a pipe."""
    done, start, ended = [0], time.monotonic(), threading.Event()

    def speak() -> None:
        while not ended.wait(HEARTBEAT):
            share = min(done[0] / max(total, 1), 1)
            print(f"{description}: {share:.0%} after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)  # noqa: T201

    def tick(steps: int) -> None:
        done[0] += steps

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield tick
    finally:
        ended.set()
        speaker.join()
