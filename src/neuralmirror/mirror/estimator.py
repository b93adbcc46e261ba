"""The neural Gaussian mirror as a scikit-learn selector."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from neuralmirror._internal import checks
from neuralmirror._internal.cache import fingerprint, load, store
from neuralmirror._internal.device import resolve_device, resolve_jobs, thread_limit
from neuralmirror._internal.pieces import elsewhere, run_pieces, workers
from neuralmirror._internal.progress import progress
from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.base import ControlledSelector, SelectionWarning
from neuralmirror.learner.engine import LEARNERS, Engine
from neuralmirror.learner.network import Network
from neuralmirror.mirror import effects
from neuralmirror.mirror.draw import SCHEMES, Draw, Plan
from neuralmirror.mirror.scales import SCALES
from neuralmirror.mirror.statistic import mirror_statistics

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
NOT_TOLD_APART = 0.99  # share of a feature's variance that the others predict, from which on copies are all but equal


class NeuralGaussianMirror(ControlledSelector):
    """Select the features that a response depends on, with the false discovery rate below `fdr`.

    Each feature X_j gets K copies that look like it given the other features but know nothing of y. A learner that
    cannot tell which is which fits y on all of them, and a feature is kept when the fitted function follows X_j more
    than its copies by a margin that copies rarely reach.

    Parameters
    ----------
    scheme : "turns", "simultaneous" or "individual"
        Sixteen learners, each with copies of a sixteenth of the features; one learner with copies of every feature
        (Algorithm 2); or one per feature with copies of that feature alone (Algorithm 1). Networks alone (`learner`)
        see all copies at once in turns too.
    fdr : float
        The largest acceptable expected share of false features among those selected.
    offset : 0 or 1
        Added to the count of false ones. 0 is the paper's; 1 also holds when little or nothing is relevant.
    noise : "conditional" or "independent"
        Opponents drawn about the conditional mean of X_j given the other features, or the paper's independent noise.
    learner : "auto", "sparse" or "network"
        Sparse lines, curves and interactions with networks and boosted trees beside them, weighed on unseen rows;
        the sparse part alone; or networks alone.
    screen : None, int, "half" or "log"
        Learn only from the features whose best direction ranks highest (this many, n/2 or 2n/log n). With independent
        noise the paper's way: rank on a third of the rows and mirror on the others.
    n_mirrors : int
        Opponents per feature, K. Something is selected only if 1/(K·fdr) features stand out together.
    n_repeats : int
        Independent draws of all opponents; a feature is selected if at least half of them select it.
    task : "auto", "regression" or "classification"
    covariates : names or positions of columns
        Columns that are adjusted for and never selected.
    feature_groups : labels, one per column of X
        Columns of one label, the levels of a category say, are one feature: copied, compared and selected together.
    scale : "kernel", "linear", "residual", "marginal" or array of p numbers
        The paper's rules for the size c_j of independent noise; unused with conditional copies.
    network : Network or None
        The knobs of the networks; what they leave open is as suits the learner.
    random_state : int, RandomState or None
        Fixes every draw. The result depends neither on the order of the columns nor on `n_jobs`.
    device : "auto", "cpu" or "cuda"
        Where networks are trained and pairs are scanned.
    n_jobs : int or None
        Threads; None takes the cores that are available to the process.
    progress : bool or None
        Show a progress bar; None shows it on terminals.
    checkpoint : path or None
        Folder for completed draws and pieces of them. A fit that was killed takes them up when it is repeated.

    Attributes
    ----------
    support_ : boolean array, the selected features
    mirror_statistics_ : the signed margins M_j; with several draws their medians, for display only
    threshold_ : the τ of the selection, infinite when nothing passes; with several draws the median
    q_values_ : the smallest level at which each feature would be selected
    estimated_fdp_ : the smallest level at which this very set would be selected
    strengths_ : strengths (draws, features, 1 + K) of X_j and its opponents
    scales_ : c_j, the standard deviation of X_j given the others, in the units of X
    selection_frequencies_ : the share of draws that select each feature
    part_weights_ : how much the sparse part, networks and trees count, from rows that none of them has seen
    explained_ : the share of the outcome that lines, curves, interactions, networks and trees explain on unseen rows
    interactions_ : pairs of features that act together, with their strengths, strongest first
    law_checks_ : whether copies can be told from their features by their neighbours
    indistinguishable_features_ : features that the others all but determine
    constant_features_, duplicate_features_ : columns that were set aside, and what they repeat
    n_mirrors_, target_transform_ : opponents per feature, and whether ranks of y were predicted
    n_learnt_ : features that the learner saw: all, or as many as it has room for in wide tables
    """

    def __init__(
        self,
        scheme: str = "turns",
        fdr: float = 0.1,
        offset: int = 1,
        noise: str = "conditional",
        learner: str = "auto",
        screen: int | str | None = None,
        n_mirrors: int = 4,
        n_repeats: int = 1,
        task: str = "auto",
        covariates: Sequence[str | int] | None = None,
        feature_groups: Sequence[Any] | None = None,
        scale: str | ArrayLike = "kernel",
        network: Network | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.scheme = scheme
        self.fdr = fdr
        self.offset = offset
        self.noise = noise
        self.learner = learner
        self.screen = screen
        self.n_mirrors = n_mirrors
        self.n_repeats = n_repeats
        self.task = task
        self.covariates = covariates
        self.feature_groups = feature_groups
        self.scale = scale
        self.network = network
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint

    @classmethod
    def paper(
        cls, scheme: str = "simultaneous", screen: int | str | None = None, fdr: float = 0.1, **changes: Any
    ) -> Self:
        """The paper's own settings: path products, offset 0, kernel scales, a plain perceptron on mirrored pairs."""
        settings = {"scheme": scheme, "screen": screen, "fdr": fdr, "offset": 0, "noise": "independent"}
        network = {"learner": "network", "n_mirrors": 1, "scale": "kernel", "network": Network.paper()}
        return cls(**{**settings, **network, **changes})

    def fit(self, X: Any, y: Any) -> Self:
        """Read the data; for each draw: directions, learn, measure; select (Algorithms 1 and 2)."""
        data = self._grouped(self._read(X, y, self.task, self.covariates))
        engine, seed = self._engine(), int(check_random_state(self.random_state).randint(2**31 - 1))
        n_repeats = checks.check_count("n_repeats", self.n_repeats)
        threads = None if self.n_jobs is None else engine.n_jobs
        with thread_limit(threads), progress("Learning from mirrored features", n_repeats, self.progress) as tick:
            draws = self._completed_draws(self._plan(), data, engine, seed, n_repeats, tick)
        return self._finish(draws)

    def _completed_draws(
        self, plan: Plan, data: StandardisedData, engine: Engine, seed: int, n_repeats: int, tick: Callable[[int], None]
    ) -> list[Draw]:
        """All draws: those on disk are taken from there, the others are computed and kept."""
        folder = self._folder(data, seed)
        names = [f"draw-{number}" for number in range(n_repeats)]
        found = {name: draw for name in names if (draw := load(folder, name, Draw)) is not None}
        tick(len(found))
        waiting = [(number, name) for number, name in enumerate(names) if name not in found]
        sent = self._whole_draws_are_sent(len(waiting))
        engine = replace(engine, n_jobs=1) if sent else engine
        pieces = [(data, engine, seed + 7919 * n, None if folder is None else folder / name) for n, name in waiting]
        here = ((place, plan.draw(*piece)) for place, piece in enumerate(pieces))
        for place, draw in run_pieces(plan.draw, pieces, folder=folder) if sent else here:
            name = waiting[place][1]
            store(folder, name, draw)
            found[name] = draw
            tick(1)
        return [found[name] for name in names]

    def _whole_draws_are_sent(self, number: int) -> bool:
        """Whether whole draws go to the workers that the caller has chosen; else pieces of each draw may."""
        whole = self.scheme == "simultaneous" or (self.scheme == "turns" and self.learner == "network")
        return elsewhere() and number > 1 and (whole or number >= workers())

    def _plan(self) -> Plan:
        """The checked settings of every draw."""
        scale = self._scale() if self.noise == "independent" else "marginal"
        return Plan(self.scheme, self.noise, self._screen(), self.n_mirrors, scale, self._feature)

    def _engine(self) -> Engine:
        """Check the parameters and turn words into what they stand for, once."""
        checks.check_choice("scheme", self.scheme, SCHEMES)
        checks.check_choice("noise", self.noise, ("conditional", "independent"))
        checks.check_count("n_mirrors", self.n_mirrors)
        learner = checks.check_choice("learner", self.learner, LEARNERS)
        network = (Network() if self.network is None else self.network).suited_to(learner)
        network.recipe()
        if network.mirrored_pairs and (self.n_mirrors != 1 or self.noise != "independent"):
            raise ValueError(
                "mirrored pairs X ± cZ hold one independent noise per feature, got "
                f"n_mirrors={self.n_mirrors!r} and noise={self.noise!r}; set n_mirrors=1 and noise='independent'"
            )
        return Engine(learner, network, resolve_device(self.device), resolve_jobs(self.n_jobs))

    def _scale(self) -> str | Floats:
        """The rule of the scales, or given ones of the usable columns in units of their standard deviations."""
        if isinstance(self.scale, str):
            return checks.check_choice("scale", self.scale, SCALES)
        numbers = np.asarray(self.scale, dtype=float)
        if numbers.shape != (self.n_features_in_,) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise ValueError(
                f"scale must be a rule ({', '.join(map(repr, SCALES))}) or {self.n_features_in_} positive numbers, "
                f"one per column of X; got {self.scale!r}"
            )
        place = self._columns.usable[self._order]
        return np.asarray((numbers / self._sd)[place])

    def _screen(self) -> int | str | None:
        if self.screen is None:
            return None
        if isinstance(self.screen, str):
            return checks.check_choice("screen", self.screen, ("half", "log"))
        return checks.check_count("screen", self.screen, least=2)

    def _grouped(self, data: StandardisedData) -> StandardisedData:
        """The usable columns in an order that follows from their values, those of one group side by side.

        So neither the order of the columns nor their names change what is drawn and learnt.
        """
        codes = np.array([zlib.crc32(np.ascontiguousarray(column).tobytes()) for column in data.x.T])
        if self.feature_groups is None:
            self._order = np.argsort(codes, kind="stable")
            self._feature = np.arange(len(codes))
            return replace(data, x=data.x[:, self._order])
        labels = np.asarray(self.feature_groups)
        if labels.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_groups must hold {self.n_features_in_} labels, one per column of X; got {labels.shape}"
            )
        _, group = np.unique(labels[self._columns.usable].astype(str), return_inverse=True)
        smallest = np.array([codes[group == g].min() for g in range(group.max() + 1)])
        self._order = np.lexsort((codes, group, smallest[group]))
        changes = np.diff(group[self._order], prepend=group[self._order[0]]) != 0
        self._feature = np.cumsum(changes)
        self._lead(labels)
        return replace(data, x=data.x[:, self._order], group_of_column=self._feature)

    def _lead(self, labels: NDArray[Any]) -> None:
        """Every column takes the statistic of the first usable column of its group."""
        usable = self._columns.usable
        first = {label: int(j) for label, j in zip(labels[usable][::-1], usable[::-1], strict=True)}
        self._leaders = np.array([first.get(label, j) for j, label in enumerate(labels)])

    def _folder(self, data: StandardisedData, seed: int) -> Path | None:
        """Where the draws of exactly this work are kept."""
        if self.checkpoint is None:
            return None
        aside = {"fdr", "offset", "n_repeats", "n_jobs", "progress", "checkpoint", "random_state", "feature_groups"}
        settings = {name: value for name, value in self.get_params().items() if name not in aside}
        place = np.zeros(0) if isinstance(self.scale, str) else self._columns.usable[self._order]  # of given scales
        arrays = (data.x, data.y, data.covariates, data.group, place)
        return Path(self.checkpoint) / fingerprint(arrays, {**settings, "seed": seed})

    def _in_columns(self, values: Floats) -> Floats:
        """Values (..., features) of the learner's order as (..., columns of X)."""
        placed = np.zeros((*values.shape[:-1], self.n_features_in_))
        placed[..., self._columns.usable[self._order]] = values[..., self._feature]
        return placed

    def _finish(self, draws: list[Draw]) -> Self:
        """Store what the draws found, and select."""
        strengths = np.stack([draw.strengths for draw in draws])  # (draws, p, K+1)
        self.strengths_ = np.moveaxis(self._in_columns(np.moveaxis(strengths, 2, 1)), 1, 2)
        self.n_mirrors_ = strengths.shape[2] - 1
        place = self._columns.usable[self._order]
        self.scales_ = np.zeros(self.n_features_in_)
        self.scales_[place] = np.mean([draw.scales for draw in draws], axis=0) * self._sd[place]
        names = self._names()
        close = place[draws[0].explained_by_others > NOT_TOLD_APART]
        self.indistinguishable_features_ = np.array([names[j] for j in np.sort(close)], dtype=object)
        self.part_weights_ = _mean_of([draw.weights for draw in draws])
        self.explained_ = _mean_of([draw.explained for draw in draws])
        self.target_transform_ = draws[0].transform
        self.law_checks_ = draws[0].law
        self.n_learnt_ = draws[0].n_learnt
        if self.screen is None and self.n_learnt_ < strengths.shape[1]:
            warnings.warn(
                f"X is wider than the learner has room for: it saw {self.n_learnt_} of {strengths.shape[1]} features, "
                "those with the closest relation to y; set `screen` to another number",
                SelectionWarning,
                stacklevel=3,
            )
        self._store_effects(draws, place)
        columns = self._in_columns(mirror_statistics(strengths))
        leading = self._leaders == np.arange(self.n_features_in_)  # a group is counted once
        return self._conclude(np.where(leading, columns, 0.0)[:, self._columns.usable], self.n_mirrors_)

    def _names(self) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", range(self.n_features_in_))]

    def _store_effects(self, draws: list[Draw], place: Indices) -> None:
        """Curves in the units of X and y, and pairs by name."""
        names, first = self._names(), place[np.searchsorted(self._feature, np.arange(self._feature[-1] + 1))]
        lead = self._leaders[first]  # the column that stands for each feature of the learner
        unit = self._y_spread if self.target_transform_ == "standard" else 1.0
        self._curves: dict[str, dict[str, Any]] = {}  # by column, as text: so they come back from a file
        for draw in draws:
            for feature, x, y in zip(draw.curve_features, draw.curve_x, draw.curve_y, strict=True):
                column = int(lead[feature])
                values = self._means[column] + self._sd[column] * x
                kept = self._curves.setdefault(str(column), {"x": values.tolist(), "y": [], "strengths": []})
                kept["y"].append((unit * y).tolist())
                kept["strengths"].append(unit * float(draw.strengths[feature, 0]))
                members = np.flatnonzero(self._feature == feature)
                if len(members) > 1 and np.isfinite(draw.level_y[members]).all():
                    levels = kept.setdefault("levels", {str(j): [] for j in np.sort(place[members])})
                    for member in members:
                        levels[str(place[member])].append(unit * float(draw.level_y[member]))
        totals: dict[tuple[str, str], float] = {}
        for draw in draws:
            for (a, b), strength in zip(draw.pairs, draw.pair_strengths, strict=True):
                one, two = sorted((lead[a], lead[b]))
                pair = names[one], names[two]
                totals[pair] = totals.get(pair, 0.0) + unit * float(strength) / len(draws)
        self.interactions_ = sorted(((a, b, size) for (a, b), size in totals.items()), key=lambda row: -row[2])

    def effects(self) -> dict[str, effects.Effect]:
        """The shape of each selected feature's effect on y, with a band over the repeated draws."""
        return effects.effects_of_selected(self)


def _mean_of(parts: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each number over the draws; what a draw does not have counts as zero."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: float(np.mean([part.get(name, 0.0) for part in parts])) for name in names}
