"""Laws of copies of whole groups: what they share with their group, and what tells them from it."""

import numpy as np
import pytest

from neuralmirror._internal.standardised import standardised
from neuralmirror.mirror.group_law import Products, basis_of, draw_group, group_law, regressors_of


@pytest.fixture(scope="module")
def genotypes():
    """Five groups of four near-copies each, neighbours correlated, as counts 0, 1, 2."""
    rng = np.random.default_rng(3)
    along = np.cumsum(rng.standard_normal((2, 400, 5)), axis=2) / np.sqrt(np.arange(1, 6))
    noisy = np.repeat(along, 4, axis=2) + 0.3 * rng.standard_normal((2, 400, 20))
    return standardised((noisy > 0).sum(axis=0).astype(float))


@pytest.fixture(scope="module")
def drawn(genotypes):
    columns, fixed = np.arange(8, 12), np.full((400, 1), 400**-0.5)
    law = group_law(genotypes, Products(genotypes), columns, fixed)
    return law, fixed, draw_group(law, genotypes, fixed, 6, np.random.default_rng(0)).astype(float)


def test_copies_have_the_products_of_their_group_with_every_regressor(genotypes, drawn):
    law, _, copies = drawn
    known = genotypes[:, law.regressors]
    assert not set(law.regressors) & set(law.columns)
    expected = genotypes[:, law.columns].T @ known
    for copy in copies.swapaxes(0, 1):
        np.testing.assert_allclose(copy @ known, expected, atol=1e-2)


def test_copies_have_the_products_of_their_group_among_themselves(genotypes, drawn):
    law, _, copies = drawn
    own = genotypes[:, law.columns]
    for copy in copies.swapaxes(0, 1):
        np.testing.assert_allclose(copy @ copy.T, own.T @ own, atol=1e-1)


def test_copies_differ_from_their_group_and_from_each_other(genotypes, drawn):
    law, _, copies = drawn
    rest = np.stack([genotypes[:, law.columns].T - law.mean.T, *(copies.swapaxes(0, 1) - law.mean.T)])[:, 0]
    r = np.corrcoef(rest)
    assert np.abs(r[np.triu_indices(len(r), 1)]).max() < 0.3


def test_regressors_come_in_the_order_of_what_they_add(genotypes):
    columns = np.arange(8, 12)
    order = regressors_of(Products(genotypes), columns)
    assert order[0] in set(range(20)) - set(columns)

    def left(count):
        basis = basis_of(genotypes, order[:count], np.full((400, 1), 400**-0.5))
        return np.square(genotypes[:, columns] - basis @ (basis.T @ genotypes[:, columns])).sum()

    first = [left(1)]
    for other in np.setdiff1d(np.arange(20), columns):
        basis = basis_of(genotypes, np.array([other]), np.full((400, 1), 400**-0.5))
        first.append(np.square(genotypes[:, columns] - basis @ (basis.T @ genotypes[:, columns])).sum())
    assert first[0] == pytest.approx(min(first), rel=1e-6)
    assert left(2) < left(1)


def test_a_group_of_all_columns_has_no_regressors(genotypes):
    assert len(regressors_of(Products(genotypes), np.arange(20))) == 0
