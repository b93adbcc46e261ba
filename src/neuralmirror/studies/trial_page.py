"""The page of the trial bench: a table from the records, below what people wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from neuralmirror.evaluation import Record, Scenario, Summary, summarise
from neuralmirror.studies.tables import NOTHING, markdown

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
    "seconds",
]


def write_trials(scenarios: Sequence[Scenario], records: Iterable[Record], page: Path) -> None:
    """The table of all records, scenarios in their order; what stands above the mark is kept."""
    order = {scenario.name: place for place, scenario in enumerate(scenarios)}
    summaries = sorted(summarise(records), key=lambda s: (order.get(s.scenario, len(order)), s.method))
    page.parent.mkdir(parents=True, exist_ok=True)
    head = page.read_text(encoding="utf-8").split(MARK)[0] if page.exists() else "# Trials\n\n"
    page.write_text(f"{head.rstrip()}\n\n{MARK}\n\n{as_markdown(summaries, scenarios)}", encoding="utf-8")


def as_markdown(summaries: Sequence[Summary], scenarios: Sequence[Scenario]) -> str:
    """One line for each scenario and method."""
    known = {scenario.name: scenario for scenario in scenarios}
    return markdown(HEAD, [line(one, known.get(one.scenario)) for one in summaries])


def line(s: Summary, scenario: Scenario | None) -> list[str]:
    """The entries of one summary; – where records of earlier versions say nothing."""
    return [
        s.scenario,
        s.method,
        f"{s.level:g}",
        str(s.replicates),
        f"{s.fdr:.3f} ± {s.fdr_error:.3f}{'' if s.controlled else ' ✗'}",
        f"{s.power:.3f} ± {s.power_error:.3f}",
        _reached(s.power, scenario.target if scenario else None),
        _number(s.oracle, 3),
        _first(s, scenario),
        f"{s.balance:.2f}",
        _number(s.tail, 2),
        f"{s.expected:.2f}",
        f"{s.seconds:.1f}",
    ]


def _reached(value: float, target: float | None) -> str:
    return "" if target is None else f"{target:g}{' ✓' if value >= target else ' ✗'}"


def _first(s: Summary, scenario: Scenario | None) -> str:
    """The share of fits that rank the truth first, where the scenario asks for it."""
    if scenario is None or scenario.first is None or s.first is None:
        return ""
    return f"{s.first:.2f} of {_reached(s.first, scenario.first)}"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
