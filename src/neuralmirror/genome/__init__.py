"""Whole genomes: packed genotypes read in blocks, groups of markers copied, screened, learnt from and selected."""
