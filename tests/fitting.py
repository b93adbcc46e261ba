"""Selectors that fit in a moment, and clear data for them."""

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.learner.network import Network

SCHEMES = ["turns", "simultaneous", "individual"]
QUIET = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")


def small_network(**changes):
    """The default networks with few units and steps."""
    return Network(**{"steps": 30, "hidden_sizes": 8, **changes})


def small_paper_network(**changes):
    """The paper's networks with few units and steps."""
    return Network.paper().set_params(**{"steps": 30, "hidden_sizes": (8, 4), **changes})


def mirror(**parameters):
    """A selector that fits in a moment: the default but for the networks, which are small."""
    return NeuralGaussianMirror(**{"network": small_network(), "random_state": 0, **parameters})


def paper(**parameters):
    """The paper's selector with small networks."""
    return NeuralGaussianMirror.paper(**{"network": small_paper_network(), "random_state": 0, **parameters})


def data(seed=0, n=120, p=8, relevant=4):
    """The first features matter, with much signal."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    return x, x[:, :relevant] @ np.linspace(1, 2, relevant) + 0.3 * rng.standard_normal(n)


def easy(**parameters):
    """A fit that certainly selects: four clear features at a level that needs two."""
    return mirror(fdr=0.5, **parameters).fit(*data())
