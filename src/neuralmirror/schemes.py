"""Simultaneous and individual mirrors (Algorithms 2 and 1): from a problem to the strengths of its directions.

Both end in strengths (draws, p, K+1): how strongly the fitted function follows X_j and each of its K noises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from torch import Tensor

from neuralmirror import lasso, mirrors
from neuralmirror.ensembles import fit_ensembles
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
    skip_values,
    softmax_loss,
    squared_loss,
    train,
)  # fmt: skip

Floats = NDArray[np.float64]
Seed = tuple[int, ...]

SHRINKAGES = (1.6, 3.2)  # candidates where the shrinkage is chosen by held-out loss
LITTLE = 0.05  # share of variance out of sample below which a sparse fit says nothing about the number of features
HELD_OUT = 0.2  # share of the rows that the choice of the shrinkage and early stopping hold out


@dataclass(frozen=True)
class Settings:
    """What an estimator resolved from its parameters."""

    recipe: Recipe = field(default_factory=Recipe)
    importance: Callable[[Networks, Tensor, Tensor], Tensor] = field_strengths
    scale: Callable[[Tensor, Tensor], Tensor] = mirrors.kernel_scales
    n_mirrors: int = 1
    n_networks: int = 3
    hidden: tuple[int, ...] | None = None
    activation: str = "relu"
    skip: bool = True
    degree: int | None = None
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

    def draw(self, i: int) -> Outcome:
        """The i-th draw alone."""
        choices = {name: values[i : i + 1] for name, values in self.choices.items()}
        return Outcome(self.strengths[i : i + 1], self.scales[i : i + 1], self.curve[i : i + 1], choices)

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
    directions = [np.concatenate([q.x[:, :, None], z], axis=2) for q, z in zip(problems, noises, strict=True)]
    outer, inner = _workers(len(problems), settings)
    sparse = Parallel(n_jobs=outer)(
        delayed(_sparse_part)(q, d, inner) for q, d in zip(problems, directions, strict=True)
    )
    choices, skips = zip(*sparse, strict=True)
    inputs = _simultaneous_inputs(problems, directions, settings)
    starts = _simultaneous_starts(generators, seeds, skips, settings)
    targets = _tensor(np.stack([choice.problem.codes() for choice in choices]), settings)  # (d, n, q)
    p, each = directions[0].shape[1:]
    strengths, beliefs, shrinkages = np.empty((len(problems), p, each)), *np.empty((2, len(problems)))
    loss = _loss(problems[0])

    ways = _ways(settings)

    def fit(way: Settings, networks: Networks, seen: Inputs, weights: Tensor | None) -> tuple[Networks, Tensor]:
        return fit_networks(networks, seen, targets, loss, way, seeds[0], weights, tick)

    fits = [partial(fit, way) for way in ways]
    rng = np.random.default_rng([*seeds[0], 1])
    ensembles, curve = fit_ensembles(starts, fits, inputs, targets, loss, settings.n_networks, rng)
    for part in ensembles:
        shrinkages[part.problems] = ways[part.way].recipe.shrinkage
        found = settings.importance(part.networks, inputs.shared, inputs.own[part.problems])[:, : p * each]
        strengths[part.problems] = _array(found.unflatten(1, (p, each)))
        beliefs[part.problems] = part.beliefs
    return Outcome(strengths, np.stack(scales), _array(curve), _described(choices, beliefs, shrinkages))


def individual(problem: Problem, seed: Seed, settings: Settings, tick: Tick | None = None) -> Outcome:
    """Algorithm 1: one network per feature, in chunks that fit the memory budget.

    How much of the perceptrons is believed is found once, by networks without mirrors; where that is nothing, the
    sparse parts decide alone and no perceptron is trained.
    """
    generators = mirrors.feature_generators(problem.x, *seed)
    noise, scales = scaled_noise(problem, generators, settings)
    choice = _choice(problem, problem.x[:, :, None], settings)
    belief, settings, curve = _common_belief(choice, seed, settings)
    networks_of = _individual_starts(generators, seed, choice, noise, settings)
    targets = _tensor(choice.problem.codes(), settings)[None]  # (1, n, q)
    strengths, curves = [], []
    for chunk in np.array_split(np.arange(problem.x.shape[1]), chunk_count(problem, settings)):
        inputs = _individual_inputs(problem, noise, chunk, settings)
        networks = networks_of(chunk)
        if belief > 0:
            networks, losses = fit_networks(networks, inputs, targets, _loss(problem), settings, seed, tick=tick)
            curves.append(losses)
        networks = networks.scaled(networks.bias.new_full((len(networks),), belief))
        strengths.append(settings.importance(networks, inputs.shared, inputs.own))
    curve = torch.cat(curves).mean(dim=0, keepdim=True) if curves else curve
    described = _described([choice], np.array([belief]), np.array([settings.recipe.shrinkage]))
    return Outcome(_array(torch.cat(strengths))[None], scales[None], _array(curve), described)


def mirrors_needed(problem: Problem, fdr: float, settings: Settings, most: int = 4) -> int:
    """K = ⌈3 / (fdr · s)⌉ up to `most`, for s features kept by a sparse fit of X alone.

    Offset 1 needs 1 / (K · fdr) discoveries, and such a fit keeps up to three times the relevant features. Where it
    explains next to nothing it tells nothing of their number, and 2 serves.
    """
    choice = _choice(problem, problem.x[:, :, None], settings)
    first = choice.first or lasso.first_stage(choice, problem.x, settings.n_jobs)
    if first.explained < LITTLE:
        return 2
    found = max(1, lasso.relevant_count(replace(choice, first=None if problem.classes else first), settings.n_jobs))
    return int(np.clip(np.ceil(3 / (fdr * found) - 1e-9), 1, most))


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
    row_weights: Tensor | None = None,
    tick: Tick | None = None,
) -> tuple[Networks, Tensor]:
    """Train a batch, with the shrinkage chosen and the weights stopped by held-out loss where asked for.

    Rows of weight 0 are held out; where none are and something is to be chosen, a fifth is, for the choice alone.
    """
    row_weights = None if row_weights is None else row_weights.expand(len(networks), -1)
    kept = row_weights
    if kept is None and (settings.choose_shrinkage or settings.early_stopping):
        kept = _tensor(kept_rows(targets.shape[1], seed), settings).expand(len(networks), -1)
    unit = residual_size(networks, inputs, targets) if loss is squared_loss else None

    def run(
        recipe: Recipe, start: Networks, weights: Tensor | None, tick: Tick | None = None
    ) -> tuple[Networks, Tensor]:
        return train(
            start, inputs, targets, loss, recipe, np.random.default_rng(seed), row_weights=weights, unit=unit,
            early_stopping=settings.early_stopping, tick=tick,
        )  # fmt: skip

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


def _workers(problems: int, settings: Settings) -> tuple[int | None, Settings]:
    """The workers go to the problems where there are several, and into the one problem otherwise."""
    return (settings.n_jobs, replace(settings, n_jobs=None)) if problems > 1 else (None, settings)


def _choice(problem: Problem, directions: Floats, settings: Settings) -> lasso.Choice:
    degree = settings.degree if settings.skip else 1
    return lasso.choose(problem, directions, settings.transform, degree, settings.n_jobs)


def _sparse_part(problem: Problem, directions: Floats, settings: Settings) -> tuple[lasso.Choice, lasso.Skip]:
    """The choices for one problem and its skip over all inputs; without a skip, zeros."""
    choice = _choice(problem, directions, settings)
    if settings.skip:
        return choice, lasso.skip(choice, directions, settings.n_jobs)
    nothing = np.zeros((directions[0].size + problem.covariates.shape[1], choice.problem.codes().shape[1]))
    return choice, lasso.Skip(nothing, nothing, np.zeros(nothing.shape[1]))


def _ways(settings: Settings) -> list[Settings]:
    """The settings to choose from by what a first network predicts on unseen rows."""
    if not settings.choose_shrinkage or settings.n_networks == 1:
        return [settings]
    recipes = [replace(settings.recipe, shrinkage=strength) for strength in SHRINKAGES]
    return [replace(settings, recipe=recipe, choose_shrinkage=False) for recipe in recipes]


def _common_belief(choice: lasso.Choice, seed: Seed, settings: Settings) -> tuple[float, Settings, Tensor]:
    """The share of a perceptron without mirrors that predicts best, the settings with its shrinkage, and its curve."""
    if settings.n_networks == 1:
        return 1.0, settings, torch.zeros(1, 1)
    plain = replace(
        settings, n_mirrors=0, transform="standard", degree=choice.degree,
        recipe=replace(settings.recipe, coordinates="directions"),
    )  # fmt: skip
    outcome = simultaneous([choice.problem], [seed], plain)
    recipe = replace(settings.recipe, shrinkage=float(outcome.choices["shrinkage"][0]))
    settled = replace(settings, recipe=recipe, choose_shrinkage=False)
    return float(outcome.choices["belief"][0]), settled, torch.from_numpy(outcome.curve)


def _described(choices: Sequence[lasso.Choice], beliefs: Floats, shrinkages: Floats) -> dict[str, list[str]]:
    return {
        "transform": [choice.transform for choice in choices],
        "degree": [str(choice.degree) for choice in choices],
        "belief": [f"{belief:g}" for belief in beliefs],
        "shrinkage": [f"{shrinkage:g}" for shrinkage in shrinkages],
    }


def _simultaneous_inputs(problems: Sequence[Problem], directions: Sequence[Floats], settings: Settings) -> Inputs:
    p, each = directions[0].shape[1:]
    columns = [np.hstack([d.reshape(len(d), -1), q.covariates]) for q, d in zip(problems, directions, strict=True)]
    return Inputs(
        shared=torch.empty(len(columns[0]), 0, device=settings.device),
        own=_tensor(np.stack(columns), settings),
        shared_group=torch.empty(0, dtype=torch.int64, device=settings.device),
        own_group=_groups(np.arange(p).repeat(each), problems[0], settings),
    )


def _simultaneous_starts(
    generators: Sequence[list[np.random.Generator]],
    seeds: Sequence[Seed],
    skips: Sequence[lasso.Skip],
    settings: Settings,
) -> Callable[[NDArray[np.intp], int], Networks]:
    """Fresh networks of some problems; a feature's generator draws the rows of all its directions."""
    p, each = len(generators[0]), settings.n_mirrors + 1
    inputs, outputs = skips[0].linear.shape
    sizes = settings.hidden or hidden_sizes(p)
    rows = [  # (judge and members, p(K+1), h) of every problem
        torch.stack([initial_rows(g, each, sizes[0]).flatten(0, 1) for _ in range(settings.n_networks + 1)])
        for g in generators
    ]

    def starts(problems: NDArray[np.intp], member: int) -> Networks:
        rngs = [np.random.default_rng([*seeds[i], 0, member]) for i in problems]
        covariates = torch.stack([initial_rows([rng], inputs - p * each, sizes[0])[0] for rng in rngs])
        layers = [initial_layers(rng, sizes, outputs) for rng in rngs]
        linear, curve, intercept = (
            torch.from_numpy(np.stack([skips[i][part] for i in problems])).float() for part in (0, 1, 2)
        )
        return Networks(
            shared=torch.empty(0, len(problems), sizes[0]),
            own=torch.cat([torch.stack([rows[i][member] for i in problems]), covariates], dim=1) / inputs**0.5,
            bias=torch.zeros(len(problems), sizes[0]),
            layers=[
                (torch.stack([w for w, _ in layer]), torch.stack([b for _, b in layer]))
                for layer in zip(*layers, strict=True)
            ],
            skip_shared=torch.empty(len(problems), 0, outputs),
            skip_own=linear,
            activation=ACTIVATIONS[settings.activation],
            curve_shared=torch.empty(len(problems), 0, outputs),
            curve_own=curve,
            intercept=intercept,
        ).to(settings.device)

    return starts


def _individual_inputs(problem: Problem, noise: Floats, chunk: NDArray[np.intp], settings: Settings) -> Inputs:
    p, each = problem.x.shape[1], noise.shape[2] + 1
    own = np.concatenate([problem.x[:, chunk, None], noise[:, chunk]], axis=2)  # (n, m, K+1)
    return Inputs(
        shared=_tensor(np.hstack([problem.x, problem.covariates]), settings),
        own=_tensor(own.transpose(1, 0, 2), settings),
        shared_group=_groups(np.arange(p), problem, settings),
        own_group=torch.full((each,), p, device=settings.device),
        held=torch.from_numpy(chunk).to(settings.device),
    )


def _individual_starts(
    generators: list[np.random.Generator], seed: Seed, choice: lasso.Choice, noise: Floats, settings: Settings
) -> Callable[[NDArray[np.intp]], Networks]:
    """A function from features to their networks, which start alike but for the rows of their own pairs."""
    problem = choice.problem
    p, outputs, each = problem.x.shape[1], problem.codes().shape[1], noise.shape[2] + 1
    inputs = p + problem.covariates.shape[1]
    sizes = settings.hidden or hidden_sizes(p)
    own = initial_rows(generators, each, sizes[0]) / (inputs + each - 1) ** 0.5  # (p, K+1, h)
    rng = np.random.default_rng([*seed, 0])
    features = initial_rows(generators, 1, sizes[0])[:, 0]
    covariates = initial_rows([rng], inputs - p, sizes[0])[0]
    shared = torch.cat([features, covariates]) / (inputs + each - 1) ** 0.5  # (s, h)
    layers = initial_layers(rng, sizes, outputs)
    skip_shared = lasso.Skip(np.zeros((p, inputs, outputs)), np.zeros((p, inputs, outputs)))
    skip_own = lasso.Skip(np.zeros((p, each, outputs)), np.zeros((p, each, outputs)))
    if settings.skip:
        skip_shared, skip_own = lasso.individual_skips(choice, noise, settings.n_jobs)

    def networks_of(chunk: NDArray[np.intp]) -> Networks:
        m, index = len(chunk), torch.from_numpy(chunk)
        start = shared[:, None].repeat(1, m, 1)  # (s, m, h)
        start[index, torch.arange(m)] = 0
        return Networks(
            shared=start,
            own=own[index],
            bias=torch.zeros(m, sizes[0]),
            layers=[(weight.repeat(m, 1, 1), bias.repeat(m, 1)) for weight, bias in layers],
            skip_shared=torch.from_numpy(skip_shared.linear[chunk]).float(),
            skip_own=torch.from_numpy(skip_own.linear[chunk]).float(),
            activation=ACTIVATIONS[settings.activation],
            curve_shared=torch.from_numpy(skip_shared.curve[chunk]).float(),
            curve_own=torch.from_numpy(skip_own.curve[chunk]).float(),
            intercept=torch.from_numpy(skip_own.intercept).float().expand(m, -1),
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
