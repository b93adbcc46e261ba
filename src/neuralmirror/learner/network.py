"""The knobs of the networks as one object, so that `network__hidden_sizes` works in a grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.base import BaseEstimator

from neuralmirror._internal import checks
from neuralmirror.learner.networks import ACTIVATIONS
from neuralmirror.learner.training import Recipe

IMPORTANCES = ("redraw", "gradient", "path")
# What is left open is as suits the learner: networks alone, or networks beside the sparse part, held by a prior alone.
ALONE = {
    "activation": "silu", "waves": 8, "shrinkage": 2.0, "weight_prior": False,
    "steps": 500, "batch_size": 128, "learning_rate": 3e-3,
}  # fmt: skip
BESIDE_SPARSE = {
    "activation": "tanh", "waves": 0, "shrinkage": 0.0, "weight_prior": True, "batch_size": 256, "learning_rate": 3e-2,
}  # fmt: skip
LEAST_STEPS, PASSES = 250, 64  # of the training, where its length is left open


class Network(BaseEstimator):
    """How the networks are built, trained and read.

    None is what suits the learner: networks alone (`learner="network"`), or networks beside the sparse part, which are
    for what many features do together. The two values are named in this order.

    Parameters
    ----------
    hidden_sizes : int, tuple of int or None
        Widths of the hidden layers; None gives the paper's 20 log p and 10 log p.
    activation : "silu", "tanh", "relu", "sigmoid" or None
        None: "silu" and "tanh".
    waves : int or None
        Functions of each direction beside its line in the numeric embedding, the b-th of size 1/√b; 0 gives raw
        inputs. None: 8 and 0.
    shrinkage : float or None
        Group shrinkage of the first-layer rows of each direction, in gradients of the median direction; 0 for none.
        None: 2 and 0.
    weight_prior : bool or None
        Hold all weights to the normal law that they are drawn from, N(0, 1/inputs of their layer), as tightly as the
        noise asks for. None: no and yes.
    steps : int or None
        Length of the training. None: 500; and 64 passes over the rows, but 250 steps at least.
    batch_size : int or None
        Rows per step. None: 128 and 256.
    learning_rate : float or None
        Adam's rate at the start of the training. None: .003 and .03.
    early_stopping : bool
        Keep the weights of the best held-out loss, on a fifth of the rows.
    importance : "redraw", "gradient" or "path"
        How strongly a network follows a direction: what changes in its output when the direction is redrawn (the
        total Sobol index), the mean slope, or the paper's path product.
    mirrored_pairs : bool
        Hold weights for X_j ± c_jZ_j as the paper does, instead of X_j and c_jZ_j.
    """

    def __init__(
        self,
        hidden_sizes: int | Sequence[int] | None = 50,
        activation: str | None = None,
        waves: int | None = None,
        shrinkage: float | None = None,
        weight_prior: bool | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        early_stopping: bool = False,
        importance: str = "redraw",
        mirrored_pairs: bool = False,
    ) -> None:
        self.hidden_sizes = hidden_sizes
        self.activation: Any = activation
        self.waves: Any = waves
        self.shrinkage: Any = shrinkage
        self.weight_prior: Any = weight_prior
        self.steps = steps
        self.batch_size: Any = batch_size
        self.learning_rate: Any = learning_rate
        self.early_stopping = early_stopping
        self.importance = importance
        self.mirrored_pairs = mirrored_pairs

    def suited_to(self, learner: str) -> Network:
        """The same, with what was left open as suits a learner."""
        usual = ALONE if learner == "network" else BESIDE_SPARSE
        left_open = {name: value for name, value in usual.items() if getattr(self, name) is None}
        return type(self)(**{**self.get_params(), **left_open})

    @classmethod
    def paper(cls) -> Network:
        """The paper's perceptron: raw mirrored pairs, no shrinkage, path products."""
        return cls(
            hidden_sizes=None, activation="relu", waves=0, shrinkage=0.0, steps=2500,
            learning_rate=2e-3, importance="path", mirrored_pairs=True,
        )  # fmt: skip

    def recipe(self, rows: int = 1, noise: float = 1.0) -> Recipe:
        """The parameters of the training on so many rows, checked; `noise` is the variance that is thought chance."""
        checks.check_choice("activation", self.activation, ACTIVATIONS)
        checks.check_choice("importance", self.importance, IMPORTANCES)
        checks.check_count("waves", self.waves, least=0)
        self.sizes()
        batch_size = checks.check_count("batch_size", self.batch_size)
        usual = max(LEAST_STEPS, PASSES * rows // batch_size)
        return Recipe(
            steps=usual if self.steps is None else checks.check_count("steps", self.steps),
            batch_size=batch_size,
            learning_rate=checks.check_positive("learning_rate", self.learning_rate),
            shrinkage=checks.check_positive("shrinkage", self.shrinkage, zero=True),
            mirrored_pairs=bool(self.mirrored_pairs),
            early_stopping=bool(self.early_stopping),
            prior=noise if self.weight_prior else 0.0,
        )

    def sizes(self) -> tuple[int, ...] | None:
        """The widths of the hidden layers, or None for the paper's."""
        if self.hidden_sizes is None:
            return None
        widths = self.hidden_sizes if isinstance(self.hidden_sizes, Iterable) else [self.hidden_sizes]
        sizes = tuple(checks.check_count("hidden_sizes", size) for size in widths)
        if not sizes:
            raise ValueError("hidden_sizes must name at least one hidden layer, got none; try (100, 50)")
        return sizes
