"""Simulated genomes: what is written can be read, looks like genotypes, and a trait has the stated share of signal."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neuralmirror.io.bed_writer import BedWriter
from neuralmirror.io.errors import DataError
from neuralmirror.io.formats import read_table
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.simulation import genomes
from neuralmirror.simulation.genomes import simulate_coalescent, simulate_genotypes, simulate_trait, standardised

WAYS = [simulate_genotypes, simulate_coalescent]


def available(way: Callable[..., Path]) -> Callable[..., Path]:
    if way is simulate_coalescent:
        pytest.importorskip("msprime")
    return way


def opened(folder: Path, n: int = 300, p: int = 400, chromosomes: int = 1) -> PackedGenotypes:
    return open_genotypes(simulate_genotypes(n, p, folder / "sim", 0, chromosomes))


def squared_correlations(counts: np.ndarray) -> np.ndarray:
    return np.corrcoef(counts.astype(float)) ** 2


@pytest.mark.parametrize("way", WAYS)
def test_files_have_the_stated_size_and_order(way: Callable[..., Path], tmp_path: Path) -> None:
    path = available(way)(41, 60, tmp_path / "deep" / "sim.v1", 3, chromosomes=4)
    assert path.name == "sim.v1.bed"
    genotypes = open_genotypes(path)
    assert (genotypes.n_samples, genotypes.n_markers) == (41, 60)
    assert list(genotypes.parts_by_chromosome()) == ["1", "2", "3", "4"]
    np.testing.assert_array_equal(read_table(path).values, genotypes.counts(0, 60).T)
    assert genotypes.counts(0, 60).min() >= 0
    assert len(set(genotypes.names)) == 60


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_gives_the_same_files(way: Callable[..., Path], tmp_path: Path) -> None:
    first, again, other = (
        available(way)(20, 30, tmp_path / name, seed, chromosomes=2).read_bytes()
        for name, seed in [("a", 1), ("b", 1), ("c", 2)]
    )
    assert first == again != other


def test_blocks_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short blocks draw other numbers, but give as many markers, of the same frequencies as the founders."""
    monkeypatch.setattr(genomes, "BLOCK", 7)
    genotypes = opened(tmp_path, n=500, p=40)
    rng = np.random.default_rng(0)
    _, founders, _ = genomes.draw_founders(rng, 40, genomes.SPACING)
    shares = genotypes.counts(0, 40).mean(axis=1) / 2
    assert np.abs(shares - founders.mean(axis=1)).max() < 6 * 0.5 / np.sqrt(1000)


def test_neighbours_are_correlated_and_far_markers_are_not(tmp_path: Path) -> None:
    genotypes = opened(tmp_path, n=1000, p=1500)
    r2 = squared_correlations(genotypes.counts(0, 1500))
    apart = np.abs(np.subtract.outer(genotypes.positions, genotypes.positions))
    assert 0.25 < np.diag(r2, 1).mean() < 0.6
    assert r2[(apart > 50_000) & (apart < 100_000)].mean() < 0.2
    assert r2[apart > 2_000_000].mean() < 0.01
    assert 4000 < np.diff(genotypes.positions).mean() < 6000


def test_alleles_are_common_enough(tmp_path: Path) -> None:
    counts = opened(tmp_path, n=1000, p=1000).counts(0, 1000)
    shares = counts.mean(axis=1) / 2
    rarer = np.minimum(shares, 1 - shares)
    assert (rarer > 0.002).all()
    assert 0.1 < np.median(rarer) < 0.3
    # Pairs of haplotypes are drawn at random: two unlike alleles as often as Hardy and Weinberg say.
    unlike = (counts == 1).mean(axis=1)
    assert np.abs(unlike - 2 * shares * (1 - shares)).max() < 0.1


def test_impossible_sizes_are_refused(tmp_path: Path) -> None:
    for p, chromosomes in [(3, 4), (50, 23), (50, 0)]:
        with pytest.raises(ValueError, match="expected 1 to 22 chromosomes with a marker each"):
            simulate_genotypes(10, p, tmp_path / "sim", 0, chromosomes)


def test_without_msprime_it_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msprime", None)
    with pytest.raises(DataError, match=r"pip install msprime.*\[simulate\]"):
        simulate_coalescent(10, 10, tmp_path / "sim", 0, 1)


@pytest.mark.parametrize("heritability", [0.0, 0.3, 1.0])
def test_a_trait_has_the_stated_share_of_signal(heritability: float, tmp_path: Path) -> None:
    genotypes = opened(tmp_path, n=2000)
    trait = simulate_trait(genotypes, 20, heritability, 5)
    z = np.stack([standardised(genotypes.counts(j, j + 1)[0]) for j in trait.causal])
    signal = trait.effects @ z
    assert signal.var() == pytest.approx(heritability)
    assert (trait.y - signal).var() == pytest.approx(1 - heritability, abs=0.1)
    assert len(trait.causal) == 20


def test_causal_markers_may_be_named(tmp_path: Path) -> None:
    genotypes = opened(tmp_path)
    trait = simulate_trait(genotypes, [9, 4], 1.0, 5)
    assert list(trait.causal) == [4, 9]
    z = np.stack([standardised(genotypes.counts(j, j + 1)[0]) for j in (4, 9)])
    np.testing.assert_allclose(trait.y, trait.effects @ z, atol=1e-9)
    with pytest.raises(ValueError, match="from 0 to 1"):
        simulate_trait(genotypes, [9, 4], 1.5, 5)


def test_standardised_genotypes() -> None:
    np.testing.assert_allclose(standardised(np.array([0, 2, -1], np.int8)), [-1, 1, 0])
    assert not standardised(np.array([1, 1, -1], np.int8)).any()
    assert not standardised(np.array([-1, -1], np.int8)).any()


def test_blocks_of_another_shape_are_refused(tmp_path: Path) -> None:
    with BedWriter(tmp_path / "f", ["a", "b"]) as writer, pytest.raises(ValueError, match=r"1 markers of 2 samples"):
        writer.write(np.zeros((1, 3), np.int8), "1", np.array([5]))
