"""Resolutions on real genotypes: KnockoffGWAS's toy data, whose causal variants and published discoveries are known.

1000 people, 2000 variants, partitions at seven resolutions; one trait comes with the data, others are simulated as it
was: 20 loci of two variants each.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralmirror import selection
from neuralmirror._internal.columns import Columns, sort_columns
from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.evaluation import Record
from neuralmirror.io.errors import DataError
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.plink import read_bed, text_lines
from neuralmirror.learner.outcome import Response
from neuralmirror.mirror.clusters import correlation_clusters
from neuralmirror.mirror.group_law import Products
from neuralmirror.mirror.group_mirrors import Groups, canonical_order
from neuralmirror.mirror.resolutions import BLOCK
from neuralmirror.studies.real_data import VARIABLE, data_place
from neuralmirror.studies.records import Job, complete, read_records
from neuralmirror.truth import null_signs, oracle_power

FOLDER = "knockoffgwas_toy"
CHROMOSOMES = ("21", "22")
LOCI, SIGNAL, LEVEL, COPIES = 10, 0.7, 0.1, 4  # loci of each chromosome, and the share of the trait that they explain
OURS, THEIRS, MEASURED, SIMULATED = "mirror", "KnockoffGWAS", "measured", "simulated"
PUBLISHED = 1000  # seeds from here on are for publication, those below for development

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Toy:
    """Genotypes of both chromosomes, partitions from single variants to the coarsest, and the trait."""

    folder: Path
    x: Floats  # (n, p)
    names: list[str]
    chromosomes: NDArray[np.str_]  # (p,)
    partitions: list[NDArray[np.str_]]  # (p,) each
    y: Floats  # (n,)
    causal: Indices

    @property
    def columns(self) -> Columns:
        """Which columns repeat others."""
        return sort_columns(self.x)


def find_toy(given: Path | None) -> Path:
    """The folder of the toy data: named itself, or within the folder of all data."""
    place = data_place(given)
    for folder in () if place is None else (place, place / FOLDER):
        if (folder / "genotypes").is_dir() and (folder / "partitions").is_dir():
            return folder
    raise DataError(
        f"the toy data of github.com/msesia/knockoffgwas are needed: genotypes, partitions, phenotypes and results; "
        f"name the folder {FOLDER} or the one around it with --data, or set {VARIABLE}; got {place}"
    )


@cache
def read_toy(folder: Path) -> Toy:
    """All files of the toy data."""
    tables = [read_bed(folder / f"genotypes/example_chr{c}.bed", ReadOptions()) for c in CHROMOSOMES]
    names = [name for table in tables for name in table.names]
    labels = {
        line.split()[0]: [f"{c}:{label}" for label in line.split()[1:]]
        for c in CHROMOSOMES
        for line in list(text_lines(folder / f"partitions/example_chr{c}.txt"))[1:]
    }
    trait = {line.split()[1]: float(line.split()[3]) for line in _body(folder / "phenotypes/phenotypes.tab")}
    causal = [names.index(line.split()[1]) for line in _body(folder / "phenotypes/causal.txt")]
    samples = tables[0].samples
    assert samples is not None
    return Toy(
        folder,
        np.hstack([table.values for table in tables]).astype(float),
        names,
        np.repeat(CHROMOSOMES, [len(table.names) for table in tables]),
        [np.array(column) for column in zip(*(labels[name] for name in names), strict=True)],
        np.array([trait[sample] for sample in samples]),
        np.array(causal),
    )


def _body(path: Path) -> list[str]:
    """The lines below the header."""
    return list(text_lines(path))[1:]


def simulated_trait(toy: Toy, seed: int) -> tuple[Floats, Indices]:
    """A trait of 20 loci: two variants each, of one sign and random size, with normal noise; and the causal columns."""
    rng = np.random.default_rng([2021, seed])
    causal: list[int] = []
    sizes: list[float] = []
    for chromosome in CHROMOSOMES:
        for locus in np.array_split(np.flatnonzero(toy.chromosomes == chromosome), LOCI):
            causal += rng.choice(locus, 2, replace=False).tolist()
            sizes += (rng.choice([-1, 1]) * rng.uniform(0.1, 1.9, 2)).tolist()
    signal = standardised(toy.x[:, causal]) @ np.array(sizes)
    noise = rng.standard_normal(len(toy.x))
    return signal / signal.std() * SIGNAL**0.5 + noise * (1 - SIGNAL) ** 0.5, np.array(causal)


@cache
def _groups(folder: Path, resolution: int) -> tuple[Groups, Indices, Indices]:
    """The laws of one resolution, which all traits share; the blocks, and the place of each column among the usable."""
    toy = read_toy(folder)
    columns = toy.columns
    x = standardised(toy.x[:, columns.usable])
    labels = np.unique(toy.partitions[resolution][columns.usable], return_inverse=True)[1]
    data = StandardisedData(x, toy.y, np.zeros((len(x), 0)))
    (blocks,) = correlation_clusters(x, (BLOCK,), chromosomes=toy.chromosomes[columns.usable])
    place = np.searchsorted(columns.usable, [columns.copies.get(j, j) for j in range(toy.x.shape[1])])
    return Groups(data, Products(x), labels, canonical_order(x), 1), blocks, place


def run_one(folder: Path, resolution: int, trait: str, seed: int) -> Record:
    """One trait, one resolution, one draw of the copies."""
    toy, started = read_toy(folder), time.perf_counter()
    y, causal = (toy.y, toy.causal) if trait == MEASURED else simulated_trait(toy, seed)
    groups, blocks, place = _groups(folder, resolution)
    statistics, _ = groups.draw(Response(standardised(y[:, None])), blocks, COPIES, seed)
    group = np.empty(len(groups.order), dtype=np.intp)
    group[groups.order] = groups.group
    first = np.unique(group, return_index=True)[1]
    return _measured(
        statistics[first], group[place[causal]], _label(resolution, trait), seed, time.perf_counter() - started
    )


def _measured(m: Floats, of_causal: Indices, row: str, seed: int, seconds: float) -> Record:
    """Statistics of the groups (g,) against the truth: the group of each causal variant."""
    truth = np.isin(np.arange(len(m)), of_causal)
    found = selection.select(m, LEVEL, n_mirrors=COPIES)
    return {
        "row": row,
        "method": OURS,
        "seed": seed,
        "bench": "resolutions",
        "fdr": LEVEL,
        "groups": len(m),
        "selected": int(found.sum()),
        "fdp": selection.false_discovery_proportion(found, truth),
        "power": selection.power(found, truth),
        "covered": int(found[of_causal].sum()),
        "causal": len(of_causal),
        "oracle_power": oracle_power(m, truth, LEVEL),
        **null_signs(m, truth),
        "seconds": round(seconds, 1),
        "version": version("neuralmirror"),
    }


def published(folder: Path, resolution: int) -> Record:
    """The discoveries that came with the data, measured alike."""
    toy = read_toy(folder)
    labels = toy.partitions[resolution]
    lines = _body(folder / f"results/example_res{resolution}_discoveries.txt")
    found = [labels[toy.names.index(line.split()[2])] for line in lines]
    true = set(labels[toy.causal])
    return {
        "row": _label(resolution, MEASURED),
        "method": THEIRS,
        "seed": 0,
        "bench": "resolutions",
        "fdr": LEVEL,
        "groups": len(set(labels)),
        "selected": len(found),
        "fdp": sum(one not in true for one in found) / max(1, len(found)),
        "power": len(true & set(found)) / len(true),
        "covered": int(np.isin(labels[toy.causal], found).sum()),
        "causal": len(toy.causal),
    }


def _label(resolution: int, trait: str) -> str:
    return f"{trait} {resolution}"


def run_resolutions(
    data: Path | None, traits: int, seed: int, draws: int, path: Path, n_jobs: int, show: bool | None = None
) -> list[Record]:
    """The measured trait with several draws of the copies, and simulated traits; what the records hold is not rerun."""
    folder = find_toy(data)
    seven = range(len(read_toy(folder).partitions))
    jobs = [Job(_label(k, MEASURED), THEIRS, 0, partial(published, folder, k)) for k in seven]
    for resolution in seven:
        for trait, count in ((MEASURED, draws), (SIMULATED, traits)):
            jobs += [
                Job(_label(resolution, trait), OURS, s, partial(run_one, folder, resolution, trait, s))
                for s in range(seed, seed + count)
            ]
    complete(path, jobs, "Resolutions", n_jobs, show)
    return read_records(path)
