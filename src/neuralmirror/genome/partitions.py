"""What the groups of each resolution are: cuts of a tree of clusters, or partitions that were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralmirror.io.packed import PackedGenotypes


@dataclass(frozen=True)
class Partitions:
    """Names of the resolutions, and their cuts or the first marker in use of every marker's group."""

    names: list[str]
    cuts: tuple[float, ...]
    labels: NDArray[np.int64] | None = None  # (resolutions, markers in use)
    may_cut: NDArray[np.bool_] | None = None  # (markers in use,): whether no group reaches over the left side of each

    @staticmethod
    def of(
        given: Sequence[float] | Mapping[str, Any], genotypes: PackedGenotypes, markers: NDArray[np.intp]
    ) -> Partitions:
        """From correlations, or from labels of all markers by the name of each resolution."""
        if not len(given):
            raise ValueError(f"resolutions must name at least one cut or partition, got {given!r}")
        if not isinstance(given, Mapping):
            for cut in given:
                if not isinstance(cut, int | float | np.number) or not 0 < cut <= 1:
                    raise ValueError(
                        f"resolutions must be correlations in (0, 1], or a mapping of names to labels; got {cut!r}"
                    )
            return Partitions([f"{cut:g}" for cut in given], tuple(map(float, given)))
        labels = [_first_markers(name, values, genotypes, markers) for name, values in given.items()]
        starts = np.array(labels) == np.arange(len(markers))
        return Partitions([str(name) for name in given], (), np.array(labels), starts.all(axis=0))


def _first_markers(
    name: Any, values: ArrayLike, genotypes: PackedGenotypes, markers: NDArray[np.intp]
) -> NDArray[np.int64]:
    """The first marker in use of each one's group; groups are neighbours and end with their chromosome."""
    given = np.asarray(values).astype(str)
    if given.shape != (genotypes.n_markers,):
        raise ValueError(
            f"resolution {name!r} must hold {genotypes.n_markers} labels, one per marker; got shape {given.shape}"
        )
    labels = np.char.add(np.char.add(genotypes.chromosomes[markers].astype(str), ":"), given[markers])
    begins = np.append(True, labels[1:] != labels[:-1])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(labels)), 0))
    if len(np.unique(labels)) != begins.sum():
        again = labels[begins][np.argmax(np.unique(labels[begins], return_counts=True)[1] > 1)]
        raise ValueError(f"resolution {name!r} has a group of markers that are not side by side ({again}); split it")
    return first.astype(np.int64)
