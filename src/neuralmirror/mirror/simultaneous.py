"""Simultaneous mirrors (Algorithm 2): one network in which every feature is mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner.initial_weights import (
    Seed,
    as_array,
    most_directions,
    simultaneous_inputs,
    simultaneous_starts,
)
from neuralmirror.learner.solvers import THREADS
from neuralmirror.learner.training import (
    Tick,
)
from neuralmirror.mirror import kernels
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.fitting import (
    Outcome,
    describe_choices,
    fit_sparse_part,
    in_units,
    scaled_noise,
    solve_all,
    train_judged,
)
from neuralmirror.mirror.noise import feature_generators, with_noise


def simultaneous(
    problems: Sequence[StandardisedData], seeds: Sequence[Seed], settings: Settings, tick: Tick | None = None
) -> list[Outcome]:
    """Algorithm 2 for several problems of one shape, each with its seed, their networks trained as one batch.

    Repeated draws of the noise are one problem under several seeds.
    """
    kernels.load_factorisations(settings.device)  # before the threads that take scales
    with ThreadPoolExecutor(min(THREADS, len(problems))) as pool:
        generators = list(pool.map(lambda q, seed: feature_generators(q.x, *seed), problems, seeds))
        noises, scales = zip(*pool.map(partial(scaled_noise, settings=settings), problems, generators), strict=True)
        directions = list(pool.map(lambda q, z: with_noise(q.x, z), problems, noises))
    parts = [partial(fit_sparse_part, q, d, settings) for q, d in zip(problems, directions, strict=True)]
    choices, skips = zip(*solve_all(parts, settings), strict=True)
    inputs = simultaneous_inputs(problems, directions, settings)
    starts = simultaneous_starts(problems, generators, seeds, skips, settings)
    ensembles, curve = train_judged(choices, inputs, starts, seeds, settings, settings.n_networks, tick)
    p, outcomes = problems[0].x.shape[1], {}
    for part in ensembles:
        found = as_array(settings.importance(part.networks, inputs.shared, inputs.own[part.problems]))
        strengths = found[:, : p * most_directions(problems)].reshape(len(found), p, -1)
        for i, belief, values in zip(part.problems, part.beliefs, strengths, strict=True):
            own = in_units(values[None, :, : problems[i].n_mirrors + 1], scales[i][None], settings)
            described = describe_choices(choices[i], belief, part.shrinkage, len(skips[i].pairs))
            outcomes[i] = Outcome(own, scales[i][None], as_array(curve[i])[None], described)
    return [outcomes[i] for i in range(len(problems))]
