"""Tables of a study in Markdown, from its records and beside what the paper prints. A cell without records shows –."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from neuralmirror.evaluation import Record
from neuralmirror.studies.methods import METHODS
from neuralmirror.studies.study import Study, cell_name
from neuralmirror.summaries import mean_and_error

Groups = dict[tuple[str, str], list[Record]]  # by scenario and method
NOTHING = "–"


def grouped(records: Iterable[Record]) -> Groups:
    """The records of each scenario and method."""
    groups: Groups = defaultdict(list)
    for one in records:
        groups[one["row"], one["method"]].append(one)
    return groups


def held(fits: Sequence[Record], level: float, key: str = "fdp") -> bool | None:
    """Whether the FDR is at most the level and two standard errors, which a single fit does not tell."""
    mean, error = mean_and_error([fit[key] for fit in fits])
    return mean <= level + 2 * error if len(fits) > 1 else None


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines]) + "\n"


def measured(fits: Sequence[Record], key: str, digits: int = 3) -> str:
    """Mean ± standard error, of which a single fit has none."""
    if not fits:
        return NOTHING
    mean, error = mean_and_error([fit[key] for fit in fits])
    return f"{mean:.{digits}f} ± {error:.{digits}f}" if len(fits) > 1 else f"{mean:.{digits}f}"


def rate(fits: Sequence[Record], level: float) -> str:
    """The FDR; ✗ marks one above the level by more than two standard errors."""
    return f"{measured(fits, 'fdp')}{' ✗' if held(fits, level) is False else ''}"


def published(records: Sequence[Record], first: int) -> tuple[str, Sequence[Record]]:
    """Records of seeds from `first` on where there are any, else those of development, and words on which they are."""
    final = [one for one in records if one["seed"] >= first]
    return ("Published seeds.", final) if final else ("Seeds of development, no result to publish.", records)


def selections(study: Study, records: Sequence[Record]) -> str:
    """FDR and power of every cell, each column of the paper before the methods that answer to it."""
    groups = grouped(records)
    parts = [
        _score_table(study, groups, "fdp", f"FDR at level {study.fdr:g}"),
        _score_table(study, groups, "power", "Power"),
    ]
    if "proxy" in study.keep:
        parts += [
            _score_table(study, groups, "proxy_fdp", "FDR where proxies count as relevant"),
            _score_table(study, groups, "proxy_power", "Power where proxies count"),
        ]
    return "\n".join([*parts, _replicates(study, groups)])


def _score_table(study: Study, groups: Groups, key: str, title: str) -> str:
    exact = not key.startswith("proxy")
    columns = _columns(study) if exact else [(name, False) for name in study.methods]
    head = [*study.grid, *(f"paper: {name}" if paper else name for name, paper in columns)]
    lines = []
    for cell in study.cells:
        scenario = cell_name(cell)
        entries = [
            _printed(study, scenario, name, key)
            if paper
            else _entry(study, groups.get((scenario, name), []), scenario, key)
            for name, paper in columns
        ]
        lines.append([*map(str, cell.values()), *entries])
    return f"### {title}\n\n{markdown(head, lines)}"


def _columns(study: Study) -> list[tuple[str, bool]]:
    """The paper's columns (True), each with the methods of its kind behind it; then all other methods."""
    columns: list[tuple[str, bool]] = []
    for printed in study.published.columns:
        kin = [(name, False) for name in study.methods if METHODS[name].column == printed]
        columns += [(printed, True), *kin]
    return columns + [(name, False) for name in study.methods if (name, False) not in columns]


def _printed(study: Study, scenario: str, column: str, key: str) -> str:
    value = study.published.value(scenario, column)
    return NOTHING if value is None else f"{value[key == 'power']:.3f}"


def _entry(study: Study, fits: Sequence[Record], scenario: str, key: str) -> str:
    """With ✗ behind an FDR that is not held, and ✓ behind a power that the paper's neural mirrors do not exceed."""
    text = measured(fits, key)
    if not fits:
        return text
    if key.endswith("fdp"):
        return f"{text} ✗" if held(fits, study.fdr, key) is False else text
    best = study.published.best(scenario) if key == "power" else None
    return f"{text} ✓" if best is not None and mean_and_error([fit[key] for fit in fits])[0] >= best else text


def _replicates(study: Study, groups: Groups) -> str:
    """How many fits the entries rest on."""
    counts = {name: [len(groups.get((cell_name(cell), name), ())) for cell in study.cells] for name in study.methods}
    words = [
        f"{name} {low}" if (low := min(c)) == max(c) else f"{name} {low} to {max(c)}" for name, c in counts.items()
    ]
    return f"Fits in each cell: {', '.join(words)}.\n"


def areas(study: Study, records: Sequence[Record]) -> str:
    """The area under each ROC curve."""
    groups = grouped(records)
    lines = [
        [
            *map(str, cell.values()),
            *(measured(groups.get((cell_name(cell), name), []), "auc") for name in study.methods),
        ]
        for cell in study.cells
    ]
    return f"### Area under the curve\n\n{markdown([*study.grid, *study.methods], lines)}\n{_replicates(study, groups)}"


def signs(study: Study, records: Sequence[Record]) -> str:
    """How many nulls lie above and below zero in a fit, and what was selected."""
    groups = grouped(records)
    lines = []
    for cell in study.cells:
        for name in study.methods:
            fits = groups.get((cell_name(cell), name), [])
            sides = [measured(fits, key, 1) for key in ("null_won", "null_lost")]
            lines.append([name, str(len(fits)), *sides, measured(fits, "fdp"), measured(fits, "power")])
    head = ["method", "fits", "nulls above zero", "nulls below zero", f"FDR at level {study.fdr:g}", "power"]
    return f"### Signs of the nulls\n\n{markdown(head, lines)}"


def times(study: Study, records: Sequence[Record]) -> str:
    """The median seconds of a construction."""
    groups = grouped(records)
    devices = {one["method"]: one["device"] for one in records}
    head = [*study.grid, *(f"{name} ({devices[name]})" if name in devices else name for name in study.methods)]
    lines = [
        [*map(str, cell.values()), *(_seconds(groups, cell_name(cell), name) for name in study.methods)]
        for cell in study.cells
    ]
    return f"### Seconds\n\n{markdown(head, lines)}"


def _seconds(groups: Groups, scenario: str, name: str) -> str:
    fits = groups.get((scenario, name), [])
    return f"{np.median([fit['seconds'] for fit in fits]):.2g}" if fits else NOTHING


def listed_positions(study: Study, records: Sequence[Record]) -> str:
    """Selected positions on the list and off it, means over the seeds."""
    groups = grouped(records)
    lines = []
    for cell in study.cells:
        fits = [groups.get((cell_name(cell), name), []) for name in study.methods]
        entries = [_pair(found) for found in fits]
        lines.append([*map(str, cell.values()), *entries])
    head = [*study.grid, *(f"{name}: listed / not" for name in study.methods)]
    return f"### Selected positions\n\n{markdown(head, lines)}\n{_replicates(study, groups)}"


def _pair(fits: Sequence[Record]) -> str:
    if not fits:
        return NOTHING
    on, off = (np.mean([fit[key] for fit in fits]) for key in ("listed", "unlisted"))
    return f"{on:.1f} / {off:.1f}"


TABLES: dict[str, Callable[[Study, Sequence[Record]], str]] = {
    "selections": selections,
    "roc": areas,
    "histogram": signs,
    "times": times,
    "positions": listed_positions,
}
