"""What a scheme hands to the training: inputs on the device, and fresh networks.

Everything random is drawn from the generators of the features and the seed of the problem, never from the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner import sparse_part
from neuralmirror.learner.networks import ACTIVATIONS, Networks, hidden_sizes, initial_layers, initial_rows
from neuralmirror.learner.solvers import THREADS, filled
from neuralmirror.learner.training import Inputs
from neuralmirror.mirror.noise import with_noise

if TYPE_CHECKING:
    from neuralmirror.mirror.configuration import Settings

Floats = NDArray[np.float64]


Seed = tuple[int, ...]


def simultaneous_inputs(
    problems: Sequence[StandardisedData], directions: Sequence[Floats], settings: Settings
) -> Inputs:
    """Directions of all features and then covariates, one data set for each problem; nothing shared.

    A problem with fewer noises than others is filled up with inputs that are zero.
    """
    p, each = directions[0].shape[1], most_directions(problems)
    covariates = torch.from_numpy(np.stack([problem.covariates for problem in problems]))
    own = torch.cat([filled(directions).flatten(2), covariates.float()], dim=2)
    return Inputs(
        shared=torch.empty(own.shape[1], 0, device=settings.device),
        own=own.to(settings.device),
        shared_group=torch.empty(0, dtype=torch.int64, device=settings.device),
        own_group=groups_of(np.arange(p).repeat(each), problems[0], settings),
    )


def most_directions(problems: Sequence[StandardisedData]) -> int:
    """K+1 of the problem with the most noises."""
    return max(problem.n_mirrors for problem in problems) + 1


def simultaneous_starts(
    problems: Sequence[StandardisedData],
    generators: Sequence[list[np.random.Generator]],
    seeds: Sequence[Seed],
    skips: Sequence[sparse_part.Skip],
    settings: Settings,
) -> Callable[[NDArray[np.intp], int], Networks]:
    """Fresh networks of some problems; a feature's generator draws the rows of all its directions.

    The rows of inputs that fill a problem up are zero, and as nothing follows from such inputs they stay so.
    """
    most, outputs = most_directions(problems), skips[0].linear.shape[1]
    sizes = settings.hidden or hidden_sizes(problems[0].x.shape[1])
    members = settings.n_networks + 1  # with the judge
    wide = [filled_skip(skip, problem, most) for skip, problem in zip(skips, problems, strict=True)]

    def directions(problem: StandardisedData, features: list[np.random.Generator]) -> Tensor:  # (members, p(K+1), h)
        drawn = initial_rows(features, members, problem.n_mirrors + 1, sizes[0]) / spread_of(problem)
        rows = functional.pad(drawn, (0, 0, 0, most - drawn.shape[2]))  # (p, members, K+1, h)
        return torch.flatten(rows.transpose(0, 1), 1, 2)

    def covariates(problem: StandardisedData, rng: np.random.Generator) -> Tensor:  # (c, h)
        return initial_rows([rng], problem.covariates.shape[1], sizes[0])[0] / spread_of(problem)

    with ThreadPoolExecutor(min(THREADS, len(problems))) as pool:
        rows = list(pool.map(directions, problems, generators))

    def starts(wanted: NDArray[np.intp], member: int) -> Networks:
        rngs = [np.random.default_rng([*seeds[i], 0, member]) for i in wanted]
        own = [torch.cat([rows[i][member], covariates(problems[i], rng)]) for i, rng in zip(wanted, rngs, strict=True)]
        layers = [initial_layers(rng, sizes, outputs) for rng in rngs]
        chosen = [wide[i] for i in wanted]
        linear, curve, intercept = (
            torch.from_numpy(np.stack([skip[part] for skip in chosen])).float() for part in (0, 1, 2)
        )
        pairs, products = padded_products(chosen)
        return Networks(
            shared=torch.empty(0, len(wanted), sizes[0]),
            own=torch.stack(own),
            bias=torch.zeros(len(wanted), sizes[0]),
            layers=[
                (torch.stack([w for w, _ in layer]), torch.stack([b for _, b in layer]))
                for layer in zip(*layers, strict=True)
            ],
            skip_shared=torch.empty(len(wanted), 0, outputs),
            skip_own=linear,
            activation=ACTIVATIONS[settings.activation],
            curve_shared=torch.empty(len(wanted), 0, outputs),
            curve_own=curve,
            intercept=intercept,
            pairs=pairs,
            products=products,
        ).to(settings.device)

    return starts


def spread_of(problem: StandardisedData) -> float:
    """√inputs, by which first-layer rows are divided; inputs are p(K+1) directions and the covariates."""
    return math.sqrt(problem.x.shape[1] * (problem.n_mirrors + 1) + problem.covariates.shape[1])


def filled_skip(skip: sparse_part.Skip, problem: StandardisedData, most: int) -> sparse_part.Skip:
    """The skip over inputs whose features have `most` directions each, of which the last ones are empty."""
    p, each = problem.x.shape[1], problem.n_mirrors + 1

    def wider(values: Floats) -> Floats:
        directions, covariates = np.split(values, [p * each])
        blocks = np.pad(directions.reshape(p, each, -1), ((0, 0), (0, most - each), (0, 0)))
        return np.concatenate([blocks.reshape(p * most, -1), covariates])

    pairs = skip.pairs // each * most + skip.pairs % each
    return skip._replace(linear=wider(skip.linear), curve=wider(skip.curve), pairs=pairs)


def padded_products(skips: Sequence[sparse_part.Skip]) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """The pairs (d, t, 2) and the γ (d, t, q) of several skips, those with fewer filled up with zeros; None without."""
    most = max(len(skip.pairs) for skip in skips)
    if not most:
        return None, None
    pairs, products = (
        np.stack([np.pad(values, ((0, most - len(values)), (0, 0))) for values in part])
        for part in ([skip.pairs for skip in skips], [skip.products for skip in skips])
    )
    return torch.from_numpy(pairs), torch.from_numpy(products).float()


def individual_inputs(problem: StandardisedData, noise: Floats, chunk: NDArray[np.intp], settings: Settings) -> Inputs:
    """X and the covariates for all networks of a chunk, and each network's own pair."""
    p, each = problem.x.shape[1], noise.shape[2] + 1
    own = with_noise(problem.x[:, chunk], noise[:, chunk])  # (n, m, K+1)
    return Inputs(
        shared=as_tensor(np.hstack([problem.x, problem.covariates]), settings),
        own=as_tensor(own.transpose(1, 0, 2), settings),
        shared_group=groups_of(np.arange(p), problem, settings),
        own_group=torch.full((each,), p, device=settings.device),
        held=torch.from_numpy(chunk).to(settings.device),
    )


def individual_starts(
    generators: list[np.random.Generator],
    seed: Seed,
    problem: StandardisedData,
    skips: tuple[sparse_part.Skip, sparse_part.Skip] | None,
    settings: Settings,
    common: Networks | None = None,
) -> Callable[[NDArray[np.intp]], Networks]:
    """A function from features to their networks, which start alike but for the rows of their own pairs.

    With a common network that sees all directions, its rows are theirs.
    """
    p, outputs, each = problem.x.shape[1], problem.codes().shape[1], problem.n_mirrors + 1
    inputs = p + problem.covariates.shape[1]
    sizes = settings.hidden or hidden_sizes(p)
    if common is None:
        rng, spread = np.random.default_rng([*seed, 0]), (inputs + each - 1) ** 0.5
        own = initial_rows(generators, each, sizes[0]) / spread  # (p, K+1, h)
        features = initial_rows(generators, 1, sizes[0])[:, 0]
        shared = torch.cat([features, initial_rows([rng], inputs - p, sizes[0])[0]]) / spread  # (s, h)
        first, layers = torch.zeros(sizes[0]), initial_layers(rng, sizes, outputs)
    else:
        common = common.to("cpu")
        own = common.own[0, : p * each].unflatten(0, (p, each))
        shared = torch.cat([own[:, 0], common.own[0, p * each :]])
        first, layers = common.bias[0], [(weight[0], bias[0]) for weight, bias in common.layers]
    constant = np.zeros((p, outputs))
    nothing = (
        sparse_part.Skip(zeros, zeros, constant) for zeros in (np.zeros((p, i, outputs)) for i in (inputs, each))
    )
    skip_shared, skip_own = skips or nothing

    def networks_of(chunk: NDArray[np.intp]) -> Networks:
        m, index = len(chunk), torch.from_numpy(chunk)
        start = shared[:, None].repeat(1, m, 1)  # (s, m, h)
        start[index, torch.arange(m)] = 0
        return Networks(
            shared=start,
            own=own[index],
            bias=first.repeat(m, 1),
            layers=[(weight.repeat(m, 1, 1), bias.repeat(m, 1)) for weight, bias in layers],
            skip_shared=torch.from_numpy(skip_shared.linear[chunk]).float(),
            skip_own=torch.from_numpy(skip_own.linear[chunk]).float(),
            activation=ACTIVATIONS[settings.activation],
            curve_shared=torch.from_numpy(skip_shared.curve[chunk]).float(),
            curve_own=torch.from_numpy(skip_own.curve[chunk]).float(),
            intercept=torch.from_numpy(skip_own.intercept[chunk]).float(),
            pairs=torch.from_numpy(skip_own.pairs[chunk]) if skip_own.pairs.size else None,
            products=torch.from_numpy(skip_own.products[chunk]).float() if skip_own.pairs.size else None,
        ).to(settings.device)

    return networks_of


def chunk_count(problem: StandardisedData, settings: Settings) -> int:
    """Into how many chunks the p networks of individual mirrors go: weight, gradient and two moments each."""
    (n, p), sizes = problem.x.shape, settings.hidden or hidden_sizes(problem.x.shape[1])
    weights = (p + problem.covariates.shape[1]) * sizes[0] + sum(a * b for a, b in pairwise(sizes))
    activations = 3 * settings.recipe.batch_size * sum(sizes) + n * (problem.n_mirrors + 2)
    per_network = 4 * (4 * weights + activations)
    return int(min(p, np.ceil(p * per_network / settings.memory)))


def groups_of(features: NDArray[np.intp], problem: StandardisedData, settings: Settings) -> Tensor:
    """The feature of each input, with −1 for the covariates behind them."""
    marked = np.append(features, np.full(problem.covariates.shape[1], -1))
    return torch.from_numpy(marked).to(settings.device)


def as_tensor(values: NDArray[np.generic], settings: Settings) -> Tensor:
    """Single-precision numbers on the device."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(settings.device, torch.float32)


def as_array(values: Tensor) -> Floats:
    """Double-precision numbers in NumPy."""
    return values.detach().double().cpu().numpy()
