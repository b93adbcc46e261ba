"""Columns that are never written down, against columns that are."""

from functools import reduce
from itertools import product

import numpy as np
import pytest

from builders import inputs_of, problem
from neuralmirror.learner import columns as columns_of_terms
from neuralmirror.learner.columns import TILE, add_option, take_products
from neuralmirror.learner.structure import Structure, build_terms, pair_term, triple_term
from neuralmirror.learner.terms import CUBE, PRODUCT, SURFACE, TRIPLE, assemble, covariate_term


def inputs(n=90, n_seen=60, **settings):
    return inputs_of(problem(n=n, p=5, **settings), n_mirrors=2, n_seen=n_seen)


def every_kind(seen):
    """Lines, curves, pairs with smooth and fine surfaces, and a triple."""
    pairs, waves = np.array([[0, 1], [2, 3]]), np.array([[4, 4], [8, 8]])
    return assemble(build_terms(seen, Structure(np.array([1]), pairs, waves, np.array([[0, 2, 4]]))), 5, seen.n_seen)


def by_hand(seen, features, waves):
    """Products of waves of the first direction of each feature, about their means over the rows seen: (products, n)."""
    rows = [seen.waves(feature, waves)[0] for feature in features]
    values = np.array([reduce(np.multiply, chosen) for chosen in product(*rows)], dtype=float)
    return values - values[:, : seen.n_seen].mean(axis=1, keepdims=True)


@pytest.mark.parametrize("n_seen", [60, 90])
def test_columns_of_a_surface_are_orthogonal_and_span_the_products_of_waves(n_seen):
    seen = inputs(n_seen=n_seen)
    options = [option for option in pair_term([seen, seen], [0, 1], [4, 4]) if option.kind == SURFACE]
    terms = assemble([options[:1]], 5, n_seen)
    found, wanted = terms.columns.written_down(slice(None)).astype(float), by_hand(seen, [0, 1], 4)
    gram = found[:, :n_seen] @ found[:, :n_seen].T
    np.testing.assert_allclose(gram, np.diag(terms.squares), atol=1e-3 * terms.squares.max())
    np.testing.assert_allclose(found[:, :n_seen].sum(axis=1), 0, atol=1e-3)
    span = found.T @ np.linalg.lstsq(found[:, :n_seen].T, wanted[:, :n_seen].T, rcond=None)[0]
    np.testing.assert_allclose(span.T, wanted, atol=0.02)  # in the rows that are not seen, too


def test_the_columns_of_a_triple_are_the_product_and_the_chosen_waves():
    seen = inputs()
    product_of_lines, *_ = triple_term([seen] * 3, [0, 2, 4])
    cube = next(option for option in triple_term([seen] * 3, [0, 2, 4]) if option.kind == CUBE)
    assert product_of_lines.kind == TRIPLE
    assert (len(product_of_lines.columns), len(cube.columns)) == (1, 15)
    found = assemble([[product_of_lines]], 5, seen.n_seen).columns.written_down(slice(None))
    a, b, c = seen.directions[[0, 2, 4], 0].astype(float)
    wanted = a * b * c - (a * b * c)[: seen.n_seen].mean()
    np.testing.assert_allclose(np.abs(found[0] @ wanted), np.linalg.norm(found) * np.linalg.norm(wanted), rtol=1e-4)


def test_each_pair_of_directions_has_an_option_and_rows_are_held_once():
    seen = inputs()
    options = pair_term([seen, seen], [0, 1], [4, 4])
    kinds = [option.kind for option in options]
    assert (kinds.count(PRODUCT), kinds.count(SURFACE)) == (9, 9)
    assert len({option.directions for option in options}) == 9
    held = assemble([options], 5, seen.n_seen).columns
    assert len(held.row) == 9 * 17
    assert len(held.rows) == 2 * 3 * (1 + 4)


def test_a_feature_of_two_values_has_fewer_columns():
    rng = np.random.default_rng(0)
    seen = inputs()
    seen.directions[0] = rng.integers(0, 2, seen.directions[0].shape) - 0.5
    surface = pair_term([seen, seen], [0, 1], [4, 4])[-1]
    assert (surface.kind, len(surface.columns)) == (SURFACE, 4)


def test_groups_take_part_with_their_first_columns():
    seen = inputs(groups=[0, 0, 1, 2, 3])
    widths = {option.kind: len(option.columns) for option in pair_term([seen, seen], [0, 1], [4, 4])}
    assert widths == {PRODUCT: 1, SURFACE: 8}  # two columns, four waves


def test_products_and_sums_are_those_of_the_columns_written_down():
    seen = inputs(2 * TILE + 100, TILE + 60)
    terms, rng = every_kind(seen), np.random.default_rng(1)
    held, values = terms.columns, terms.columns.written_down(slice(None))
    residual, along = (
        rng.standard_normal((2, 2 * TILE + 100)).astype(np.float32),
        np.zeros((2, len(values)), dtype=np.float32),
    )
    for first, last in zip(terms.term_start[:-1], terms.term_start[1:], strict=True):
        take_products(first, last, held, residual, along, np.zeros(2000), seen.n_seen)
    np.testing.assert_allclose(along, residual[:, : seen.n_seen] @ values[:, : seen.n_seen].T, atol=0.01)

    coefficients = rng.standard_normal((len(values), 2))
    for option in (0, 1, len(terms.option_kind) - 1):
        own = slice(*terms.option_start[option : option + 2])
        before = residual.copy()
        add_option(-1.0, option, coefficients, held, residual)
        np.testing.assert_allclose(before - residual, coefficients[own].T @ values[own], atol=1e-3)
    np.testing.assert_allclose(
        held.sum(coefficients, np.arange(len(terms.option_kind))), values.T @ coefficients, atol=0.01
    )


def test_columns_may_be_written_down_in_parts(monkeypatch):
    monkeypatch.setattr(columns_of_terms, "BYTES", 0)
    terms, n_seen = every_kind(inputs(TILE + 90, TILE + 60)), TILE + 60
    values, some = terms.columns.written_down(slice(0, n_seen)), np.array([0, 5, 40, -1])
    np.testing.assert_allclose(terms.columns.products(n_seen), values @ values.T, atol=0.1)
    np.testing.assert_allclose(terms.columns.products_of(some, n_seen), values[some] @ values.T, atol=0.1)
    np.testing.assert_allclose(terms.columns.written_down(slice(20, 45)), values[:, 20:45], atol=1e-4)


def test_lines_are_not_copied():
    seen = inputs()
    terms = assemble([covariate_term(seen.covariates, 90, 60), *seen.line_terms], 5, 60)
    assert terms.columns.written_down(slice(None)).base is terms.columns.rows
    np.testing.assert_array_equal(terms.columns.rows[1:].reshape(seen.directions.shape), seen.directions)
