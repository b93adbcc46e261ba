"""Whole genomes whose truth is known: simulated genotypes, traits of known causal markers, three resolutions."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror import selection
from neuralmirror.evaluation import Record
from neuralmirror.genome.estimator import GenomeMirror
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.simulation.genomes import simulate_coalescent, simulate_genotypes, simulate_trait
from neuralmirror.studies.pages import write_below
from neuralmirror.studies.records import Job, complete
from neuralmirror.studies.tables import NOTHING, markdown, measured, published, rate
from neuralmirror.truth import null_signs, win_share

LEVEL, HERITABILITY = 0.1, 0.5
PUBLISHED = 1000  # seeds from here on are for publication, those below for development
SIMULATORS: dict[str, Callable[[int, int, Path, int], Path]] = {
    "coalescent": simulate_coalescent,
    "copying": simulate_genotypes,
}
TEXT = """\
# Whole genomes

Genotypes of 22 simulated chromosomes stay packed while groups of markers are copied, screened and learnt from
([genetics.md](../genetics.md#whole-genomes)). "Coalescent" genotypes are msprime's for a population of constant size;
"copying" ones are mosaics of founders, with more correlation between neighbours. A trait has causal markers drawn
anew with every seed and half of its variance from them; a discovery is true where the group holds a causal marker.

```sh
neuralmirror trial --genomes 10 --people 3000 --markers 22000 --causal 80 --seed 1000 --records genomes.jsonl
neuralmirror trial --genomes-table --records genomes.jsonl --page genomes.md   # renders this page
```

FDR and power are means over traits at level 0.1, ± one standard error; ✗ marks a rate above the level by more than two.
"Nulls won" is the share of groups without a causal marker, of those that the learner saw and followed at all, that beat
their copies: 0.20 is expected. Seconds are medians, from opened files to discoveries; GB is the peak of the process.
Seeds below 1000 are for development, those from 1000 on are published."""


def run_genome(kind: str, people: int, markers: int, causal: int, folder: Path, jobs: int, seed: int) -> Record:
    """One trait on genotypes that are simulated when they are first asked for."""
    prefix = folder / f"{kind}-{people}-{markers}"
    if not prefix.with_suffix(".bed").exists():
        folder.mkdir(parents=True, exist_ok=True)
        SIMULATORS[kind](people, markers, prefix, PUBLISHED)
    genotypes = open_genotypes(prefix.with_suffix(".bed"))
    trait = simulate_trait(genotypes, causal, HERITABILITY, seed)
    start = time.perf_counter()
    mirror = GenomeMirror(fdr=LEVEL, random_state=seed, n_jobs=jobs, progress=False).fit(genotypes, trait.y)
    seconds = time.perf_counter() - start
    return {
        "bench": "genomes",
        "row": _row(kind, people, markers, causal),
        "method": "genome",
        "seed": seed,
        "fdr": LEVEL,
        "resolutions": {
            name: _measured(mirror, number, np.asarray(trait.causal)) for number, name in enumerate(mirror.resolutions_)
        },
        "jobs": jobs,
        "seconds": round(seconds, 1),
        "memory": round(_peak_memory() / 2**30, 2),
        "version": version("neuralmirror"),
    }


def _measured(mirror: GenomeMirror, number: int, causal: NDArray[np.int64]) -> dict[str, float]:
    """Groups of one resolution against the truth."""
    first = np.unique(mirror.groups_[number])
    m, truth = mirror.group_statistics_[number][first], np.isin(first, mirror.groups_[number][causal])
    found = mirror.group_supports_[number][first]
    return {
        "groups": len(first),
        "selected": int(found.sum()),
        "fdp": selection.false_discovery_proportion(found, truth),
        "power": selection.power(found, truth),
        **null_signs(m, truth),
    }


def _peak_memory() -> int:
    """Bytes that this process has held at most."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)


def run_genomes(
    kinds: Sequence[str],
    sizes: tuple[int, int, int],
    traits: int,
    seed: int,
    folder: Path,
    path: Path,
    jobs: int,
    show: bool | None = None,
) -> list[Record]:
    """Traits on some kinds of genotypes, one after the other for they are timed; what the records hold is not rerun.

    `sizes` are people, markers and causal markers.
    """
    waiting = [
        Job(_row(kind, *sizes), "genome", number, partial(run_genome, kind, *sizes, folder, jobs, number))
        for kind in kinds
        for number in range(seed, seed + traits)
    ]
    return complete(path, waiting, "Genomes", show=show, alone=True)


def _row(kind: str, people: int, markers: int, causal: int) -> str:
    return f"{kind}, {people} × {markers}, {causal} causal"


def write_genomes(records: Sequence[Record], page: Path) -> None:
    """The table of all records; what stands above the mark is kept."""
    write_below(page, TEXT, genome_table(records))


def genome_table(records: Sequence[Record]) -> str:
    """A line for each resolution of each kind and size of genotypes."""
    ours = [one for one in records if one.get("bench") == "genomes"]
    if not ours:
        raise ValueError("the records hold no genomes; run `neuralmirror trial --genomes 10` first")
    told, shown = published(ours, PUBLISHED)
    head = ["genotypes", "resolution", "groups", "FDR", "power", "nulls won", "traits", "seconds", "GB"]
    lines = []
    for row in dict.fromkeys(one["row"] for one in shown):
        fits = [one for one in shown if one["row"] == row]
        lines += [[row, name, *_cells(fits, name)] for name in fits[0]["resolutions"]]
    return f"{told}\n\n{markdown(head, lines)}"


def _cells(fits: Sequence[Record], name: str) -> list[str]:
    """One resolution of one row of fits."""
    parts = [one["resolutions"][name] for one in fits]
    share = win_share(*(sum(one[key] for one in parts) for key in ("null_won", "null_lost")))
    return [
        f"{np.mean([one['groups'] for one in parts]):.0f}",
        rate(parts, LEVEL),
        measured(parts, "power"),
        NOTHING if share is None else f"{share:.2f}",
        str(len(fits)),
        f"{np.median([one['seconds'] for one in fits]):.0f}",
        f"{max(one['memory'] for one in fits):.1f}",
    ]
