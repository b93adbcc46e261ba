"""The groups of one resolution: copied whole, blinded, learnt from and measured."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.standardised import StandardisedData
from neuralmirror._internal.threads import in_threads
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.single_effects import single_effects
from neuralmirror.mirror.directions import Directions, blinded, unblinded
from neuralmirror.mirror.group_law import GroupLaw, Products, draw_group, group_law
from neuralmirror.mirror.statistic import mirror_statistics

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Groups:
    """The groups of one resolution with their laws, ready to be copied as often as needed."""

    def __init__(
        self, data: StandardisedData, products: Products, labels: Indices, order: Indices, n_jobs: int
    ) -> None:
        number = {label: place for place, label in enumerate(dict.fromkeys(labels[order].tolist()))}
        group = np.array([number[label] for label in labels.tolist()])
        self.data, self.n_jobs = data, n_jobs
        self.order = order[np.argsort(group[order], kind="stable")]  # the learner's: groups side by side
        self.group = group[self.order]
        self.members = np.split(self.order, np.flatnonzero(np.diff(self.group)) + 1)
        self.known = np.linalg.qr(np.hstack([np.ones((len(data.x), 1)), data.covariates]))[0]
        self.laws: list[GroupLaw] = in_threads(
            lambda columns: group_law(data.x, products, columns, self.known), self.members, n_jobs
        )

    @property
    def explained(self) -> Floats:
        """The share of each column's group's variance that the other groups predict, (columns,)."""
        shares = np.zeros(self.data.x.shape[1])
        for law in self.laws:
            shares[law.columns] = law.explained
        return shares

    def draw(self, response: Response, blocks: Indices, n_mirrors: int, seed: int) -> tuple[Floats, Floats]:
        """M of each column's group, and how strongly the fit follows the column itself, from one draw of copies."""
        inputs, places = blinded(self.directions(n_mirrors, seed))
        fit = single_effects(inputs, blocks[self.order], response, seed, self.n_jobs)
        statistics, leads = np.zeros((2, len(self.order)))
        statistics[self.order] = mirror_statistics(unblinded(fit.strengths, places))[self.group]
        leads[self.order] = unblinded(fit.by_column, places[self.group])[:, 0]
        return statistics, leads

    def directions(self, n_mirrors: int, seed: int) -> Directions:
        """Every column and the copies of it that were drawn with its group."""
        x = self.data.x
        values = np.empty((x.shape[1], n_mirrors + 1, len(x)), dtype=np.float32)
        values[:, 0], first = x[:, self.order].T, 0
        for law in self.laws:
            rng = np.random.default_rng([seed, value_code(x[:, law.columns[0]])])
            values[first : first + len(law.columns), 1:] = draw_group(law, x, self.known, n_mirrors, rng)
            first += len(law.columns)
        values -= values.mean(axis=2, keepdims=True)
        return Directions(values, self.group, self.data.covariates, np.ones(len(values)))


def value_code(column: Floats) -> int:
    """A number that follows from the values of a column."""
    return zlib.crc32(np.ascontiguousarray(column).tobytes())


def canonical_order(x: Floats) -> Indices:
    """An order of the columns that follows from their values, so that neither their order nor names change a result."""
    return np.argsort([value_code(column) for column in x.T], kind="stable")
