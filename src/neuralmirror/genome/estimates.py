"""Memory and time of a fit, before it: a few stretches are worked on with the real people, and counted up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralmirror._internal.device import resolve_device, resolve_jobs, thread_limit
from neuralmirror.genome import polygenic
from neuralmirror.genome.cohort import Cohort
from neuralmirror.genome.estimator import GenomeMirror, most_kept
from neuralmirror.genome.learning import learn
from neuralmirror.genome.partitions import Partitions
from neuralmirror.genome.scan import Scan, Window, best_groups, scan
from neuralmirror.genome.windows import MARGIN, MOVE, STRETCH, Columns, Panel, Stretch, cut_chromosome
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.learner.inputs import MOST_BYTES

LIBRARIES = 500 * 2**20  # bytes that Python and the libraries take
WINDOW, LEARNER = 3.5, 2.0  # times that columns in single precision are held at once, by a window and by a learner
RIDGE_ROWS = 120  # of the second ridge regression, up to which it is timed as it is
LEARNT = 384  # markers, at most, that are learnt from
POWERS = (1.0, 1.2)  # of the number of markers, between which the time of learning grows
WARM = 8  # markers by which code is compiled or loaded
MOCK = 3  # stretches that are worked on


@dataclass(frozen=True)
class Estimate:
    """What a fit would work on, and what it would take."""

    people: int
    markers: int
    rare: int
    missing: int
    groups: dict[str, int]  # about, by resolution
    memory: int  # bytes
    seconds: dict[str, float]  # by part
    jobs: int


@dataclass(frozen=True)
class Mock:
    """Some neighbouring stretches of the largest chromosome, and how long its parts take on one core."""

    panel: Panel
    response: Columns
    cohort: Cohort
    stretches: list[Stretch]
    scan: Scan
    per_scan: float  # seconds a stretch
    per_ridge: float
    per_read: float
    per_cut: float


def estimate(
    mirror: GenomeMirror,
    genotypes: PackedGenotypes,
    y: Any,
    covariates: ArrayLike | None = None,
    offsets: Mapping[str, ArrayLike] | None = None,
) -> Estimate:
    """What `mirror.fit` of the same arguments would take; errors that it would raise at its start are raised here."""
    mirror._check()
    mirror.seconds_ = {}
    with thread_limit(1):
        cohort = mirror._cohort(genotypes, y, covariates, 0)
        partitions = Partitions.of(mirror.resolutions, genotypes, cohort.markers)
        sizes = _sizes(genotypes, cohort)
        mock = _mock(mirror, genotypes, cohort, partitions, sizes)
        counts = {name: max(1, round(size / STRETCH)) for name, size in sizes.items()}
        jobs, work = resolve_jobs(mirror.n_jobs), len(cohort.markers) / STRETCH
        kept = _kept(mirror, sizes, cohort.n, len(partitions.names))
        own = mirror.polygenic and offsets is None and len(sizes) > 1
        seconds = {
            "counting alleles": 2 * mirror.seconds_["counting alleles"],
            "cutting": mock.per_cut * sum(count - 1 for count in counts.values()),
            "predicting from the rest of the genome": _ridges(mock, counts, jobs) if own else 0.0,
            "copying and screening groups": mock.per_scan * work / _workers(jobs, sum(counts.values())),
            "learning from groups": _learning(mirror, mock, counts, kept, jobs),
        }
    groups = [len(np.unique(one)) for one in mock.scan.groups]
    share = len(cohort.markers) / mock.scan.groups.shape[1]
    return Estimate(
        cohort.n,
        len(cohort.markers),
        cohort.rare,
        cohort.missing,
        {name: round(count * share) for name, count in zip(partitions.names, groups, strict=True)},
        _memory(mirror, cohort, partitions, kept, sum(counts.values()) if own else 0, jobs),
        seconds,
        jobs,
    )


def _sizes(genotypes: PackedGenotypes, cohort: Cohort) -> dict[str, int]:
    """Markers in use of every chromosome."""
    parts = genotypes.parts_by_chromosome()
    found = {
        name: int(np.diff(np.searchsorted(cohort.markers, (part.start, part.stop)))[0]) for name, part in parts.items()
    }
    return {name: size for name, size in found.items() if size}


def _mock(
    mirror: GenomeMirror, genotypes: PackedGenotypes, cohort: Cohort, partitions: Partitions, sizes: dict[str, int]
) -> Mock:
    """Cut a few stretches from the beginning of the largest chromosome and work on them, the first time to compile."""
    panel = cohort.panel(genotypes)
    response = cohort.response(panel)
    name = max(sizes, key=lambda one: sizes[one])
    first = int(np.searchsorted(cohort.markers, genotypes.parts_by_chromosome()[name].start))
    last = first + min(sizes[name], MOCK * STRETCH)
    stretches = cut_chromosome(panel, first, last, partitions.may_cut)
    device = resolve_device(mirror.device)
    seeds = list(range(mirror.n_repeats))

    def scanned(some: list[Stretch]) -> Scan:
        return scan(panel, response, some, partitions.cuts, partitions.labels, mirror.n_mirrors, seeds, device)

    end = min(first + WARM, last)
    scanned([Stretch(first, end, first, end)])
    spent, found = _timed(lambda: scanned(stretches))
    folds = polygenic.fold_of_people(len(response), 0)
    ridge, _ = _timed(lambda: polygenic.Predictions.of(panel, response, stretches, folds, len(panel.markers)))
    read, _ = _timed(lambda: [Window.read(panel, one, response, device) for one in stretches])
    width = min(4 * MOVE, last - first)
    cut, _ = _timed(lambda: [np.square(x @ x.T) for x in [panel.columns(first, first + width)]])
    work = (last - first) / STRETCH
    return Mock(panel, response, cohort, stretches, found, spent / work, ridge / work, read / work, cut)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the work returns."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def _workers(jobs: int, pieces: int) -> int:
    """How many work at once."""
    return max(1, min(jobs, pieces))


def _kept(mirror: GenomeMirror, sizes: Mapping[str, int], n: int, rows: int) -> dict[str, int]:
    """Markers of every chromosome that the learner is to see, about."""
    share = min(1.0, mirror.screen / sum(sizes.values()))
    most = most_kept(n, mirror.n_mirrors, rows, mirror.n_repeats)
    return {name: min(most, max(1, round(size * share))) for name, size in sizes.items()}


def _ridges(mock: Mock, counts: Mapping[str, int], jobs: int) -> float:
    """Both ridge regressions; the second grows with the square of its rows, of which fewer are tried."""
    first = mock.per_ridge * sum(counts.values()) / _workers(jobs, len(counts))
    rows, n = sum(counts.values()) * len(polygenic.HERITABILITIES), len(mock.response)
    tried = max(1, min(rows, RIDGE_ROWS) // len(counts))
    rng = np.random.default_rng(0)
    made = {name: rng.standard_normal((tried, n), dtype=np.float32) for name in counts}
    folds = polygenic.fold_of_people(n, 0)
    second, _ = _timed(lambda: polygenic.offsets_of_others(made, mock.response, folds))
    return first + second * (rows / (tried * len(counts))) ** 2


def _learning(mirror: GenomeMirror, mock: Mock, counts: Mapping[str, int], kept: Mapping[str, int], jobs: int) -> float:
    """Fits to every chromosome: timed for few markers, and drawn out."""
    most = max(8, min(max(kept.values()), mock.scan.groups.shape[1], LEARNT))
    _learnt(mirror, mock, most // 2)  # to compile
    law = _drawn_out(_learnt(mirror, mock, most // 2), _learnt(mirror, mock, most))
    total = sum(
        law(size) + counts[name] * (1 - np.exp(-size / counts[name])) * mock.per_read for name, size in kept.items()
    )
    return float(total / _workers(jobs, len(kept)))


def _learnt(mirror: GenomeMirror, mock: Mock, size: int) -> tuple[int, float]:
    """How many markers the best groups of about `size` have, and the seconds of fits to them without reading."""
    start, pairs = mock.stretches[0].first, zip(mock.scan.scores, mock.scan.groups, strict=True)
    seen = np.array([[_best(scores, groups - start, size) for scores in row] for row, groups in pairs])
    data = mock.panel, mock.response, mock.cohort.labels, mock.stretches, mock.scan.groups, mock.scan.blocks
    seeds, device = list(range(mirror.n_repeats)), resolve_device(mirror.device)
    spent, _ = _timed(lambda: learn(*data, seen, mirror.n_mirrors, seeds, device))
    touched = sum(seen[..., one.first - start : one.last - start].any() for one in mock.stretches)
    return max(1, round(seen.sum(axis=-1).mean())), max(1e-9, spent - touched * mock.per_read)


def _best(scores: Columns, groups: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """The markers of the best groups, of one at least."""
    seen = best_groups(scores, groups, size)
    return seen if seen.any() else np.asarray(groups == int(np.argmax(scores)))


def _drawn_out(few: tuple[int, float], many: tuple[int, float]) -> Callable[[int], float]:
    """Seconds by the number of markers, from two measurements: a line between them, and a power from there on."""
    slope = max(0.0, (many[1] - few[1]) / max(many[0] - few[0], 1))
    constant = max(0.0, many[1] - slope * many[0])
    growth = np.log(max(many[1], 1e-9) / max(few[1], 1e-9)) / np.log(max(many[0] / few[0], 1.01))
    power = float(np.clip(growth, *POWERS))

    def law(size: int) -> float:
        return constant + slope * size if size <= many[0] else many[1] * (size / many[0]) ** power

    return law


def _memory(
    mirror: GenomeMirror, cohort: Cohort, partitions: Partitions, kept: Mapping[str, int], ridges: int, jobs: int
) -> int:
    """Bytes: libraries, windows or learners of all jobs, predictions, and results of all markers."""
    n, p, rows = cohort.n, len(cohort.markers), len(partitions.names)
    window = (STRETCH + 2 * MARGIN) * n * 4 * WINDOW
    columns = max(kept.values()) * (mirror.n_mirrors + 1)
    learner = columns * n * 4 * (rows * mirror.n_repeats + LEARNER) + columns**2 * 4 * (columns**2 * 4 <= MOST_BYTES)
    predictions = ridges * len(polygenic.HERITABILITIES) * n * (4 + 3 * 8)
    results = p * rows * (40 + 12 * mirror.n_repeats)
    return int(LIBRARIES + max(jobs * max(window, learner), predictions) + results)
