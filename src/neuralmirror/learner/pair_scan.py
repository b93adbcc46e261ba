"""Products of two features in the sparse part: which pairs stand out in what its other terms leave of the response.

All products of directions of two different features are looked at, X_iX_j and X_iZ_j and Z_iZ_j alike, and where one
stands out all those of its pair of features enter. So noise has the same way in as the feature it opposes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm
from torch import Tensor

from neuralmirror._internal.standardised import standardised

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEVEL = 0.01  # chance that, by chance, any product stands out
COLUMNS = 1000  # products that enter at most
BLOCK = 256  # columns compared at once with all others


class Products(NamedTuple):
    """Standardised products (n, t) of columns first and second (t,), their spreads (t,) and their pairs (t,)."""

    columns: Floats
    first: Indices
    second: Indices
    spreads: Floats
    pairs: Indices


def outstanding_pairs(columns: Floats, rest: Floats, each: int, device: str = "cpu") -> Indices:
    """Pairs (t, 2) of features, `each` columns a feature, with √n·|corr(x_ax_b, rest)| above the normal quantile.

    The quantile is Bonferroni's over all products. Strongest pairs first, as many as COLUMNS products allow.
    """
    x = torch.from_numpy(columns).to(device, torch.float32)
    r = torch.from_numpy(standardised(rest)).to(device, torch.float32)
    inputs, size = x.shape[1], each * max(1, BLOCK // each)
    cut = float(norm.isf(LEVEL / max(1, inputs * (inputs - each))))
    found, scores = [], []
    for start in range(0, inputs, size):
        best = _scores(x[:, start : start + size], x[:, start:], r)
        best = best.unflatten(0, (-1, each)).unflatten(2, (-1, each)).amax(dim=(1, 3)).triu(1)
        places = (best > cut).nonzero()
        found.append(places + start // each)
        scores.append(best[places[:, 0], places[:, 1]])
    order = torch.cat(scores).argsort(descending=True, stable=True)[: COLUMNS // each**2]
    return torch.cat(found)[order].cpu().numpy()


def _scores(x: Tensor, others: Tensor, r: Tensor) -> Tensor:
    """√n·|corr(x_ax_b, r)| of all a in x and b in others, for a standardised r; 0 for a product that is constant."""
    n = len(x)
    mean = x.mT @ others / n
    variance = x.square().mT @ others.square() / n - mean.square()
    along = (x * r[:, None]).mT @ others / n
    return torch.where(variance > 1e-6, n**0.5 * along.abs() / variance.clamp(min=1e-6).sqrt(), 0.0)


def products_of(columns: Floats, pairs: Indices, each: int) -> Products:
    """All each² products of the directions of each pair of features."""
    first, second = (each * pairs[:, side, None] + np.arange(each) for side in (0, 1))  # (t, each)
    first, second = first.repeat(each, axis=1).ravel(), np.tile(second, each).ravel()
    values = columns[:, first] * columns[:, second]
    return Products(standardised(values), first, second, values.std(axis=0), np.arange(len(pairs)).repeat(each**2))


_NONE = np.zeros(0, dtype=np.intp)
NO_PRODUCTS = Products(np.zeros((0, 0)), _NONE, _NONE, np.zeros(0), _NONE)
