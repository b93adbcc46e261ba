"""Simultaneous and individual mirrors (Algorithms 2 and 1): from a problem to the strengths of its directions.

Both end in strengths (draws, p, K+1): how strongly the fitted function follows X_j and each of its K noises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from torch import Tensor

from neuralmirror import lasso, mirrors
from neuralmirror.importance import field_strengths
from neuralmirror.networks import ACTIVATIONS, Networks, hidden_sizes, initial_layers, initial_rows
from neuralmirror.problems import Problem
from neuralmirror.training import (
    Inputs,
    Loss,
    Recipe,
    Tick,
    held_out_loss,
    logistic_loss,
    softmax_loss,
    squared_loss,
    train,
)  # fmt: skip

Floats = NDArray[np.float64]
Seed = tuple[int, ...]

SHRINKAGES = (0.2, 0.4, 0.8, 1.6)  # candidates where the shrinkage is chosen by held-out loss
HELD_OUT = 0.2  # share of the rows that choices and early stopping hold out


@dataclass(frozen=True)
class Settings:
    """What an estimator resolved from its parameters."""

    recipe: Recipe = field(default_factory=Recipe)
    importance: Callable[[Networks, Tensor, Tensor], Tensor] = field_strengths
    scale: Callable[[Tensor, Tensor], Tensor] = mirrors.kernel_scales
    n_mirrors: int = 1
    hidden: tuple[int, ...] | None = None
    activation: str = "relu"
    skip: bool = True
    transform: str = "auto"
    choose_shrinkage: bool = False
    early_stopping: bool = False
    memory: int = 2**30
    device: str = "cpu"
    n_jobs: int | None = None


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


def simultaneous(
    problems: Sequence[Problem], seeds: Sequence[Seed], settings: Settings, tick: Tick | None = None
) -> Outcome:
    """Algorithm 2 for several problems of one shape, each with its seed, their networks trained as one batch.

    Repeated draws of the noise are one problem under several seeds.
    """
    generators = [mirrors.feature_generators(q.x, *seed) for q, seed in zip(problems, seeds, strict=True)]
    noises, scales = zip(
        *(scaled_noise(q, g, settings) for q, g in zip(problems, generators, strict=True)), strict=True
    )
    directions = [
        np.concatenate([q.x[:, :, None], z], axis=2) for q, z in zip(problems, noises, strict=True)
    ]
    linear = Parallel(n_jobs=settings.n_jobs, prefer="threads")(
        delayed(_linear_part)(q, d, settings) for q, d in zip(problems, directions, strict=True)
    )
    p, each = directions[0].shape[1:]
    columns = [
        np.hstack([d.reshape(len(d), -1), q.covariates]) for q, d in zip(problems, directions, strict=True)
    ]
    inputs = Inputs(
        shared=torch.empty(len(columns[0]), 0, device=settings.device),
        own=_tensor(np.stack(columns), settings),
        shared_group=torch.empty(0, dtype=torch.int64, device=settings.device),
        own_group=_groups(np.arange(p).repeat(each), problems[0], settings),
    )
    networks = _simultaneous_networks(generators, seeds, np.stack([theta for _, theta, _ in linear]), settings)
    targets = _tensor(np.stack([q.codes() for q, _, _ in linear]), settings)  # (m, n, q)
    networks, curve = fit_networks(networks, inputs, targets, _loss(problems[0]), settings, seeds[0], tick)
    strengths = settings.importance(networks, inputs.shared, inputs.own)[:, : p * each]
    choices = {"transform": [transform for _, _, transform in linear]}
    return Outcome(_array(strengths.unflatten(1, (p, each))), np.stack(scales), _array(curve), choices)


def individual(problem: Problem, seed: Seed, settings: Settings, tick: Tick | None = None) -> Outcome:
    """Algorithm 1: one network per feature, in chunks that fit the memory budget."""
    generators = mirrors.feature_generators(problem.x, *seed)
    noise, scales = scaled_noise(problem, generators, settings)
    problem, transform, _ = lasso.choose_transform(
        problem, problem.x[:, :, None], settings.transform, settings.n_jobs
    )
    networks_of = _individual_networks(generators, seed, problem, noise, settings)
    shared = np.hstack([problem.x, problem.covariates])
    p, each = problem.x.shape[1], noise.shape[2] + 1
    targets = _tensor(problem.codes(), settings)[None]  # (1, n, q)
    strengths, curves = [], []
    for chunk in np.array_split(np.arange(p), chunk_count(problem, settings)):
        own = np.concatenate([problem.x[:, chunk, None], noise[:, chunk]], axis=2)  # (n, m, K+1)
        inputs = Inputs(
            shared=_tensor(shared, settings),
            own=_tensor(own.transpose(1, 0, 2), settings),
            shared_group=_groups(np.arange(p), problem, settings),
            own_group=torch.full((each,), p, device=settings.device),
            held=torch.from_numpy(chunk).to(settings.device),
        )
        networks, curve = fit_networks(
            networks_of(chunk), inputs, targets, _loss(problem), settings, seed, tick
        )
        strengths.append(settings.importance(networks, inputs.shared, inputs.own))
        curves.append(curve)
    mean_curve = torch.cat(curves).mean(dim=0, keepdim=True)
    return Outcome(_array(torch.cat(strengths))[None], scales[None], _array(mean_curve), {"transform": [transform]})


def scaled_noise(
    problem: Problem, generators: list[np.random.Generator], settings: Settings
) -> tuple[Floats, Floats]:
    """c_jZ_j^1..K (n, p, K) and the scales c (p,)."""
    z = np.ascontiguousarray(mirrors.draw_noise(generators, len(problem.x), settings.n_mirrors))
    if not settings.n_mirrors:  # a ranking without mirrors
        return z.astype(float), np.zeros(z.shape[1])
    scales = _array(settings.scale(_tensor(problem.x, settings), _tensor(z, settings)))
    return scales[:, None] * z, scales


def fit_networks(
    networks: Networks,
    inputs: Inputs,
    targets: Tensor,
    loss: Loss,
    settings: Settings,
    seed: Seed,
    tick: Tick | None = None,
) -> tuple[Networks, Tensor]:
    """Train a batch, with the shrinkage chosen and the weights stopped by held-out loss where asked for.

    Both look at the loss alone, in which the directions of a feature play the same part.
    """
    recipe = settings.recipe
    held_out = _tensor(kept_rows(targets.shape[1], seed), settings).expand(len(networks), -1)
    if settings.choose_shrinkage:
        losses = []
        for strength in SHRINKAGES:
            trial, _ = train(
                networks.to(settings.device), inputs, targets, loss, replace(recipe, shrinkage=strength),
                np.random.default_rng(seed), row_weights=held_out,
            )  # fmt: skip
            losses.append(held_out_loss(trial, inputs, targets, loss, held_out).mean())
        recipe = replace(recipe, shrinkage=SHRINKAGES[int(torch.stack(losses).argmin())])
    return train(
        networks, inputs, targets, loss, recipe, np.random.default_rng(seed),
        row_weights=held_out if settings.early_stopping else None,
        early_stopping=settings.early_stopping, tick=tick,
    )  # fmt: skip


def kept_rows(n: int, seed: Seed) -> NDArray[np.bool_]:
    """True for the rows to train on when choices are made by held-out loss: all but a random fifth."""
    order = np.random.default_rng([*seed, 1]).permutation(n)
    return np.asarray(order >= max(1, round(HELD_OUT * n)))


def _linear_part(problem: Problem, directions: Floats, settings: Settings) -> tuple[Problem, Floats, str]:
    """The problem with its response transformed, θ of all its inputs (p(K+1) + c, q), and the transform's name."""
    transformed, name, first = lasso.choose_transform(problem, directions, settings.transform, settings.n_jobs)
    outputs = transformed.codes().shape[1]
    if not settings.skip:
        inputs = directions[0].size + problem.covariates.shape[1]
        return transformed, np.zeros((inputs, outputs)), name
    theta, gamma = lasso.skip(transformed, directions, settings.n_jobs, first)
    return transformed, np.concatenate([theta.reshape(-1, outputs), gamma]), name


def _simultaneous_networks(
    generators: Sequence[list[np.random.Generator]], seeds: Sequence[Seed], thetas: Floats, settings: Settings
) -> Networks:
    """One network per draw; a feature's generator draws the rows of all its directions."""
    m, inputs, outputs = thetas.shape
    p, each = len(generators[0]), settings.n_mirrors + 1
    sizes = settings.hidden or hidden_sizes(p)
    rngs = [np.random.default_rng([*seed, 0]) for seed in seeds]
    rows = torch.stack([initial_rows(g, each, sizes[0]).flatten(0, 1) for g in generators])  # (m, p(K+1), h)
    covariates = torch.stack([initial_rows([rng], inputs - p * each, sizes[0])[0] for rng in rngs])
    layers = [initial_layers(rng, sizes, outputs) for rng in rngs]
    return Networks(
        shared=torch.empty(0, m, sizes[0]),
        own=torch.cat([rows, covariates], dim=1) / inputs**0.5,
        bias=torch.zeros(m, sizes[0]),
        layers=[
            (torch.stack([w for w, _ in layer]), torch.stack([b for _, b in layer]))
            for layer in zip(*layers, strict=True)
        ],
        skip_shared=torch.empty(m, 0, outputs),
        skip_own=torch.from_numpy(thetas).float(),
        activation=ACTIVATIONS[settings.activation],
    ).to(settings.device)


def _individual_networks(
    generators: list[np.random.Generator], seed: Seed, problem: Problem, noise: Floats, settings: Settings
) -> Callable[[NDArray[np.intp]], Networks]:
    """A function from features to their networks, which start alike but for the rows of their own pairs."""
    p, outputs, each = problem.x.shape[1], problem.codes().shape[1], noise.shape[2] + 1
    inputs = p + problem.covariates.shape[1]
    sizes = settings.hidden or hidden_sizes(p)
    own = initial_rows(generators, each, sizes[0]) / (inputs + each - 1) ** 0.5  # (p, K+1, h)
    rng = np.random.default_rng([*seed, 0])
    features = initial_rows(generators, 1, sizes[0])[:, 0]
    covariates = initial_rows([rng], inputs - p, sizes[0])[0]
    shared = torch.cat([features, covariates]) / (inputs + each - 1) ** 0.5  # (s, h)
    layers = initial_layers(rng, sizes, outputs)
    theta_shared, theta_own = np.zeros((p, inputs, outputs)), np.zeros((p, each, outputs))
    if settings.skip:
        theta_shared, theta_own = lasso.individual_skips(problem, noise, settings.n_jobs)

    def networks_of(chunk: NDArray[np.intp]) -> Networks:
        m, index = len(chunk), torch.from_numpy(chunk)
        start = shared[:, None].repeat(1, m, 1)  # (s, m, h)
        start[index, torch.arange(m)] = 0
        return Networks(
            shared=start,
            own=own[index],
            bias=torch.zeros(m, sizes[0]),
            layers=[(weight.repeat(m, 1, 1), bias.repeat(m, 1)) for weight, bias in layers],
            skip_shared=torch.from_numpy(theta_shared[chunk]).float(),
            skip_own=torch.from_numpy(theta_own[chunk]).float(),
            activation=ACTIVATIONS[settings.activation],
        ).to(settings.device)

    return networks_of


def chunk_count(problem: Problem, settings: Settings) -> int:
    """Into how many chunks the p networks of individual mirrors go: weight, gradient and two moments each."""
    (n, p), sizes = problem.x.shape, settings.hidden or hidden_sizes(problem.x.shape[1])
    weights = (p + problem.covariates.shape[1]) * sizes[0] + sum(a * b for a, b in pairwise(sizes))
    activations = 3 * settings.recipe.batch_size * sum(sizes) + n * (settings.n_mirrors + 2)
    per_network = 4 * (4 * weights + activations)
    return int(min(p, np.ceil(p * per_network / settings.memory)))


def _groups(features: NDArray[np.intp], problem: Problem, settings: Settings) -> Tensor:
    """The feature of each input, with −1 for the covariates behind them."""
    marked = np.append(features, np.full(problem.covariates.shape[1], -1))
    return torch.from_numpy(marked).to(settings.device)


def _loss(problem: Problem) -> Loss:
    return {0: squared_loss, 2: logistic_loss}.get(problem.classes, softmax_loss)


def _tensor(values: NDArray[np.generic], settings: Settings) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(settings.device, torch.float32)


def _array(values: Tensor) -> Floats:
    return values.detach().double().cpu().numpy()
