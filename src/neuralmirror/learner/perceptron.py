"""The network learner: one perceptron that sees all directions, or one for each feature that sees its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralmirror.learner.embedding import normal_scores, waves
from neuralmirror.learner.importance import gradient_strengths, path_strengths, redraw_strengths
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network import Network
from neuralmirror.learner.networks import ACTIVATIONS, Networks, hidden_sizes, initial_layers
from neuralmirror.learner.training import NetworkInputs, Tick, loss_of, train

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class NetworkFit:
    """Trained networks with what they saw."""

    networks: Networks
    inputs: NetworkInputs
    importance: str

    def fitted(self) -> Floats:
        """f at all rows, (n, q), of the first network."""
        with torch.no_grad():
            values = self.networks(self.inputs.shared, self.inputs.own)[0]
        return np.asarray(values.double().cpu().numpy())

    def strengths(self) -> Floats:
        """How strongly each network follows the directions among its own inputs, (m, blocks)."""
        measure = {"redraw": redraw_strengths, "gradient": gradient_strengths, "path": path_strengths}[self.importance]
        return np.asarray(measure(self.networks, self.inputs).double().cpu().numpy())


def fit_network(
    inputs: Inputs, targets: Floats, classes: int, network: Network, seed: int, device: str, tick: Tick | None = None
) -> NetworkFit:
    """One perceptron on all directions, trained on the rows seen (Algorithm 2)."""
    rng = np.random.default_rng([seed, 5])
    each = inputs.n_directions
    embedded = embed(inputs, network.waves)  # (c, K+1, e, n)
    functions = embedded.shape[2]
    own = np.concatenate([embedded.reshape(-1, embedded.shape[-1]), inputs.covariates.T.astype(np.float32)])
    block = np.arange(inputs.n_features * each).reshape(-1, each)[inputs.feature].repeat(functions, axis=1)
    seen = NetworkInputs(
        shared=torch.empty(own.shape[1], 0, device=device),
        own=torch.from_numpy(own.T[None].copy()).to(device),
        own_direction=_indices(
            np.append(block.ravel(), np.full(inputs.covariates.shape[1], inputs.n_features * each)), device
        ),
        direction_feature=_indices(np.arange(inputs.n_features).repeat(each), device),
    )
    sizes = network.sizes() or hidden_sizes(inputs.n_features)
    rows = rng.standard_normal((1, len(own), sizes[0]), dtype=np.float32) / np.float32(len(own) ** 0.5)
    fresh = Networks(
        shared=torch.empty(0, 1, sizes[0], device=device),
        own=torch.from_numpy(rows).to(device),
        bias=torch.zeros(1, sizes[0], device=device),
        layers=_layers(rng, sizes, targets.shape[1], 1, device),
        activation=ACTIVATIONS[network.activation],
    )
    goal = torch.from_numpy(targets[: inputs.n_seen].astype(np.float32)).to(device)
    return NetworkFit(train(fresh, seen, goal, loss_of(classes), network.recipe(), rng, tick), seen, network.importance)


def individual_strengths(
    inputs: Inputs,
    x: NDArray[np.float32],
    targets: Floats,
    classes: int,
    network: Network,
    seed: int,
    device: str,
    features: Indices,
    tick: Tick | None = None,
) -> Floats:
    """One perceptron for each of some features, with the other features as they are (Algorithm 1): (m, K+1).

    `x` (columns, n) holds the features themselves. All networks start alike but for the rows of their own directions.
    """
    each, m = inputs.n_directions, len(features)
    embedded = embed(inputs, network.waves)
    functions = embedded.shape[2]
    own = embedded[inputs.first_column[features]].reshape(m, each * functions, -1)
    plain = np.stack([x, *([] if not network.waves else np.moveaxis(_own_waves(inputs, x, network.waves), 1, 0))])
    shared = np.concatenate([plain.transpose(1, 0, 2).reshape(-1, x.shape[1]), inputs.covariates.T.astype(np.float32)])
    held = inputs.first_column[features][:, None] * functions + np.arange(functions)
    seen = NetworkInputs(
        shared=torch.from_numpy(shared.T.copy()).to(device),
        own=torch.from_numpy(own.transpose(0, 2, 1).copy()).to(device),
        own_direction=_indices(np.arange(each).repeat(functions), device),
        direction_feature=_indices(np.zeros(each, dtype=np.intp), device),
        held=_indices(held, device),
    )
    rng = np.random.default_rng([seed, 6])
    sizes = network.sizes() or hidden_sizes(inputs.n_features)
    spread = np.float32((len(shared) + each * functions) ** 0.5)
    common = rng.standard_normal((len(shared), 1, sizes[0]), dtype=np.float32).repeat(m, axis=1) / spread
    common[held.T, np.arange(m)] = 0
    rows = rng.standard_normal((inputs.n_features, each * functions, sizes[0]), dtype=np.float32)[features] / spread
    fresh = Networks(
        shared=torch.from_numpy(common).to(device),
        own=torch.from_numpy(rows).to(device),
        bias=torch.zeros(m, sizes[0], device=device),
        layers=_layers(rng, sizes, targets.shape[1], m, device),
        activation=ACTIVATIONS[network.activation],
    )
    goal = torch.from_numpy(targets.astype(np.float32)).to(device)
    fitted = train(fresh, seen, goal, loss_of(classes), network.recipe(), np.random.default_rng([seed, 7]), tick)
    return NetworkFit(fitted, seen, network.importance).strengths()


def embed(inputs: Inputs, count: int) -> NDArray[np.float32]:
    """The line and `count` waves of every direction, (columns, K+1, 1 + count, n)."""
    lines = inputs.directions[:, :, None]
    return np.concatenate([lines, waves(inputs.scores, count, inputs.n_seen)], axis=2) if count else lines


def _own_waves(inputs: Inputs, x: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Waves of the features themselves, (columns, count, n)."""
    return waves(normal_scores(x[:, None]), count)[:, 0]


def _layers(
    rng: np.random.Generator, sizes: tuple[int, ...], q: int, m: int, device: str
) -> list[tuple[Tensor, Tensor]]:
    """Layers after the first, alike for all m networks."""
    layers = initial_layers(rng, sizes, q)
    return [(weight.repeat(m, 1, 1).to(device), bias.repeat(m, 1).to(device)) for weight, bias in layers]


def _indices(values: NDArray[np.integer], device: str) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(device)
