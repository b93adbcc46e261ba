"""What was found: the shape of each feature's effect, and which features act together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.stacking import LearnerFit
from neuralmirror.learner.terms import PRODUCT, SURFACE, TRIPLE
from neuralmirror.mirror.directions import Directions, blinded

if TYPE_CHECKING:
    from neuralmirror.mirror.estimator import NeuralGaussianMirror

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

POINTS = 40  # of an effect's curve
MOSTLY_TOGETHER = 0.2  # a feature whose own effect is below this share of what it does with another acts only with it
STRAIGHT = 0.95  # correlation of an effect with its feature from which on it is told as rising or falling


@dataclass(frozen=True)
class Curves:
    """Main effects of the strongest features: at `x`, in standard deviations, the response moves by `y`."""

    features: Indices  # (f,)
    x: Floats  # (f, POINTS)
    y: Floats  # (f, POINTS)
    pairs: Indices  # (t, 2)
    pair_strengths: Floats  # (t,)


@dataclass(frozen=True)
class Effect:
    """A feature's main effect: `y` at `x`, in their units, between `low` and `high` over the draws."""

    x: Floats
    y: Floats
    low: Floats
    high: Floats
    shape: str  # rises, falls, curved, or only with others
    size: float  # standard deviation of the effect, in units of y
    partners: list[str]


def curves_of(fit: LearnerFit, directions: Directions, most: int = 300) -> Curves:
    """Main effects and pairs of the sparse part, with X_j itself and not its copies."""
    nothing = np.zeros((0, POINTS))
    if fit.sparse is None:
        return Curves(np.zeros(0, dtype=np.intp), nothing, nothing, np.zeros((0, 2), dtype=np.intp), np.zeros(0))
    _, order = blinded(directions)
    own = np.argmin(order, axis=1)  # the place of X_j among its directions
    strongest = np.sort(np.argsort(-fit.strengths.max(axis=1), kind="stable")[:most])
    shapes = [_curve(fit, directions, int(j), int(own[j])) for j in strongest]
    pairs, sizes = _pairs(fit, own)
    return Curves(strongest, np.array([x for x, _ in shapes]), np.array([y for _, y in shapes]), pairs, sizes)


def _curve(fit: LearnerFit, directions: Directions, feature: int, place: int) -> tuple[Floats, Floats]:
    """The mean main effect in slices of equal size along X_j."""
    assert fit.sparse is not None
    terms, chain = fit.sparse.terms, fit.sparse.chain
    options = np.flatnonzero(
        (terms.option_directions[:, 0] == (feature, place)).all(axis=1) & (terms.option_directions[:, 1, 0] < 0)
    )
    effect = np.zeros((directions.values.shape[2], chain.coefficients.shape[1]))
    for option in options:
        held = slice(terms.option_start[option], terms.option_start[option + 1])
        effect += terms.columns[held].T @ chain.coefficients[held]
    main = effect[:, int(np.argmax(effect.var(axis=0)))]
    x = directions.values[np.searchsorted(directions.feature, feature), 0].astype(np.float64)
    slices = np.array_split(np.argsort(x, kind="stable"), min(POINTS, len(x)))
    points = np.linspace(0, len(slices) - 1, POINTS).astype(int)
    return (
        np.array([x[slices[i]].mean() for i in points]),
        np.array([main[slices[i]].mean() for i in points]),
    )


def _pairs(fit: LearnerFit, own: Indices) -> tuple[Indices, Floats]:
    """Pairs of features with the size of what they do together, strongest first."""
    assert fit.sparse is not None
    terms, sizes = fit.sparse.terms, fit.sparse.chain.sizes
    found: dict[tuple[int, int], float] = {}
    for option in np.flatnonzero(np.isin(terms.option_kind, (PRODUCT, SURFACE, TRIPLE))):
        places = [(int(j), int(k)) for j, k in terms.option_directions[option] if j >= 0]
        if all(own[j] == k for j, k in places):
            features = [j for j, _ in places]
            for a in range(len(features)):
                for b in range(a + 1, len(features)):
                    pair = features[a], features[b]
                    found[pair] = found.get(pair, 0.0) + float(sizes[option])
    strongest = sorted((pair for pair in found if found[pair] > 1e-3), key=lambda pair: -found[pair])
    return np.array(strongest, dtype=np.intp).reshape(-1, 2), np.array([found[pair] for pair in strongest])


def effects_of_selected(mirror: NeuralGaussianMirror) -> dict[str, Effect]:
    """Effects of the selected features by name."""
    names = mirror._names()
    partners: dict[str, dict[str, float]] = {}
    for one, two, strength in mirror.interactions_:
        partners.setdefault(str(one), {})[str(two)] = float(strength)
        partners.setdefault(str(two), {})[str(one)] = float(strength)
    found = {}
    for column in np.flatnonzero(mirror.support_):
        curves = mirror._curves.get(str(mirror._leaders[column]))
        if curves is not None:
            found[names[column]] = _effect(curves, partners.get(names[mirror._leaders[column]], {}))
    return found


def _effect(curves: dict[str, Any], partners: dict[str, float]) -> Effect:
    """The mean and the range over draws, and a word for the shape."""
    x, every = np.asarray(curves["x"]), np.atleast_2d(np.asarray(curves["y"]))
    y = every.mean(axis=0)
    size = float(y.std())
    slope = float(np.corrcoef(x, y)[0, 1]) if size > 0 and x.std() > 0 else 0.0
    shape = "curved" if abs(slope) < STRAIGHT else "rises" if slope > 0 else "falls"
    if size == 0 or size < MOSTLY_TOGETHER * max(partners.values(), default=0.0):
        shape = "only with others"
    return Effect(x, y, every.min(axis=0), every.max(axis=0), shape, size, list(partners))
