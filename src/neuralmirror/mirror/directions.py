"""The directions of every feature: X_j and its K opponents, conditional copies or independent noise."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.learner.inputs import Inputs
from neuralmirror.mirror.conditional import ConditionalLaw, conditional_law, draw_copies
from neuralmirror.mirror.noise import draw_noise, feature_generators
from neuralmirror.mirror.scales import ScaleRule

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Directions:
    """X_j first and its opponents after it, centred, with the standard deviation of what sets them apart."""

    values: NDArray[np.float32]  # (columns, K+1, n)
    feature: Indices  # (columns,): the feature of each column
    covariates: Floats  # (n, c)
    scales: Floats  # (columns,): c_j in units of a column's standard deviation
    law: ConditionalLaw | None = None
    picked_from: int = 0  # features before some were picked out; 0 where none were

    @property
    def n_features(self) -> int:
        """p."""
        return int(self.feature[-1]) + 1

    @property
    def explained_by_others(self) -> Floats:
        """The share of each column's variance that the other features predict, (columns,)."""
        return np.zeros(len(self.values)) if self.law is None else self.law.explained

    @cached_property
    def blinded(self) -> tuple[Inputs, Indices]:
        """See `blinded`; once for all learners, which share what the inputs know of themselves."""
        first = np.searchsorted(self.feature, np.arange(self.n_features))
        blocks = np.split(self.values, first[1:])  # of each feature (c, K+1, n)
        keys = np.array([[zlib.crc32(column.tobytes()) for column in block.swapaxes(0, 1)] for block in blocks])
        order = np.argsort(keys, axis=1, kind="stable")  # (p, K+1)
        values = np.take_along_axis(self.values, order[self.feature][:, :, None], axis=1)
        return Inputs(values, self.feature, self.covariates, values.shape[2], self.picked_from), order

    def features(self, index: Indices) -> Directions:
        """Some of the features."""
        columns = np.flatnonzero(np.isin(self.feature, index))
        feature = np.searchsorted(np.sort(index), self.feature[columns])
        before = max(self.picked_from, self.n_features)
        return Directions(self.values[columns], feature, self.covariates, self.scales[columns], picked_from=before)

    def block(self, columns: slice) -> Directions:
        """Features side by side, by their columns: a view."""
        feature = self.feature[columns]
        return Directions(self.values[columns], feature - feature[0], self.covariates, self.scales[columns])


def conditional_directions(
    data: StandardisedData, n_mirrors: int, seed: tuple[int, ...], n_jobs: int = 1
) -> Directions:
    """X_j and X̃_j^k = E[X_j | X_-j] + residuals drawn anew."""
    law = conditional_law(data.x, data.covariates, data.group, n_jobs)
    values = _beside_x(data, n_mirrors)
    draw_copies(law, data.x, values[:, 1:], feature_generators(data.x, *seed), data.group, n_jobs)
    return _centred(data, values, law.scales, law)


def independent_directions(
    data: StandardisedData, n_mirrors: int, rule: ScaleRule, seed: tuple[int, ...], device: str = "cpu"
) -> Directions:
    """X_j and c_jZ_j^k with Z ~ N(0, I), as in the paper; c_j by one of its rules."""
    z = draw_noise(feature_generators(data.x, *seed), len(data.x), n_mirrors).astype(np.float32, order="C")
    x = torch.from_numpy(data.x).to(device, torch.float32)
    scales = rule(x, torch.from_numpy(z).to(device)).double().cpu().numpy()
    values = _beside_x(data, n_mirrors)
    np.multiply(scales.astype(np.float32)[:, None, None], z.transpose(1, 2, 0), out=values[:, 1:])
    return _centred(data, values, scales)


def _beside_x(data: StandardisedData, n_mirrors: int) -> NDArray[np.float32]:
    """X, and room for its opponents: (columns, K+1, n), which is held once, as wide tables fill the memory."""
    values = np.empty((data.x.shape[1], 1 + n_mirrors, len(data.x)), dtype=np.float32)
    values[:, 0] = data.x.T
    return values


def _centred(
    data: StandardisedData, values: NDArray[np.float32], scales: Floats, law: ConditionalLaw | None = None
) -> Directions:
    """Directions of which each is about zero."""
    values -= values.mean(axis=2, keepdims=True)
    return Directions(values, data.group, data.covariates, scales, law)


def blinded(directions: Directions) -> tuple[Inputs, Indices]:
    """What a learner may see, and the direction that stands at each place, (p, K+1).

    The directions of a feature are put in an order that follows from their values alone, so that no learner can know
    which of them is the feature: exchanging X_j with a copy exchanges their strengths and changes nothing else.
    """
    return directions.blinded


def unblinded(strengths: Floats, order: Indices) -> Floats:
    """Strengths (p, K+1) with X_j first again."""
    return np.take_along_axis(strengths, np.argsort(order, axis=1), axis=1)
