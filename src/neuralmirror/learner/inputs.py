"""What a learner sees: the directions of every feature in an order that hides which of them is the feature itself."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner import embedding, terms
from neuralmirror.learner.blocks import products_of_rows
from neuralmirror.learner.orthogonal import Block, orthogonal

Floats = NDArray[np.float64]

MOST_BYTES = 2**29  # of the products of lines
LINES = 0  # waves: the line of a direction instead


@dataclass(frozen=True)
class Inputs:
    """Directions as rows, the feature of each column of X, covariates, and the rows that may be learnt from."""

    directions: NDArray[np.float32]  # (columns of X, K+1, n), centred
    feature: NDArray[np.intp]  # (columns of X,): 0..p−1, in order; the columns of a group are neighbours
    covariates: Floats  # (n, c)
    n_seen: int  # the first rows; the others are predicted only
    picked_from: int = 0  # features before some were picked out; 0 where none were

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to a worker: not what follows from the rest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def n_features(self) -> int:
        """p."""
        return int(self.feature[-1]) + 1

    @property
    def n_possible(self) -> int:
        """Features that could have an effect: those at hand were picked because they look as if they had one."""
        return max(self.picked_from, self.n_features)

    @property
    def n_directions(self) -> int:
        """K+1."""
        return int(self.directions.shape[1])

    @cached_property
    def first_column(self) -> NDArray[np.intp]:
        """The first column of each feature, and the number of columns at the end: (p + 1,)."""
        return np.searchsorted(self.feature, np.arange(self.n_features + 1))

    @cached_property
    def single(self) -> NDArray[np.bool_]:
        """Whether each feature is one column, and so can have curves."""
        return np.asarray(np.diff(self.first_column) == 1)

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """Normal scores of every column's directions, (columns, K+1, n)."""
        return embedding.normal_scores(self.directions, self.n_seen)

    @cached_property
    def seen_scores(self) -> NDArray[np.float32]:
        """The scores of the rows that may be learnt from, (columns, K+1, n seen): all that a scan needs."""
        if self.n_seen == self.directions.shape[2]:
            return self.scores
        return embedding.normal_scores(self.directions[..., : self.n_seen])

    @cached_property
    def _scores_of_columns(self) -> dict[int, NDArray[np.float32]]:
        """The scores of those columns that were asked for."""
        return {}

    def _scores_of(self, column: int) -> NDArray[np.float32]:
        """The scores of one column in all rows, (K+1, n)."""
        if "scores" in vars(self) or self.n_seen == self.directions.shape[2]:
            return np.asarray(self.scores[column])
        known = self._scores_of_columns
        if column not in known:
            known[column] = embedding.normal_scores(self.directions[[column]], self.n_seen)[0]
        return known[column]

    def products_of_lines(self, n_jobs: int = 1) -> NDArray[np.float32] | None:
        """The products of the covariates and the lines of all directions over the rows seen, if memory allows."""
        if 4 * self.directions[..., 0].size ** 2 > MOST_BYTES:
            return None
        if "lines" not in self._products:
            (fixed,) = terms.covariate_term(self.covariates, self.directions.shape[2], self.n_seen)
            lines = [option.columns for options in self.line_terms for option in options]
            seen = np.concatenate([fixed.columns, *lines])[:, : self.n_seen]
            self._products["lines"] = products_of_rows(seen, n_jobs)
        return self._products["lines"]

    @cached_property
    def _products(self) -> dict[str, NDArray[np.float32]]:
        """The products that were taken."""
        return {}

    @cached_property
    def line_terms(self) -> list[list[terms.Option]]:
        """The lines of every feature's directions, of orthogonal columns where they have several."""
        return [
            [terms.Option(terms.LINE, line, ((feature, k),)) for k, line in enumerate(self._lines(feature))]
            for feature in range(self.n_features)
        ]

    def _lines(self, feature: int) -> list[Block]:
        """The columns of the line of each of a feature's directions, (c, n) each and orthogonal."""
        block = self.block(feature)
        return list(block) if block.shape[1] == 1 else orthogonal(block, self.n_seen)

    def block(self, feature: int) -> NDArray[np.float32]:
        """The columns of one feature's directions, (K+1, c, n)."""
        first, last = self.first_column[feature : feature + 2]
        return self.directions[first:last].swapaxes(0, 1)

    def waves(self, feature: int, count: int) -> NDArray[np.float32]:
        """The embedding of one feature's directions, (K+1, count, n); of a group, its first columns."""
        if not self.single[feature]:
            return self.block(feature)[:, :count]
        return embedding.waves(self._scores_of(int(self.first_column[feature])), count, self.n_seen)

    def blocks(self, feature: int, waves: int) -> list[Block]:
        """So many waves of each of a feature's directions, (waves, n) each, or LINES; the same arrays each time."""
        if (feature, waves) not in self._blocks:
            values = self.block(feature)[:, :1] if waves == LINES else self.waves(feature, waves)
            self._blocks[feature, waves] = list(values)
        return self._blocks[feature, waves]

    @cached_property
    def _blocks(self) -> dict[tuple[int, int], list[Block]]:
        """Lines and waves that were asked for."""
        return {}

    def one_direction(self, chosen: NDArray[np.intp]) -> Inputs:
        """Each feature in one of its directions, (p,)."""
        columns = np.arange(len(self.feature))
        return replace(self, directions=self.directions[columns, chosen[self.feature]][:, None])

    def features(self, index: NDArray[np.intp]) -> Inputs:
        """Some of the features, in their order."""
        columns = np.flatnonzero(np.isin(self.feature, index))
        feature = np.searchsorted(np.sort(index), self.feature[columns])
        return replace(self, directions=self.directions[columns], feature=feature)

    def rows(self, order: NDArray[np.intp], n_seen: int) -> Inputs:
        """The rows in another order, of which the first may be learnt from."""
        return replace(self, directions=self.directions[..., order], covariates=self.covariates[order], n_seen=n_seen)
