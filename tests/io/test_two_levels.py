"""A column of two words goes all the way from the file to the table of results."""

from pathlib import Path

import numpy as np
import pytest

from neuralmirror.io.loading import Source
from neuralmirror.report.run import Request, select


@pytest.mark.parametrize("words", [("M", "F"), ("True", "False"), ("line\none", "line\ntwo")])
def test_two_levels_without_a_larger_category(words: tuple[str, str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f'{a},{b},"{words[i % 2]}",{a + i % 2}' for i, (a, b) in enumerate(rng.standard_normal((40, 2)))]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["a,b,sex,y", *rows]))
    request = Request(Source(path, "y"))
    select(request, tmp_path / "out", progress=False)
    table = (tmp_path / "out" / "selection.csv").read_text().splitlines()
    assert sorted(line.split(",")[0] for line in table[1:]) == ["a", "b", "sex"]
