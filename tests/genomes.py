"""Small genomes on disk for tests: genotypes by copying founders, a trait, covariates."""

import numpy as np

from neuralmirror.io.genotype_files import open_genotypes
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
