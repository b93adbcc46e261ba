"""The network beside the sparse part: what many features do together, though no two of them stand out.

A network reads the features that the sparse part finds most plausible, and counts for what it says beyond their lines.
Like the chains of the sparse part it works in turns: in its turn a feature is seen in all its directions, and in the
others X stands for it. Turns in which no feature that is read has opponents share one network.

A feature that acts only together with many others has neither a line nor a pair that stands out, but a network that
knows the others can tell: its hidden units would move along with it. The scan asks this of every direction of every
feature that a network does not read, by the gradient of the loss with respect to the weights it would have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from neuralmirror.learner.engine import Engine
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network import Network
from neuralmirror.learner.outcome import LOGIT, Response, codes, expected
from neuralmirror.learner.perceptron import Goal, NetworkFit, fit_networks
from neuralmirror.learner.sparse import SparseFit
from neuralmirror.learner.terms import COVARIATE, PARTS

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

SPARE = 5  # features that are read beyond the number that the sparse part expects to be in use
ROUNDS = 2  # scans for features that a network should read too
CHUNK = 2**26  # bytes of intermediate values


@dataclass(frozen=True)
class Turns:
    """The turn in which each feature is seen in all its directions; in the others X stands for it."""

    plain: Inputs  # X alone
    of_feature: Indices  # (p,): 0..T−1

    @classmethod
    def together(cls, inputs: Inputs) -> Turns:
        """One turn for all features, so that X is not told from its copies anywhere."""
        return cls(inputs, np.zeros(inputs.n_features, dtype=np.intp))

    def __len__(self) -> int:
        return int(self.of_feature.max()) + 1

    def rows(self, order: Indices, n_seen: int) -> Turns:
        """The rows in another order, of which the first may be learnt from."""
        return Turns(self.plain.rows(order, n_seen), self.of_feature)


@dataclass(frozen=True)
class Readers:
    """Which features each of m networks reads, which of these in all directions, and the network of each turn."""

    reads: Flags  # (m, p)
    mirrored: Flags  # (m, p)
    of_turn: Indices  # (T,)

    @classmethod
    def of(cls, reads: Flags, before: Indices, turns: Turns) -> Readers:
        """The networks for all turns, of which turn t reads what reads[before[t]] says."""
        turn_mirrors = np.zeros((len(reads), len(turns)), dtype=bool)  # what is read has opponents in these turns
        for number, features in enumerate(reads):
            turn_mirrors[number, turns.of_feature[features]] = True
        own = turn_mirrors[before, np.arange(len(turns))]
        key = np.where(own, len(reads) + np.arange(len(turns)), before)  # turns without opponents share a network
        values, first, of_turn = np.unique(key, return_index=True, return_inverse=True)
        chosen = reads[before[first]]
        turn = np.where(values >= len(reads), first, -1)
        return cls(chosen, chosen & (turns.of_feature == turn[:, None]), of_turn)


def plausible(sparse: SparseFit) -> Flags:
    """The features that the sparse part finds most plausible, some more than it expects to be in use: (1, p)."""
    best = sparse.strengths().max(axis=1)
    count = min(len(best), int(np.ceil(sparse.expected_active())) + SPARE)
    chosen = np.zeros((1, len(best)), dtype=bool)
    chosen[0, np.argsort(-best, kind="stable")[:count]] = True
    return chosen


def fit_readers(
    inputs: Inputs, turns: Turns, readers: Readers, goal: Goal, network: Network, seed: int, device: str
) -> NetworkFit:
    """Networks on what they read."""
    return fit_networks(inputs, turns.plain, readers.reads, readers.mirrored, goal, network, seed, device)


def further_features(inputs: Inputs, readers: Readers, fit: NetworkFit, residual: Floats) -> Flags:
    """Features (m, p) that a network does not read, and of which some direction would move along with its hidden units.

    With s the slopes of the output at the hidden units, about their means, and r the residual, the gradient of the loss
    with respect to the weights that a direction x would have is g = Σ_i x_i r_i s_i. Where x has nothing to say, ‖g‖²
    is a sum of squared normal numbers, here taken for a multiple of a chi-squared one (Satterthwaite, 1946).
    """
    seen = inputs.n_seen
    slopes = fit.slopes()[:, :, :seen]  # (q, m, n, h)
    slopes -= slopes.mean(axis=2, keepdims=True)
    moves = np.einsum("qmnh,mnq->mhn", slopes, residual[:, :seen]).astype(np.float32)  # (m, h, n)
    products = (moves @ moves.swapaxes(1, 2)).astype(np.float64)  # (m, h, h)
    total, squares = np.trace(products, axis1=1, axis2=2), (products**2).sum(axis=(1, 2))
    scale, freedom = squares / np.maximum(total, 1e-300), total**2 / np.maximum(squares, 1e-300)
    best = np.zeros((len(moves), inputs.n_features))
    lines = inputs.directions[..., :seen]
    step = max(1, CHUNK // (4 * moves.shape[0] * moves.shape[1] * inputs.n_directions))
    for start in range(0, len(lines), step):
        x = lines[start : start + step]
        lengths = np.einsum("ckn,ckn->ck", x, x, dtype=np.float64) / seen
        along = moves.reshape(-1, seen) @ x.reshape(-1, seen).T  # (m·h, c·k)
        scores = np.square(along, dtype=np.float64).reshape(*moves.shape[:2], *lengths.shape).sum(axis=1)
        scores = (scores / np.maximum(lengths, 1e-12)).max(axis=2) / np.maximum(scale, 1e-300)[:, None]  # (m, c)
        np.maximum.at(best.T, inputs.feature[start : start + step], scores.T)
    cuts = chi2.isf(1 / (lines.shape[0] * lines.shape[1]), freedom)
    return np.asarray((best > cuts[:, None]) & ~readers.reads)


def network_strengths(
    inputs: Inputs, response: Response, sparse: SparseFit, turns: Turns, engine: Engine, seed: int
) -> Floats:
    """Strengths (p, K+1) of networks on all rows, with the features that they find they should read too."""
    goal, settings = goal_beside(sparse, response), (engine.network, seed, engine.device)
    readers = Readers.of(plausible(sparse), np.zeros(len(turns), dtype=np.intp), turns)
    for number in range(ROUNDS + 1):
        fit = fit_readers(inputs, turns, readers, goal, *settings)
        if number == ROUNDS:
            break
        residual = goal.targets - outcomes(fit.fitted(), goal)
        found = further_features(inputs, readers, fit, residual)
        if not found.any():
            break
        readers = Readers.of(readers.reads | found, readers.of_turn, turns)
    scale = LOGIT if response.classes else 1.0  # the sparse part's latent outcomes are probits
    return fit.strengths_beyond_lines(inputs.n_features, inputs.n_seen) / scale


def goal_beside(sparse: SparseFit, response: Response) -> Goal:
    """What networks learn: the outcome, with all that the sparse part says of it but its lines as a known offset."""
    known = sparse.part((COVARIATE,)) + sum(sparse.part(PARTS[name]) for name in ("curves", "interactions"))
    offset = LOGIT * known if response.classes else known
    return Goal(codes(response), response.classes, np.asarray(offset), sparse.chain.noise_variance)


def outcomes(outputs: Floats, goal: Goal) -> Floats:
    """What networks with these outputs (m, n, q) expect of the outcome."""
    assert goal.offset is not None
    return expected(outputs + goal.offset, goal.classes)
