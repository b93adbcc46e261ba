"""A category is copied from the other features and never from its own columns, which would give it away."""

import numpy as np

from neuralmirror import NeuralGaussianMirror
from neuralmirror._internal.standardised import standardised
from neuralmirror.mirror.conditional import conditional_law


def with_category(n: int = 300, p: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p normal columns, and behind them the three indicators of a category."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, n)
    x = np.hstack([rng.standard_normal((n, p)), np.eye(3)[level]])
    return x, level, np.array([*range(p), p, p, p])


def test_no_regressor_of_a_column_is_of_its_group() -> None:
    x, _, group = with_category()
    law = conditional_law(standardised(x), np.zeros((len(x), 0)), group)
    for column, nearest in enumerate(law.regression.nearest):
        assert not (group[nearest] == group[column]).any()
    assert law.explained[-3:].max() < 0.3, "the others know nothing of the category"


def test_a_category_that_matters_is_selected() -> None:
    x, level, group = with_category()
    y = x[:, :4].sum(axis=1) + 2 * (level == 1) + 0.3 * np.random.default_rng(1).standard_normal(len(x))
    mirror = NeuralGaussianMirror(learner="sparse", feature_groups=group, random_state=0).fit(x, y)
    assert mirror.support_[-3:].all()
    assert not len(mirror.indistinguishable_features_)
