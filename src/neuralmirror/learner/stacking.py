"""How much of the perceptrons to believe, by what one of them predicts on rows it has not seen.

A first network, the judge, holds out a quarter of the rows. The belief is the share β of its perceptron that predicts
these rows best beside the sparse part, and the fitted function is

    f(x) = skip(x) + β · mean of perceptrons trained on all rows,        β = argmin over [0, 1] of the held-out loss

Where the truth is sparse and additive the judge predicts nothing, β is zero, and nothing is lost to the noise of a
perceptron. Only losses are looked at, and in them all directions of a feature play the same part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralmirror.learner.networks import Networks
from neuralmirror.learner.training import Inputs, Loss, perceptron_values, skip_values

Floats = NDArray[np.float64]
Starts = Callable[[NDArray[np.intp], int], Networks]  # problems and the number of a network to fresh networks
Fit = Callable[[Networks, Inputs, Tensor | None, Tensor | None], tuple[Networks, Tensor]]  # see train

BELIEFS = torch.linspace(0, 1, 21)
LEAST_BELIEF = 1e-3  # always believed: enough to rank features on which the sparse part is silent
EVIDENCE = 2.0  # standard errors by which a judge must predict unseen rows to be believed
PARTS = 4  # one part of the rows in so many is held out from the judge


@dataclass(frozen=True)
class Ensemble:
    """The believed perceptrons of some problems, as one network for each, and how much they were shrunk."""

    problems: NDArray[np.intp]
    networks: Networks
    beliefs: Floats
    shrinkage: float


@dataclass(frozen=True)
class Judgement:
    """What a judge's perceptron is worth on unseen rows: the best share, the fall of the loss, its standard error."""

    belief: Floats
    gain: Floats
    error: Floats


def fit_ensembles(
    starts: Starts,
    fit: Fit,
    shrinkages: Sequence[float],
    inputs: Inputs,
    targets: Tensor,
    loss: Loss,
    members: int,
    rng: np.random.Generator,
    judged: bool = True,
) -> tuple[list[Ensemble], Tensor]:
    """The believed perceptrons of every problem, and the loss curves of the judges.

    Every shrinkage sends a judge; the best one's is taken, and where it has learned something, `members` networks are
    trained with it on all rows. Without judges one network is fitted with the first and believed.
    """
    problems = np.arange(len(targets))
    if not judged:
        networks, curve = fit(starts(problems, 0), inputs, None, None)
        return [Ensemble(problems, networks, np.ones(len(problems)), shrinkages[0])], curve
    kept = part_kept(targets, rng)
    judges, curves = train_judges(starts, fit, shrinkages, inputs, problems, kept)
    judgements = [judge(networks, inputs, targets, loss, kept) for networks in judges]
    best = np.argmax([judgement.gain for judgement in judgements], axis=0)  # (problems,)
    ensembles = []
    for number, (judgement, shrinkage) in enumerate(zip(judgements, shrinkages, strict=True)):
        learned = judgement.gain > EVIDENCE * judgement.error
        alone, more = problems[(best == number) & ~learned], problems[(best == number) & learned]
        if len(alone):
            networks = judges[number].select(torch.from_numpy(alone))
            nothing = np.zeros(len(alone))
            ensembles.append(Ensemble(alone, scaled(networks, nothing + LEAST_BELIEF), nothing, shrinkage))
        if len(more):
            networks = train_members(starts, fit, shrinkage, inputs, more, members)
            belief = judgement.belief[more]
            ensembles.append(Ensemble(more, scaled(networks, belief), belief, shrinkage))
    return ensembles, torch.stack([curves[number][i] for i, number in enumerate(best)])


def part_kept(targets: Tensor, rng: np.random.Generator) -> Tensor:
    """Row weights (n,): 0 on the part held out from the judge, 1 elsewhere."""
    part = torch.from_numpy(rng.permutation(targets.shape[1]) % PARTS)
    return (part != 0).to(targets)


def judge(networks: Networks, inputs: Inputs, targets: Tensor, loss: Loss, kept: Tensor) -> Judgement:
    """The share of each perceptron that predicts the rows held out best, and by how much."""
    losses = losses_by_belief(networks, inputs, targets, loss)[:, :, kept == 0]  # (m, β, rows)
    best = losses.mean(dim=2).argmin(dim=1)
    gains = (losses[:, 0] - losses[torch.arange(len(best)), best]).double().cpu().numpy()  # (m, rows)
    beliefs = BELIEFS[best.cpu()].double().numpy()
    return Judgement(beliefs, gains.mean(axis=1), gains.std(axis=1) / np.sqrt(gains.shape[1]))


def losses_by_belief(networks: Networks, inputs: Inputs, targets: Tensor, loss: Loss) -> Tensor:
    """Row losses of skip + β · perceptron for every β, (m, β, n)."""
    every = torch.arange(targets.shape[1], device=targets.device)
    skip, perceptron = skip_values(networks, inputs), perceptron_values(networks, inputs)
    wanted = inputs.each(targets, every)
    return torch.stack([loss(skip + float(belief) * perceptron, wanted) for belief in BELIEFS], dim=1)


def train_judges(
    starts: Starts, fit: Fit, shrinkages: Sequence[float], inputs: Inputs, problems: NDArray[np.intp], kept: Tensor
) -> tuple[Sequence[Networks], Sequence[Tensor]]:
    """A network of every problem and its loss curve for each shrinkage, on the rows that are kept, as one batch."""
    fresh = Networks.cat([starts(problems, 0)] * len(shrinkages))
    each = kept.new_tensor(shrinkages).repeat_interleave(len(problems))
    networks, curves = fit(fresh, several(inputs, problems, len(shrinkages)), kept[None], each)
    parts = torch.arange(len(networks)).split(len(problems))
    return [networks.select(part) for part in parts], curves.split(len(problems))


def train_members(
    starts: Starts, fit: Fit, shrinkage: float, inputs: Inputs, problems: NDArray[np.intp], members: int
) -> Networks:
    """The mean of `members` networks trained on all rows, as one network for each problem."""
    fresh = Networks.cat([starts(problems, member) for member in range(1, members + 1)])
    each = fresh.bias.new_full((len(fresh),), shrinkage)
    networks, _ = fit(fresh, several(inputs, problems, members), None, each)
    return scaled(networks, np.full(len(fresh), 1 / members)).joined(members)


def several(inputs: Inputs, problems: NDArray[np.intp], times: int) -> Inputs:
    """What some problems see, for so many networks of each."""
    return replace(inputs, source=torch.from_numpy(problems).to(inputs.own.device).repeat(times))


def scaled(networks: Networks, factor: Floats) -> Networks:
    """Perceptrons times a factor each."""
    return networks.scaled(torch.from_numpy(factor).to(networks.bias))
