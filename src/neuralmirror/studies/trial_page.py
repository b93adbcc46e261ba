"""The page of the trial bench: a table from the records, below what people wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from neuralmirror.evaluation import Record
from neuralmirror.studies.scenarios import Aim, aims
from neuralmirror.studies.tables import NOTHING, markdown
from neuralmirror.summaries import Summary, summarise

MARK = "<!-- table -->"
HEAD = [
    "scenario",
    "method",
    "level",
    "fits",
    "FDR",
    "power",
    "to reach",
    "oracle",
    "truth first",
    "nulls won",
    "upper tail",
    "expected",
    "network",
    "trees",
    "seconds",
]


def write_trials(records: Iterable[Record], page: Path) -> None:
    """The table of all records, scenarios in their order; what stands above the mark is kept."""
    reach = aims()
    order = {name: place for place, name in enumerate(reach)}
    summaries = sorted(summarise(records), key=lambda s: (order.get(s.scenario, len(order)), s.method))
    page.parent.mkdir(parents=True, exist_ok=True)
    head = page.read_text(encoding="utf-8").split(MARK)[0] if page.exists() else "# Trials\n\n"
    page.write_text(f"{head.rstrip()}\n\n{MARK}\n\n{as_markdown(summaries, reach)}", encoding="utf-8")


def as_markdown(summaries: Sequence[Summary], reach: Mapping[str, Aim]) -> str:
    """One line for each scenario and method."""
    return markdown(HEAD, [line(one, reach.get(one.scenario, Aim())) for one in summaries])


def line(s: Summary, aim: Aim) -> list[str]:
    """The entries of one summary; – where records of earlier versions say nothing."""
    return [
        s.scenario,
        s.method,
        f"{s.level:g}",
        str(s.replicates),
        f"{s.fdr:.3f} ± {s.fdr_error:.3f}{'' if s.controlled else ' ✗'}",
        f"{s.power:.3f} ± {s.power_error:.3f}",
        _reached(s.power, aim.power),
        _number(s.oracle, 3),
        _first(s, aim),
        f"{s.balance:.2f}",
        _number(s.tail, 2),
        f"{s.expected:.2f}",
        _number(s.network, 2),
        _number(s.trees, 2),
        f"{s.seconds:.1f}",
    ]


def _reached(value: float, target: float | None) -> str:
    return "" if target is None else f"{target:g}{' ✓' if value >= target else ' ✗'}"


def _first(s: Summary, aim: Aim) -> str:
    """The share of fits that rank the truth first, where the scenario asks for it."""
    return "" if aim.first is None or s.first is None else f"{s.first:.2f} of {_reached(s.first, aim.first)}"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
