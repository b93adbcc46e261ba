"""Discoveries at several resolutions: which cluster of near-copies matters, where "which column" has no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from neuralmirror import selection
from neuralmirror._internal import checks
from neuralmirror._internal.device import resolve_jobs
from neuralmirror._internal.progress import progress
from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.base import ControlledSelector, Mask
from neuralmirror.mirror.clusters import LINKAGES, correlation_clusters
from neuralmirror.mirror.discoveries import Resolved, Row, as_frame
from neuralmirror.mirror.group_law import Products
from neuralmirror.mirror.group_mirrors import Groups, canonical_order
from neuralmirror.mirror.response import standard_response

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 0.5  # |r| from which columns share one effect in the learner
CUTS = (1.0, 0.9, 0.75, 0.5)


class MultiResolutionMirror(ControlledSelector):
    """Select clusters of correlated features at several resolutions, each with its false discovery rate below `fdr`.

    Each resolution splits the columns into groups. A group gets K copies, drawn whole given all other groups, and is
    discovered when a sparse fit of lines follows it more than its copies by a margin that copies rarely reach. Each
    resolution keeps the level on its own; there is no bound for all of them together.

    Parameters
    ----------
    resolutions : correlations, or a mapping of names to labels
        Cuts of one tree of clusters: at 1 each column is alone (but for those that repeat it), at 0.5 columns that
        correlate at about |r| = 0.5 are together. Or partitions of your own: one label per column of X for each name.
    fdr, offset, n_mirrors, n_repeats, task, covariates, random_state, n_jobs, progress
        As in NeuralGaussianMirror.
    linkage : "average", "single" or "complete"
        How the correlation of two clusters is measured.
    chromosomes, positions : one per column of X, or None
        Where the columns lie: for the table, and no cluster reaches over two chromosomes.
    contiguous : bool
        Only clusters of columns that lie side by side, by `positions` or else by their order.

    Attributes
    ----------
    resolutions_ : the names of the resolutions
    groups_ : (resolutions, columns), the first column of each column's group
    group_supports_, group_statistics_, group_q_values_ : (resolutions, columns), those of each column's group
    leads_ : (resolutions, columns), how strongly the fit follows each column; a group's lead has the most
    explained_by_others_ : (resolutions, columns), the share of a group's variance that the other groups predict
    support_, mirror_statistics_, threshold_, q_values_, ... : of the finest resolution, so that this is a selector too
    """

    def __init__(
        self,
        resolutions: Sequence[float] | Mapping[str, Any] = CUTS,
        fdr: float = 0.1,
        offset: int = 1,
        n_mirrors: int = 4,
        n_repeats: int = 1,
        task: str = "auto",
        covariates: Sequence[str | int] | None = None,
        linkage: str = "average",
        chromosomes: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        contiguous: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.resolutions = resolutions
        self.fdr = fdr
        self.offset = offset
        self.n_mirrors = n_mirrors
        self.n_repeats = n_repeats
        self.task = task
        self.covariates = covariates
        self.linkage = linkage
        self.chromosomes = chromosomes
        self.positions = positions
        self.contiguous = contiguous
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any) -> Self:
        """Read the data and cluster them once; for each resolution: copy the groups, learn, measure; select."""
        self._check()
        data = self._read(X, y, self.task, self.covariates)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        named, blocks = self._partitions(data)
        products, order, response = Products(data.x), canonical_order(data.x), standard_response(data)
        n_repeats = checks.check_count("n_repeats", self.n_repeats)
        statistics, leads, explained = [], [], []
        with progress("Learning from groups at several resolutions", len(named) * n_repeats, self.progress) as tick:
            for labels in named.values():
                groups = Groups(data, products, labels, order, resolve_jobs(self.n_jobs))
                draws = []
                for number in range(n_repeats):
                    draws.append(groups.draw(response, blocks, self.n_mirrors, seed + 7919 * number))
                    tick(1)
                statistics.append([m for m, _ in draws])
                leads.append(np.mean([lead for _, lead in draws], axis=0))
                explained.append(groups.explained)
        return self._store(named, np.array(statistics), np.array(leads), np.array(explained))

    def _check(self) -> None:
        checks.check_choice("linkage", self.linkage, LINKAGES)
        checks.check_count("n_mirrors", self.n_mirrors)
        if not len(self.resolutions):
            raise ValueError(f"resolutions must name at least one cut or partition, got {self.resolutions!r}")
        if isinstance(self.resolutions, Mapping):
            return
        for cut in self.resolutions:
            if not isinstance(cut, int | float | np.number) or not 0 < cut <= 1:
                raise ValueError(
                    f"resolutions must be correlations in (0, 1], or a mapping of names to labels; got {cut!r}"
                )

    def _partitions(self, data: StandardisedData) -> tuple[dict[str, Indices], Indices]:
        """The group of every usable column at each resolution, and the block of it that shares one effect."""
        usable = self._columns.usable
        chromosomes, positions = (self._along(name)[usable] for name in ("chromosomes", "positions"))
        cuts: Sequence[float] = () if isinstance(self.resolutions, Mapping) else tuple(self.resolutions)
        clusters = correlation_clusters(
            data.x,
            [*cuts, BLOCK],
            linkage=self.linkage,
            chromosomes=chromosomes,
            positions=positions if self.contiguous else None,
        )
        if isinstance(self.resolutions, Mapping):
            named = {str(name): self._labels(name, labels) for name, labels in self.resolutions.items()}
        else:
            named = {f"{cut:g}": labels for cut, labels in zip(cuts, clusters, strict=False)}
        for name, labels in named.items():
            if len(np.unique(labels)) < 2:
                raise ValueError(f"resolution {name} has all columns in one group; at least 2 groups are needed")
        return named, clusters[-1]

    def _along(self, name: str) -> NDArray[Any]:
        """Chromosomes or positions of all columns; without them one chromosome, and the order of the columns."""
        given = getattr(self, name)
        if given is None:
            return np.zeros(self.n_features_in_) if name == "chromosomes" else np.arange(self.n_features_in_)
        values = np.asarray(given)
        if values.shape != (self.n_features_in_,):
            raise ValueError(
                f"{name} must hold {self.n_features_in_} values, one per column of X; got shape {values.shape}"
            )
        return values

    def _labels(self, name: Any, given: ArrayLike) -> Indices:
        labels = np.asarray(given)
        if labels.shape != (self.n_features_in_,):
            raise ValueError(
                f"resolution {name!r} must hold {self.n_features_in_} labels, one per column of X; "
                f"got shape {labels.shape}"
            )
        return np.unique(labels[self._columns.usable].astype(str), return_inverse=True)[1]

    def _store(self, named: dict[str, Indices], statistics: Floats, leads: Floats, explained: Floats) -> Self:
        """Results of usable columns as those of all columns; the finest resolution is the selector's own."""
        usable, p = self._columns.usable, self.n_features_in_
        self.resolutions_ = list(named)
        self.groups_ = np.tile(np.arange(p), (len(named), 1))
        self.leads_, self.explained_by_others_ = np.zeros((2, len(named), p))
        self._group_draws = np.zeros((len(named), statistics.shape[1], p))  # at the first column of each group
        for number, labels in enumerate(named.values()):
            first = np.unique(labels, return_index=True)[1]
            self.groups_[number, usable] = usable[first[labels]]
            self._group_draws[number][:, usable[first]] = statistics[number][:, first]
            self.leads_[number, usable], self.explained_by_others_[number, usable] = leads[number], explained[number]
        for copy, original in self._columns.copies.items():  # what repeats a column belongs to its group
            self.groups_[:, copy] = self.groups_[:, original]
            self.explained_by_others_[:, copy] = self.explained_by_others_[:, original]
        self.n_mirrors_ = self.n_mirrors
        self._store_supports()
        finest = int(np.argmax([len(np.unique(labels)) for labels in named.values()]))
        self._leaders = self.groups_[finest]
        return self._conclude(self._group_draws[finest][:, usable], self.n_mirrors)

    def _store_supports(self) -> None:
        counting = {"offset": self.offset, "n_mirrors": self.n_mirrors_}
        by_group = [selection.repeated_q_values(draws, **counting) for draws in self._group_draws]
        self.group_q_values_ = np.take_along_axis(np.array(by_group), self.groups_, axis=1)
        self.group_statistics_ = np.take_along_axis(np.median(self._group_draws, axis=1), self.groups_, axis=1)
        self.group_supports_ = self.group_q_values_ <= self.fdr

    def reselect_groups(self, fdr: float) -> Mask:
        """The columns of the groups that are discovered at another level, (resolutions, columns)."""
        check_is_fitted(self)
        return np.asarray(self.group_q_values_ <= checks.check_fdr(fdr))

    def discoveries(self, fdr: float | None = None) -> Any:
        """The discovered groups of every resolution as a table, strongest first: a pandas frame where there is pandas.

        The columns are resolution, CHR, lead, position, W, q, BP.min, BP.max, width, size and members; None where
        positions were not given.
        """
        return as_frame(self.discovered(fdr))

    def discovered(self, fdr: float | None = None) -> list[Row]:
        """The same as a list of rows; `members` is a list of names."""
        chosen = self.reselect_groups(self.fdr if fdr is None else fdr)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        found = self.group_statistics_, self.group_q_values_, self.leads_
        return Resolved(
            self.resolutions_, self.groups_, *found, lambda j: str(names[j]), self.chromosomes, self.positions
        ).rows(chosen)
