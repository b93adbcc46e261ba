"""DeepPINK: a network that meets each feature and its knockoff in one coupled input (Lu, Fan, Lv and Noble, 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from torch import Tensor
from torch.nn import functional

from neuralmirror._internal import checks
from neuralmirror._internal.device import resolve_device
from neuralmirror._internal.standardised import StandardisedData, response_columns
from neuralmirror.base import ControlledSelector
from neuralmirror.comparators.knockoffs.sampling import S_METHODS, gaussian_knockoffs, knockoff_s
from neuralmirror.comparators.knockoffs.selectors import column_covariance

Floats = NDArray[np.float64]

PENALTY = 0.05  # times √(2 log p / n), as published
FLATNESS = 0.25  # of the cross-entropy beside the squared error: the published penalty would silence its networks
START = 0.1  # of every filter weight, so that neither member of a pair begins ahead


class DeepPINK(ControlledSelector):
    """Select features by a pairwise-coupled network on Gaussian knockoffs, with the false discovery rate below `fdr`.

    Input j of a perceptron is z_jX_j + z̃_jX̃_j, so a feature and its knockoff compete for one place. With w the
    product of all later weight matrices, the statistic is (z_jw_j)² − (z̃_jw_j)².

    Parameters
    ----------
    fdr : float
        The largest acceptable expected share of false features among those selected.
    offset : 0 or 1
        1 is the knockoff+ filter, which controls the FDR; 0 is the original one.
    covariance : "ledoit-wolf", "empirical" or array (p, p)
        Of the columns of X: estimated, or known.
    method : "mvr", "sdp" or "equicorrelated"
        How far each knockoff is set apart from its feature.
    hidden_sizes : tuple of int or None
        Widths of the hidden layers; None gives p and p as published, at most 200 each.
    l1 : float or None
        Penalty on the dense weights; None gives the published 0.05 √(2 log p / n), a quarter of it for classes.
    epochs, batch_size, learning_rate
        Passes over the rows, rows per step, and Adam's rate.
    n_repeats : int
        Independent draws of knockoffs and networks, of which at least half must select a feature.
    task : "auto", "regression" or "classification"
    target_transform : "standard" or "rank"
        Numeric responses as they are, standardised, or as rank-normal scores.
    random_state : int, RandomState or None
    device : "auto", "cpu" or "cuda"

    Attributes
    ----------
    support_, threshold_, q_values_, estimated_fdp_, selection_frequencies_
        As in `NeuralGaussianMirror`.
    mirror_statistics_ : W_j, positive where the feature beat its knockoff
    """

    def __init__(
        self,
        fdr: float = 0.1,
        offset: int = 1,
        covariance: str | ArrayLike = "ledoit-wolf",
        method: str = "mvr",
        hidden_sizes: Sequence[int] | None = None,
        l1: float | None = None,
        epochs: int = 200,
        batch_size: int = 50,
        learning_rate: float = 1e-3,
        n_repeats: int = 1,
        task: str = "auto",
        target_transform: str = "standard",
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
    ) -> None:
        self.fdr = fdr
        self.offset = offset
        self.covariance = covariance
        self.method = method
        self.hidden_sizes = hidden_sizes
        self.l1 = l1
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.n_repeats = n_repeats
        self.task = task
        self.target_transform = target_transform
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any) -> Self:
        """Draw knockoffs, train the coupled network, compare, select."""
        solver = S_METHODS[checks.check_choice("method", self.method, S_METHODS)]
        transform = checks.check_choice("target_transform", self.target_transform, ("standard", "rank"))
        repeats = checks.check_count("n_repeats", self.n_repeats)
        problem = self._read(X, y, self.task)
        training = self._training(problem)
        sigma = column_covariance(problem.x, self.covariance, self._columns.usable, self._sd)
        s = knockoff_s(sigma, solver)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        draws = []
        for draw in range(repeats):
            rng = np.random.default_rng([seed, draw])
            knockoffs = gaussian_knockoffs(problem.x, sigma, s, rng)
            draws.append(deeppink_statistics(problem.x, knockoffs, targets(problem, transform), training, rng))
        return self._conclude(np.stack(draws))

    def _training(self, problem: StandardisedData) -> Training:
        n, p = problem.x.shape
        hidden = (min(p, 200),) * 2 if self.hidden_sizes is None else tuple(self.hidden_sizes)
        if not hidden:
            raise ValueError("hidden_sizes must name at least one hidden layer, got none; try (100, 100)")
        usual = PENALTY * float(np.sqrt(2 * np.log(p) / n)) * (FLATNESS if problem.classes else 1)
        return Training(
            hidden=tuple(checks.check_count("hidden_sizes", size) for size in hidden),
            l1=usual if self.l1 is None else checks.check_positive("l1", self.l1, zero=True),
            epochs=checks.check_count("epochs", self.epochs),
            batch_size=checks.check_count("batch_size", self.batch_size),
            learning_rate=checks.check_positive("learning_rate", self.learning_rate),
            device=resolve_device(self.device),
        )


@dataclass(frozen=True)
class Training:
    """How the coupled network is built and trained."""

    hidden: tuple[int, ...]
    l1: float
    epochs: int = 200
    batch_size: int = 50
    learning_rate: float = 1e-3
    device: str = "cpu"


class Network(NamedTuple):
    """z·X + z̃·X̃ per feature, then dense layers with ReLU between them."""

    filters: Tensor  # (p, 2): z and z̃
    weights: list[Tensor]  # (in, out) of each dense layer
    biases: list[Tensor]

    def __call__(self, pairs: Tensor) -> Tensor:
        """Outputs (batch, q) for pairs (batch, p, 2)."""
        hidden = (pairs * self.filters).sum(dim=-1)  # (batch, p)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = torch.relu(torch.addmm(bias, hidden, weight))
        return torch.addmm(self.biases[-1], hidden, self.weights[-1])

    def importance(self) -> Tensor:
        """(z ⊙ w)² and (z̃ ⊙ w)², (p, 2), with w = W⁰W¹…: summed over the outputs where there are several."""
        paths = self.weights[-1]
        for weight in reversed(self.weights[:-1]):
            paths = weight @ paths  # (in, q)
        return self.filters.square() * paths.square().sum(dim=1, keepdim=True)


def targets(problem: StandardisedData, transform: str) -> Tensor:
    """Numbers (n, 1) for regression, class labels (n,) otherwise."""
    if problem.classes:
        return torch.from_numpy(problem.y.astype(np.int64))
    return torch.from_numpy(response_columns(problem, transform)).float()


def deeppink_statistics(
    x: Floats, knockoffs: Floats, y: Tensor, training: Training, rng: np.random.Generator
) -> Floats:
    """W_j = (z_jw_j)² − (z̃_jw_j)² of a network that sees each pair in random order."""
    flip = rng.random(x.shape[1]) < 0.5
    pairs = np.stack([np.where(flip, knockoffs, x), np.where(flip, x, knockoffs)], axis=-1)  # (n, p, 2)
    network = train(torch.from_numpy(pairs).float(), y, training, int(rng.integers(2**31)))
    first, second = network.importance().detach().cpu().double().numpy().T
    return np.asarray(np.where(flip, second - first, first - second))


def train(pairs: Tensor, y: Tensor, training: Training, seed: int) -> Network:
    """Adam on mean loss + l1 · Σ|W| over the hidden layers' weights, rows in random order."""
    generator = torch.Generator().manual_seed(seed)
    outputs = 1 if y.ndim == 2 else int(y.max()) + 1
    network = initial_network(pairs.shape[1], training.hidden, outputs, generator, training.device)
    pairs, y = pairs.to(training.device), y.to(training.device)
    parameters = [network.filters, *network.weights, *network.biases]
    optimiser = torch.optim.Adam(parameters, lr=training.learning_rate, fused=True)
    loss = functional.mse_loss if y.ndim == 2 else functional.cross_entropy
    for _ in range(training.epochs):
        order = torch.randperm(len(y), generator=generator).to(training.device)
        for rows in order.split(training.batch_size):
            optimiser.zero_grad()
            penalty = torch.stack([weight.abs().sum() for weight in network.weights[:-1]]).sum()
            (loss(network(pairs[rows]), y[rows]) + training.l1 * penalty).backward()
            optimiser.step()
    return network


def initial_network(p: int, hidden: tuple[int, ...], outputs: int, generator: torch.Generator, device: str) -> Network:
    """Equal filters, Glorot-normal dense weights, zero biases."""
    shapes = list(pairwise([p, *hidden, outputs]))
    dense = [torch.randn(shape, generator=generator) * (2 / sum(shape)) ** 0.5 for shape in shapes]
    return Network(
        filters=torch.full((p, 2), START, device=device).requires_grad_(),
        weights=[weight.to(device).requires_grad_() for weight in dense],
        biases=[torch.zeros(shape[1], device=device).requires_grad_() for shape in shapes],
    )
