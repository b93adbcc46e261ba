"""The page of the resolutions: the measured trait beside the published discoveries, and simulated traits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neuralmirror.evaluation import Record
from neuralmirror.studies.pages import write_below
from neuralmirror.studies.resolutions import MEASURED, OURS, PUBLISHED, SIMULATED, THEIRS
from neuralmirror.studies.tables import NOTHING, markdown, measured, published, rate
from neuralmirror.truth import win_share

TEXT = """\
# Resolutions

Where variants are nearly copies of each other, which of them matters has no answer, and which cluster has. The toy data
of KnockoffGWAS (Sesia, Bates, Candès, Marchini and Sabatti, 2021; github.com/msesia/knockoffgwas) hold 1000 people and
2000 variants of two chromosomes, a trait with 40 causal variants, partitions at seven resolutions from single variants
to 14 groups, and the discoveries of that method at level 0.1. We take the same partitions and the same level
([resolutions.py](../../src/neuralmirror/studies/resolutions.py)).

```sh
neuralmirror trial --resolutions 50 --seed 1000 --data FOLDER --records resolutions.jsonl   # --jobs N: processes
neuralmirror trial --resolutions-table --records resolutions.jsonl --page resolutions.md    # renders this page
```

A causal variant is covered where its group is discovered. "Oracle" is the share of groups with a causal variant that
the same ranking would find if the true FDP might be used to cut it. "Nulls won" is the share of groups without a causal
variant that beat all their copies; 0.20 is expected. ± is one standard error. Simulated traits have 20 loci of two
causal variants each, drawn anew with every seed, with 70% of the trait's variance; seeds below 1000 are for
development, those from 1000 on are published."""


def write_resolutions(records: Sequence[Record], page: Path) -> None:
    """The tables of all records; what stands above the mark is kept."""
    write_below(page, TEXT, resolution_tables(records))


def resolution_tables(records: Sequence[Record]) -> str:
    """The measured trait beside the published discoveries, and the simulated traits."""
    ours = [one for one in records if one.get("bench") == "resolutions" and one["method"] == OURS]
    if not ours:
        raise ValueError("the records hold no resolutions; run `neuralmirror trial --resolutions 50` first")
    told, shown = published(ours, PUBLISHED)
    theirs = [one for one in records if one.get("bench") == "resolutions" and one["method"] == THEIRS]
    return f"{told}\n\n{_measured_trait(shown, theirs)}\n{_simulated_traits(shown)}"


def _measured_trait(ours: Sequence[Record], theirs: Sequence[Record]) -> str:
    """The trait that came with the data: means over draws of the copies."""
    head = ["groups", "discoveries", "FDP", "covered of 40", "lowest to highest", "draws"]
    head += [f"{THEIRS}: discoveries", "FDP", "covered"]
    lines = []
    for row, fits in _by_row(ours, MEASURED).items():
        beside = next((one for one in theirs if one["row"] == row), None)
        covered = [one["covered"] for one in fits]
        known = [NOTHING] * 3
        if beside is not None:
            known = [str(beside["selected"]), f"{beside['fdp']:.2f}", str(beside["covered"])]
        lines.append(
            [
                str(fits[0]["groups"]),
                f"{np.mean([one['selected'] for one in fits]):.1f}",
                f"{np.mean([one['fdp'] for one in fits]):.2f}",
                f"{np.mean(covered):.1f}",
                f"{min(covered)} to {max(covered)}",
                str(len(fits)),
                *known,
            ]
        )
    return f"## The trait of the data\n\n{markdown(head, lines)}"


def _simulated_traits(ours: Sequence[Record]) -> str:
    """FDR and power over traits; ✗ marks a rate above the level by more than two standard errors."""
    head = ["groups", "FDR", "power", "oracle", "covered of 40", "nulls won", "traits", "seconds"]
    lines = []
    for fits in _by_row(ours, SIMULATED).values():
        won, lost = (sum(one[key] for one in fits) for key in ("null_won", "null_lost"))
        share = win_share(won, lost)
        lines.append(
            [
                str(fits[0]["groups"]),
                rate(fits, fits[0]["fdr"]),
                measured(fits, "power"),
                f"{np.mean([one['oracle_power'] for one in fits]):.3f}",
                measured(fits, "covered", 1),
                NOTHING if share is None else f"{share:.2f}",
                str(len(fits)),
                f"{np.median([one['seconds'] for one in fits]):.0f}",
            ]
        )
    return f"## Simulated traits\n\n{markdown(head, lines)}"


def _by_row(records: Sequence[Record], trait: str) -> dict[str, list[Record]]:
    """The records of one trait by resolution, the finest first."""
    rows = sorted({one["row"] for one in records if one["row"].startswith(trait)})
    return {row: [one for one in records if one["row"] == row] for row in rows}
