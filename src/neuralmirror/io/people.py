"""The people of packed genotypes: their trait and covariates, from files beside them or from the .fam itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.cells import as_numbers
from neuralmirror.io.errors import DataError
from neuralmirror.io.loading import Dataset, asked
from neuralmirror.io.names import check_distinct
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.io.responses import covariate_matrix
from neuralmirror.io.sources import Source
from neuralmirror.io.tables import Column, Decision, Dropped, Table, is_missing


@dataclass(frozen=True)
class People:
    """A trait and covariates for every sample of the genotypes, missing for those who are left out."""

    target: str
    y: Column  # (n,): numbers with NaN, or words with "" for missing
    covariates: NDArray[np.float64]  # (n, c), NaN for those who are left out
    covariate_names: tuple[str, ...]
    dropped: tuple[Dropped, ...]  # who is left out, and why
    decisions: tuple[Decision, ...]


def read_people(genotypes: PackedGenotypes, source: Source) -> People:
    """Join the files that `source` names by sample id; people without a trait or a covariate are left out."""
    check_distinct(genotypes.samples, "sample id", source.data)
    n = genotypes.n_samples
    nothing = np.zeros((n, 0), dtype=np.int8)
    data = asked(Table(nothing, (), genotypes.samples, traits=dict(genotypes.traits), genotypes=True), source)
    whole, gaps = _complete(data)
    place = {name: row for row, name in enumerate(genotypes.samples)}
    names = [(data.table.samples or ())[row] for row in whole]
    rows = np.array([place[name] for name in names], dtype=np.intp)
    chosen = {name: column[whole] for name, column in data.covariates.items()}
    matrix, covariate_names = covariate_matrix(chosen)
    covariates = np.full((n, len(covariate_names)), np.nan)
    covariates[rows] = matrix if chosen else np.zeros((len(rows), 0))
    decisions = (*genotypes.decisions, *data.decisions)
    dropped = (*data.dropped_samples, *gaps)
    return People(data.target, _spread(data.y[whole], rows, n), covariates, covariate_names, dropped, decisions)


def _complete(data: Dataset) -> tuple[NDArray[np.intp], tuple[Dropped, ...]]:
    """The rows that have every covariate, and the samples that lack one."""
    complete, gaps = np.ones(len(data.y), dtype=bool), []
    for name, column in data.covariates.items():
        numbers = as_numbers(column)
        lacking = is_missing(column) if numbers is None else ~np.isfinite(numbers)
        if lacking.all():
            raise DataError(f"the covariate {name!r} has no value at all; leave it out")
        if (new := lacking & complete).any():
            samples = data.table.samples or ()
            gaps.append(Dropped(f"no value of the covariate {name}", tuple(samples[i] for i in np.flatnonzero(new))))
        complete &= ~lacking
    return np.flatnonzero(complete), tuple(gaps)


def _spread(values: Column, rows: NDArray[np.intp], n: int) -> Column:
    """Values of some rows as a column of all, missing elsewhere."""
    if values.dtype.kind in "iuf":
        numbers = np.full(n, np.nan)
        numbers[rows] = values
        return numbers
    words = np.full(n, "", dtype=object)
    words[rows] = values
    return words
