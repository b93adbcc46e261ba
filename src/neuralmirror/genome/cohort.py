"""The people and markers of an analysis: who has a trait, which markers vary enough, what is adjusted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralmirror._internal.checks import check_spread
from neuralmirror._internal.responses import check_classes, guess_task
from neuralmirror._internal.standardised import standardised
from neuralmirror.genome.windows import Columns, Panel
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.learner.outcome import Response

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FEWEST = 100  # people
NOTHING = 1e-8  # of the trait's variance that is left to explain


@dataclass(frozen=True)
class Cohort:
    """People with a trait and all covariates, the trait as the learner wants it, and the markers in use."""

    rows: Indices  # (n,)
    labels: Response
    covariates: Floats  # (n, c)
    markers: Indices  # (p,)
    rare: int
    missing: int

    @property
    def n(self) -> int:
        """People."""
        return len(self.rows)

    def panel(self, genotypes: PackedGenotypes, offset: Floats | None = None) -> Panel:
        """The markers in use, freed of the covariates and of what the rest of the genome says of the trait."""
        more = np.zeros((self.n, 0)) if offset is None else offset[:, None]
        known = np.linalg.qr(np.hstack([np.ones((self.n, 1)), self.covariates, more]))[0]
        return Panel(genotypes.matrix, self.markers, self.rows, np.ascontiguousarray(known.T, dtype=np.float32))

    def response(self, panel: Panel) -> Columns:
        """The trait freed of what is adjusted for, with mean square 1."""
        known = panel.known.astype(np.float64)
        values = self.labels.values[:, 0].astype(np.float64)
        left = values - (known @ values) @ known
        size = np.square(left).mean()
        if size < NOTHING * values.var():
            raise ValueError(
                "what is adjusted for explains all of y; take y's own copy out of the covariates or offsets"
            )
        return np.asarray(left / np.sqrt(size), dtype=np.float32)


def gather(
    genotypes: PackedGenotypes, y: Any, covariates: ArrayLike | None, min_frequency: float, max_missing: float
) -> Cohort:
    """Those who have a trait and all covariates, and the markers that vary among them."""
    trait, given = np.asarray(y), _covariates(covariates, genotypes.n_samples)
    if trait.shape != (genotypes.n_samples,):
        raise ValueError(f"y must hold {genotypes.n_samples} values, one per person; got shape {trait.shape}")
    rows = np.flatnonzero(_is_known(trait) & np.isfinite(given).all(axis=1))
    if len(rows) < FEWEST:
        raise ValueError(f"{len(rows)} people have a trait and all covariates; at least {FEWEST} are needed")
    labels, adjusted = _labels(trait[rows]), given[rows]
    adjusted = standardised(adjusted[:, adjusted.std(axis=0) > 0])
    known, total, squares = genotypes.allele_counts(rows)
    frequency = total / np.maximum(2 * known, 1)
    gaps = 1 - known / len(rows) > max_missing
    common = np.minimum(frequency, 1 - frequency) >= max(min_frequency, 1 / len(rows))
    varies = squares * known > total**2  # heterozygous in everyone is no variation
    markers = np.flatnonzero(~gaps & common & varies)
    if len(markers) < 2:
        raise ValueError(
            f"{len(markers)} of {genotypes.n_markers} markers have a minor allele frequency of {min_frequency:g} or "
            f"more and at most {max_missing:.0%} missing; lower min_frequency or look at the file"
        )
    return Cohort(rows, labels, adjusted, markers, int((~gaps & ~(common & varies)).sum()), int(gaps.sum()))


def _is_known(trait: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each person has a trait."""
    if trait.dtype.kind in "biuf":
        return np.asarray(np.isfinite(trait.astype(float)))
    return np.array([value is not None and value == value and value != "" for value in trait], dtype=bool)


def _labels(trait: NDArray[Any]) -> Response:
    """Numbers standardised, or two classes."""
    if guess_task(trait, "auto") == "classification":
        check_classes(trait)
        names, classes = np.unique(trait, return_inverse=True)
        if len(names) < 2:
            raise ValueError(f"y is constant ({names[0]}); a trait that varies is needed")
        if len(names) > 2:
            raise ValueError(f"a trait is a number or has two classes, got {len(names)} classes; analyse two at a time")
        return Response(classes[:, None].astype(float), 2)
    values = trait.astype(float)[:, None]
    check_spread(values, ["y"])
    if values.std() == 0:
        raise ValueError(f"y is constant ({values[0, 0]:g}); a trait that varies is needed")
    return Response(standardised(values))


def _covariates(given: ArrayLike | None, n: int) -> Floats:
    """One row a person; none by default."""
    if given is None:
        return np.zeros((n, 0))
    values = np.asarray(given, dtype=float)
    if values.ndim != 2 or len(values) != n:
        raise ValueError(f"covariates must have {n} rows, one per person, got shape {values.shape}")
    return values


def check_offsets(offsets: Mapping[str, ArrayLike], chromosomes: list[str], rows: Indices) -> dict[str, Floats]:
    """Predictions of the trait without each chromosome, for the people in use."""
    absent = [name for name in chromosomes if name not in offsets]
    if absent:
        raise ValueError(f"offsets have no prediction without chromosome {absent[0]}; got {', '.join(offsets)}")
    found = {name: np.asarray(offsets[name], dtype=float)[rows] for name in chromosomes}
    lost = [name for name, values in found.items() if not np.isfinite(values).all()]
    if lost:
        raise ValueError(f"the prediction without chromosome {lost[0]} is missing for some people with a trait")
    return found
