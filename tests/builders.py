"""Random networks, inputs and problems for tests, in double precision so that laws hold to many digits."""

from itertools import pairwise

import numpy as np
import torch

from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner.networks import ACTIVATIONS, Networks
from neuralmirror.learner.training import Inputs


def normal(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape))


def random_networks(
    seed=0, m=3, shared=4, own=2, sizes=(5, 3), outputs=1, activation="tanh", skip=True, curve=False, products=0
):
    """m networks with random weights and biases everywhere; `skip`, `curve` and `products` give them θ, κ and γ."""
    rng = np.random.default_rng(seed)
    pairs = torch.from_numpy(rng.integers(shared + own, size=(m, products, 2))) if products else None
    layers = [(normal(rng, m, a, b) / a**0.5, normal(rng, m, b)) for a, b in pairwise([*sizes, outputs])]
    return Networks(
        shared=normal(rng, shared, m, sizes[0]) / (shared + own) ** 0.5,
        own=normal(rng, m, own, sizes[0]) / (shared + own) ** 0.5,
        bias=normal(rng, m, sizes[0]),
        layers=layers,
        skip_shared=skip * normal(rng, m, shared, outputs),
        skip_own=skip * normal(rng, m, own, outputs),
        activation=ACTIVATIONS[activation] if isinstance(activation, str) else activation,
        curve_shared=normal(rng, m, shared, outputs) if curve else None,
        curve_own=normal(rng, m, own, outputs) if curve else None,
        intercept=normal(rng, m, outputs) if products else None,
        pairs=pairs,
        products=normal(rng, m, products, outputs) if products else None,
    )


def individual_inputs(seed=0, n=40, p=4, k=1):
    """Inputs of p individual mirrors: X shared, (X_j, Z_j^1..K) own, row j held at zero."""
    rng = np.random.default_rng(seed)
    x = normal(rng, n, p)
    own = torch.cat([x.T[:, :, None], normal(rng, p, n, k)], dim=2)  # (p, n, K+1)
    return Inputs(x, own, torch.arange(p), torch.full((k + 1,), p), held=torch.arange(p))


def simultaneous_inputs(seed=0, n=40, p=4, k=1, covariates=0, m=1):
    """Inputs of m simultaneous mirrors: nothing shared, own = (X_1, Z_1^1..K, X_2, ..., covariates)."""
    rng = np.random.default_rng(seed)
    own = normal(rng, m, n, p * (k + 1) + covariates)
    groups = torch.cat([torch.arange(p).repeat_interleave(k + 1), torch.full((covariates,), -1)])
    return Inputs(torch.empty(n, 0, dtype=own.dtype), own, torch.empty(0, dtype=torch.int64), groups)


def problem(seed=0, n=80, p=6, covariates=0, classes=0):
    """The first two features matter, linearly, squared and as a product."""
    rng = np.random.default_rng(seed)
    x, c = standardised(rng.standard_normal((n, p))), standardised(rng.standard_normal((n, covariates)))
    y = 2 * x[:, 0] + x[:, 1] ** 2 + 2 * x[:, 0] * x[:, 1] + c.sum(axis=1) + 0.3 * rng.standard_normal(n)
    y = standardised(y)
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    return StandardisedData(x, y, c, classes)
