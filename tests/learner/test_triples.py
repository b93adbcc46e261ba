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


@pytest.mark.parametrize(("rows", "found"), [(900, [[2, 5, 9]]), (300, [[2, 5, 9]]), (199, [])])
def test_the_first_look_takes_as_many_rows_as_the_work_allows_or_there_is_none(monkeypatch, rows, found):
    monkeypatch.setattr(scan, "TRIPLE_WORK", rows * 2 * 36**3 / 3)
    assert scan.outstanding_triples(*problem()).tolist()[:1] == found  # the strongest comes first


def test_what_looks_likely_on_some_rows_must_stand_out_on_all(monkeypatch):
    inputs, residual = problem()
    looked_at = np.isin(np.arange(900), np.linspace(0, 899, 300).astype(int))
    monkeypatch.setattr(scan, "TRIPLE_WORK", 300 * 2 * 36**3 / 3)
    residual[np.flatnonzero(~looked_at)[::2]] = 0.0
    assert [2, 5, 9] in scan.outstanding_triples(inputs, residual).tolist()
    residual[~looked_at] *= -1
    assert [2, 5, 9] not in scan.outstanding_triples(inputs, residual).tolist()


def test_every_triple_is_looked_at_once():
    rng = np.random.default_rng(1)
    lines, rest = rng.standard_normal((15, 50)).astype(np.float32), rng.standard_normal((2, 50)).astype(np.float32)
    found = scan._triples_above(lines, rest, 3, 0.0)  # every triple, for each of two outputs
    wanted = [(a, b, c) for a in range(15) for b in range(15) for c in range(15) if a // 3 < b // 3 < c // 3]
    assert sorted(map(tuple, found.tolist())) == sorted(wanted * 2)
