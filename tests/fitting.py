"""Selectors that fit in a moment, and clear data for them."""

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror

SCHEMES = ["simultaneous", "individual"]
QUICK = {
    "steps": 30,
    "hidden_sizes": (8, 4),
    "n_networks": 1,
    "n_mirrors": 1,
    "shrinkage": 0.8,
    "skip": "linear",
    "target_transform": "standard",
}
QUIET = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")


def mirror(**parameters):
    """A selector that fits in a moment."""
    return NeuralGaussianMirror(**{**QUICK, "random_state": 0, **parameters})


def data(seed=0, n=120, p=8, relevant=4):
    """The first features matter, with much signal."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    return x, x[:, :relevant] @ np.linspace(1, 2, relevant) + 0.3 * rng.standard_normal(n)


def easy(**parameters):
    """A fit that certainly selects: four clear features at a level that needs two."""
    return mirror(fdr=0.5, **parameters).fit(*data())
