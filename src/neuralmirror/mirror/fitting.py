"""What both schemes share: scaled noise, sparse parts, trained networks, and the outcome.

Schemes end in strengths (draws, p, K+1): how strongly the fitted function follows X_j and each of its K noises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner import sparse_part
from neuralmirror.learner.initial_weights import (
    Floats,
    Seed,
    as_array,
    as_tensor,
)
from neuralmirror.learner.networks import Networks
from neuralmirror.learner.solvers import Steps, as_batches, one_by_one, solve
from neuralmirror.learner.stacking import Ensemble, Starts, fit_ensembles
from neuralmirror.learner.training import (
    Inputs,
    Loss,
    Recipe,
    Tick,
    held_out_loss,
    logistic_loss,
    skip_values,
    softmax_loss,
    squared_loss,
    train,
)
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.noise import draw_noise, row_sizes
from neuralmirror.mirror.scales import correlation_scales

T = TypeVar("T")


SHRINKAGES = (1.6, 3.2)  # candidates where the shrinkage is chosen by held-out loss


HELD_OUT = 0.2  # share of the rows that the choice of the shrinkage and early stopping hold out


@dataclass(frozen=True)
class Outcome:
    """Strengths (draws, p, K+1), scales (draws, p), loss curves (draws, ·) and what was chosen on the way."""

    strengths: Floats
    scales: Floats
    curve: Floats
    choices: dict[str, list[str]]

    @classmethod
    def join(cls, outcomes: Sequence[Outcome]) -> Outcome:
        """Several draws as one outcome."""
        strengths, scales, curve = (
            np.concatenate([getattr(o, name) for o in outcomes]) for name in ("strengths", "scales", "curve")
        )
        choices = {name: [c for o in outcomes for c in o.choices[name]] for name in outcomes[0].choices}
        return cls(strengths, scales, curve, choices)


def train_judged(
    choices: Sequence[sparse_part.Choice],
    inputs: Inputs,
    starts: Starts,
    seeds: Sequence[Seed],
    settings: Settings,
    members: int,
    tick: Tick | None,
) -> tuple[list[Ensemble], Tensor]:
    """The believed perceptrons of several problems, and the loss curves of their judges."""
    targets = as_tensor(np.stack([choice.problem.codes() for choice in choices]), settings)  # (d, n, q)
    loss, judged = loss_of(choices[0].problem), settings.n_networks > 1
    shrinkages = SHRINKAGES if judged and settings.choose_shrinkage else (settings.recipe.shrinkage,)
    settled = replace(settings, choose_shrinkage=settings.choose_shrinkage and not judged)

    def fit(
        networks: Networks, seen: Inputs, weights: Tensor | None, shrinkage: Tensor | None
    ) -> tuple[Networks, Tensor]:
        return fit_networks(networks, seen, targets, loss, settled, seeds[0], weights, shrinkage, tick)

    rng = np.random.default_rng([*seeds[0], 1])
    return fit_ensembles(starts, fit, shrinkages, inputs, targets, loss, members, rng, judged)


def scaled_noise(
    problem: StandardisedData, generators: list[np.random.Generator], settings: Settings
) -> tuple[Floats, Floats]:
    """c_jZ_j^1..K (n, p, K) and the scales c (p,)."""
    z: Floats = draw_noise(generators, len(problem.x), problem.n_mirrors).astype(float, order="C")
    if not problem.n_mirrors:  # a ranking without mirrors
        return z, np.zeros(z.shape[1])
    rule = settings.scale
    if rule is correlation_scales:
        z = z * row_sizes(problem.x)[:, :, None]
        rule = partial(correlation_scales, unexplained=problem.unexplained)
    scales = as_array(rule(as_tensor(problem.x, settings), as_tensor(z, settings)))
    return scales[:, None] * z, scales


def in_units(strengths: Floats, scales: Floats, settings: Settings) -> Floats:
    """Slopes along the directions (d, p, K+1) turned into what a standard deviation of each one moves.

    X_j is standardised and its noises have the standard deviation c_j. In the paper's coordinates slopes are compared.
    """
    if settings.recipe.coordinates == "pair":
        return strengths
    return np.concatenate([strengths[..., :1], strengths[..., 1:] * scales[..., None]], axis=-1)


def fit_networks(
    networks: Networks,
    inputs: Inputs,
    targets: Tensor,
    loss: Loss,
    settings: Settings,
    seed: Seed,
    row_weights: Tensor | None = None,
    shrinkage: Tensor | None = None,
    tick: Tick | None = None,
) -> tuple[Networks, Tensor]:
    """Train a batch, with the shrinkage chosen and the weights stopped by held-out loss where asked for.

    Rows of weight 0 are held out; where none are and something is to be chosen, a fifth is, for the choice alone.
    """
    row_weights = None if row_weights is None else row_weights.expand(len(networks), -1)
    kept = row_weights
    if kept is None and (settings.choose_shrinkage or settings.early_stopping):
        kept = as_tensor(kept_rows(targets.shape[1], seed), settings).expand(len(networks), -1)
    unit = residual_size(networks, inputs, targets) if loss is squared_loss else None

    def run(
        recipe: Recipe, start: Networks, weights: Tensor | None, tick: Tick | None = None
    ) -> tuple[Networks, Tensor]:
        return train(
            start,
            inputs,
            targets,
            loss,
            recipe,
            np.random.default_rng(seed),
            row_weights=weights,
            unit=unit,
            shrinkage=shrinkage,
            early_stopping=settings.early_stopping,
            tick=tick,
        )

    recipe = settings.recipe
    if settings.choose_shrinkage and kept is not None:
        recipes = [replace(recipe, shrinkage=strength) for strength in SHRINKAGES]
        trials = [run(candidate, networks.to(settings.device), kept)[0] for candidate in recipes]
        losses = [float(held_out_loss(trial, inputs, targets, loss, kept).mean()) for trial in trials]
        recipe = recipes[int(np.argmin(losses))]
    return run(recipe, networks, kept if settings.early_stopping else row_weights, tick)


def residual_size(networks: Networks, inputs: Inputs, targets: Tensor) -> Tensor:
    """The standard deviation of what the sparse parts leave of the targets, (m,)."""
    every = torch.arange(targets.shape[1], device=targets.device)
    rest = inputs.each(targets, every) - skip_values(networks, inputs)
    return rest.std(dim=(1, 2)).clamp(min=1e-6)


def kept_rows(n: int, seed: Seed) -> NDArray[np.bool_]:
    """True for the rows to train on when choices are made by held-out loss: all but a random fifth."""
    order = np.random.default_rng([*seed, 1]).permutation(n)
    return np.asarray(order >= max(1, round(HELD_OUT * n)))


def solve_all(parts: Sequence[Callable[[], Steps[T]]], settings: Settings) -> list[T]:
    """Sparse parts of several problems: in step as batches on a GPU, on all workers otherwise.

    The workers go to the problems where there are several, and into the one problem otherwise. Descent is made of
    products too small to share, so that the threads of a BLAS would only wait for each other.
    """
    with threadpool_limits(1, user_api="blas"):
        if settings.device != "cpu":
            return solve([part() for part in parts], partial(as_batches, device=settings.device))
        if len(parts) == 1:
            return [_solve_one(parts[0], settings.n_jobs)]
        workers = Parallel(n_jobs=settings.n_jobs or torch.get_num_threads(), prefer="threads")
        return list(workers(delayed(_solve_one)(part, None) for part in parts))


def _solve_one(part: Callable[[], Steps[T]], n_jobs: int | None) -> T:
    return solve([part()], partial(one_by_one, n_jobs=n_jobs))[0]


def choose_sparse(problem: StandardisedData, directions: Floats, settings: Settings) -> Steps[sparse_part.Choice]:
    """What the sparse part is fitted to, and its degree."""
    degree = settings.degree if settings.skip else 1
    return sparse_part.choose(problem, directions, settings.transform, degree)


def fit_sparse_part(
    problem: StandardisedData, directions: Floats, settings: Settings
) -> Steps[tuple[sparse_part.Choice, sparse_part.Skip]]:
    """The choices for one problem and its skip over all inputs; without a skip, zeros."""
    choice = yield from choose_sparse(problem, directions, settings)
    if settings.skip:
        return choice, (yield from sparse_part.skip(choice, directions, settings.device if settings.products else None))
    nothing = np.zeros((directions[0].size + problem.covariates.shape[1], choice.problem.codes().shape[1]))
    return choice, sparse_part.Skip(nothing, nothing, np.zeros(nothing.shape[1]))


def describe_choices(
    choice: sparse_part.Choice, belief: float, shrinkage: float, products: int
) -> dict[str, list[str]]:
    """What was chosen on the way, as text."""
    return {
        "products": [str(products)],
        "transform": [choice.transform],
        "degree": [str(choice.degree)],
        "belief": [f"{belief:g}"],
        "shrinkage": [f"{shrinkage:g}"],
    }


def loss_of(problem: StandardisedData) -> Loss:
    """The loss for the kind of response."""
    return {0: squared_loss, 2: logistic_loss}.get(problem.classes, softmax_loss)
