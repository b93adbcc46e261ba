"""Small versions of the reliability programs; docs/reliability.md says how to run the large ones."""

import subprocess
import sys
from pathlib import Path

import pytest

COUNTS = {"kill_and_resume": 2, "killed_often": 6, "disk_full": 3, "concurrent_runs": 2, "mutated_models": 300}
LONG = {"killed_often"}  # a minute or more


@pytest.mark.parametrize(
    "program", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in COUNTS]
)
def test_a_few_of_many(program: str) -> None:
    file = Path(__file__).with_name(f"{program}.py")
    done = subprocess.run([sys.executable, str(file), str(COUNTS[program])], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 problems" in done.stdout
