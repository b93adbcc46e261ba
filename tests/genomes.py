"""Small genomes on disk for tests: genotypes by copying founders, a trait, covariates."""

import numpy as np

from neuralmirror.genome.windows import Panel
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.io.packed_matrix import pack
from neuralmirror.simulation.genomes import simulate_genotypes, simulate_trait


def small_genome(folder, n=160, p=120, chromosomes=2, causal=(10, 25, 40, 70, 85, 100), heritability=0.8, seed=1):
    """The genotypes and a trait; beside cohort.bed lie pheno.tsv (height, case) and covar.tsv (age, sex)."""
    genotypes = open_genotypes(simulate_genotypes(n, p, folder / "cohort", seed, chromosomes))
    trait = simulate_trait(genotypes, list(causal), heritability, seed).y
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(30, 70, n), rng.choice(["f", "m"], n)
    write(folder / "pheno.tsv", ["IID", "height", "case"], genotypes.samples, trait.round(5), (trait > 0).astype(int))
    write(folder / "covar.tsv", ["IID", "age", "sex"], genotypes.samples, age, sex)
    return genotypes, trait


def write(path, header, *columns):
    """A table with tabs."""
    rows = ["\t".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(["\t".join(header), *rows]) + "\n")
    return path


def write_loco(path, samples, chromosomes, values):
    """Predictions of one trait as regenie leaves them: a list of files, and the file."""
    lines = [" ".join(["FID_IID", *(f"{s}_{s}" for s in samples)])]
    lines += [" ".join([name, *(f"{v:.6f}" for v in values[name])]) for name in chromosomes]
    path.with_suffix(".loco").write_text("\n".join(lines) + "\n")
    path.write_text(f"height {path.with_suffix('.loco').name}\n")
    return path


class Counts:
    """Allele counts in memory, read as packed ones are."""

    def __init__(self, values):
        self.values = values

    def packed(self, first, last):
        return pack(self.values[first:last])


def linked_counts(n, p, seed=0, width=6, missing=0.0):
    """Counts (p, n) of markers of which `width` neighbours follow one hidden value."""
    rng = np.random.default_rng(seed)
    hidden = np.repeat(rng.standard_normal((2, -(-p // width), n)), width, axis=1)[:, :p]
    counts = (hidden + 0.7 * rng.standard_normal((2, p, n)) > 0.3).sum(axis=0).astype(np.int8)
    counts[rng.random((p, n)) < missing] = -1
    return counts


def panel_of(counts, covariates=0, seed=0):
    """A panel of all markers and people, adjusted for a constant and some covariates."""
    p, n = counts.shape
    rng = np.random.default_rng(seed)
    known = np.linalg.qr(np.hstack([np.ones((n, 1)), rng.standard_normal((n, covariates))]))[0]
    return Panel(Counts(counts), np.arange(p), np.arange(n), np.ascontiguousarray(known.T, dtype=np.float32))


def response_of(panel, weights, seed=0):
    """A trait of some markers and noise, free of what is adjusted for, with mean square 1."""
    rng = np.random.default_rng(seed)
    x = panel.columns(0, len(panel.markers))
    y = sum(weight * x[j] for j, weight in weights.items()) + rng.standard_normal(x.shape[1])
    y = y - (panel.known @ y) @ panel.known
    return (y / np.sqrt(np.square(y).mean())).astype(np.float32)
