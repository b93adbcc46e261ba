"""Copies of groups of markers that are made again whenever they are needed, and never stored.

    X̃_G = M + (I − Π) P E / √(1 − r/n)        M = Π X_G, E = X_G − M

Π projects on the r regressors of the group and on what is adjusted for. P puts the people in a random order: one for
each stretch and copy, begun at a place of its own for each group, all of which follow from a seed, the first marker and
the number of the copy. So a copy has the products with all its regressors that the group has, and the products of a
copy with the response need no copy: they are those of M, and of E with the response freed of the regressors and put in
order.
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


class Names(NamedTuple):
    """The markers by which a stretch and its groups are known."""

    stretch: int
    codes: NDArray[np.int64]  # (g,)


def order_of_people(n: int, seed: int, stretch: int, number: int) -> Order:
    """A random order of the people for one stretch, named by its first marker, and the number of the copy."""
    return np.random.Generator(np.random.Philox(key=[seed, stretch * 64 + number])).permutation(n)


def first_person(n: int, seed: int, codes: NDArray[np.int64], number: int) -> Order:
    """Where in that order each group begins; `codes` are the first markers of the groups."""
    state = codes.astype(np.uint64) * np.uint64(64) + np.uint64(number)
    mixed = _mix(_mix(state) ^ np.uint64(seed))
    return np.asarray(mixed % np.uint64(n), dtype=np.int64)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose bits look random (Steele, Lea and Flood, 2014)."""
    state = (state + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)))


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
    group = torch.from_numpy(laws.group_of_member).to(device)
    people = torch.arange(n, device=device)
    for number in range(n_mirrors):
        order = torch.from_numpy(order_of_people(n, seed, names.stretch, number)).to(device)
        begins = torch.from_numpy(first_person(n, seed, names.codes, number)).to(device)
        mixed = rest[:, order].gather(1, (people + begins[:, None]) % n)
        found[:, number + 1] = mean + scale[group] * torch.linalg.vecdot(residuals, mixed[group])
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
        order = order_of_people(n, seed, names.stretch, number)
        begins = int(first_person(n, seed, names.codes[group : group + 1], number)[0])
        mixed = np.empty_like(own)
        mixed[:, np.roll(order, -begins)] = residuals
        mixed -= (mixed @ known.T) @ known
        mixed -= cho_solve(among, regressors @ mixed.T).T.astype(np.float32) @ regressors
        drawn[:, number + 1] = own - residuals + laws.inflation(n, len(known))[group] * mixed
    return drawn
