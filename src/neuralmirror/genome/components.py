"""Principal components of the genotypes, by which ancestry is adjusted for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from neuralmirror._internal.single import single
from neuralmirror.genome.windows import Panel

Floats = NDArray[np.float64]

MOST_MARKERS = 5000  # every k-th marker in use, up to so many
BLOCK = 256  # markers read at once


def principal_components(panel: Panel, count: int, seed: int) -> Floats:
    """The first `count` components of the people in use, (n, count), from markers spread evenly over the genome."""
    n, p = len(panel.rows), len(panel.markers)
    chosen = np.unique(np.linspace(0, p - 1, min(p, MOST_MARKERS)).round().astype(np.intp))
    most = min(n, len(chosen)) - 1
    if not 0 < count <= most:
        raise ValueError(
            f"components must lie between 1 and {most} for {n} people and {len(chosen)} markers, got {count}"
        )
    values = np.empty((len(chosen), n), dtype=np.float32)
    for low in range(0, len(chosen), BLOCK):
        block = chosen[low : low + BLOCK]
        values[low : low + len(block)] = _columns(panel, block)
    with single:  # sums of several threads are rounded otherwise, and the result would depend on their number
        _, _, components = randomized_svd(values, count, random_state=seed, flip_sign=True)
    return np.asarray(components.T, dtype=np.float64)


def _columns(panel: Panel, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
    """Some markers in use; a marker at a time where they lie far apart, so that what is between them is not read."""
    if chosen[-1] - chosen[0] < 4 * len(chosen):
        return np.asarray(panel.columns(int(chosen[0]), int(chosen[-1]) + 1)[chosen - chosen[0]])
    return np.concatenate([panel.columns(int(j), int(j) + 1) for j in chosen])
