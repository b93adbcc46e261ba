"""The network learner: perceptrons that see some features in all their directions, and others as they are.

All features at once is Algorithm 2 of the paper, one feature for each network Algorithm 1, and turns are in between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralmirror.learner.embedding import waves
from neuralmirror.learner.importance import gradient_strengths, path_strengths, redraw_strengths
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network import Network
from neuralmirror.learner.networks import ACTIVATIONS, Networks, hidden_sizes, initial_layers
from neuralmirror.learner.training import NetworkInputs, Tick, loss_of, train

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Goal:
    """What networks learn: targets (n, q) of so many classes, beside an offset that is known of them."""

    targets: Floats
    classes: int = 0
    offset: Floats | None = None  # (n, q), on the scale of the outputs
    noise: float = 1.0  # variance of the targets that is thought to be chance

    def prior(self) -> float:
        """What the prior of the weights counts beside the loss: −2σ² log p for numbers, −log p for classes."""
        return 0.5 if self.classes else self.noise


@dataclass(frozen=True)
class NetworkFit:
    """Trained networks with what they saw."""

    networks: Networks
    inputs: NetworkInputs
    importance: str
    places: Indices  # (m, a): the features that each network sees in all directions, −1 where it has fewer
    n_directions: int

    def fitted(self) -> Floats:
        """f at all rows, (m, n, q)."""
        with torch.no_grad():
            return np.asarray(self.networks(self.inputs.shared, self.inputs.own).double().cpu().numpy())

    def slopes(self) -> Floats:
        """∂f/∂h of the first hidden layer before its activation, at all rows and for each output: (q, m, n, h)."""
        hidden = self.networks.first_layer(self.inputs.shared, self.inputs.own).detach().requires_grad_()
        outputs = self.networks.after_first(hidden).sum(dim=(0, 1))  # (q,): networks and rows do not mix
        found = [torch.autograd.grad(output, hidden, retain_graph=True)[0] for output in outputs]
        return np.asarray(torch.stack(found).double().cpu().numpy())

    @torch.no_grad()
    def lines(self, n_seen: int) -> Tensor:
        """The least-squares line of f in the inputs of each network over the rows seen, (m, s + o, q)."""
        inputs = self._every_input()
        x = inputs[:, :n_seen].double()
        x = x - x.mean(dim=1, keepdim=True)
        goal = self.networks(self.inputs.shared[:n_seen], self.inputs.own[:, :n_seen]).double()
        products, along = ((x.mT @ y).cpu().numpy() for y in (x, goal - goal.mean(dim=1, keepdim=True)))
        ridge = 1e-6 * n_seen * np.eye(x.shape[2])  # inputs that are not read are zero
        # NumPy solves: PyTorch's batches of LU factors fail now and then where several threads ask for them.
        return torch.from_numpy(np.linalg.solve(products + ridge, along)).to(inputs)

    @torch.no_grad()
    def line(self, n_seen: int) -> Floats:
        """That line at all rows, (m, n, q), with the mean of f over the rows seen."""
        values = self._every_input() @ self.lines(n_seen)
        level = self.networks(self.inputs.shared[:n_seen], self.inputs.own[:, :n_seen]).mean(dim=1, keepdim=True)
        return np.asarray((values - values[:, :n_seen].mean(dim=1, keepdim=True) + level).double().cpu().numpy())

    def _every_input(self) -> Tensor:
        """All inputs of each network side by side, (m, n, s + o)."""
        reads = self.inputs.reads
        assert reads is not None
        return torch.cat([self.inputs.shared * reads.T[:, None], self.inputs.own], dim=2)

    def strengths_beyond_lines(self, n_features: int, n_seen: int) -> Floats:
        """How strongly what the networks say beyond lines follows the directions of each feature, (p, K+1)."""
        lines = self.lines(n_seen)[:, self.inputs.shared.shape[1] :]
        return self._by_feature(redraw_strengths(self.networks, self.inputs, lines), n_features)

    def strengths(self, n_features: int) -> Floats:
        """How strongly the networks follow the directions of each feature, (p, K+1); zero where none sees them all."""
        measure = {"redraw": redraw_strengths, "gradient": gradient_strengths, "path": path_strengths}[self.importance]
        return self._by_feature(measure(self.networks, self.inputs), n_features)

    def _by_feature(self, by_block: Tensor, n_features: int) -> Floats:
        """Strengths (m, blocks) in the places of their features, (p, K+1)."""
        found = by_block.double().cpu().numpy()
        seen = self.places >= 0
        strengths = np.zeros((n_features, self.n_directions))
        strengths[self.places[seen]] = found.reshape(*self.places.shape, self.n_directions)[seen]
        return strengths


def fit_network(
    inputs: Inputs, goal: Goal, network: Network, seed: int, device: str, tick: Tick | None = None
) -> NetworkFit:
    """One perceptron on all directions, trained on the rows seen (Algorithm 2)."""
    every = np.ones((1, inputs.n_features), dtype=bool)
    return fit_networks(inputs, inputs, every, every, goal, network, seed, device, tick)


def fit_networks(
    inputs: Inputs,
    plain: Inputs,
    reads: Flags,
    mirrored: Flags,
    goal: Goal,
    network: Network,
    seed: int,
    device: str,
    tick: Tick | None = None,
) -> NetworkFit:
    """Perceptrons of which each reads some features, `reads` (m, p), and sees some of these in all directions.

    These are `mirrored` (m, p); the others come from `plain`, which has X alone. All networks start alike: the weights
    of a column to begin with depend on nothing but the seed and its number, whatever else is read.
    """
    layout = Layout.of(inputs, plain, reads, mirrored, 1 + network.waves)
    seen = _network_inputs(inputs, plain, layout, network.waves, device)
    fresh = _fresh_networks(inputs, plain, layout, network, goal.targets.shape[1], seed, device)
    targets, offset = (
        torch.from_numpy(values[: inputs.n_seen].astype(np.float32)).to(device)
        for values in (goal.targets, np.zeros_like(goal.targets) if goal.offset is None else goal.offset)
    )
    recipe = network.recipe(inputs.n_seen, goal.prior())
    trained = train(fresh, seen, targets, loss_of(goal.classes), recipe, np.random.default_rng([seed, 7]), tick, offset)
    return NetworkFit(trained, seen, network.importance, layout.places, layout.n_directions)


@dataclass(frozen=True)
class Layout:
    """Which columns are shared by all m networks, which of these each reads, and which are its own."""

    shared_columns: Indices  # (c,)
    reads: Flags  # (s, m): of the functions of the shared columns, and of the covariates
    places: Indices  # (m, a): the features that a network sees in all directions, −1 to fill up
    columns: Indices  # (m, w): their columns, −1 to fill up
    slots: Indices  # (w,): of which of the a features a column is
    functions: int  # of each direction: its line and its waves
    n_directions: int

    @classmethod
    def of(cls, inputs: Inputs, plain: Inputs, reads: Flags, mirrored: Flags, functions: int) -> Layout:
        """The layout of networks of which each reads some features and sees some of these in all directions."""
        as_they_are = (reads & ~mirrored)[:, plain.feature]
        shared_columns = np.flatnonzero(as_they_are.any(axis=0))
        always = np.ones((len(reads), inputs.covariates.shape[1]), dtype=bool)
        read = np.concatenate([as_they_are[:, shared_columns].repeat(functions, axis=1), always], axis=1).T
        return cls(shared_columns, read, *_places(inputs, mirrored), functions, inputs.n_directions)

    def count(self) -> NDArray[np.float32]:
        """The inputs of each network, (m,)."""
        own = (self.columns >= 0).sum(axis=1)
        return np.asarray(self.reads.sum(axis=0) + self.n_directions * self.functions * own, dtype=np.float32)


def _network_inputs(inputs: Inputs, plain: Inputs, layout: Layout, waves: int, device: str) -> NetworkInputs:
    """The values of all inputs, and to which direction and feature each belongs."""
    each, m = np.arange(layout.n_directions), len(layout.columns)
    embedded = _embedded(plain, layout.shared_columns, waves)[:, 0]  # (c, e, n)
    shared = np.concatenate([embedded.reshape(-1, embedded.shape[-1]), inputs.covariates.T.astype(np.float32)])
    columns = layout.columns.ravel()
    own = _embedded(inputs, columns, waves) * (columns >= 0)[:, None, None, None]
    own = own.reshape(m, -1, own.shape[-1])  # (m, o, n)
    directions = layout.slots[:, None] * layout.n_directions + each
    return NetworkInputs(
        shared=torch.from_numpy(shared.T.copy()).to(device),
        own=torch.from_numpy(own.transpose(0, 2, 1).copy()).to(device),
        own_direction=_indices(directions.repeat(layout.functions, axis=1), device).flatten(),
        direction_feature=_indices(np.arange(layout.places.shape[1]).repeat(layout.n_directions), device),
        reads=torch.from_numpy(layout.reads.astype(np.float32)).to(device),
        count=torch.from_numpy(layout.count()).to(device),
    )


def _fresh_networks(
    inputs: Inputs, plain: Inputs, layout: Layout, network: Network, outputs: int, seed: int, device: str
) -> Networks:
    """Networks to begin with, all alike: N(0, 1/inputs) in the first layer, whatever else is read."""
    rng, sizes = np.random.default_rng([seed, 5]), network.sizes() or hidden_sizes(inputs.n_features)
    m, h, each = len(layout.columns), sizes[0], layout.n_directions * layout.functions
    spread = np.sqrt(np.maximum(layout.count(), 1))
    fixed = rng.standard_normal((inputs.covariates.shape[1], h), dtype=np.float32)
    lines = rng.standard_normal((len(plain.feature), layout.functions, h), dtype=np.float32)[layout.shared_columns]
    common = np.concatenate([lines.reshape(-1, h), fixed])[:, None] * layout.reads[..., None] / spread[:, None]
    rows = rng.standard_normal((len(inputs.feature), each, h), dtype=np.float32)[layout.columns]  # (m, w, ., h)
    return Networks(
        shared=torch.from_numpy(common.astype(np.float32)).to(device),
        own=torch.from_numpy(rows.reshape(m, -1, h) / spread[:, None, None]).to(device),
        bias=torch.zeros(m, h, device=device),
        layers=_layers(rng, sizes, outputs, m, device),
        activation=ACTIVATIONS[network.activation],
    )


def _places(inputs: Inputs, mirrored: Flags) -> tuple[Indices, Indices, Indices]:
    """Which features (m, a) and which of their columns (m, w) each network sees in all directions, −1 to fill up.

    The a-th feature of every network has its columns in the same places; `slots` (w,) says of which feature they are.
    """
    m, most = len(mirrored), int(mirrored.sum(axis=1).max(initial=0))
    places = np.full((m, most), -1, dtype=np.intp)
    for network, features in enumerate(mirrored):
        held = np.flatnonzero(features)
        places[network, : len(held)] = held
    widths = np.where(places >= 0, np.diff(inputs.first_column)[places], 0)  # (m, a)
    slots = np.arange(most).repeat(widths.max(axis=0, initial=0))
    within = np.arange(len(slots)) - np.searchsorted(slots, slots)
    columns = np.where(within < widths[:, slots], inputs.first_column[places[:, slots]] + within, -1)
    return places, columns, slots


def _embedded(inputs: Inputs, columns: Indices, count: int) -> NDArray[np.float32]:
    """The line and `count` waves of some columns' directions, (c, K+1, 1 + count, n); wave b is of size 1/√b.

    So weights, which are held alike, prefer smooth functions.
    """
    lines = inputs.directions[columns, :, None]
    if not count:
        return lines
    sizes = np.arange(1, count + 1, dtype=np.float32)[:, None] ** np.float32(-0.5)
    found = sizes * waves(inputs.scores[columns], count, inputs.n_seen)
    return np.concatenate([lines, found], axis=2)


def _layers(
    rng: np.random.Generator, sizes: tuple[int, ...], q: int, m: int, device: str
) -> list[tuple[Tensor, Tensor]]:
    """Layers after the first, alike for all m networks."""
    layers = initial_layers(rng, sizes, q)
    return [(weight.repeat(m, 1, 1).to(device), bias.repeat(m, 1).to(device)) for weight, bias in layers]


def _indices(values: NDArray[np.integer], device: str) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(device)
