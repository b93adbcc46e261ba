"""Several methods on the same data: who selected what, how far they agree, and how long each took."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from neuralmirror._internal import checks
from neuralmirror._internal.pieces import in_order
from neuralmirror.base import ControlledSelector, SelectionWarning
from neuralmirror.comparators.columns import Columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Mask = NDArray[np.bool_]


def _make(place: str, name: str, **settings: Any) -> ControlledSelector:
    """The selector of that name, whose module (and torch, where it needs that) is loaded here and not before."""
    selector: ControlledSelector = getattr(import_module(place), name)()
    unknown = set(settings) - set(selector.get_params())
    if unknown:
        raise ValueError(f"{name} has no parameter {sorted(unknown)[0]!r} in this version; choose another method")
    return selector.set_params(**settings)  # type: ignore[no-any-return]


def _public(name: str, **settings: Any) -> Callable[[], ControlledSelector]:
    return partial(_make, "neuralmirror", name, **settings)


NEURAL: dict[str, dict[str, Any]] = {  # ways to set the neural mirror
    "neural-mirror": {},
    "network": {"learner": "network"},
    "sparse": {"learner": "sparse"},
    "individual": {"scheme": "individual"},
}
METHODS: dict[str, Callable[[], ControlledSelector]] = {
    **{name: _public("NeuralGaussianMirror", **settings) for name, settings in NEURAL.items()},
    "gaussian-mirror": _public("GaussianMirror"),
    "lasso-mirror": _public("GaussianMirror", scheme="simultaneous"),
    "model-x": _public("ModelXKnockoffs"),
    "forest-knockoffs": _public("ModelXKnockoffs", statistic="forest"),
    "fixed-x": _public("FixedXKnockoffs"),
    "deeppink": _public("DeepPINK"),
    "bh": _public("BHSelector"),
    "by": _public("BYSelector"),
    "bh-marginal": _public("BHSelector", p_values="marginal"),
}
if find_spec("knockpy"):  # extra: peers
    METHODS["knockpy"] = partial(_make, "neuralmirror.comparators.knockoffs.knockpy_peer", "Knockpy")
USUAL = ("neural-mirror", "gaussian-mirror", "model-x", "deeppink", "bh")


@dataclass(frozen=True)
class Entry:
    """What one method made of the data. One that does not apply selects nothing, and `note` says why."""

    method: str
    support: Mask  # (p,)
    q_values: NDArray[np.float64]  # (p,): the smallest level at which each feature is selected
    seconds: float
    note: str
    applies: bool = True
    warnings: tuple[str, ...] = ()
    mirrors: int = 1  # noises or knockoffs per feature


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`."""

    features: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order given."""
        return tuple(entry.method for entry in self.entries)

    @property
    def selected(self) -> Mask:
        """Who selected what, (features, methods)."""
        return np.stack([entry.support for entry in self.entries], axis=1)

    def agreement(self) -> NDArray[np.float64]:
        """Jaccard index of every two selections, (methods, methods).

        NaN where both are empty, and beside a method that does not apply.
        """
        shares = np.array([[jaccard(a, b) for b in self.selected.T] for a in self.selected.T])
        absent = ~np.array([entry.applies for entry in self.entries])
        shares[absent] = shares[:, absent] = np.nan
        return shares

    def table(self) -> dict[str, list[Any]]:
        """Columns feature, one per method (booleans) and votes; those most voted for first. Made for data frames."""
        votes = self.selected.sum(axis=1)
        order = np.argsort(-votes, kind="stable")
        chosen = {entry.method: entry.support[order].tolist() for entry in self.entries}
        return {"feature": [self.features[j] for j in order], **chosen, "votes": votes[order].tolist()}

    def summary(self) -> dict[str, list[Any]]:
        """Columns method, selected, seconds and note."""
        return {
            "method": list(self.methods),
            "selected": [int(entry.support.sum()) for entry in self.entries],
            "seconds": [round(entry.seconds, 3) for entry in self.entries],
            "note": [entry.note for entry in self.entries],
        }

    def plot(self, *, most: int = 40, ax: Axes | None = None) -> Axes:
        """Draw who selected what; see `plot_comparison`."""
        return plot_comparison(self, most=most, ax=ax)

    def __str__(self) -> str:
        width = max(map(len, self.methods))
        return "\n".join(f"{entry.method:{width}}  {entry.seconds:8.2f} s  {entry.note}" for entry in self.entries)


def compare(
    X: Any,
    y: Any,
    methods: Sequence[str | ControlledSelector] | Mapping[str, str | ControlledSelector] = USUAL,
    *,
    fdr: float = 0.1,
    random_state: int | None = None,
    task: str = "auto",
    offset: int = 1,
    covariates: Sequence[str | int] | None = None,
    feature_groups: Sequence[str] | None = None,
    device: str = "auto",
    n_jobs: int | None = None,
) -> Comparison:
    """Fit several methods to the same data, on equal terms.

    `methods` holds names out of METHODS, which get the level, seed, task, offset and device given here, or selectors,
    which are taken as they are; a mapping gives them labels. A method that does not apply (BH with more features than
    rows, say) is listed with its reason. When none applies, the first reason is raised.

    Columns of one label in `feature_groups` are one feature. `covariates` are taken into account and never selected. A
    method that knows no groups selects one when it selects any of its columns but the first, which the others imply;
    one that knows no covariates gets a numeric response and the features with the covariates regressed out.
    """
    checks.check_fdr(fdr)
    given = {"fdr": fdr, "random_state": random_state, "task": task, "offset": checks.check_offset(offset)}
    given |= {"device": device, "n_jobs": n_jobs}
    selectors = {label: _selector(method, given) for label, method in _labelled(methods).items()}
    names = [str(name) for name in getattr(X, "columns", range(np.shape(X)[1]))]
    aside = checks.column_positions(covariates, names, "covariates")
    columns = Columns(names, aside, None if feature_groups is None else [str(label) for label in feature_groups])
    pieces = [(label, selector, X, y, columns) for label, selector in selectors.items()]
    entries = tuple(in_order(run, pieces))  # one after the other, unless the caller has chosen workers
    if not any(entry.applies for entry in entries):
        raise ValueError(entries[0].note)
    return Comparison(tuple(columns.features), entries)


def run(label: str, selector: ControlledSelector, X: Any, y: Any, columns: Columns) -> Entry:
    """Fit one method against the clock."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            support, q_values = columns.fitted(selector, X, y)
            note, applies = columns.note(selector, support), True
        except ValueError as reason:
            p = len(columns.features)
            support, q_values, note, applies = np.zeros(p, dtype=bool), np.ones(p), str(reason), False
    seconds = time.perf_counter() - start
    told = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, SelectionWarning))
    mirrors = int(getattr(selector, "n_mirrors_", 1))
    said = tuple(text for text in told if text != note)
    return Entry(label, support, q_values, seconds, note, applies, said, mirrors)


def jaccard(a: Mask, b: Mask) -> float:
    """|A ∩ B| / |A ∪ B|; NaN for two empty selections, which agree about nothing."""
    either = int((a | b).sum())
    return float((a & b).sum() / either) if either else float("nan")


def plot_comparison(comparison: Comparison, *, most: int = 40, ax: Axes | None = None) -> Axes:
    """Features by methods, a filled cell for each selection: the `most` features with the most votes."""
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap

    from neuralmirror.plots import WON

    votes = comparison.selected.sum(axis=1)
    shown = [j for j in np.argsort(-votes, kind="stable")[:most] if votes[j]]
    if ax is None:
        _, ax = plt.subplots(figsize=(2 + 0.9 * len(comparison.entries), 1.6 + 0.2 * len(shown)), layout="constrained")
    cells = comparison.selected[shown].astype(float)
    ax.pcolormesh(cells, cmap=ListedColormap(["#f1f5f9", WON]), vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    labels = [f"{entry.method}\n{int(entry.support.sum())} in {entry.seconds:.2g} s" for entry in comparison.entries]
    ax.set_xticks(np.arange(len(labels)) + 0.5, labels, fontsize="small")
    ax.set_yticks(np.arange(len(shown)) + 0.5, [comparison.features[j] for j in shown], fontsize="small")
    ax.invert_yaxis()
    hidden = int((votes > 0).sum()) - len(shown)
    ax.set_title(f"selected features ({hidden} more not shown)" if hidden else "selected features", fontsize="medium")
    return ax


def _labelled(
    methods: Sequence[str | ControlledSelector] | Mapping[str, str | ControlledSelector],
) -> dict[str, str | ControlledSelector]:
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        labelled = dict(methods)
    else:
        labels = [method if isinstance(method, str) else type(method).__name__ for method in methods]
        repeated = {label for label in labels if labels.count(label) > 1}
        if repeated:
            raise ValueError(
                f"several methods are called {sorted(repeated)[0]!r}; give them labels: {{'first': ..., 'second': ...}}"
            )
        labelled = dict(zip(labels, methods, strict=True))
    if not labelled:
        raise ValueError(f"methods is empty; name some of {', '.join(METHODS)}")
    return labelled


def _selector(method: str | ControlledSelector, given: dict[str, Any]) -> ControlledSelector:
    if isinstance(method, ControlledSelector):
        return clone(method)  # type: ignore[no-any-return]
    selector = METHODS[checks.check_choice("methods", method, METHODS)]()
    return selector.set_params(**{k: v for k, v in given.items() if k in selector.get_params()})  # type: ignore[no-any-return]
