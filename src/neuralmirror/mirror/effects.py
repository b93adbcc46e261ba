"""What was found: the shape of each feature's effect, and which features act together."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.sparse import SparseFit
from neuralmirror.learner.stacking import LearnerFit
from neuralmirror.learner.terms import PARTS
from neuralmirror.mirror.directions import Directions, blinded

if TYPE_CHECKING:
    from neuralmirror.mirror.estimator import NeuralGaussianMirror

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

POINTS = 40  # of an effect's curve
MOSTLY_TOGETHER = 0.2  # a feature whose own effect is below this share of all it does acts only with others
BY_LEVEL, ONLY_WITH_OTHERS = "differs by level", "only with others"  # shapes of a category, and of a mere partner
STRAIGHT = 0.95  # correlation of an effect with its feature from which on it is told as rising or falling


@dataclass(frozen=True)
class Curves:
    """Main effects of the strongest features: at `x`, in standard deviations, the response moves by `y`."""

    features: Indices  # (f,)
    x: Floats  # (f, POINTS)
    y: Floats  # (f, POINTS)
    pairs: Indices  # (t, 2)
    pair_strengths: Floats  # (t,)
    levels: Floats  # (columns,): the mean effect where a column of two values is at the upper one; NaN for others


@dataclass(frozen=True)
class Effect:
    """A feature's main effect: `y` at `x`, in their units, between `low` and `high` over the draws.

    A category has the names of its levels in `levels`, and `y` at each of them; `x` only counts them.
    """

    x: Floats
    y: Floats
    low: Floats
    high: Floats
    shape: str  # rises, falls, curved, differs by level, or only with others
    size: float  # standard deviation of the effect, in units of y
    partners: list[str]
    levels: list[str] = field(default_factory=list)


def curves_of(fit: LearnerFit, directions: Directions, most: int = 300) -> Curves:
    """Main effects and pairs of the sparse part, with X_j itself and not its copies."""
    nothing, levels = np.zeros((0, POINTS)), np.full(len(directions.values), np.nan)
    if fit.sparse is None:
        return Curves(
            np.zeros(0, dtype=np.intp), nothing, nothing, np.zeros((0, 2), dtype=np.intp), np.zeros(0), levels
        )
    _, order = blinded(directions)
    own = np.argmin(order, axis=1)  # the place of X_j among its directions
    strongest = np.sort(np.argsort(-fit.strengths.max(axis=1), kind="stable")[:most])
    first, last = (np.searchsorted(directions.feature, strongest, side) for side in ("left", "right"))
    mains = np.empty((len(strongest), directions.values.shape[2]))
    for number, options in enumerate(_own_options(fit.sparse, strongest, own[strongest])):
        mains[number] = _main_effect(fit.sparse, options)
        if last[number] - first[number] > 1:
            columns = slice(first[number], last[number])
            levels[columns] = _at_upper_value(mains[number], directions.values[columns, 0])
    x, y = _curves(mains, directions.values[first, 0].astype(np.float64))
    pairs, sizes = _pairs(fit.sparse, own)
    return Curves(strongest, x, y, pairs, sizes, levels)


def _own_options(sparse: SparseFit, features: Indices, places: Indices) -> list[Indices]:
    """For each of some features, the options that hold the direction at its place and no other feature."""
    held = sparse.terms.option_directions
    alone = np.flatnonzero((held[:, 0, 0] >= 0) & (held[:, 1, 0] < 0))
    keys, wanted = held[alone, 0, 0] * sparse.shape[1] + held[alone, 0, 1], features * sparse.shape[1] + places
    order = np.argsort(keys, kind="stable")
    first, last = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
    return [alone[order[start:end]] for start, end in zip(first, last, strict=True)]


def _main_effect(sparse: SparseFit, options: Indices) -> Floats:
    """What a feature does by itself in every row, to the output that it moves most."""
    effect = sparse.of_options(options)
    return np.asarray(effect[:, int(np.argmax(effect.var(axis=0)))], dtype=np.float64)


def _curves(mains: Floats, x: Floats) -> tuple[Floats, Floats]:
    """The means of features (f, n) and of their main effects in slices of equal size along each, (f, POINTS) each."""
    n = x.shape[1]
    count = min(POINTS, n)
    starts = np.array([part[0] for part in np.array_split(np.arange(n), count)])
    order, shown = np.argsort(x, axis=1, kind="stable"), np.linspace(0, count - 1, POINTS).astype(int)
    sums = [np.add.reduceat(np.take_along_axis(values, order, axis=1), starts, axis=1) for values in (x, mains)]
    one, two = (total[:, shown] / np.diff(starts, append=n)[shown] for total in sums)
    return one, two


def _at_upper_value(main: Floats, columns: NDArray[np.float32]) -> Floats:
    """The mean effect in the rows where each column (c, n) is at the upper of its two values; NaN if it has more."""
    two = [len(np.unique(column)) == 2 for column in columns]
    return np.array([main[x == x.max()].mean() if known else np.nan for x, known in zip(columns, two, strict=True)])


def _pairs(sparse: SparseFit, own: Indices) -> tuple[Indices, Floats]:
    """Pairs of features with the size of what they do together, strongest first."""
    kind, places = sparse.terms.option_kind, sparse.terms.option_directions
    of_x_alone = ((places[..., 0] < 0) | (own[places[..., 0]] == places[..., 1])).all(axis=1)
    found: dict[tuple[int, int], float] = {}
    for option in np.flatnonzero(of_x_alone & np.isin(kind, PARTS["interactions"])):
        for pair in combinations((int(j) for j in places[option, :, 0] if j >= 0), 2):
            found[pair] = found.get(pair, 0.0) + float(sparse.chain.sizes[option])
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
        lead = int(mirror._leaders[column])
        curves = mirror._curves.get(str(lead))
        if curves is not None:
            together = partners.get(names[lead], {})
            levels = {int(level): y for level, y in curves.get("levels", {}).items()}
            one_a_row = levels and abs(mirror._means[list(levels)].sum() - 1) < 1e-6
            whole = max([float(np.mean(curves["strengths"])), *together.values()])
            facts = list(together), whole
            found[names[column]] = _by_level(levels, *facts, mirror) if one_a_row else _effect(curves, *facts)
    return found


def _by_level(
    levels: dict[int, list[float]], partners: list[str], whole: float, mirror: NeuralGaussianMirror
) -> Effect:
    """The effect at each level of a category, whose columns hold 0 and 1, and one 1 a row."""
    columns, names = list(levels), mirror._names()
    every, shares = np.array([levels[column] for column in columns]), mirror._means[columns]  # (levels, draws)
    y = every.mean(axis=1)
    size = float(np.sqrt(shares @ (y - shares @ y) ** 2))
    return Effect(
        x=np.arange(len(y), dtype=float),
        y=y,
        low=every.min(axis=1),
        high=every.max(axis=1),
        shape=ONLY_WITH_OTHERS if _mostly_together(size, whole) else BY_LEVEL,
        size=size,
        partners=partners,
        levels=[names[column] for column in columns],
    )


def _mostly_together(size: float, whole: float) -> bool:
    return size == 0 or size < MOSTLY_TOGETHER * whole


def _effect(curves: dict[str, Any], partners: list[str], whole: float) -> Effect:
    """The mean and the range over draws, and a word for the shape; `whole` is how strong the feature is in all."""
    x, every = np.asarray(curves["x"]), np.atleast_2d(np.asarray(curves["y"]))
    y = every.mean(axis=0)
    size = float(y.std())
    slope = float(np.corrcoef(x, y)[0, 1]) if size > 0 and x.std() > 0 else 0.0
    shape = "curved" if abs(slope) < STRAIGHT else "rises" if slope > 0 else "falls"
    if _mostly_together(size, whole):
        shape = ONLY_WITH_OTHERS
    return Effect(x, y, every.min(axis=0), every.max(axis=0), shape, size, partners)
