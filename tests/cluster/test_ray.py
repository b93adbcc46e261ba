"""The same bytes on a local Ray as without one, also when a worker is killed at work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("more", [[], pytest.param(["draws", "killed"], marks=pytest.mark.slow)], ids=["turns", "all"])
def test_fits_on_ray_are_the_same_bytes(more: list[str], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("psutil")
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    settings = {**os.environ, **quiet, "HOME": str(tmp_path)}  # where Ray writes a token of its own
    program = Path(__file__).with_name("on_ray.py")
    done = subprocess.run(
        [sys.executable, str(program), *more], env=settings, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "0 problems" in done.stdout
