"""Random networks, inputs and problems for tests."""

from itertools import pairwise

import numpy as np
import torch

from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner.networks import ACTIVATIONS, Networks
from neuralmirror.learner.training import NetworkInputs
from neuralmirror.mirror.directions import blinded, conditional_directions


def normal(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape))


def random_networks(seed=0, m=3, shared=4, own=2, sizes=(5, 3), outputs=1, activation="tanh"):
    """m networks with random weights and biases everywhere, in double precision so that laws hold to many digits."""
    rng = np.random.default_rng(seed)
    layers = [(normal(rng, m, a, b) / a**0.5, normal(rng, m, b)) for a, b in pairwise([*sizes, outputs])]
    return Networks(
        shared=normal(rng, shared, m, sizes[0]) / (shared + own) ** 0.5,
        own=normal(rng, m, own, sizes[0]) / (shared + own) ** 0.5,
        bias=normal(rng, m, sizes[0]),
        layers=layers,
        activation=ACTIVATIONS[activation] if isinstance(activation, str) else activation,
    )


def individual_inputs(seed=0, n=40, p=4, k=1):
    """Inputs of p individual mirrors: X shared, (X_j, Z_j^1..K) own, row j held at zero."""
    rng = np.random.default_rng(seed)
    x = normal(rng, n, p)
    own = torch.cat([x.T[:, :, None], normal(rng, p, n, k)], dim=2)  # (p, n, K+1)
    alike = torch.zeros(k + 1, dtype=torch.int64)
    return NetworkInputs(x, own, torch.arange(k + 1), alike, reads=1 - torch.eye(p, dtype=x.dtype))


def simultaneous_inputs(seed=0, n=40, p=4, k=1, covariates=0, m=1):
    """Inputs of m simultaneous mirrors: nothing shared, own = (X_1, Z_1^1..K, X_2, ..., covariates)."""
    rng = np.random.default_rng(seed)
    blocks = p * (k + 1)
    own = normal(rng, m, n, blocks + covariates)
    direction = torch.cat([torch.arange(blocks), torch.full((covariates,), blocks)])
    return NetworkInputs(own[0, :, :0], own, direction, torch.arange(p).repeat_interleave(k + 1))


def problem(seed=0, n=150, p=6, covariates=0, classes=0, groups=None, rho=0.3):
    """Correlated features: the first acts along a line, the second squared, the next two together."""
    rng = np.random.default_rng(seed)
    x = standardised(rng.standard_normal((n, p)) + rho * rng.standard_normal((n, 1)))
    c = standardised(rng.standard_normal((n, covariates)))
    y = 2 * x[:, 0] + x[:, 1] ** 2 + 2 * x[:, 2] * x[:, 3] + c.sum(axis=1) + 0.3 * rng.standard_normal(n)
    y = standardised(y)
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    return StandardisedData(x, y, c, classes, None if groups is None else np.array(groups))


def inputs_of(data, n_mirrors=4, n_seen=None, seed=7):
    """What a learner sees of a problem, with the first rows to learn from."""
    inputs, _ = blinded(conditional_directions(data, n_mirrors, (seed,)))
    n = len(data.x)
    return inputs.rows(np.arange(n), n if n_seen is None else n_seen)


def dense_problem(seed, n=1000, p=30, k=10):
    """A perceptron over the first k features, of which the last has no line: no two of them stand out."""
    rng = np.random.default_rng(seed)
    x = standardised(rng.standard_normal((n, p)))
    weights = rng.standard_normal((k, 12)) * (2 / k**0.5)
    heights = rng.standard_normal(12)
    slopes = (1 - np.tanh(x[:, :k] @ weights) ** 2).mean(axis=0) * heights
    weights[-1] -= slopes * (weights[-1] @ slopes) / (slopes @ slopes)  # its mean slope is zero
    y = np.tanh(x[:, :k] @ weights) @ heights
    return StandardisedData(x, standardised(y + 0.3 * y.std() * rng.standard_normal(n)), np.empty((n, 0))), k - 1
