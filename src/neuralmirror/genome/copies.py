"""Copies of groups of markers that are made again whenever they are needed, and never stored.

    X̃_G = M + (I − Π) P E / √(1 − r/n)        M = Π X_G, E = X_G − M

Π projects on the r regressors of the group and on what is adjusted for. P puts the people in a random order, which
follows from a seed, the stretch, the group's turn and the number of the copy; groups take sixteen orders in turn, so
that neighbours never have the same. So a copy has the products with all its regressors that the group has, and the
products of a copy with the response need no copy: they are those of M, and of E with the response freed of the
regressors and put in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from neuralmirror.genome.laws import Laws
from neuralmirror.genome.windows import Columns

Order = NDArray[np.int64]

TURNS = 16  # orders of the people that the groups of a stretch take in turn


class Names(NamedTuple):
    """The first markers of a stretch and of its groups, and which of the orders each group takes."""

    stretch: int
    codes: NDArray[np.int64]  # (g,)
    turns: NDArray[np.int64]  # (g,)


def order_of_people(n: int, seed: int, stretch: int, turn: int, number: int) -> Order:
    """A random order of the people for the groups of one turn and the number of the copy."""
    return np.random.Generator(np.random.Philox(key=[seed, (stretch * TURNS + turn) * 1024 + number])).permutation(n)


def direction_products(
    columns: torch.Tensor, response: torch.Tensor, laws: Laws, names: Names, n_mirrors: int, seed: int, n_known: int
) -> Columns:
    """x·response for every member and its K copies, (m, K+1), by products of whole matrices on one device."""
    n, device = columns.shape[1], columns.device
    own = columns[torch.from_numpy(laws.members).to(device)]
    residuals = own - torch.from_numpy(laws.dense(len(columns))).to(device) @ columns  # E, (m, n)
    rest = response - torch.from_numpy(laws.dense_of_response(len(columns))).to(device) @ columns  # (g, n)
    found = torch.empty((len(own), n_mirrors + 1), device=device)
    found[:, 0] = own @ response
    mean = found[:, 0] - residuals @ response
    scale = torch.from_numpy(laws.inflation(n, n_known)).to(device)
    for turn in np.unique(names.turns):
        groups = np.flatnonzero(names.turns == turn)
        members = np.flatnonzero(np.isin(laws.group_of_member, groups))
        place = torch.from_numpy(np.searchsorted(groups, laws.group_of_member[members])).to(device)
        ours, theirs = residuals[torch.from_numpy(members).to(device)], rest[torch.from_numpy(groups).to(device)]
        for number in range(n_mirrors):
            order = torch.from_numpy(order_of_people(n, seed, names.stretch, int(turn), number)).to(device)
            products = torch.linalg.vecdot(ours, theirs[:, order][place])
            found[members, number + 1] = mean[members] + scale[groups][place] * products
    return np.asarray(found.cpu().numpy())


def draw_group(
    columns: Columns, products: Columns, known: Columns, laws: Laws, group: int, names: Names, n_mirrors: int, seed: int
) -> Columns:
    """The members of one group and their copies, (m, K+1, n); `products` are those of the columns."""
    members = laws.members[laws.starts[group] : laws.starts[group + 1]]
    places = laws.regressors[group, : laws.counts[group]]
    own, regressors, n = columns[members], columns[places], columns.shape[1]
    residuals = own - laws.coefficients[laws.starts[group] : laws.starts[group + 1], : len(places)] @ regressors
    among = cho_factor(products[np.ix_(places, places)].astype(np.float64))
    drawn = np.empty((len(own), n_mirrors + 1, n), dtype=np.float32)
    drawn[:, 0] = own
    for number in range(n_mirrors):
        mixed = np.empty_like(own)
        mixed[:, order_of_people(n, seed, names.stretch, int(names.turns[group]), number)] = residuals
        mixed -= (mixed @ known.T) @ known
        mixed -= cho_solve(among, regressors @ mixed.T).T.astype(np.float32) @ regressors
        drawn[:, number + 1] = own - residuals + laws.inflation(n, len(known))[group] * mixed
    return drawn
