"""Trees beside the sparse part: for steps, and for what a feature does only where others are large or small.

Trees read the features that the sparse part finds most plausible, and like networks they work in turns: in its turn a
feature is seen in all its directions, plausible or not, and in the others X stands for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from neuralmirror._internal.threads import in_threads
from neuralmirror.learner.boosting import BINS, NONE, Bins, Trees, boost, moves_when_redrawn
from neuralmirror.learner.embedding import normal_scores
from neuralmirror.learner.inputs import Inputs
from neuralmirror.learner.network_part import Turns
from neuralmirror.learner.outcome import Response

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROWS = 1024  # on which outputs are compared
EDGES = ndtri(np.arange(1, BINS) / BINS).astype(np.float32)  # of bins of normal scores, each as likely as any other


def in_company(reads: Flags, count: int) -> Flags:
    """The features that are read, and so many of the others, evenly chosen: trees must find their way among them."""
    others = np.flatnonzero(~reads)
    joined = reads.copy()
    joined[others[np.linspace(0, len(others), min(count, len(others)), endpoint=False, dtype=int)]] = True
    return joined


def outputs_of_trees(plain: Inputs, response: Response, reads: Flags) -> Floats:
    """f at all rows of trees grown on the rows seen, (n, q); each feature that is read has one direction."""
    read = plain.features(np.flatnonzero(reads))
    return boost(_bins_with_covariates(read), response.values, response.classes, plain.n_seen).fitted.T


def trees_strengths(inputs: Inputs, response: Response, reads: Flags, turns: Turns, n_jobs: int = 1) -> Floats:
    """How strongly trees follow each direction in the turn of its feature, (p, K+1)."""
    found = np.zeros((inputs.n_features, inputs.n_directions))
    read = turns.plain.features(np.flatnonzero(reads)).one_direction(np.zeros(reads.sum(), dtype=np.intp))
    other_bins = _bins_with_covariates(read)
    of_other = np.append(turns.of_feature[reads][read.feature], np.full(read.covariates.shape[1], NONE))

    def in_turn(turn: int) -> None:
        mirrored = turns.of_feature == turn
        own = inputs.features(np.flatnonzero(mirrored))
        own_bins = _bins(own.scores)
        block = own.feature[:, None] * own.n_directions + np.arange(own.n_directions)
        bins = np.concatenate([own_bins, other_bins[of_other != turn]])
        blocks = np.append(block.ravel(), np.full(len(bins) - block.size, NONE))
        trees = boost(bins, response.values, response.classes, inputs.n_seen)
        found[mirrored] = _strengths(trees, bins, blocks, min(ROWS, inputs.n_seen)).reshape(-1, own.n_directions)

    in_threads(in_turn, range(len(turns)), n_jobs)
    return found


def _strengths(trees: Trees, bins: Bins, blocks: NDArray[np.intp], rows: int) -> Floats:
    """√(E (f(x) − f(x′))² / 2), x′ with a block redrawn from other rows, of logits about their mean: (blocks,)."""
    moves = moves_when_redrawn(trees, bins, blocks, rows)
    if moves.shape[1] > 1:
        moves -= moves.mean(axis=1, keepdims=True)
    return np.asarray(np.sqrt(np.square(moves, dtype=np.float64).sum(axis=1).mean(axis=1) / 2))


def _bins_with_covariates(inputs: Inputs) -> Bins:
    """The bins of all directions and of the covariates, (c(K+1) + d, n)."""
    if not inputs.covariates.shape[1]:
        return _bins(inputs.scores)
    covariates = normal_scores(inputs.covariates.T[:, None].astype(np.float32), inputs.n_seen)
    return np.concatenate([_bins(inputs.scores), _bins(covariates)])


def _bins(scores: NDArray[np.float32]) -> Bins:
    """The bins of normal scores (c, K+1, n): (c(K+1), n)."""
    return np.searchsorted(EDGES, scores).astype(np.uint8).reshape(-1, scores.shape[-1])
