"""Do two seeds agree? The same data selected with other draws of the copies, compared by the Jaccard index.

The data are the resistance of HIV to seven drugs, and a linear truth with half of the variance explained.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror.evaluation import Record
from neuralmirror.mirror.estimator import NeuralGaussianMirror
from neuralmirror.simulation.designs import Simulation
from neuralmirror.studies.pages import write_below
from neuralmirror.studies.real_data import DRUGS, find_data, read_resistance
from neuralmirror.studies.records import Job, complete
from neuralmirror.studies.tables import NOTHING, markdown

TEXT = """\
# Do two seeds agree?

The copies are drawn at random, so another seed may select other features. Here the same data are selected with many
seeds at level 0.1: the resistance of HIV to seven drugs, where a selected mutation counts as listed when its place is
on the list of treatment-selected ones, and a linear truth that explains half of the variance (n = 1000, p = 500, 30
relevant). Agreement is the Jaccard index |A ∩ B| / |A ∪ B| of the sets of two seeds, the mean over all pairs of seeds.
`n_repeats` draws are combined by majority ([decision 5](../decisions/5-repeats.md)).

```sh
neuralmirror trial --agreement 20 --repeats 5 --data FOLDER --records results/agreement.jsonl
neuralmirror trial --agreement-table --records results/agreement.jsonl --page docs/results/agreement.md
```
"""

LEVEL = 0.1
WEAK, WEAK_SEED = "weak lines", 1000
Sample = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]


def run_agreement(
    data: Path | None, seeds: int, draws: int, path: Path, n_jobs: int | None = None, show: bool | None = None
) -> list[Record]:
    """Fits of all data with so many seeds, of one draw and of several; appends what the records do not hold yet."""
    place = find_data("hiv", data)
    jobs = [
        Job(name, f"n_repeats={repeats}", seed, partial(select, place, name, repeats, seed))
        for repeats in sorted({1, draws})
        for seed in range(seeds)
        for name in (WEAK, *DRUGS)
    ]
    return complete(path, jobs, "Seeds", n_jobs, show)


def select(place: Path, name: str, repeats: int, seed: int) -> Record:
    """What one seed selects, and how much of it is listed (HIV) or true."""
    x, y, truth = sample(place, name)
    started = time.perf_counter()
    found = NeuralGaussianMirror(fdr=LEVEL, n_repeats=repeats, random_state=seed, n_jobs=1, device="cpu").fit(x, y)
    return {
        "row": name,
        "method": f"n_repeats={repeats}",
        "seed": seed,
        "version": version("neuralmirror"),
        "selected": np.flatnonzero(found.support_).tolist(),
        "right": int((found.support_ & truth).sum()),
        "seconds": round(time.perf_counter() - started, 2),
    }


def sample(place: Path, name: str) -> Sample:
    """The data, which are the same for all seeds."""
    if name == WEAK:
        return Simulation(n=1000, p=500, h2=0.5).sample(WEAK_SEED)
    return read_resistance(place, name).sample(0)


def jaccard(one: Sequence[int], other: Sequence[int]) -> float:
    """|A ∩ B| / |A ∪ B|; 1 for two empty sets."""
    either = set(one) | set(other)
    return len(set(one) & set(other)) / len(either) if either else 1.0


def agreement_table(records: Sequence[Record]) -> str:
    """For all data: the mean agreement of two seeds, what is selected and what of it is right, by number of draws."""
    header = ["data", "draws", "seeds", "agreement of two seeds", "selected", "of these listed or true", "seconds"]
    keys = dict.fromkeys((r["row"], r["method"]) for r in records)
    ordered = sorted(keys, key=lambda key: (key[0] != WEAK, key[0], len(key[1]), key[1]))
    return markdown(header, [_row(key, [r for r in records if (r["row"], r["method"]) == key]) for key in ordered])


def _row(key: tuple[str, str], alike: Sequence[Record]) -> list[str]:
    """The cells of one kind of data and one number of draws."""
    pairs = [jaccard(a["selected"], b["selected"]) for a, b in combinations(alike, 2)]
    sizes = np.mean([len(r["selected"]) for r in alike])
    right, seconds = (np.mean([r[name] for r in alike]) for name in ("right", "seconds"))
    agreement = f"{np.mean(pairs):.2f}" if pairs else NOTHING
    return [
        key[0],
        key[1].partition("=")[2],
        str(len(alike)),
        agreement,
        f"{sizes:.1f}",
        f"{right:.1f}",
        f"{seconds:.0f}",
    ]


def write_agreement(records: Sequence[Record], page: Path) -> None:
    """The page with the table of all records; what stands above the mark is kept."""
    write_below(page, TEXT, agreement_table(records))
