"""The scan of triples: what it finds, and on how many rows."""

import numpy as np
import pytest

from neuralmirror.learner import scan
from neuralmirror.learner.inputs import Inputs


def problem(n=900, p=12, copies=2, direction=0):
    """A product of three signs, of one direction of each feature, in a residual of standard normal noise."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((p, 1 + copies, n)).astype(np.float32)
    residual = np.sign(directions[[2, 5, 9], direction]).prod(axis=0) + rng.standard_normal(n)
    return Inputs(directions, np.arange(p), np.empty((n, 0)), n), residual[:, None]


@pytest.mark.parametrize("direction", [0, 2])
def test_a_triple_is_found_by_whichever_direction_it_has(direction):
    assert scan.outstanding_triples(*problem(direction=direction)).tolist() == [[2, 5, 9]]


@pytest.mark.parametrize(("rows", "found"), [(900, [[2, 5, 9]]), (500, [[2, 5, 9]]), (399, [])])
def test_it_takes_as_many_rows_as_the_work_allows_or_none(monkeypatch, rows, found):
    inputs, residual = problem()
    residual[rows:] = 0.0  # nothing can be found there
    monkeypatch.setattr(scan, "TRIPLE_WORK", rows * 2 * 36**3 / 3)
    assert scan.outstanding_triples(inputs, residual).tolist()[:1] == found  # the strongest comes first
