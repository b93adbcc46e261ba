"""Simultaneous and individual mirrors (Algorithms 2 and 1): from a problem to the strengths of its directions.

Both end in strengths (draws, p, K+1): how strongly the fitted function follows X_j and each of its K noises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor

from neuralmirror import kernels, lasso, mirrors
from neuralmirror._pieces import kept
from neuralmirror.ensembles import Ensemble, Starts, fit_ensembles, scaled
from neuralmirror.individual_skips import NO_PAIRS, individual_skips, strongest_pairs
from neuralmirror.networks import Networks
from neuralmirror.problems import Problem
from neuralmirror.solvers import THREADS, Steps, as_batches, one_by_one, solve
from neuralmirror.starts import (
    Floats,
    Seed,
    Settings,
    as_array,
    as_tensor,
    chunk_count,
    individual_inputs,
    individual_starts,
    most_directions,
    simultaneous_inputs,
    simultaneous_starts,
)
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
)

T = TypeVar("T")

SHRINKAGES = (1.6, 3.2)  # candidates where the shrinkage is chosen by held-out loss
LITTLE = 0.05  # share of variance out of sample below which a sparse fit says nothing about the number of features
FINE_TUNING = 0.1  # share of the steps that individual networks take from their common start
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


def simultaneous(
    problems: Sequence[Problem], seeds: Sequence[Seed], settings: Settings, tick: Tick | None = None
) -> list[Outcome]:
    """Algorithm 2 for several problems of one shape, each with its seed, their networks trained as one batch.

    Repeated draws of the noise are one problem under several seeds.
    """
    kernels.load_factorisations(settings.device)  # before the threads that take scales
    with ThreadPoolExecutor(min(THREADS, len(problems))) as pool:
        generators = list(pool.map(lambda q, seed: mirrors.feature_generators(q.x, *seed), problems, seeds))
        noises, scales = zip(*pool.map(partial(scaled_noise, settings=settings), problems, generators), strict=True)
        directions = list(pool.map(lambda q, z: mirrors.with_noise(q.x, z), problems, noises))
    parts = [partial(_sparse_part, q, d, settings) for q, d in zip(problems, directions, strict=True)]
    choices, skips = zip(*solve_all(parts, settings), strict=True)
    inputs = simultaneous_inputs(problems, directions, settings)
    starts = simultaneous_starts(problems, generators, seeds, skips, settings)
    ensembles, curve = _trained(choices, inputs, starts, seeds, settings, settings.n_networks, tick)
    p, outcomes = problems[0].x.shape[1], {}
    for part in ensembles:
        found = as_array(settings.importance(part.networks, inputs.shared, inputs.own[part.problems]))
        strengths = found[:, : p * most_directions(problems)].reshape(len(found), p, -1)
        for i, belief, values in zip(part.problems, part.beliefs, strengths, strict=True):
            own = in_units(values[None, :, : problems[i].n_mirrors + 1], scales[i][None], settings)
            described = _described(choices[i], belief, part.shrinkage, len(skips[i].pairs))
            outcomes[i] = Outcome(own, scales[i][None], as_array(curve[i])[None], described)
    return [outcomes[i] for i in range(len(problems))]


def _trained(
    choices: Sequence[lasso.Choice],
    inputs: Inputs,
    starts: Starts,
    seeds: Sequence[Seed],
    settings: Settings,
    members: int,
    tick: Tick | None,
) -> tuple[list[Ensemble], Tensor]:
    """The believed perceptrons of several problems, and the loss curves of their judges."""
    targets = as_tensor(np.stack([choice.problem.codes() for choice in choices]), settings)  # (d, n, q)
    loss, judged = _loss(choices[0].problem), settings.n_networks > 1
    shrinkages = SHRINKAGES if judged and settings.choose_shrinkage else (settings.recipe.shrinkage,)
    settled = replace(settings, choose_shrinkage=settings.choose_shrinkage and not judged)

    def fit(
        networks: Networks, seen: Inputs, weights: Tensor | None, shrinkage: Tensor | None
    ) -> tuple[Networks, Tensor]:
        return fit_networks(networks, seen, targets, loss, settled, seeds[0], weights, shrinkage, tick)

    rng = np.random.default_rng([*seeds[0], 1])
    return fit_ensembles(starts, fit, shrinkages, inputs, targets, loss, members, rng, judged)


@dataclass(frozen=True)
class Chunk:
    """Strengths (m, K+1) and loss curves (m, ·) of the networks of some features; no curves where none was trained."""

    strengths: Floats
    curves: Floats


def individual(
    problem: Problem, seed: Seed, settings: Settings, tick: Tick | None = None, pieces: Path | None = None
) -> Outcome:
    """Algorithm 1: one network per feature, in chunks that fit the memory budget.

    A judged network with all mirrors comes first. Where it is not believed the sparse parts decide alone; where it is,
    all networks start from it and need a tenth of the steps. Completed chunks are kept in the folder `pieces`.
    """
    generators = mirrors.feature_generators(problem.x, *seed)
    noise, scales = scaled_noise(problem, generators, settings)
    (choice,) = solve_all([partial(_choice, problem, problem.x[:, :, None], settings)], settings)
    common = _common_start(choice, noise, generators, seed, settings, tick)
    belief, settings, curve = common.belief, common.settings, common.curve
    skips = None
    if settings.skip:
        skip = partial(individual_skips, choice, noise, settings.device, common.pairs)
        (skips,) = solve_all([skip], settings)
    networks_of = individual_starts(generators, seed, choice.problem, skips, settings, common.networks)
    targets = as_tensor(choice.problem.codes(), settings)[None]  # (1, n, q)

    def fitted(features: NDArray[np.intp]) -> Chunk:
        inputs = individual_inputs(problem, noise, features, settings)
        networks, losses = networks_of(features), torch.empty(0, 0)
        if common.networks is not None and not problem.classes:
            networks = networks.scaled(1 / residual_size(networks, inputs, targets))
        if belief > 0:
            networks, losses = fit_networks(networks, inputs, targets, _loss(problem), settings, seed, tick=tick)
        networks = networks.scaled(networks.bias.new_full((len(networks),), belief))
        return Chunk(as_array(settings.importance(networks, inputs.shared, inputs.own)), as_array(losses))

    chunks = [
        kept(pieces, f"features-{features[0]}-{features[-1]}", Chunk, partial(fitted, features))
        for features in np.array_split(np.arange(problem.x.shape[1]), chunk_count(problem, settings))
    ]
    strengths = np.concatenate([chunk.strengths for chunk in chunks])[None]  # (1, p, K+1)
    if belief > 0:
        curve = np.concatenate([chunk.curves for chunk in chunks]).mean(axis=0, keepdims=True)
    strengths = in_units(strengths, scales[None], settings)
    described = _described(choice, belief, settings.recipe.shrinkage, len(common.pairs))
    return Outcome(strengths, scales[None], curve, described)


@dataclass(frozen=True)
class Preview:
    """A sparse fit of X alone: the share of the response it explains out of sample, and how many features it keeps."""

    explained: float
    relevant: int


def preview(problem: Problem, settings: Settings) -> Steps[Preview]:
    """What can be known of a problem before any noise is drawn, so that it cannot favour a direction."""
    choice = yield from _choice(problem, problem.x[:, :, None], settings)
    first = choice.first or (yield from lasso.first_stage(choice, problem.x))
    relevant = yield from lasso.relevant_count(replace(choice, first=None if problem.classes else first))
    return Preview(float(np.clip(first.explained, 0, 1)), relevant)


def with_mirrors(
    problems: Sequence[Problem], n_mirrors: int | str, levels: Sequence[float], settings: Settings
) -> list[Problem]:
    """The problems with K of each, and with what a sparse fit of X alone leaves of them where that matters.

    `levels` are those of the selections that "auto" serves.
    """
    if not isinstance(n_mirrors, str) and settings.scale is not mirrors.correlation_scales:
        return [replace(problem, n_mirrors=n_mirrors) for problem in problems]
    seen = solve_all([partial(preview, problem, settings) for problem in problems], settings)
    return [
        replace(
            problem,
            unexplained=1 - one.explained,
            n_mirrors=mirrors_needed(one, level) if isinstance(n_mirrors, str) else n_mirrors,
        )
        for problem, one, level in zip(problems, seen, levels, strict=True)
    ]


def mirrors_needed(seen: Preview, fdr: float, most: int = 4) -> int:
    """K = ⌈5 / (fdr · s)⌉ up to `most`, for s features kept by a sparse fit of X alone.

    Offset 1 needs 1 / (K · fdr) discoveries, and such a fit keeps up to three times the relevant features. Where it
    explains next to nothing it tells nothing of their number, and 2 serves.
    """
    if seen.explained < LITTLE:
        return 2
    return int(np.clip(np.ceil(5 / (fdr * max(1, seen.relevant)) - 1e-9), 1, most))


def scaled_noise(problem: Problem, generators: list[np.random.Generator], settings: Settings) -> tuple[Floats, Floats]:
    """c_jZ_j^1..K (n, p, K) and the scales c (p,)."""
    z: Floats = mirrors.draw_noise(generators, len(problem.x), problem.n_mirrors).astype(float, order="C")
    if not problem.n_mirrors:  # a ranking without mirrors
        return z, np.zeros(z.shape[1])
    rule = settings.scale
    if rule is mirrors.correlation_scales:
        z = z * mirrors.row_sizes(problem.x)[:, :, None]
        rule = partial(mirrors.correlation_scales, unexplained=problem.unexplained)
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


def _choice(problem: Problem, directions: Floats, settings: Settings) -> Steps[lasso.Choice]:
    degree = settings.degree if settings.skip else 1
    return lasso.choose(problem, directions, settings.transform, degree)


def _sparse_part(problem: Problem, directions: Floats, settings: Settings) -> Steps[tuple[lasso.Choice, lasso.Skip]]:
    """The choices for one problem and its skip over all inputs; without a skip, zeros."""
    choice = yield from _choice(problem, directions, settings)
    if settings.skip:
        return choice, (yield from lasso.skip(choice, directions, settings.device if settings.products else None))
    nothing = np.zeros((directions[0].size + problem.covariates.shape[1], choice.problem.codes().shape[1]))
    return choice, lasso.Skip(nothing, nothing, np.zeros(nothing.shape[1]))


@dataclass(frozen=True)
class Common:
    """What individual networks have in common: how far they are believed, how they are trained, and their start."""

    belief: float
    settings: Settings
    curve: Floats
    networks: Networks | None = None
    pairs: NDArray[np.intp] = field(default_factory=NO_PAIRS.copy)  # (t, 2): features whose products the skips have


def _common_start(
    choice: lasso.Choice,
    noise: Floats,
    generators: list[np.random.Generator],
    seed: Seed,
    settings: Settings,
    tick: Tick | None,
) -> Common:
    """A judged network that sees all features and all noises alike, so that its start favours no direction."""
    if settings.n_networks == 1:
        return Common(1.0, settings, np.zeros((1, 1)))
    directions = mirrors.with_noise(choice.problem.x, noise)
    whole = replace(settings, recipe=replace(settings.recipe, coordinates="directions"))
    fixed = replace(whole, transform="standard", degree=choice.degree)
    ((_, skip),) = solve_all([partial(_sparse_part, choice.problem, directions, fixed)], settings)
    inputs = simultaneous_inputs([choice.problem], [directions], settings)
    starts = simultaneous_starts([choice.problem], [generators], [seed], [skip], settings)
    (found,), curve = _trained([choice], inputs, starts, [seed], whole, 1, tick)
    belief, pairs = float(found.beliefs[0]), strongest_pairs(skip, directions.shape[2])
    recipe = replace(settings.recipe, shrinkage=found.shrinkage)
    settled = replace(settings, recipe=recipe, choose_shrinkage=False)
    if belief == 0 or settings.recipe.coordinates == "pair":
        return Common(belief, settled, as_array(curve), pairs=pairs)
    steps = max(1, round(FINE_TUNING * settings.recipe.steps))
    short = replace(settled, recipe=replace(settled.recipe, steps=steps, adapt_at=1 / steps))
    return Common(belief, short, as_array(curve), scaled(found.networks, 1 / found.beliefs), pairs)


def _described(choice: lasso.Choice, belief: float, shrinkage: float, products: int) -> dict[str, list[str]]:
    return {
        "products": [str(products)],
        "transform": [choice.transform],
        "degree": [str(choice.degree)],
        "belief": [f"{belief:g}"],
        "shrinkage": [f"{shrinkage:g}"],
    }


def _loss(problem: Problem) -> Loss:
    return {0: squared_loss, 2: logistic_loss}.get(problem.classes, softmax_loss)
