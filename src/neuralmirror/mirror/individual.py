"""Individual mirrors (Algorithm 1): one network per feature, in which that feature is mirrored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from neuralmirror._internal.cache import cached
from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner import sparse_part
from neuralmirror.learner.individual_sparse import NO_PAIRS, individual_skips, strongest_pairs
from neuralmirror.learner.initial_weights import (
    Floats,
    Seed,
    as_array,
    as_tensor,
    chunk_count,
    individual_inputs,
    individual_starts,
    simultaneous_inputs,
    simultaneous_starts,
)
from neuralmirror.learner.networks import Networks
from neuralmirror.learner.stacking import scaled
from neuralmirror.learner.training import (
    Tick,
)
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.fitting import (
    Outcome,
    choose_sparse,
    describe_choices,
    fit_networks,
    fit_sparse_part,
    in_units,
    loss_of,
    residual_size,
    scaled_noise,
    solve_all,
    train_judged,
)
from neuralmirror.mirror.noise import feature_generators, with_noise

FINE_TUNING = 0.1  # share of the steps that individual networks take from their common start


@dataclass(frozen=True)
class Chunk:
    """Strengths (m, K+1) and loss curves (m, ·) of the networks of some features; no curves where none was trained."""

    strengths: Floats
    curves: Floats


def individual(
    problem: StandardisedData, seed: Seed, settings: Settings, tick: Tick | None = None, pieces: Path | None = None
) -> Outcome:
    """Algorithm 1: one network per feature, in chunks that fit the memory budget.

    A judged network with all mirrors comes first. Where it is not believed the sparse parts decide alone; where it is,
    all networks start from it and need a tenth of the steps. Completed chunks are kept in the folder `pieces`.
    """
    generators = feature_generators(problem.x, *seed)
    noise, scales = scaled_noise(problem, generators, settings)
    (choice,) = solve_all([partial(choose_sparse, problem, problem.x[:, :, None], settings)], settings)
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
            networks, losses = fit_networks(networks, inputs, targets, loss_of(problem), settings, seed, tick=tick)
        networks = networks.scaled(networks.bias.new_full((len(networks),), belief))
        return Chunk(as_array(settings.importance(networks, inputs.shared, inputs.own)), as_array(losses))

    chunks = [
        cached(pieces, f"features-{features[0]}-{features[-1]}", Chunk, partial(fitted, features))
        for features in np.array_split(np.arange(problem.x.shape[1]), chunk_count(problem, settings))
    ]
    strengths = np.concatenate([chunk.strengths for chunk in chunks])[None]  # (1, p, K+1)
    if belief > 0:
        curve = np.concatenate([chunk.curves for chunk in chunks]).mean(axis=0, keepdims=True)
    strengths = in_units(strengths, scales[None], settings)
    described = describe_choices(choice, belief, settings.recipe.shrinkage, len(common.pairs))
    return Outcome(strengths, scales[None], curve, described)


@dataclass(frozen=True)
class Common:
    """What individual networks have in common: how far they are believed, how they are trained, and their start."""

    belief: float
    settings: Settings
    curve: Floats
    networks: Networks | None = None
    pairs: NDArray[np.intp] = field(default_factory=NO_PAIRS.copy)  # (t, 2): features whose products the skips have


def _common_start(
    choice: sparse_part.Choice,
    noise: Floats,
    generators: list[np.random.Generator],
    seed: Seed,
    settings: Settings,
    tick: Tick | None,
) -> Common:
    """A judged network that sees all features and all noises alike, so that its start favours no direction."""
    if settings.n_networks == 1:
        return Common(1.0, settings, np.zeros((1, 1)))
    directions = with_noise(choice.problem.x, noise)
    whole = replace(settings, recipe=replace(settings.recipe, coordinates="directions"))
    fixed = replace(whole, transform="standard", degree=choice.degree)
    ((_, skip),) = solve_all([partial(fit_sparse_part, choice.problem, directions, fixed)], settings)
    inputs = simultaneous_inputs([choice.problem], [directions], settings)
    starts = simultaneous_starts([choice.problem], [generators], [seed], [skip], settings)
    (found,), curve = train_judged([choice], inputs, starts, [seed], whole, 1, tick)
    belief, pairs = float(found.beliefs[0]), strongest_pairs(skip, directions.shape[2])
    recipe = replace(settings.recipe, shrinkage=found.shrinkage)
    settled = replace(settings, recipe=recipe, choose_shrinkage=False)
    if belief == 0 or settings.recipe.coordinates == "pair":
        return Common(belief, settled, as_array(curve), pairs=pairs)
    steps = max(1, round(FINE_TUNING * settings.recipe.steps))
    short = replace(settled, recipe=replace(settled.recipe, steps=steps, adapt_at=1 / steps))
    return Common(belief, short, as_array(curve), scaled(found.networks, 1 / found.beliefs), pairs)
