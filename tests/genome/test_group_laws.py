"""Laws of groups from products: the same as plain least squares on the columns."""

import numpy as np
import pytest

from genomes import linked_counts, panel_of, response_of
from neuralmirror.genome.laws import MOST, find_laws

N, P = 300, 60
STARTS = np.array([0, 1, 4, 6], dtype=np.int64)
MEMBERS = np.array([20, 30, 31, 33, 40, 45], dtype=np.int64)


@pytest.fixture(scope="module")
def found():
    panel = panel_of(linked_counts(N, P), covariates=2)
    x, y = panel.columns(0, P), response_of(panel, {20: 0.4})
    return x, y, find_laws(x @ x.T, x @ y, STARTS, MEMBERS, N, len(panel.known))


def test_coefficients_are_those_of_least_squares(found):
    x, y, laws = found
    for group in range(len(laws)):
        members = MEMBERS[STARTS[group] : STARTS[group + 1]]
        count = laws.counts[group]
        design = x[laws.regressors[group, :count]].T.astype(float)
        assert count > 0
        for place, member in enumerate(members):
            expected = np.linalg.lstsq(design, x[member].astype(float), rcond=None)[0]
            np.testing.assert_allclose(laws.coefficients[STARTS[group] + place, :count], expected, atol=2e-3)
        expected = np.linalg.lstsq(design, y.astype(float), rcond=None)[0]
        np.testing.assert_allclose(laws.of_response[group, :count], expected, atol=2e-3)


def test_explained_is_the_share_that_least_squares_explains(found):
    x, _, laws = found
    for group in range(len(laws)):
        own = x[MEMBERS[STARTS[group] : STARTS[group + 1]]].astype(float)
        design = x[laws.regressors[group, : laws.counts[group]]].T.astype(float)
        rest = own.T - design @ np.linalg.lstsq(design, own.T, rcond=None)[0]
        assert laws.explained[group] == pytest.approx(1 - np.square(rest).sum() / np.square(own).sum(), abs=2e-3)
        assert 0 <= laws.explained[group] <= 1


def test_regressors_lie_outside_the_group(found):
    _, _, laws = found
    for group in range(len(laws)):
        chosen = laws.regressors[group, : laws.counts[group]]
        assert not set(chosen) & set(MEMBERS[STARTS[group] : STARTS[group + 1]])
        assert len(set(chosen)) == len(chosen) <= MOST


def test_linked_neighbours_are_among_the_regressors(found):
    _, _, laws = found
    assert set(laws.regressors[0, : laws.counts[0]]) & {18, 19, 21, 22, 23}  # the block of marker 20


def test_coefficients_as_rows_of_the_whole_window(found):
    x, y, laws = found
    assert laws.group_of_member.tolist() == [0, 1, 1, 1, 2, 2]
    mean, of_response = laws.dense(P) @ x, laws.dense_of_response(P) @ x
    for place, group in enumerate(laws.group_of_member):
        regressors = x[laws.regressors[group, : laws.counts[group]]]
        np.testing.assert_allclose(mean[place], laws.coefficients[place, : len(regressors)] @ regressors, atol=1e-3)
    assert of_response.shape == (3, N)
    np.testing.assert_allclose((y - of_response[0]) @ x[laws.regressors[0, : laws.counts[0]]].T, 0, atol=0.5)


def test_markers_that_nothing_predicts_have_few_regressors():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 2000)).astype(np.float32)
    x -= x.mean(axis=1, keepdims=True)
    laws = find_laws(x @ x.T, x @ x[0], np.array([0, 1]), np.array([7]), 2000, 1)
    assert laws.explained[0] < 0.05
