"""The scans of triples: what they find, and on how many rows."""

import numpy as np
import pytest

from neuralmirror.learner import scan
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.sparse import QUICK, fit_sparse


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


def changed_product(direction=0, n=900):
    """a b / (1 + c²) of one direction of each of features 2, 5 and 9, and what the product alone says of it."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((12, 3, n)).astype(np.float32)
    a, b, c = directions[[2, 5, 9], direction].astype(float)
    return Inputs(directions, np.arange(12), np.empty((n, 0)), n), a * b / (1 + c**2), a * b


@pytest.mark.parametrize("direction", [0, 2])
def test_a_feature_that_changes_what_a_pair_does_is_found_by_whichever_direction_it_has(direction):
    inputs, goal, product = changed_product(direction)
    slope = (goal * product).sum() / (product**2).sum()
    together = np.stack([slope * product, np.zeros_like(product)])[:, :, None]  # the second pair does nothing
    pairs = np.array([[2, 5], [0, 1]])
    found = scan.outstanding_thirds(inputs, (goal - slope * product)[:, None], pairs, together)
    assert found.tolist()[0] == [2, 5, 9]  # the strongest comes first, and chance alone lets one pass
    assert len(found) <= 3
    assert all({2, 5} <= set(triple) for triple in found.tolist())


def test_the_features_of_a_pair_are_no_thirds_and_without_pairs_there_are_none():
    inputs, _, product = changed_product()
    pair, none = np.array([[2, 5]]), np.zeros((0, 2), dtype=int)
    residual = (product * inputs.directions[2, 0] ** 2)[:, None]
    assert not len(scan.outstanding_thirds(inputs, residual, pair, product[None, :, None]))
    assert not len(scan.outstanding_thirds(inputs, residual, none, np.zeros((0, 900, 1))))


def test_the_sparse_part_finds_what_a_pair_does_only_where_a_third_is_small():
    inputs, goal, _ = changed_product()
    y = goal + 0.3 * np.random.default_rng(1).standard_normal(len(goal))
    fit = fit_sparse(inputs, Response((y / y.std())[:, None]), 0, effort=QUICK)
    assert fit.structure.triples.tolist() == [[2, 5, 9]]
    strengths = fit.strengths()
    assert strengths[9, 0] > 0.2
    assert strengths[9, 1:].max() < 0.05
