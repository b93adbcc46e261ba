"""Small versions of the reliability programs; docs/reliability.md says how to run the large ones."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import concurrent_runs
import disk_full
import kill_and_resume
import mutated_models


@pytest.mark.parametrize(
    ("program", "count"),
    [(kill_and_resume, 2), (disk_full, 4), (concurrent_runs, 2), (mutated_models, 300)],
    ids=["kills", "disk full", "at once", "models"],
)
def test_a_few_of_many(program, count):
    assert program.main(count) == []
