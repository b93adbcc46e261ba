"""A bar on terminals that reaches its end, a line now and then elsewhere, nothing where nothing was asked for."""

import time
from typing import Any

import pytest

from neuralmirror._internal import progress as module
from neuralmirror._internal.progress import progress


def test_the_bar_reaches_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(module.Progress, "update", lambda self, task, **change: seen.append(change))
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("Working", 10) as tick:
        tick(4)
    assert seen[-1] == {"completed": 10}


@pytest.mark.parametrize(("show", "lines"), [(True, True), (None, False), (False, False)])
def test_a_line_now_and_then_in_a_pipe(
    show: bool | None, lines: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.02)
    with progress("Working", 10, show) as tick:
        tick(4)
        time.sleep(0.2)
    told = capsys.readouterr().err
    assert ("Working: 40% after 0 s\n" in told) == lines
    assert "\x1b" not in told
