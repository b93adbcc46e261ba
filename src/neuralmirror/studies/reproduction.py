"""What reproduces and what does not, told from the records of all studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from neuralmirror.evaluation import Record
from neuralmirror.studies.study import Study, cell_name
from neuralmirror.studies.tables import NOTHING, Groups, grouped, held, markdown, measured
from neuralmirror.summaries import mean_and_error

OURS = ("default", "s-sngm", "s-ingm")  # where the best of our settings is looked for


def verdicts(studies: Sequence[Study], records: Mapping[str, Sequence[Record]]) -> str:
    """Every method over all cells of a study, every cell, and what the paper says without numbers."""
    scored = [(study, grouped(records[study.name])) for study in studies if study.render == "selections"]
    head = ["study", "method", "cells run", "FDR held", "power reached"]
    by_method = markdown(head, [line for study, groups in scored for line in _method_lines(study, groups)])
    head = [
        "study",
        "cell",
        "level",
        "paper: power",
        "default: FDR",
        "default: power",
        "FDR held",
        "power reached",
        "best of ours",
    ]
    by_cell = markdown(
        head, [_cell_line(study, groups, cell_name(cell)) for study, groups in scored for cell in study.cells]
    )
    claims = markdown(["study", "cell", "claim", "measured", "holds"], _claims(studies, records))
    return f"## By method\n\n{by_method}\n## By cell\n\n{by_cell}\n## What the paper says without numbers\n\n{claims}"


def _method_lines(study: Study, groups: Groups) -> list[list[str]]:
    lines = []
    for name in study.methods:
        run = {
            scenario: groups[scenario, name] for scenario in map(cell_name, study.cells) if (scenario, name) in groups
        }
        judged = [
            _reached(study, scenario, fits)
            for scenario, fits in run.items()
            if study.published.best(scenario) is not None
        ]
        kept = [kept for fits in run.values() if (kept := held(fits, study.fdr)) is not None]
        lines.append([study.name, name, f"{len(run)} of {len(study.cells)}", _count(kept), _count(judged)])
    return lines


def _cell_line(study: Study, groups: Groups, scenario: str) -> list[str]:
    fits, best = groups.get((scenario, "default"), []), study.published.best(scenario)
    kept = held(fits, study.fdr) if fits else None
    reached = _mark(_reached(study, scenario, fits)) if fits and best is not None else NOTHING
    paper = NOTHING if best is None else f"{best:.3f}"
    values = [measured(fits, "fdp"), measured(fits, "power")]
    judged = [NOTHING if kept is None else _mark(kept), reached]
    return [study.name, scenario, f"{study.fdr:g}", paper, *values, *judged, _best(study, groups, scenario)]


def _best(study: Study, groups: Groups, scenario: str) -> str:
    """The most powerful of our settings among those that hold the level."""
    found = {name: groups[scenario, name] for name in OURS if (scenario, name) in groups}
    powers = {
        name: mean_and_error([fit["power"] for fit in fits])[0] for name, fits in found.items() if held(fits, study.fdr)
    }
    if not powers:
        return NOTHING
    name = max(powers, key=lambda one: powers[one])
    return f"{name} {powers[name]:.3f}"


def _reached(study: Study, scenario: str, fits: Sequence[Record]) -> bool:
    best = study.published.best(scenario)
    return best is not None and mean_and_error([fit["power"] for fit in fits])[0] >= best


def _claims(studies: Sequence[Study], records: Mapping[str, Sequence[Record]]) -> list[list[str]]:
    """ROC: the mirrors' areas exceed DeepPINK's. Construction: mirrors are built faster than knockoffs."""
    lines = []
    for study in studies:
        key, rivals, claim = CLAIMS.get(study.render, ("", [], ""))
        groups = grouped(records[study.name])
        for scenario in map(cell_name, study.cells):
            for better, worse in rivals:
                if (scenario, better) in groups and (scenario, worse) in groups:
                    one, other = (
                        float(np.median([f[key] for f in groups[scenario, name]])) for name in (better, worse)
                    )
                    measured_ = f"{better} {one:.3g}, {worse} {other:.3g}"
                    holds = one >= other if key == "auc" else one <= other
                    lines.append([study.name, scenario, claim, measured_, _mark(holds)])
    return lines


CLAIMS = {  # by the kind of study: what is compared, who should win over whom, and the paper's words in short
    "roc": (
        "auc",
        [("s-ingm-paper", "deeppink"), ("s-sngm-paper", "deeppink"), ("default", "deeppink")],
        "larger area under the curve than DeepPINK",
    ),
    "times": (
        "seconds",
        [("mirrors-kernel", other) for other in ("knockoffs-mvr", "knockoffs-sdp", "knockpy-mvr", "knockpy-sdp")],
        "mirrors are built faster than knockoffs",
    ),
}


def _count(marks: Sequence[bool]) -> str:
    return f"{sum(marks)} of {len(marks)}" if marks else NOTHING


def _mark(holds: bool) -> str:
    return "yes" if holds else "**no**"
