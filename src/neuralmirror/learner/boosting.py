"""Boosted trees of three questions each, on columns that are sorted into bins (Friedman, 2001; Ke et al., 2017).

Each tree asks "is the bin above this one?" three times on the way down, the best question at each node, and its leaves
take a Newton step of the loss. How far the output moves when a column is redrawn follows from the trees that ask about
it, so the strengths of all columns cost little more than one prediction; this is why the trees are our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.compiled import compiled, compiled_step

Bins = NDArray[np.uint8]  # (columns, n)
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

DEPTH, BINS = 3, 64
TREES, RATE, LEAST_ROWS = 100, 0.1, 20  # of each output; the share of a step that is taken; the rows of a leaf
NONE = -1  # no question: no answer leaves enough rows on either side


@dataclass(frozen=True)
class Trees:
    """Trees as flat arrays, in which the questions of a tree are in the order of a heap."""

    column: NDArray[np.int64]  # (trees, 2^DEPTH − 1): what each question is about
    bin: Bins  # (trees, 2^DEPTH − 1): the last bin that goes to the left
    leaf: Floats  # (trees, 2^DEPTH)
    output: NDArray[np.int64]  # (trees,): the output to which each tree adds
    fitted: Floats  # (q, n): f at all rows


def boost(bins: Bins, values: Floats, classes: int, n_seen: int) -> Trees:
    """Trees for numbers, or for the logits of labels, grown on the first rows; the others are predicted only."""
    outputs = 1 if classes <= 2 else classes
    return Trees(*_boost(bins, values[:, 0].astype(np.float64), classes, outputs, n_seen))


def moves_when_redrawn(trees: Trees, bins: Bins, block: Indices, rows: int) -> NDArray[np.float32]:
    """How f moves in the first rows where a block of columns has the values of other rows, (blocks, q, rows).

    `block` (columns,) is the block of each column, NONE for those that stay as they are.
    """
    moves = np.zeros((int(block.max()) + 1, len(trees.fitted), rows), dtype=np.float32)
    _add_moves(trees.column, trees.bin, trees.leaf, trees.output, bins, block, moves)
    return moves


@compiled
def _boost(bins, values, classes, outputs, n_seen):  # type: ignore[no-untyped-def]
    """Tree after tree, each on the slopes and curvatures of the loss that those before it leave."""
    n, questions = bins.shape[1], 2**DEPTH - 1
    count = TREES * outputs
    column, cut = np.full((count, questions), NONE, dtype=np.int64), np.zeros((count, questions), dtype=np.uint8)
    leaf, output = np.zeros((count, questions + 1)), np.zeros(count, dtype=np.int64)
    fitted, slope, curvature = np.zeros((outputs, n)), np.zeros((outputs, n_seen)), np.ones((outputs, n_seen))
    node = np.zeros(n, dtype=np.int64)
    for q in range(outputs):
        fitted[q] = _start(values[:n_seen], classes, q)
    least = LEAST_ROWS
    for step in range(TREES):
        _take_slopes(fitted, values, classes, slope, curvature)
        for q in range(outputs):
            tree = step * outputs + q
            output[tree] = q
            least = LEAST_ROWS * curvature[q].mean()
            _grow(bins, slope[q], curvature[q], least, node, column[tree], cut[tree])
            _take_leaves(slope[q], curvature[q], node, leaf[tree])
            for i in range(n):
                fitted[q, i] += leaf[tree, node[i]]
    return column, cut, leaf, output, fitted


@compiled
def _start(values, classes, q):  # type: ignore[no-untyped-def]
    """The output before the first tree: the mean of numbers, the logit of a class's share."""
    if classes == 0:
        return values.mean()
    share = (values == (1 if classes == 2 else q)).mean()
    share = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(share / (1 - share)) if classes == 2 else math.log(share)


@compiled
def _take_slopes(fitted, values, classes, slope, curvature):  # type: ignore[no-untyped-def]
    """The first and second derivatives of the loss with respect to every output: squared error, or −log likelihood."""
    for i in range(slope.shape[1]):
        if classes == 0:
            slope[0, i] = fitted[0, i] - values[i]
        elif classes == 2:
            chance = 1 / (1 + math.exp(-fitted[0, i]))
            slope[0, i], curvature[0, i] = chance - values[i], chance * (1 - chance)
        else:
            highest, total = fitted[:, i].max(), 0.0
            for q in range(len(slope)):
                total += math.exp(fitted[q, i] - highest)
            for q in range(len(slope)):
                chance = math.exp(fitted[q, i] - highest) / total
                slope[q, i], curvature[q, i] = chance - (values[i] == q), chance * (1 - chance)


@compiled
def _grow(bins, slope, curvature, least, node, column, cut):  # type: ignore[no-untyped-def]
    """The questions of one tree, level by level; afterwards `node` holds the leaf of every row."""
    node[:] = 0
    slopes, curvatures = np.zeros((2 ** (DEPTH - 1), BINS)), np.zeros((2 ** (DEPTH - 1), BINS))
    for level in range(DEPTH):
        nodes, first = 2**level, 2**level - 1
        best = np.zeros(nodes)
        for c in range(len(bins)):
            slopes[:nodes], curvatures[:nodes] = 0.0, 0.0
            for i in range(len(slope)):
                slopes[node[i], bins[c, i]] += slope[i]
                curvatures[node[i], bins[c, i]] += curvature[i]
            for place in range(nodes):
                gain, last = _best_cut(slopes[place], curvatures[place], least)
                if gain > best[place]:
                    best[place], column[first + place], cut[first + place] = gain, c, last
        for i in range(len(node)):
            asked = column[first + node[i]]
            right = asked != NONE and bins[asked, i] > cut[first + node[i]]
            node[i] = 2 * node[i] + right


@compiled_step
def _best_cut(slopes, curvatures, least):  # type: ignore[no-untyped-def]
    """By how much the best cut between bins lowers the loss, and the last bin before it."""
    slope, curvature = slopes.sum(), curvatures.sum()
    best, last, left, weight = 0.0, 0, 0.0, 0.0
    for b in range(BINS - 1):
        left, weight = left + slopes[b], weight + curvatures[b]
        if weight < least:
            continue
        if curvature - weight < least:
            break
        gain = left * left / weight + (slope - left) ** 2 / (curvature - weight) - slope * slope / curvature
        if gain > best:
            best, last = gain, b
    return best, last


@compiled
def _take_leaves(slope, curvature, node, leaf):  # type: ignore[no-untyped-def]
    """A share of the Newton step of each leaf."""
    weights = np.zeros(len(leaf))
    for i in range(len(slope)):
        leaf[node[i]] -= RATE * slope[i]
        weights[node[i]] += curvature[i]
    for place in range(len(leaf)):
        leaf[place] /= max(weights[place], 1e-12)


@compiled
def _add_moves(column, cut, leaf, output, bins, block, moves):  # type: ignore[no-untyped-def]
    """For each tree and each block that it asks about: its leaf with that block redrawn, less its leaf."""
    rows, questions = moves.shape[2], column.shape[1]
    for tree in range(len(column)):
        for question in range(questions):
            asked = column[tree, question]
            redrawn = NONE if asked == NONE else block[asked]
            for before in range(question):  # each block once
                if column[tree, before] != NONE and block[column[tree, before]] == redrawn:
                    redrawn = NONE
            if redrawn == NONE:
                continue
            for i in range(rows):
                other = (i + rows // 2) % rows
                place, moved = 0, 0
                for _ in range(DEPTH):
                    asked = column[tree, place]
                    place = 2 * place + 1 + (asked != NONE and bins[asked, i] > cut[tree, place])
                    asked = column[tree, moved]
                    row = other if asked != NONE and block[asked] == redrawn else i
                    moved = 2 * moved + 1 + (asked != NONE and bins[asked, row] > cut[tree, moved])
                moves[redrawn, output[tree], i] += leaf[tree, moved - questions] - leaf[tree, place - questions]
