"""Simulated genomes on disk, and traits with known causal markers.

`simulate_genotypes` copies: founders come one after the other, each a mosaic of those before it (Li and Stephens 2003),
and every haplotype of a sample is a mosaic of the founders. `simulate_coalescent` leaves it to msprime. Both write
PLINK 1 block by block, so that memory does not grow with the number of markers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neuralmirror.io.bed_writer import BedWriter
from neuralmirror.io.errors import require
from neuralmirror.io.packed import PackedGenotypes

FOUNDERS = 200
BLOCK = 4096  # markers written at once
SPACING = 5000  # base pairs between markers, on average
RARE = 0.01  # the least frequency of the rarer allele
SAME_BRANCH = 0.7  # markers that entered with the same founder as a near one before
BRANCH_MEMORY = 8  # how many markers before, on average
FLIPPED = 1e-4  # alleles that are not those of the founder
POPULATION = 10_000  # effective size
PER_BASE = 1e-8  # recombinations and mutations a base pair and generation
FOUNDER_RATE = 4 * 2500 * PER_BASE  # among founders, of whom there were few once
HOTSPOT_SHAPE = 0.25  # of the gamma law of recombination rates: most of them little, some much
# Human autosomes in Mb (GRCh38): how the markers are shared out.
LENGTHS = (248, 242, 198, 190, 182, 171, 159, 145, 138, 134, 135, 133, 114, 107, 102, 90, 83, 80, 59, 64, 47, 51)


def simulate_genotypes(
    n: int, p: int, prefix: Path, seed: int, chromosomes: int = len(LENGTHS), spacing: int = SPACING
) -> Path:
    """Genotypes of `n` samples at `p` markers by copying; the .bed that was written, with .bim and .fam beside it."""
    rng = np.random.default_rng(seed)
    with BedWriter(prefix, _sample_names(n)) as writer:
        for chromosome, size in enumerate(_shares(p, chromosomes), start=1):
            positions, founders, switches = draw_founders(rng, size, spacing)
            for start, counts in _mosaics(rng, n, founders, switches):
                writer.write(counts, str(chromosome), positions[start : start + len(counts)])
    return writer.path


def simulate_coalescent(
    n: int, p: int, prefix: Path, seed: int, chromosomes: int = len(LENGTHS), spacing: int = SPACING
) -> Path:
    """The same by msprime: a population of constant size, markers drawn at random from all that are common."""
    msprime = require("msprime", "msprime", "simulate", "the coalescent is simulated by")
    rng = np.random.default_rng(seed)
    with BedWriter(prefix, _sample_names(n)) as writer:
        for chromosome, size in enumerate(_shares(p, chromosomes), start=1):
            trees, sites = _common_sites(msprime, rng, n, size, spacing)
            positions = np.array([int(trees.site(site).position) + 1 for site in sites], dtype=np.int64)
            for start, counts in _decoded(trees, sites):
                writer.write(counts, str(chromosome), positions[start : start + len(counts)])
    return writer.path


@dataclass(frozen=True)
class SimulatedTrait:
    """A trait and its truth."""

    y: NDArray[np.float64]  # (n,)
    causal: NDArray[np.intp]  # markers that act, in order
    effects: NDArray[np.float64]  # of each, on the standardised genotype


def simulate_trait(
    genotypes: PackedGenotypes, causal: int | Sequence[int] | NDArray[np.integer], heritability: float, seed: int
) -> SimulatedTrait:
    """A trait of variance 1, of which causal markers explain the share `heritability` and noise the rest.

    `causal` is their index, or how many to draw. Effects on the standardised genotypes are normal; a missing genotype
    counts as the mean.
    """
    if not 0 <= heritability <= 1:
        raise ValueError(f"heritability is a share of the variance, from 0 to 1, and not {heritability}")
    rng = np.random.default_rng(seed)
    drawn = rng.choice(genotypes.n_markers, causal, replace=False) if isinstance(causal, int) else causal
    index = np.unique(np.asarray(drawn, dtype=np.intp))
    effects = rng.standard_normal(len(index))
    signal = np.zeros(genotypes.n_samples)
    for marker, effect in zip(index, effects, strict=True):
        signal += effect * standardised(genotypes.counts(int(marker), int(marker) + 1)[0])
    size = signal.std()
    factor = np.sqrt(heritability) / size if size > 0 else 0.0
    noise = np.sqrt(1 - heritability) * rng.standard_normal(genotypes.n_samples)
    return SimulatedTrait((signal - signal.mean()) * factor + noise, index, effects * factor)


def standardised(copies: NDArray[np.int8]) -> NDArray[np.float64]:
    """Genotypes of one marker with mean 0 and variance 1; missing ones are 0, and so is a marker that never varies."""
    known = copies >= 0
    centred = np.where(known, copies - (copies[known].mean() if known.any() else 0.0), 0.0)
    spread = np.sqrt((centred**2).sum() / max(known.sum(), 1))
    return centred / spread if spread > 0 else np.zeros(len(copies))


# ---- copying ----


def draw_founders(
    rng: Generator, size: int, spacing: int
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.float64]]:
    """Positions of `size` markers, alleles (size, founders), and the chance before each that a copy changes founders.

    More markers than needed are drawn, and of those with two common alleles a part is kept, in proportion to their
    variance, which makes frequencies about as even as on a chip.
    """
    surplus = 4
    while True:
        drawn = surplus * size + 20
        gaps = 1 + rng.geometric(surplus / spacing, drawn)
        lengths = FOUNDER_RATE * gaps * rng.gamma(HOTSPOT_SHAPE, 1 / HOTSPOT_SHAPE, drawn)  # in scaled map units
        founders = _founders(rng, lengths)
        shares = founders.mean(axis=1)
        common = np.flatnonzero((shares >= RARE) & (shares <= 1 - RARE))
        if len(common) >= size:
            break
        surplus *= 2
    spread = shares[common] * (1 - shares[common])  # chips prefer markers that vary much
    kept = np.sort(rng.choice(common, size, replace=False, p=spread / spread.sum()))
    along = np.cumsum(lengths)
    switches = 1 - np.exp(-np.diff(along[kept], prepend=0.0) / FOUNDERS)
    return np.cumsum(gaps)[kept], np.ascontiguousarray(founders[kept]), switches


def _founders(rng: Generator, lengths: NDArray[np.float64]) -> NDArray[np.int8]:
    """Founders one after the other, each a mosaic of those before it; at each marker a new allele enters once.

    That it enters with founder k has a chance in proportion to 1/k, so that the frequencies follow the neutral law.
    """
    size = len(lengths)
    late = np.arange(2, FOUNDERS + 1)
    entry = rng.choice(late - 1, size, p=(1 / late) / (1 / late).sum())
    entry = _shared(rng, entry)
    alleles = np.zeros((FOUNDERS, size), dtype=np.int8)
    markers = np.arange(size)
    for k in range(1, FOUNDERS):
        change = rng.random(size) < 1 - np.exp(-lengths / k)
        change[0] = True
        template = rng.integers(k, size=int(change.sum()))[np.cumsum(change) - 1]
        alleles[k] = alleles[template, markers]
        alleles[k, entry == k] = 1
    return np.ascontiguousarray(alleles.T)


def _shared(rng: Generator, values: NDArray[np.integer]) -> NDArray[np.integer]:
    """Values of which many are that of a near marker before, as markers on one branch of a tree have it."""
    found = values.copy()
    again = rng.random(len(values)) < SAME_BRANCH
    back = rng.geometric(1 / BRANCH_MEMORY, len(values))
    for j in np.flatnonzero(again & (np.arange(len(values)) >= back)):
        found[j] = found[j - back[j]]
    return found


def _mosaics(
    rng: Generator, n: int, founders: NDArray[np.int8], switches: NDArray[np.float64]
) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """Blocks of genotypes (m, n) with the first marker of each: the sum of two mosaics of the founders a sample."""
    copied = rng.integers(FOUNDERS, size=2 * n)  # the founder that each haplotype copies here
    for start in range(0, len(founders), BLOCK):
        alleles = founders[start : start + BLOCK]
        counts = np.empty((len(alleles), n), dtype=np.int8)
        changes = rng.binomial(2 * n, switches[start : start + BLOCK])
        flips = rng.binomial(2 * n, FLIPPED, len(alleles))
        for j, row in enumerate(alleles):
            copied[rng.integers(2 * n, size=changes[j])] = rng.integers(FOUNDERS, size=changes[j])
            haplotypes = row.take(copied)
            haplotypes[rng.integers(2 * n, size=flips[j])] ^= 1
            np.add(haplotypes[:n], haplotypes[n:], out=counts[j])
        yield start, counts


# ---- the coalescent ----


def _common_sites(msprime: Any, rng: Generator, n: int, size: int, spacing: int) -> tuple[Any, NDArray[np.intp]]:
    """Trees of one chromosome and `size` of their sites with two common alleles; a longer one where those are few."""
    length = size * spacing
    while True:
        seeds = rng.integers(1, 2**31, size=2)
        trees = msprime.sim_ancestry(
            n, sequence_length=length, recombination_rate=PER_BASE, population_size=POPULATION, random_seed=seeds[0]
        )
        trees = msprime.sim_mutations(trees, rate=PER_BASE, random_seed=seeds[1], model=msprime.BinaryMutationModel())
        common = [v.site.id for v in trees.variants(copy=False) if RARE <= v.genotypes.mean() <= 1 - RARE]
        if len(common) >= size:
            return trees, np.sort(rng.choice(common, size, replace=False))
        length *= 2


def _decoded(trees: Any, sites: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """Blocks of genotypes (m, n) at some sites, with the first of each."""
    import tskit

    variant = tskit.Variant(trees)
    for start in range(0, len(sites), BLOCK):
        rows = []
        for site in sites[start : start + BLOCK]:
            variant.decode(int(site))
            rows.append((variant.genotypes[0::2] + variant.genotypes[1::2]).astype(np.int8))
        yield start, np.stack(rows)


# ---- both ----


def _sample_names(n: int) -> list[str]:
    """Names of samples."""
    return [f"s{i + 1}" for i in range(n)]


def _shares(p: int, chromosomes: int) -> list[int]:
    """How many markers each chromosome has, in proportion to the lengths of human ones."""
    if not 1 <= chromosomes <= len(LENGTHS) or p < chromosomes:
        raise ValueError(f"expected 1 to {len(LENGTHS)} chromosomes with a marker each, not {chromosomes} with {p}")
    ends = np.cumsum(LENGTHS[:chromosomes]) / sum(LENGTHS[:chromosomes])
    bounds = np.round(ends * (p - chromosomes)).astype(int)
    return [int(size) + 1 for size in np.diff(bounds, prepend=0)]
