"""Which columns are worth keeping: each filter takes a table and the rules, and returns fewer columns and what left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.io.blocks import BLOCK, Block, allele_frequencies, by_column, missing_shares, unit_columns, with_nan
from neuralmirror.io.errors import DataError
from neuralmirror.io.tables import Dropped, Table

ALL_PAIRS = 20_000  # up to here pruning compares every pair of columns, beyond it neighbours only
LONGEST = 2.0**53  # whole numbers beyond this are rounded
DIGITS = "constant in double precision, which holds 15 digits; subtract a number from all"
INFINITE = "infinite in every row that has a value"
WINDOW = 1000  # kept columns to which a later one is compared then


@dataclass(frozen=True)
class Rules:
    """What cleaning does. `maf` None applies 0.01 to genotype files and nothing elsewhere."""

    missing: str = "mean"  # or "mode" or "error"
    max_missing: float = 0.2
    maf: float | None = None
    prune: float | None = None


Filtered = tuple[Table, list[Dropped]]


def _keep(table: Table, kept: NDArray[np.bool_], reason: str) -> Filtered:
    if kept.all():
        return table, []
    out = tuple(table.names[j] for j in np.flatnonzero(~kept))
    return table.columns(np.flatnonzero(kept)), [Dropped(reason, out)]


def drop_missing(table: Table, rules: Rules) -> Filtered:
    """Columns with too few values."""
    shares = missing_shares(table)
    reason = f"more than {rules.max_missing:.0%} missing"
    smaller, out = _keep(table, np.array([shares[name] <= rules.max_missing for name in table.names], bool), reason)
    texts = [name for name in table.texts if shares[name] > rules.max_missing]
    return smaller.without(texts), out + ([Dropped(reason, tuple(texts))] if texts else [])


def drop_rare(table: Table, rules: Rules) -> Filtered:
    """Variants whose minor allele is rare."""
    least = rules.maf if rules.maf is not None else (0.01 if table.genotypes else 0.0)
    if not least:
        return table, []
    if not table.genotypes and not np.isin(np.nan_to_num(with_nan(table.values)), [0, 1, 2]).all():
        raise DataError("--maf is for genotypes coded 0, 1, 2, and this table holds other numbers; leave it out")
    frequencies = allele_frequencies(table)
    minor = np.minimum(frequencies, 1 - frequencies)
    return _keep(table, minor >= least, f"minor allele frequency below {least:g}")


def drop_constant(table: Table, rules: Rules) -> Filtered:
    """Columns that never vary."""
    smaller, out = _keep(table, by_column(table, _varies).astype(bool), "constant")
    out = [part for group in out for part in _by_size(group, table)]
    texts = [name for name, column in table.texts.items() if len(set(column) - {""}) < 2]
    return smaller.without(texts), out + ([Dropped("constant", tuple(texts))] if texts else [])


def _by_size(constant: Dropped, table: Table) -> list[Dropped]:
    """What is infinite throughout, or has more digits than a number holds, is constant for another reason."""
    sizes = {name: np.nanmax(np.abs(table.column(name)), initial=0.0) for name in constant.names}
    infinite = tuple(name for name, size in sizes.items() if np.isinf(size))
    long = tuple(name for name, size in sizes.items() if LONGEST < size < np.inf)
    rest = tuple(name for name, size in sizes.items() if size <= LONGEST)
    by_reason = {constant.reason: rest, DIGITS: long, INFINITE: infinite}
    return [Dropped(reason, names) for reason, names in by_reason.items() if names]


def drop_copies(table: Table, rules: Rules) -> Filtered:
    """Exact copies of an earlier column, missing values included, are represented by it."""
    first: dict[bytes, int] = {}
    stands_for = [first.setdefault(column.tobytes(), j) for j, column in enumerate(table.values.T)]
    return _represented(table, stands_for, "an exact copy of another")


def _varies(block: Block) -> NDArray[np.bool_]:
    values = with_nan(block)
    low, high = np.nanmin(values, axis=0, initial=np.inf), np.nanmax(values, axis=0, initial=-np.inf)
    return np.asarray(high > low)


def _represented(table: Table, stands_for: list[int], reason: str) -> Filtered:
    copies = [j for j, k in enumerate(stands_for) if j != k]
    if not copies:
        return table, []
    kept = np.array([j for j, k in enumerate(stands_for) if j == k], dtype=np.intp)
    out, by = (tuple(table.names[j] for j in index) for index in (copies, [stands_for[j] for j in copies]))
    return table.columns(kept), [Dropped(reason, out, by)]


def drop_linked(table: Table, rules: Rules) -> Filtered:
    """Greedy pruning in the order of the file: a column with |r| > `prune` to a kept one is represented by it."""
    if rules.prune is None:
        return table, []
    p = len(table.names)
    window = p if p <= ALL_PAIRS else WINDOW
    kept: list[int] = []
    stands_for = list(range(p))
    scores = np.empty((p, len(table.values)), dtype=np.float32)  # unit columns, as rows
    for start in range(0, p, BLOCK):
        block = unit_columns(table.values[:, start : start + BLOCK]).astype(np.float32)  # (b, n)
        recent = kept[-window:]
        before = block @ scores[: len(kept)][-window:].T if recent else np.empty((len(block), 0), np.float32)
        within = block @ block.T
        here: list[int] = []
        for j in range(len(block)):
            near = np.concatenate([np.abs(before[j]), np.abs(within[j, here])])
            if near.size and near.max() > rules.prune:
                stands_for[start + j] = [*recent, *(start + i for i in here)][int(near.argmax())]
                continue
            scores[len(kept)] = block[j]
            here.append(j)
            kept.append(start + j)
    reach = "" if window == p else f" (within {WINDOW} kept neighbours)"
    return _represented(table, stands_for, f"correlated above {rules.prune:g} with another{reach}")
