"""Laws of the learner of groups: one effect a block, and all directions alike."""

import numpy as np
import pytest

from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.single_effects import single_effects

N, P, K = 300, 12, 3


@pytest.fixture(scope="module")
def inputs():
    """Six groups of two columns in blocks of four; the third direction of the second group's first column matters."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((P, K, N)).astype(np.float32)
    values -= values.mean(axis=2, keepdims=True)
    return Inputs(values, np.arange(P) // 2, np.zeros((N, 0)), N)


@pytest.fixture(scope="module")
def fit(inputs):
    y = inputs.directions[2, 2] + 0.5 * np.random.default_rng(1).standard_normal(N)
    return single_effects(inputs, np.arange(P) // 4, Response(((y - y.mean()) / y.std())[:, None].astype(float)), 0)


def test_the_direction_that_matters_is_the_strongest(fit):
    assert fit.strengths.shape == (6, K)
    assert np.unravel_index(fit.strengths.argmax(), fit.strengths.shape) == (1, 2)


def test_the_column_that_matters_leads_its_group(fit):
    assert np.unravel_index(fit.by_column.argmax(), fit.by_column.shape) == (2, 2)
    assert fit.by_column[2, 2] == pytest.approx(0.89, abs=0.05)  # 1/√1.25 of the response's spread


def test_the_columns_of_a_group_in_one_block_add_up_to_its_strength(fit):
    np.testing.assert_allclose(fit.by_column.reshape(6, 2, K).sum(axis=1), fit.strengths, rtol=1e-6, atol=1e-12)


def test_threads_change_nothing(inputs, fit):
    y = inputs.directions[2, 2] + 0.5 * np.random.default_rng(1).standard_normal(N)
    response = Response(((y - y.mean()) / y.std())[:, None].astype(float))
    again = single_effects(inputs, np.arange(P) // 4, response, 0, n_jobs=2)
    np.testing.assert_array_equal(again.strengths, fit.strengths)
