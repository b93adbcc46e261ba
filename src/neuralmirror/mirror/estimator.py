"""The neural Gaussian mirror as a scikit-learn selector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from neuralmirror._internal import checks
from neuralmirror._internal.cache import cached, fingerprint
from neuralmirror._internal.progress import progress
from neuralmirror._internal.standardised import StandardisedData
from neuralmirror.base import ControlledSelector
from neuralmirror.learner.initial_weights import chunk_count
from neuralmirror.learner.networks import ACTIVATIONS
from neuralmirror.learner.training import Recipe, Tick
from neuralmirror.mirror.configuration import Settings, resolve_device
from neuralmirror.mirror.fitting import SHRINKAGES, Outcome
from neuralmirror.mirror.importance import IMPORTANCES, mirror_statistics
from neuralmirror.mirror.individual import FINE_TUNING, individual
from neuralmirror.mirror.mirror_count import with_mirrors
from neuralmirror.mirror.scales import SCALES
from neuralmirror.mirror.screening import screen
from neuralmirror.mirror.simultaneous import simultaneous

SKIPS: dict[str, int | None] = {"auto": None, "linear": 1, "quadratic": 2, "none": 1}  # and their degrees


class NeuralGaussianMirror(ControlledSelector):
    """Select the features that a response depends on, with the false discovery rate below `fdr`.

    Each feature X_j is joined by noise c_jZ_j of its own scale; networks are trained on both, and a feature is kept
    when the fitted function follows X_j more than its noise by a margin that noise rarely reaches.

    Parameters
    ----------
    scheme : "simultaneous" or "individual"
        One network with every feature mirrored, or one network per feature.
    fdr : float
        The largest acceptable expected share of false features among those selected.
    offset : 0 or 1
        Added to the count of false ones. 0 is the paper's; 1 also holds when little or nothing is relevant.
    screen : None, int, "half" or "log"
        Rank the features on a third of the rows and mirror only the best (this many, n/2 or 2n/log n) on the others.
        Saves time; with few rows a relevant feature that the ranking misses lets its correlated neighbours in.
    scale : "correlation", "marginal", "kernel", "linear", "residual" or array of p numbers
        The rule for c_j. Numbers are in the units of X.
    importance : "field", "gradient" or "path"
        How strongly a network follows a direction: root mean square slope, mean slope, or the paper's path product.
    n_mirrors : int or "auto"
        Noises per feature, K. The finest step of the estimated FDP is 1/K, so K > 1 finds few true features. "auto"
        takes 1 to 4: the more, the fewer features a lasso of X without any noise keeps.
    contrast : "maximum" or "difference"
        What a feature's winning direction is worth: its strength, or its margin over the next, as in the paper.
    n_repeats : int
        Independent draws of all noises, combined by inclusion rates into one more stable selection.
    task : "auto", "regression" or "classification"
        "auto" takes text, booleans and few distinct integers as classes.
    covariates : names or positions of columns
        Columns that enter the networks unmirrored and unshrunk, and are never selected.
    feature_groups : labels, one per column of X
        Columns of one label, the levels of a category say, are one feature: compared, counted and selected together.
    hidden_sizes : int, tuple of int or None
        Widths of the hidden layers; None gives the paper's 20 log p and 10 log p.
    activation : "relu", "tanh", "silu" or "sigmoid"
    n_networks : int
        Networks per draw, trained on all rows and averaged. A judge, trained before them on three quarters of the
        rows, tells by the others how much of them to believe; 1 trains one network without a judge and believes it.
    skip : "auto", "linear", "quadratic" or "none"
        The sparse part beside the perceptrons, a pair-adaptive lasso on X, or on X, its squares, and products of the
        pairs that stand out (in individual mirrors with `n_networks` above 1, which share a judge that finds them);
        "auto" takes the squares where they predict better out of sample.
    shrinkage : float or "auto"
        Group shrinkage of first-layer rows; 0 for none, "auto" to choose it by what the judge predicts.
    adaptive_power : float
        How much less large features are shrunk than small ones; 0 shrinks all alike.
    coordinates : "directions" or "pair"
        Hold weights for X_j and c_jZ_j, or for X_j ± c_jZ_j as the paper does.
    target_transform : "auto", "rank" or "standard"
        Rank-normal scores or plain standardising of a numeric response; "auto" lets held-out loss decide.
    steps, batch_size, learning_rate
        Length of the training, rows per step, and Adam's rate at its start.
    early_stopping : bool
        Keep the weights of the best held-out loss, on a fifth of the rows.
    memory : float
        Gigabytes that a batch of networks may take; individual mirrors are trained in chunks of that size.
    random_state : int, RandomState or None
        Fixes every draw. The result depends neither on the order of the columns, nor on `n_jobs` or `memory`.
    device : "auto", "cpu" or "cuda"
    n_jobs : int or None
        Threads for the sparse part: its folds, or one draw each where there are several; there None takes as many as
        PyTorch does.
    progress : bool or None
        Show a progress bar; None shows it on terminals.
    checkpoint : path or None
        Folder for completed pieces of the work (individual: each chunk of networks and each draw; simultaneous: all
        draws, trained as one). A fit that was killed takes them up again when it is repeated with the same data and
        parameters.

    Attributes
    ----------
    support_ : boolean array, the selected features
    mirror_statistics_ : the signed margins M_j; with several draws their medians, for display only
    threshold_ : the τ of the selection, infinite when nothing passes; with several draws the median
    q_values_ : the smallest level at which each feature would be selected
    estimated_fdp_ : the estimated share of false features among those selected
    scales_ : c_j in the units of X
    strengths_ : strengths (draws, features, 1 + K) of X_j and its noises
    selection_frequencies_ : the share of draws that select each feature
    constant_features_, duplicate_features_ : columns that were set aside, and what they repeat
    n_mirrors_ : noises per feature that were used
    target_transform_, skip_degree_ : what was chosen for the response and for the sparse part
    n_products_ : products of two directions in the sparse part; in individual mirrors, of two features
    beliefs_ : the share of the perceptrons that was believed in each draw
    loss_curves_ : training loss of each draw
    """

    def __init__(
        self,
        scheme: str = "simultaneous",
        fdr: float = 0.1,
        offset: int = 1,
        screen: int | str | None = None,
        scale: str | ArrayLike = "correlation",
        importance: str = "field",
        contrast: str = "maximum",
        n_mirrors: int | str = "auto",
        n_repeats: int = 1,
        task: str = "auto",
        covariates: Sequence[str | int] | None = None,
        feature_groups: Sequence[Any] | None = None,
        hidden_sizes: int | Sequence[int] | None = 200,
        activation: str = "relu",
        n_networks: int = 3,
        skip: str = "auto",
        shrinkage: float | str = "auto",
        adaptive_power: float = 0.5,
        coordinates: str = "directions",
        target_transform: str = "auto",
        steps: int = 2500,
        batch_size: int = 128,
        learning_rate: float = 2e-3,
        early_stopping: bool = False,
        memory: float = 1.0,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.scheme = scheme
        self.fdr = fdr
        self.offset = offset
        self.screen = screen
        self.scale = scale
        self.importance = importance
        self.contrast = contrast
        self.n_mirrors = n_mirrors
        self.n_repeats = n_repeats
        self.task = task
        self.covariates = covariates
        self.feature_groups = feature_groups
        self.hidden_sizes = hidden_sizes
        self.activation = activation
        self.n_networks = n_networks
        self.skip = skip
        self.shrinkage = shrinkage
        self.adaptive_power = adaptive_power
        self.coordinates = coordinates
        self.target_transform = target_transform
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.memory = memory
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
        settings = {
            "scheme": scheme,
            "screen": screen,
            "fdr": fdr,
            "offset": 0,
            "scale": "kernel",
            "importance": "path",
            "contrast": "difference",
            "n_mirrors": 1,
            "hidden_sizes": None,
            "n_networks": 1,
            "skip": "none",
            "shrinkage": 0.0,
            "adaptive_power": 0.0,
            "coordinates": "pair",
            "target_transform": "standard",
        }
        return cls(**{**settings, **changes})

    def fit(self, X: Any, y: Any) -> Self:
        """Mirror the features, train, compare, select (Algorithms 1 and 2)."""
        problem, settings, seed = self._prepared(X, y)
        with progress("Training mirrored networks", self._work(problem, settings), self.progress) as tick:
            (problem,) = to_be_mirrored([self], [problem], [seed], settings, tick)
            outcome = self._mirror(problem, settings, seed, tick)
        return self._finish(outcome)

    def _prepared(self, X: Any, y: Any) -> tuple[StandardisedData, Settings, int]:
        problem = self._read(X, y, self.task, self.covariates)
        self._group()
        return problem, self._settings(), int(check_random_state(self.random_state).randint(2**31 - 1))

    def trains_in_batches(self) -> bool:
        """Whether several fits are faster together: simultaneous mirrors, once each, on a GPU."""
        single = self.scheme == "simultaneous" and self.n_repeats == 1
        return single and resolve_device(self.device) != "cpu"

    def _finish(self, outcome: Outcome) -> Self:
        self._store(outcome)
        statistics = mirror_statistics(self._pooled(outcome.strengths), self.contrast)
        return self._conclude(statistics, self.n_mirrors_)

    def _settings(self) -> Settings:
        """Check the parameters and turn words into what they stand for, once."""
        checks.check_choice("scheme", self.scheme, ("simultaneous", "individual"))
        coordinates = checks.check_choice("coordinates", self.coordinates, ("directions", "pair"))
        checks.check_choice("contrast", self.contrast, ("maximum", "difference"))
        if self.n_mirrors != "auto":
            checks.check_count("n_mirrors", self.n_mirrors)
        if coordinates == "pair" and self.n_mirrors != 1:
            raise ValueError(
                f"coordinates='pair' holds one noise per feature, got n_mirrors={self.n_mirrors!r}; set it to 1"
            )
        skip = checks.check_choice("skip", self.skip, SKIPS)
        choose = isinstance(self.shrinkage, str) and bool(checks.check_choice("shrinkage", self.shrinkage, ("auto",)))
        recipe = Recipe(
            steps=checks.check_count("steps", self.steps),
            batch_size=checks.check_count("batch_size", self.batch_size),
            learning_rate=checks.check_positive("learning_rate", self.learning_rate),
            shrinkage=SHRINKAGES[0] if choose else checks.check_positive("shrinkage", self.shrinkage, zero=True),
            adapt_power=checks.check_positive("adaptive_power", self.adaptive_power, zero=True),
            coordinates=coordinates,
        )
        return Settings(
            recipe=recipe,
            importance=IMPORTANCES[checks.check_choice("importance", self.importance, IMPORTANCES)],
            scale=self._scale_rule(),
            n_networks=checks.check_count("n_networks", self.n_networks),
            hidden=self._hidden(),
            activation=checks.check_choice("activation", self.activation, ACTIVATIONS),
            skip=skip != "none",
            degree=SKIPS[skip],
            products=skip in ("auto", "quadratic"),
            transform=checks.check_choice("target_transform", self.target_transform, ("auto", "rank", "standard")),
            choose_shrinkage=choose,
            early_stopping=bool(self.early_stopping),
            memory=int(checks.check_positive("memory", self.memory) * 2**30),
            device=resolve_device(self.device),
            n_jobs=self.n_jobs,
        )

    def _hidden(self) -> tuple[int, ...] | None:
        if self.hidden_sizes is None:
            return None
        widths = [self.hidden_sizes] if isinstance(self.hidden_sizes, int) else self.hidden_sizes
        sizes = tuple(checks.check_count("hidden_sizes", size) for size in widths)
        if not sizes:
            raise ValueError("hidden_sizes must name at least one hidden layer, got none; try (100, 50)")
        return sizes

    def _scale_rule(self) -> Callable[[Tensor, Tensor], Tensor]:
        if isinstance(self.scale, str):
            return SCALES[checks.check_choice("scale", self.scale, SCALES)]
        numbers = np.asarray(self.scale, dtype=float)
        if numbers.shape != (self.n_features_in_,) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise ValueError(
                f"scale must be a rule ({', '.join(map(repr, SCALES))}) or {self.n_features_in_} positive numbers, "
                f"one per column of X; got {self.scale!r}"
            )
        return lambda x, z: x.new_tensor((numbers / self._sd)[self._columns.usable])

    def _work(self, problem: StandardisedData, settings: Settings) -> int:
        """Training steps that `fit` will take, for the progress bar."""
        rounds = 2.0 if self.n_networks > 1 else 1.0  # the judges, then the networks that are believed
        if self.scheme == "individual":
            share = FINE_TUNING if self.n_networks > 1 else 1.0
            rounds = self.n_repeats * (rounds * (share < 1) + share * chunk_count(problem, settings))
        return round(self.steps * (rounds + (self.screen is not None)))

    def _keep(self, best: NDArray[np.intp]) -> None:
        """Go on with some of the usable columns alone."""
        self._columns = replace(self._columns, usable=self._columns.usable[best])
        self._group()

    def _screen_word(self) -> int | str:
        if isinstance(self.screen, str):
            return checks.check_choice("screen", self.screen, ("half", "log"))
        return checks.check_count("screen", self.screen, least=2)

    def _mirror(self, problem: StandardisedData, settings: Settings, seed: int, tick: Tick) -> Outcome:
        """Both algorithms, for each of the repeated draws."""
        seeds = [(seed, draw) for draw in range(checks.check_count("n_repeats", self.n_repeats))]
        folder = self._pieces_folder(problem, seed)
        if self.scheme == "simultaneous":
            together = partial(simultaneous, [problem] * len(seeds), seeds, settings, tick)
            return cached(folder, "draws", Outcome, lambda: Outcome.join(together()))
        draws = [(s, f"draw-{s[1]}") for s in seeds]
        return Outcome.join(
            [
                cached(folder, name, Outcome, partial(individual, problem, s, settings, tick, folder and folder / name))
                for s, name in draws
            ]
        )

    def _pieces_folder(self, problem: StandardisedData, seed: int) -> Path | None:
        """Where the pieces of exactly this work are kept."""
        if self.checkpoint is None:
            return None
        aside = {"fdr", "offset", "memory", "n_jobs", "progress", "checkpoint", "random_state", "feature_groups"}
        if self.scheme == "individual":
            aside.add("n_repeats")
        settings = {name: value for name, value in self.get_params().items() if name not in aside}
        arrays = (problem.x, problem.y, problem.covariates)
        return Path(self.checkpoint) / fingerprint(arrays, {**settings, "n_mirrors": problem.n_mirrors, "seed": seed})

    def _group(self) -> None:
        """The first usable column of each group leads it."""
        if self.feature_groups is None:
            return
        labels = np.asarray(self.feature_groups)
        if labels.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_groups must hold {self.n_features_in_} labels, one per column of X; got {labels.shape}"
            )
        usable = self._columns.usable
        first = {label: int(j) for label, j in zip(labels[usable][::-1], usable[::-1], strict=True)}
        self._leaders = np.array([first.get(label, j) for j, label in enumerate(labels)])

    def _pooled(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Strengths (draws, usable, K+1) with those of each group's columns gathered in its leader as a norm.

        The k-th noises of a null group's columns are together as exchangeable with the columns as a single noise is.
        """
        if self.feature_groups is None:
            return strengths
        usable = self._columns.usable
        pooled = np.zeros((self.n_features_in_, len(strengths), strengths.shape[2]))
        np.add.at(pooled, self._leaders[usable], strengths.swapaxes(0, 1) ** 2)
        return np.sqrt(pooled[usable]).swapaxes(0, 1)

    def _store(self, outcome: Outcome) -> None:
        draws, _, directions = outcome.strengths.shape
        usable = self._columns.usable
        self.strengths_ = np.zeros((draws, self.n_features_in_, directions))
        self.strengths_[:, usable] = outcome.strengths
        self.scales_ = np.zeros(self.n_features_in_)
        self.scales_[usable] = outcome.scales.mean(axis=0) * self._sd[usable]
        self.loss_curves_ = outcome.curve
        self.n_mirrors_ = directions - 1
        self.target_transform_ = outcome.choices["transform"][0]
        self.skip_degree_ = int(outcome.choices["degree"][0])
        self.n_products_ = int(outcome.choices["products"][0])
        self.beliefs_ = np.array(outcome.choices["belief"], dtype=float)


def fit_together(selectors: Sequence[NeuralGaussianMirror], data: Sequence[tuple[Any, Any]]) -> None:
    """Fit several selectors, each on its own data of one shape, with their networks trained as one batch.

    The selectors differ in seeds, levels and groups alone. The results are those of separate fits up to the shared
    order of minibatches.
    """
    read = [selector._prepared(X, y) for selector, (X, y) in zip(selectors, data, strict=True)]
    settings, seeds = read[0][1], [seed for _, _, seed in read]
    problems = to_be_mirrored(selectors, [problem for problem, _, _ in read], seeds, settings)
    outcomes = simultaneous(problems, [(seed, 0) for seed in seeds], settings)
    for selector, outcome in zip(selectors, outcomes, strict=True):
        selector._finish(outcome)


def to_be_mirrored(
    selectors: Sequence[NeuralGaussianMirror],
    problems: Sequence[StandardisedData],
    seeds: Sequence[int],
    settings: Settings,
    tick: Tick | None = None,
) -> list[StandardisedData]:
    """The problems that are to be mirrored: screened where that is asked for, and with K of each fit."""
    first = selectors[0]
    if first.screen is not None:
        screened = screen(problems, [(seed,) for seed in seeds], first._screen_word(), settings, tick)
        problems = [problem for problem, _ in screened]
        for selector, (_, best) in zip(selectors, screened, strict=True):
            selector._keep(best)
    return with_mirrors(problems, first.n_mirrors, [selector.fdr for selector in selectors], settings)
