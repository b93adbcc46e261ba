"""Clusters of correlated columns at several resolutions, all cut from one tree, so that finer ones lie within coarser.

A cut at r joins columns whose clusters correlate at |r| or more: at 1 only columns that repeat each other are joined,
at 0.5 all that stand in for each other to some degree. No cluster reaches over two chromosomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage as hierarchy
from scipy.sparse import diags_array
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Labels = NDArray[Any]

LINKAGES = ("average", "single", "complete")
MOST = 20_000  # columns of one chromosome, whose correlations are all held at once
ROUNDING = 1e-6  # by which columns that repeat each other may differ from |r| = 1


def correlation_clusters(
    x: Floats,
    cuts: Sequence[float],
    *,
    linkage: str = "average",
    chromosomes: Labels | None = None,
    positions: Labels | None = None,
) -> list[Indices]:
    """For each cut the cluster of every column of standardised x (n, p); with positions, clusters are contiguous."""
    parts = np.zeros(x.shape[1], dtype=np.intp)
    if chromosomes is not None:
        parts = np.unique(np.asarray(chromosomes).astype(str), return_inverse=True)[1]
    found = [np.zeros(x.shape[1], dtype=np.intp) for _ in cuts]
    for part in np.unique(parts):
        columns = np.flatnonzero(parts == part)
        if positions is not None:
            columns = columns[np.argsort(np.asarray(positions)[columns], kind="stable")]
        if len(columns) > MOST:
            raise ValueError(
                f"clustering holds the correlations of at most {MOST} columns of one chromosome, got {len(columns)}; "
                "give chromosomes, or fit some of the columns at a time"
            )
        correlations = x[:, columns].T @ x[:, columns] / len(x)
        parted = cut_tree(correlations, cuts, linkage, contiguous=positions is not None)
        for labels, clusters in zip(found, parted, strict=True):
            labels[columns] = labels.max() + 1 + clusters
    return [np.unique(labels, return_inverse=True)[1] for labels in found]


def cut_tree(
    correlations: NDArray[Any], cuts: Sequence[float], linkage: str = "average", contiguous: bool = False
) -> list[Indices]:
    """For each cut the cluster of every column, from the correlations of all columns (p, p)."""
    children, heights = _tree(np.clip(1 - np.abs(correlations), 0, None), linkage, contiguous)
    return [_cut(children, heights, 1 - cut) for cut in cuts]


def _tree(far: NDArray[Any], linkage: str, contiguous: bool) -> tuple[Indices, Floats]:
    """The pairs of clusters that are joined one after the other, (p − 1, 2), and 1 − |r| at which they are."""
    p = len(far)
    if p < 2:
        return np.zeros((0, 2), dtype=np.intp), np.zeros(0)
    np.fill_diagonal(far, 0)
    if not contiguous:
        steps = hierarchy(squareform(far, checks=False), linkage)
        return steps[:, :2].astype(np.intp), steps[:, 2]
    chain = diags_array([np.ones(p - 1), np.ones(p - 1)], offsets=[1, -1])  # type: ignore[arg-type, unused-ignore]
    grown = AgglomerativeClustering(
        n_clusters=1,
        metric="precomputed",
        linkage=linkage,
        connectivity=chain.tocsr(),
        compute_full_tree=True,
        compute_distances=True,
    ).fit(far)
    return grown.children_.astype(np.intp), np.asarray(grown.distances_)


def _cut(children: Indices, heights: Floats, height: float) -> Indices:
    """The cluster of each leaf when only joints up to a height are made, and none above one that is not."""
    p = len(children) + 1
    made, cluster = np.ones(2 * p - 1, dtype=bool), np.arange(2 * p - 1)
    for number, (pair, at) in enumerate(zip(children, heights, strict=True)):
        made[p + number] = at <= height + ROUNDING and made[pair].all()
    for node in range(2 * p - 2, p - 1, -1):
        if made[node]:
            cluster[children[node - p]] = cluster[node]
    return np.unique(cluster[:p], return_inverse=True)[1]
