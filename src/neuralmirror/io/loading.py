"""From files to a question: which table, which response, which covariates, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from neuralmirror.io.errors import DataError
from neuralmirror.io.formats import read_table
from neuralmirror.io.joining import joined
from neuralmirror.io.names import few, find_name
from neuralmirror.io.responses import covariate_matrix as covariate_matrix
from neuralmirror.io.responses import response
from neuralmirror.io.sources import Source as Source
from neuralmirror.io.tables import Column, Decision, Dropped, Table, is_missing


@dataclass(frozen=True)
class Dataset:
    """Features, a response and covariates with the same rows, none of the response missing.

    `decisions` lists what was decided about the files, for the user to see.
    """

    table: Table
    target: str
    y: Column
    covariates: dict[str, Column] = field(default_factory=dict)
    dropped_samples: tuple[Dropped, ...] = ()
    decisions: list[Decision] = field(default_factory=list)


def load(source: Source) -> Dataset:
    """Read, join by sample id, take the target and the covariates out of the features, drop rows without a target."""
    table = read_table(source.data, source.options)
    gone = [name for dropped in table.dropped for name in dropped.names]
    for name in source.drop:
        find_name(name, [*table.names, *table.texts, *table.traits, *gone], "column to drop")
    data = asked(table.without(source.drop), source)
    if not data.table.shape[1]:
        raise DataError(f"{source.data} has no feature besides the target {data.target!r}; name a file with features")
    return data


def asked(table: Table, source: Source) -> Dataset:
    """The same for a table that was read already, which need not have features."""
    dropped: list[Dropped] = []  # samples
    if source.pheno is not None:
        table, pheno = joined(table, source.pheno, source, dropped)
        table = replace(table, traits={**table.traits, **pheno})
    covariates: dict[str, Column] = {}
    if source.covar is not None:
        table, covariates = joined(table, source.covar, source, dropped)
    target = _target_name(table, source)
    y = table.column(target)
    covariates |= _named_covariates(table, target, source)
    table = table.without({target, *source.covariates})
    y, kept, missing = response(y, target, table.samples)
    covariates = {name: column[kept] for name, column in covariates.items()}
    return Dataset(table.rows(kept), target, y, covariates, (*dropped, *missing), list(table.decisions))


def _named_covariates(table: Table, target: str, source: Source) -> dict[str, Column]:
    for name in source.covariates:
        find_name(name, [*table.traits, *table.names, *table.texts], "covariate")
        if name == target:
            raise DataError(f"the target {target!r} cannot be a covariate too; leave it out of --covariates")
    return {name: table.column(name) for name in source.covariates}


def _target_name(table: Table, source: Source) -> str:
    """The column to explain: the one named, or the only one that can be meant."""
    candidates = [name for name, column in table.traits.items() if not is_missing(column).all()]
    known = [*table.traits, *table.texts, *table.names]
    if source.target is None and len(candidates) == 1:
        return candidates[0]
    if table.genotypes and source.pheno is None and source.target not in known and not candidates:
        raise DataError(
            f"{source.data} holds genotypes and no phenotype; name a file with sample ids and phenotypes by --pheno, "
            "and the phenotype to explain by --target"
        )
    if source.target is None:
        raise DataError(
            f"name the column to explain with --target; {source.data} offers "
            f"{few(candidates or [*table.names[-3:], *table.texts])}"
        )
    for dropped in table.dropped:
        if source.target in dropped.names:
            raise DataError(f"the target {source.target!r} cannot be used: {dropped.reason}; choose another")
    return find_name(source.target, known, "target")
