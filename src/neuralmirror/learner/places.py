"""Lines that change places with others they are close to.

Where there is little noise a line hardly ever leaves the model for a better one near it, for both would have to pass
through a model without either. Here a line in use may move at once: from a to b, drawn by weight among the empty lines
nearest to a, and accepted with chance Σ_a/Σ_b, the sums of the weights among the nearest of either (Metropolis and
Hastings). All directions of all features are lines alike.
"""

from __future__ import annotations

import math

import numpy as np

from neuralmirror.learner.compiled import add, compiled, compiled_step, pick
from neuralmirror.learner.terms import LINE

NEAREST = 12  # lines that a line may change places with
NEVER = -50.0  # log weight, relative to that of the line itself, of what would not be drawn in a lifetime


@compiled_step
def nearest_lines(c, products, squares, line_of_column, near, highest):  # type: ignore[no-untyped-def]
    """The lines most correlated with a line, found when they are first asked for: their columns in near[c]."""
    if near[c, 0] >= 0:
        return
    highest[:] = -1.0
    for other in range(len(squares)):
        if other == c or line_of_column[other] < 0 or squares[other] <= 0.0:
            continue
        closeness = products[c, other] * products[c, other] / squares[other]
        place = near.shape[1] - 1
        if closeness <= highest[place]:
            continue
        while place > 0 and highest[place - 1] < closeness:
            highest[place], near[c, place] = highest[place - 1], near[c, place - 1]
            place -= 1
        highest[place], near[c, place] = closeness, other


@compiled_step
def _line_weight(c, along, given, coefficients, products, noise, gains, costs):  # type: ignore[no-untyped-def]
    """Log weight of a line when the line `given` is taken out of the fit."""
    weight = 0.0
    for q in range(along.shape[0]):
        product = along[q, c] + coefficients[given, q] * products[given, c]
        weight += 0.5 * gains[q, c] * product * product / noise[q] - costs[q, c]
    return weight


@compiled_step
def _weigh_nearest(  # type: ignore[no-untyped-def]
    c, given, within, term_of_line, line_of_column, active, near, along, coefficients, products, noise, gains, costs,
    weights,
):  # fmt: skip
    """Weights, relative to that of the line `given`, of a line and of those near it in other, empty terms; their sum.

    The term of the line `given` counts as empty, for it is what moves. Also returned: whether `given` is among them.
    """
    own, moving = term_of_line[line_of_column[c]], term_of_line[line_of_column[given]]
    base = within[line_of_column[given]]
    base += _line_weight(given, along, given, coefficients, products, noise, gains, costs)
    total, found = 0.0, False
    for place in range(near.shape[1] + 1):
        other = c if place == near.shape[1] else near[c, place]
        weights[place] = 0.0
        if other < 0:
            continue
        term = term_of_line[line_of_column[other]]
        if other == c or (term != own and (active[term] < 0 or term == moving)):
            found = found or other == given
            log_weight = within[line_of_column[other]] - base
            log_weight += _line_weight(other, along, given, coefficients, products, noise, gains, costs)
            if log_weight > NEVER:
                weights[place] = math.exp(min(log_weight, 300.0))
                total += weights[place]
    return total, found


@compiled_step
def _move(weight, c, q, columns, products, residual, along):  # type: ignore[no-untyped-def]
    """Add a multiple of a line to the residual, and of its products with all columns to the residual's."""
    add(np.float32(weight), columns.rows[columns.row[c]], residual[q])
    add(np.float32(weight), products[c], along[q])


@compiled_step
def change_places(  # type: ignore[no-untyped-def]
    lines, within, term_of_line, line_of_column, near, columns, squares, products, noise, gains, costs, coefficients,
    residual, along, counts, active, weights, in_use,
):  # fmt: skip
    """Offer lines in use, drawn at random and as often as there are such lines, the places of the empty ones near."""
    number = 0
    for term in range(len(active)):
        in_use[number] = term
        number += active[term] >= 0 and lines[active[term]] >= 0
    for _ in range(number):
        drawn = int(np.random.random() * number)
        here = lines[active[in_use[drawn]]]
        nearest_lines(here, products, squares, line_of_column, near, weights)
        total, _ = _weigh_nearest(
            here, here, within, term_of_line, line_of_column, active, near, along, coefficients, products,
            noise, gains, costs, weights,
        )  # fmt: skip
        place = pick(weights, near.shape[1], total)
        there = here if place == near.shape[1] else near[here, place]
        if there == here:
            continue
        nearest_lines(there, products, squares, line_of_column, near, weights)
        total_there, way_back = _weigh_nearest(
            there, here, within, term_of_line, line_of_column, active, near, along, coefficients, products,
            noise, gains, costs, weights,
        )  # fmt: skip
        if not way_back or np.random.random() * total_there > total:
            continue
        for q in range(along.shape[0]):
            before = coefficients[here, q]
            _move(before, here, q, columns, products, residual, along)
            spread = math.sqrt(gains[q, there] * noise[q])
            after = gains[q, there] * along[q, there] + spread * np.random.standard_normal()
            coefficients[there, q] = after
            _move(-after, there, q, columns, products, residual, along)
            counts[1][LINE] += after * after - before * before
        active[in_use[drawn]] = -1
        in_use[drawn] = term_of_line[line_of_column[there]]
        active[in_use[drawn]] = line_of_column[there]


@compiled
def line_tables(option_start, term_start, option_kind, n_columns):  # type: ignore[no-untyped-def]
    """The column of each option that is a single line, the option of each such column, and its term; −1 elsewhere."""
    lines, term_of_line = np.full(len(option_kind), -1), np.full(len(option_kind), -1)
    line_of_column = np.full(n_columns, -1)
    for term in range(len(term_start) - 1):
        for option in range(term_start[term], term_start[term + 1]):
            term_of_line[option] = term
            if option_kind[option] == LINE and option_start[option + 1] - option_start[option] == 1:
                lines[option] = option_start[option]
                line_of_column[option_start[option]] = option
    return lines, line_of_column, term_of_line
