"""Which curves, pairs and triples are worth a term: what stands out in the residual among all directions.

A candidate is kept where its score passes the level at which pure noise would give one candidate in all. That is
lenient on purpose: the sampler decides, and the scan only spares it the hopeless ones. Scores are taken over all K+1
directions of every feature and only their maximum is used, so a feature enters with all its directions or not at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import chi2, norm
from torch import Tensor

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner import embedding
from neuralmirror.learner.blocks import largest_of_blocks, places_beyond
from neuralmirror.learner.embedding import CUBE_WAVES, FINE_WAVES, ROUGH_WAVES, SMOOTH_WAVES
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.orthogonal import orthogonal

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FUNCTIONS = 6  # waves of each direction in the scan of pairs
MOST_PAIRS = 100
MOST_FINE_PAIRS = 25  # their surfaces have up to four times the columns
MOST_TRIPLES = 60
PAIR_WORK, WORK_OF_A_ROW = 2e10, 1e7  # multiplications that the scan of pairs by all functions may take
PAIR_BYTES = 2**29  # of those functions
TRIPLE_WORK = 5e10  # operations that a first look at all triples may take: it has as many rows as that allows
LEAST_TRIPLE_ROWS = 200  # fewer find too little
SECOND_LOOK = 20_000  # triples that chance alone would send on to a look at all rows
CHUNK = 2**27  # bytes of intermediate values of one thread
STRIPS = 16  # of the square of all pairs, at least: a strip has none of the pairs that are in those before it


def curved_features(inputs: Inputs, residual: Floats) -> Indices:
    """Features of which some direction's waves explain the residual better than chance."""
    r = _standardised(residual[: inputs.n_seen], inputs.n_seen).astype(np.float32)  # (q, n)
    candidates = np.flatnonzero(inputs.single)
    tests = max(1, len(candidates) * inputs.n_directions * 2)
    cuts = [chi2.isf(1 / tests, count * len(r)) for count in (SMOOTH_WAVES, ROUGH_WAVES)]
    z = _of_waves(inputs, candidates, r, ROUGH_WAVES)  # (c, K+1, b, q)
    smooth, rough = z[:, :, :SMOOTH_WAVES].sum(axis=(2, 3)), z.sum(axis=(2, 3))  # (c, K+1)
    return np.asarray(candidates[(smooth.max(axis=1) > cuts[0]) | (rough.max(axis=1) > cuts[1])])


def best_relations(inputs: Inputs, goals: Floats, lines_only: bool) -> Floats:
    """How far the closest relation of each feature to one of some goals (n, g) is beyond chance: normal scores (p,).

    A relation is what a main effect may be: a line, or smooth or rough waves, of any direction. The sum of squared
    products with a goal is a chi-squared number where there is no relation; its cube root is nearly normal (Wilson and
    Hilferty, 1931), so that relations of all kinds are on one scale.
    """
    r = _standardised(goals, inputs.n_seen)[:, : inputs.n_seen].astype(np.float32)  # (g, n)
    best = np.empty(inputs.n_features)
    plain = np.flatnonzero(inputs.single)
    if len(plain):
        columns = inputs.first_column[plain]
        kinds = [(_of_lines(inputs.directions[columns, :, None, : inputs.n_seen], r), 1)]
        if not lines_only:
            z = _of_waves(inputs, plain, r, ROUGH_WAVES)  # (p, K+1, waves, g)
            kinds += [(z[:, :, :SMOOTH_WAVES], SMOOTH_WAVES), (z, ROUGH_WAVES)]
        best[plain] = np.max([_normal_score(some.sum(axis=2), count).max(axis=(1, 2)) for some, count in kinds], axis=0)
    for feature in np.flatnonzero(~inputs.single).tolist():
        blocks = orthogonal(inputs.block(feature), inputs.n_seen)
        scores = [
            _normal_score(_of_lines(block[None, :, : inputs.n_seen], r).sum(axis=1), len(block)) for block in blocks
        ]
        best[feature] = np.max(scores)
    return best


def _squared_products(values: NDArray[np.float32], r: NDArray[np.float32]) -> Floats:
    """The squares of the products of all columns (..., n) with all goals (g, n): (..., g)."""
    products = values.reshape(-1, values.shape[-1]) @ r.T
    return np.asarray(np.square(products, dtype=np.float64).reshape(*values.shape[:-1], len(r)))


def _of_waves(inputs: Inputs, chosen: Indices, r: NDArray[np.float32], count: int) -> Floats:
    """The squares of the products of the waves of some features with goals (g, n) of length √n: (c, K+1, count, g)."""
    columns = inputs.first_column[chosen]
    return np.asarray(embedding.products_with_waves(inputs.seen_scores[columns], r, count) ** 2 / inputs.n_seen)


def _of_lines(lines: NDArray[np.float32], r: NDArray[np.float32]) -> Floats:
    """The same for columns of any length, as if they had length 1."""
    lengths = np.einsum("...n,...n->...", lines, lines, dtype=np.float64)
    return np.asarray(_squared_products(lines, r) / np.maximum(lengths, 1e-12)[..., None])


def _normal_score(chi_squared: Floats, freedom: int) -> Floats:
    """About the standard normal number that is exceeded as rarely as a chi-squared one."""
    spread = 2 / (9 * freedom)
    return np.asarray((np.cbrt(chi_squared / freedom) - (1 - spread)) / spread**0.5)


def outstanding_pairs(
    inputs: Inputs, residual: Floats, ranking: Floats, device: str = "cpu", n_jobs: int = 1
) -> tuple[Indices, Indices]:
    """Pairs of features (t, 2) of which some product of waves of their directions stands out, and how many waves
    a surface of theirs needs of each (t, 2); strongest first.

    The first waves, which are nearly lines, are multiplied for all pairs; six waves for the features that rank highest,
    as many as work and memory allow: about 100 from 2,000 rows on.
    """
    (_, each, n), seen = inputs.directions.shape, inputs.n_seen
    rest = torch.from_numpy(_standardised(residual, seen)[:, :seen].astype(np.float32)).to(device)
    everything = np.arange(inputs.n_features)
    widest = (max(PAIR_WORK, WORK_OF_A_ROW * n) / (FUNCTIONS**2 * n)) ** 0.5 / each
    widest = int(min(widest, PAIR_BYTES / (4 * FUNCTIONS * each * n)))
    highest = np.sort(np.argsort(-ranking, kind="stable")[:widest])
    best = _strongest_pairs(inputs, everything, 1, rest, n_jobs)
    best |= _strongest_pairs(inputs, highest, FUNCTIONS, rest, n_jobs)
    strongest = sorted(best, key=lambda pair: (-best[pair].score, pair))[:MOST_PAIRS]
    finest = np.array([best[pair].waves for pair in strongest], dtype=np.intp).reshape(-1, 2)
    fine = finest > SMOOTH_WAVES
    fine &= (fine.any(axis=1).cumsum() <= MOST_FINE_PAIRS)[:, None]
    return np.array(strongest, dtype=np.intp).reshape(-1, 2), np.where(fine, FINE_WAVES, SMOOTH_WAVES)


class Standing(NamedTuple):
    """How far a pair stands out, and by which waves of its features."""

    score: float
    waves: tuple[int, int]


Standings = dict[tuple[int, int], Standing]


def _strongest_pairs(inputs: Inputs, chosen: Indices, count: int, rest: Tensor, n_jobs: int) -> Standings:
    """Pairs among some features whose best product of their first `count` waves passes."""
    each, p = inputs.n_directions, len(chosen)
    functions = torch.from_numpy(_functions(inputs, chosen, count)).to(rest.device)  # (p, count, K+1, n)
    cut = float(norm.isf(0.5 / max(1.0, (count * p * each) ** 2 / 2)))
    step = max(1, min(CHUNK // (4 * each**2 * max(1, p)), p // STRIPS))

    def of_strip(start: int) -> Standings:
        strip, others = functions[start : start + step].flatten(0, 2), functions[start:].flatten(0, 2)
        products = _products(strip, others, rest, each).unflatten(0, (-1, count)).unflatten(2, (-1, count))
        best, which = products.transpose(1, 2).flatten(2).max(dim=2)
        places = (best.triu(1) > cut).nonzero()
        pairs = chosen[places.cpu().numpy() + start]
        scores, waves = (values[places[:, 0], places[:, 1]].tolist() for values in (best, which))
        return {
            (a, b): Standing(score, (1 + wave // count, 1 + wave % count))
            for (a, b), score, wave in zip(pairs.tolist(), scores, waves, strict=True)
        }

    found = in_threads(of_strip, range(0, p, step), n_jobs)
    return {pair: standing for strip in found for pair, standing in strip.items()}


def outstanding_triples(inputs: Inputs, residual: Floats, device: str = "cpu", n_jobs: int = 1) -> Indices:
    """Triples of features (t, 3) of which some product of three directions stands out, where there are few enough.

    Where the work does not allow to take all rows, a first look at some finds the triples that are worth a second.
    """
    each, p, n = inputs.n_directions, inputs.n_features, inputs.n_seen
    rows = min(n, int(TRIPLE_WORK / (2 * (p * each) ** 3 / 3)))
    if p < 3 or rows < min(n, LEAST_TRIPLE_ROWS):
        return np.zeros((0, 3), dtype=np.intp)
    lines = _functions(inputs, np.arange(p), 1).reshape(-1, n)  # (p(K+1), n)
    rest = _standardised(residual, n)[:, :n].astype(np.float32)
    tests = max(1.0, (p * each) ** 3 / 6)
    some = np.linspace(0, n - 1, rows).astype(int)
    first_cut = float(norm.isf(0.5 * min(1.0, (1 if rows == n else SECOND_LOOK) / tests)))
    likely = _triples_above(_on(device, lines[:, some]), _on(device, rest[:, some]), each, first_cut, n_jobs)
    scores = _products_of_three(lines, rest, likely)
    passed = scores > norm.isf(0.5 / tests)
    best: dict[tuple[int, ...], float] = {}
    for triple, score in zip((likely[passed] // each).tolist(), scores[passed].tolist(), strict=True):
        best[tuple(triple)] = max(best.get(tuple(triple), 0.0), score)
    strongest = sorted(best, key=lambda key: (-best[key], key))[:MOST_TRIPLES]
    return np.array(strongest, dtype=np.intp).reshape(-1, 3)


def outstanding_thirds(inputs: Inputs, residual: Floats, pairs: Indices, together: Floats) -> Indices:
    """Triples of features (t, 3): pairs, and a third feature that changes what they do together.

    `together` (pairs, n, q) is what the pairs do. A third feature changes it where the product of some wave of some
    direction with it and the residual stands out: so a b / (1 + c²) is found whole where a b is found.
    """
    seen, candidates = inputs.n_seen, np.flatnonzero(inputs.single)
    if not len(pairs) or not len(candidates):
        return np.zeros((0, 3), dtype=np.intp)
    goals = _standardised(np.einsum("pnq,nq->np", together, residual), seen)[:, :seen].astype(np.float32)
    squares = _of_waves(inputs, candidates, goals, CUBE_WAVES).max(axis=(1, 2))  # (c, pairs)
    squares[(candidates[:, None, None] == pairs).any(axis=2)] = 0.0
    tests = squares.size * inputs.n_directions * CUBE_WAVES
    third, pair = (squares > norm.isf(0.5 / tests) ** 2).nonzero()
    strongest = np.argsort(-squares[third, pair], kind="stable")[:MOST_TRIPLES]
    return np.sort(np.column_stack([pairs[pair], candidates[third]])[strongest], axis=1)


def _on(device: str, values: NDArray[np.float32]) -> Any:
    """NumPy's array for the CPU, whose threads and PyTorch's would wait for each other, else PyTorch's."""
    return values if device == "cpu" else torch.from_numpy(values).to(device)


def _triples_above(lines: Any, rest: Any, each: int, cut: float, n_jobs: int = 1) -> Indices:
    """Triples of directions of different features (t, 3) whose product with some output passes; on lines' device."""
    size, n = lines.shape
    step = max(1, size // (each * STRIPS)) * each

    def with_first(start: int) -> Indices:
        found, weights = [], (rest[:, None] * lines[start : start + each]).reshape(-1, 1, n)  # (q(K+1), 1, n)
        for first in range(start + each, size, step):
            strip = lines[first : first + step]
            places = _places_above((weights * strip).reshape(-1, n), lines[first:], cut * n**0.5)
            weight, second, third = places[:, 0] // len(strip), places[:, 0] % len(strip), places[:, 1]
            triples = np.stack([start + weight % each, first + second, first + third], axis=1)
            found.append(triples[second // each < third // each])
        return np.concatenate(found)

    return np.concatenate(in_threads(with_first, range(0, size - 2 * each, each), n_jobs))


def _places_above(left: Any, right: Any, bound: float) -> Indices:
    """Where the product of a row of left and one of right exceeds a bound in size, (t, 2)."""
    if isinstance(left, np.ndarray):
        return np.asarray(places_beyond(left @ right.T, bound))
    return np.asarray(((left @ right.mT).abs_() > bound).nonzero().cpu().numpy())


def _products_of_three(lines: NDArray[np.float32], rest: NDArray[np.float32], triples: Indices) -> Floats:
    """√n |mean(a b c r)| of triples of rows (t, 3), the largest over outputs r: (t,)."""
    n, scores = lines.shape[1], np.empty(len(triples))
    step = max(1, CHUNK // (16 * n))
    for start in range(0, len(triples), step):
        a, b, c = triples[start : start + step].T
        scores[start : start + step] = np.abs((lines[a] * lines[b] * lines[c]) @ rest.T).max(axis=1) / n**0.5
    return scores


def _functions(inputs: Inputs, chosen: Indices, count: int) -> NDArray[np.float32]:
    """The first waves of every direction, (p, count, K+1, n seen): about a line, a square and a cubic, but bounded.

    Of a group its first columns.
    """
    values = np.zeros((len(chosen), count, inputs.n_directions, inputs.n_seen), dtype=np.float32)
    plain = inputs.single[chosen]
    if plain.any():
        waves = embedding.waves(inputs.seen_scores[inputs.first_column[chosen[plain]]], count)
        values[plain] = waves.swapaxes(1, 2)
    for place in np.flatnonzero(~plain):
        block = inputs.block(chosen[place])[:, :count, : inputs.n_seen]
        values[place, : block.shape[1]] = block.swapaxes(0, 1)
    return values


def _products(left: Tensor, right: Tensor, rest: Tensor, each: int) -> Tensor:
    """√n |mean(a b r)| of rows a of left and b of right, the largest over outputs r and over the directions of a pair.

    Rows are standardised, so that products of independent ones have variance 1.
    """
    best = torch.zeros(0)
    for r in rest:
        if left.device.type == "cpu":  # NumPy alone: its threads and PyTorch's would wait for each other
            z = torch.from_numpy(largest_of_blocks((left.numpy() * r.numpy()) @ right.numpy().T, each))
        else:
            z = ((left * r) @ right.mT).abs_().unflatten(0, (-1, each)).unflatten(2, (-1, each)).amax(dim=(1, 3))
        best = torch.maximum(best, z) if best.numel() else z
    return torch.div(best, left.shape[1] ** 0.5)


def _standardised(residual: Floats, seen: int) -> Floats:
    """The residual (n, q) as rows about zero with standard deviation 1 over the rows seen."""
    rows = residual.T - residual[:seen].T.mean(axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(rows[:, :seen].std(axis=1, keepdims=True), 1e-12))
