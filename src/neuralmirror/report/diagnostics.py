"""Signs that a result can be trusted: does the network predict anything, and do the nulls' signs balance?"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from torch import Tensor

from neuralmirror._internal.standardised import StandardisedData, rank_normal, standardised
from neuralmirror.learner import sparse_part
from neuralmirror.learner.networks import ACTIVATIONS, Networks, hidden_sizes, initial_layers, initial_rows
from neuralmirror.learner.training import Inputs, Loss, logistic_loss, softmax_loss, squared_loss, train
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.mirror.fitting import kept_rows, solve_all

STEPS = 1000  # enough to tell something from nothing


@dataclass(frozen=True)
class HeldOut:
    """Loss on rows that a network never saw, beside that of a model which only knows the mean (or the class shares)."""

    loss: float
    mean_only: float
    rows: int

    @property
    def explained(self) -> float:
        """1 − loss / mean-only loss: at or below 0, the network predicts nothing."""
        return 1 - self.loss / self.mean_only

    def as_record(self) -> dict[str, float]:
        """For run.json."""
        return {**asdict(self), "explained": self.explained}


def held_out(mirror: NeuralGaussianMirror, x: Any, y: Any) -> HeldOut:
    """Train a network of the mirror's shape, without mirrors, on four fifths of the rows and test it on the rest."""
    twin = clone(mirror)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = twin._read(x, y, twin.task, twin.covariates)
    settings = twin._settings()
    if not problem.classes:
        rank = getattr(mirror, "target_transform_", "rank") == "rank"
        problem = replace(problem, y=rank_normal(problem.y) if rank else standardised(problem.y))
    return held_out_loss(problem, settings)


def held_out_loss(problem: StandardisedData, settings: Settings, seed: int = 0) -> HeldOut:
    """The same for a standardised problem: two thirds to learn from, the rest to stop by and to test."""
    kept = kept_rows(len(problem.x), (seed,))
    seen, unseen = _part(problem, kept), _part(problem, ~kept)
    learning = kept_rows(len(seen.x), (seed, 1))
    loss: Loss = {0: squared_loss, 2: logistic_loss}.get(problem.classes, softmax_loss)
    networks = _trained(seen, learning, settings, loss, seed)
    alone = loss(_mean_only(seen, len(unseen.x)), _tensor(unseen.codes())[None]).mean()
    if problem.classes:
        reached = _calibrated_loss(networks, _part(seen, ~learning), unseen)
    else:
        reached = float(np.mean((_outputs(networks, unseen)[:, 0] - unseen.y) ** 2))
    return HeldOut(reached, float(alone), len(unseen.x))


def _calibrated_loss(networks: Networks, aside: StandardisedData, unseen: StandardisedData) -> float:
    """Log-loss of class probabilities read off the outputs by a logistic regression on rows set aside.

    The logits of a small sample are overconfident, and then a network that predicts looks like one that does not.
    """
    if len(np.unique(aside.y)) < unseen.classes:
        even = np.full((len(unseen.y), unseen.classes), 1 / unseen.classes)
        return float(log_loss(unseen.y, even, labels=np.arange(unseen.classes)))
    model = LogisticRegression().fit(_outputs(networks, aside), aside.y)
    return float(log_loss(unseen.y, model.predict_proba(_outputs(networks, unseen)), labels=model.classes_))


def _outputs(networks: Networks, problem: StandardisedData) -> NDArray[np.float64]:
    inputs = _inputs(problem)
    with torch.no_grad():
        return np.asarray(networks(inputs.shared, inputs.own)[0].double())


def _part(problem: StandardisedData, rows: NDArray[np.bool_]) -> StandardisedData:
    return replace(problem, x=problem.x[rows], y=problem.y[rows], covariates=problem.covariates[rows])


def _trained(
    problem: StandardisedData, learning: NDArray[np.bool_], settings: Settings, loss: Loss, seed: int
) -> Networks:
    """One network with X and the covariates as inputs, by the mirror's recipe, stopped by the rows not learned from."""
    rng, (p, c) = np.random.default_rng([seed, 0]), (problem.x.shape[1], problem.covariates.shape[1])
    sizes, outputs = settings.hidden or hidden_sizes(p), problem.codes().shape[1]
    theta = np.zeros((p + c, outputs))
    if settings.skip:
        part = _part(problem, learning)
        (found,) = solve_all(
            [partial(sparse_part.skip, sparse_part.Choice(part, "none", 1), part.x[:, :, None])], settings
        )
        theta = found.linear
    networks = Networks(
        shared=torch.empty(0, 1, sizes[0]),
        own=initial_rows([rng], p + c, sizes[0]) / (p + c) ** 0.5,
        bias=torch.zeros(1, sizes[0]),
        layers=[(w[None], b[None]) for w, b in initial_layers(rng, sizes, outputs)],
        skip_shared=torch.empty(1, 0, outputs),
        skip_own=_tensor(theta)[None],
        activation=ACTIVATIONS[settings.activation],
    )
    recipe = replace(settings.recipe, steps=min(STEPS, settings.recipe.steps), coordinates="directions")
    inputs, targets = _inputs(problem), _tensor(problem.codes())[None]
    weights = _tensor(learning)[None]
    return train(networks, inputs, targets, loss, recipe, rng, row_weights=weights, early_stopping=True)[0]


def _inputs(problem: StandardisedData) -> Inputs:
    p, c = problem.x.shape[1], problem.covariates.shape[1]
    return Inputs(
        shared=torch.empty(len(problem.x), 0),
        own=_tensor(np.hstack([problem.x, problem.covariates]))[None],
        shared_group=torch.empty(0, dtype=torch.int64),
        own_group=torch.cat([torch.arange(p), torch.full((c,), -1)]),
    )


def _mean_only(problem: StandardisedData, rows: int) -> Tensor:
    """The best constant output: the mean, or the logits of the class shares."""
    codes = problem.codes()
    if not problem.classes:
        return _tensor(np.full((1, rows, 1), codes.mean()))
    share = np.clip(codes.mean(axis=0), 1e-3, 1 - 1e-3)
    logits = np.log(share / (1 - share)) if problem.classes == 2 else np.log(share)
    return _tensor(np.broadcast_to(logits, (1, rows, len(logits))))


def _tensor(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.array(values)).float()


@dataclass(frozen=True)
class SignBalance:
    """Among the features left out: how many won and lost against their noise, and how surprising that is."""

    won: int
    lost: int
    expected: float  # share of wins among nulls, 1 / (K + 1)
    p_value: float  # of as many wins or more

    def as_record(self) -> dict[str, float]:
        """For run.json."""
        return asdict(self)


def sign_balance(statistics: ArrayLike, selected: ArrayLike, n_mirrors: int = 1) -> SignBalance:
    """Nulls win one time in K + 1. Far more wins mean weak true features, or signal that leaks onto nulls."""
    rest = np.asarray(statistics, dtype=float)[~np.asarray(selected, dtype=bool)]
    won, lost, share = int((rest > 0).sum()), int((rest < 0).sum()), 1 / (n_mirrors + 1)
    surprise = float(binomtest(won, won + lost, share, alternative="greater").pvalue) if won + lost else 1.0
    return SignBalance(won, lost, share, surprise)
