"""Gibbs sampling of sparse terms: every term is empty or holds one of its options, and the posterior decides.

    y = covariates + Σ_t f_t + ε        f_t = 0, or Σ_b w_b φ_b of one option of term t,  w_b ~ N(0, τ²_kind)

A feature's term has an option for each of its directions, so X_j and its copies compete for one place and nobody
tells the sampler which of them is X_j. The prior of an option is π_kind shared by the options of its kind; π, τ² and
σ² are sampled too, so nothing is tuned. Classes are the signs, or the largest, of latent y (Albert and Chib, 1993).

All that a term needs to know of the residual are its products with the term's columns. With the products of the columns
among each other at hand these are kept up to date when a term changes, which few do, instead of taken anew; and lines
may change places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from neuralmirror.learner.columns import add_option, take_products
from neuralmirror.learner.compiled import add, compiled, compiled_step, dot, pick
from neuralmirror.learner.latent import draw_latent
from neuralmirror.learner.places import NEAREST, change_places, line_tables
from neuralmirror.learner.terms import EFFECT_SHARE, FAMILY_OF_KIND, WIDTHS, Terms

Floats = NDArray[np.float64]
COVARIATE_VARIANCE = 100.0  # τ² of what is never selected: next to no shrinkage of standardised columns
FRESH = 64  # sweeps after which products with the residual are taken anew, so that rounding errors do not add up


@dataclass(frozen=True)
class Chain:
    """What a chain saw after its burn-in, as means over its sweeps."""

    sizes: Floats  # (options,): E ‖f_t‖ of each option, in standard deviations of the response
    probabilities: Floats  # (options,): how often the option was the active one
    coefficients: Floats  # (columns, q)
    fitted: Floats  # (n, q)
    residual: Floats  # (n, q): of the latent response where there are classes
    noise_variance: float

    @staticmethod
    def mean(chains: list[Chain]) -> Chain:
        """Several chains as one."""
        names = [field.name for field in fields(Chain)]
        return Chain(**{name: np.mean([getattr(chain, name) for chain in chains], axis=0) for name in names})


def sample(
    terms: Terms,
    response: Floats,
    classes: int,
    seed: int,
    sweeps: int,
    burn_in: int,
    n_seen: int | None = None,
    products: NDArray[np.float32] | None = None,
) -> Chain:
    """Run one chain on the first `n_seen` rows; the others are predicted and never looked at.

    `response` is (n, q), standardised; with classes it holds the labels in its first column and q latent ones are
    drawn: one for two classes, one a class for more. `products` (columns, columns) are those of the terms' columns
    over the rows seen, of use where there are no classes.
    """
    n = terms.columns.rows.shape[1]
    outputs = response.shape[1] if classes == 0 else (1 if classes == 2 else classes)
    residual = np.zeros((outputs, n), dtype=np.float32)
    labels = np.full(n, -1, dtype=np.int64)
    if classes:
        labels[:] = response[:, 0].astype(np.int64)
    else:
        residual[:] = response.T
    result = _chain(
        terms.columns,
        terms.squares,
        np.zeros((0, 0), dtype=np.float32) if products is None or classes else products,
        terms.term_start,
        terms.option_kind,
        terms.possible.astype(np.float64),
        residual,
        labels,
        classes,
        sweeps,
        burn_in,
        seed % 2**32,
        n if n_seen is None else n_seen,
        FAMILY_OF_KIND,
        EFFECT_SHARE / WIDTHS,
    )
    sizes, probabilities, coefficients, fitted, rest, noise = result
    return Chain(sizes, probabilities, coefficients, fitted.T, rest.T, float(noise))


@compiled_step
def _weigh_columns(squares, option_start, option_kind, noise, spread, gains, costs):  # type: ignore[no-untyped-def]
    """Posterior mean of each coefficient for each unit of its column's product; half the log ratio of its variances."""
    for q in range(len(noise)):
        known, cost = 1.0, 0.0  # most columns are of one length, and a logarithm takes longer than all else here
        for option in range(len(option_kind)):
            prior = spread[option_kind[option]] / noise[q]
            for c in range(option_start[option], option_start[option + 1]):
                ratio = 1.0 + squares[c] * prior
                if abs(ratio - known) > 1e-9 * known:
                    known, cost = ratio, 0.5 * math.log(ratio)
                gains[q, c] = prior / ratio
                costs[q, c] = cost


@compiled_step
def _weigh_options(  # type: ignore[no-untyped-def]
    first, last, squares, option_start, option_kind, along, n, noise, gains, costs, log_share, within, odds, means,
    sizes,
):  # fmt: skip
    """Log posterior weight of each option given what the other terms leave, its coefficients' means and its size."""
    for option in range(first, last):
        place, start = option - first, option_start[option]
        weight, size = log_share[option_kind[option]] + within[option], 0.0
        for c in range(start, option_start[option + 1]):
            for q in range(along.shape[0]):
                mean = gains[q, c] * along[q, c]
                means[place, c - start, q] = mean
                weight += 0.5 * mean * along[q, c] / noise[q] - costs[q, c]
                size += mean * mean * squares[c]
        odds[place], sizes[place] = weight, math.sqrt(size / n)


@compiled_step
def _draw_shares(shares, counts, possible, family_of_kind):  # type: ignore[no-untyped-def]
    """π of the kinds of each family, Dirichlet given how many terms are of each kind, and how many are empty."""
    for family in range(1, possible.shape[0]):
        taken = 0.0
        for kind in range(counts.shape[0]):
            if family_of_kind[kind] == family:
                taken += counts[kind]
        total = np.random.gamma(1.0 + max(possible[family] - taken, 0.0), 1.0)
        for kind in range(counts.shape[0]):
            if family_of_kind[kind] == family:
                shares[kind] = np.random.gamma(1.0 + counts[kind], 1.0)
                total += shares[kind]
        for kind in range(counts.shape[0]):
            if family_of_kind[kind] == family:
                shares[kind] /= total


@compiled_step
def _shift(sign, option, columns, products, coefficients, residual, along):  # type: ignore[no-untyped-def]
    """Add what an option explains to the residual again, or take it out; products that are known follow."""
    add_option(sign, option, coefficients, columns, residual)
    if len(products):
        for c in range(columns.option_start[option], columns.option_start[option + 1]):
            for q in range(residual.shape[0]):
                add(np.float32(sign * coefficients[c, q]), products[c], along[q])


@compiled_step
def _log_priors(shares, family_of_kind, log_share, log_empty):  # type: ignore[no-untyped-def]
    """Log prior share of each kind, and of an empty term of each family; the covariates are never empty."""
    for family in range(len(log_empty)):
        taken = 1.0 if family == 0 else 0.0
        for kind in range(len(shares)):
            if family_of_kind[kind] == family:
                log_share[kind] = math.log(shares[kind])
                if family > 0:
                    taken += shares[kind]
        log_empty[family] = math.log(max(1.0 - taken, 1e-300))


@compiled
def _log_shares_within_terms(term_start, option_kind):  # type: ignore[no-untyped-def]
    """−log of how many options of its kind the term of each option has: they share the prior of the kind."""
    within = np.zeros(len(option_kind))
    for term in range(len(term_start) - 1):
        for option in range(term_start[term], term_start[term + 1]):
            alike = 0
            for other in range(term_start[term], term_start[term + 1]):
                alike += option_kind[other] == option_kind[option]
            within[option] = -math.log(alike)
    return within


@compiled_step
def _normalise(odds, here):  # type: ignore[no-untyped-def]
    """Log weights to weights, the largest of them 1; returns their sum."""
    highest = odds[0]
    for place in range(1, here + 1):
        highest = max(highest, odds[place])
    total = 0.0
    for place in range(here + 1):
        odds[place] = math.exp(odds[place] - highest)
        total += odds[place]
    return total


@compiled_step
def _record(first, here, odds, total, option_start, means, option_sizes, sums):  # type: ignore[no-untyped-def]
    """Add the posterior shares, sizes and coefficients of a term's options to the sums."""
    probabilities, sizes, coefficients = sums
    for place in range(here):
        option, share = first + place, odds[place] / total
        probabilities[option] += share
        sizes[option] += share * option_sizes[place]
        for c in range(option_start[option], option_start[option + 1]):
            for q in range(coefficients.shape[1]):
                coefficients[c, q] += share * means[place, c - option_start[option], q]


@compiled_step
def _enter(  # type: ignore[no-untyped-def]
    option, kind, means, columns, products, noise, gains, coefficients, residual, along, counts
):
    """Draw the coefficients of the option that was picked and take what it explains from the residual."""
    number, total_square, n_weights = counts
    number[kind] += 1.0
    first = columns.option_start[option]
    for c in range(first, columns.option_start[option + 1]):
        for q in range(residual.shape[0]):
            spread = math.sqrt(gains[q, c] * noise[q])
            weight = means[c - first, q] + spread * np.random.standard_normal()
            coefficients[c, q] = weight
            total_square[kind] += weight * weight
            n_weights[kind] += 1.0
    _shift(-1.0, option, columns, products, coefficients, residual, along)


@compiled_step
def _draw_variances(noise, spread, spread_guess, residual, counts, n_seen, classes):  # type: ignore[no-untyped-def]
    """σ² of each output, fixed at 1 for classes, and τ² of each kind, given residuals and coefficients."""
    _, total_square, n_weights = counts
    if not classes:
        for q in range(residual.shape[0]):
            left = 0.5 * dot(residual[q], residual[q], n_seen) + 0.05
            noise[q] = left / np.random.gamma(0.5 * n_seen + 0.5, 1.0)
    for kind in range(1, len(spread)):
        size = 0.5 * (total_square[kind] + spread_guess[kind])
        spread[kind] = size / np.random.gamma(0.5 * n_weights[kind] + 0.5, 1.0)


@compiled
def _widest(starts):  # type: ignore[no-untyped-def]
    """The largest step between neighbouring starts."""
    widest = 1
    for place in range(len(starts) - 1):
        widest = max(widest, starts[place + 1] - starts[place])
    return widest


@compiled
def _first_shares(possible, family_of_kind):  # type: ignore[no-untyped-def]
    """π to start with: about five terms of each kind, and the covariates always."""
    shares = np.ones(len(family_of_kind))
    for kind in range(1, len(shares)):
        shares[kind] = min(0.1, 5.0 / max(1.0, possible[family_of_kind[kind]]))
    return shares


@compiled_step
def _visit_line(  # type: ignore[no-untyped-def]
    option, c, lengths, along, half_precision, gains, costs, log_odds, probabilities, sizes, coefficients, recorded
):
    """Whether the only line of a term is drawn into the fit, and its posterior mean: what most visits come down to."""
    mean = gains[0, c] * along[0, c]
    weight = log_odds + half_precision * mean * along[0, c] - costs[0, c]
    share = 1.0 / (1.0 + math.exp(-weight)) if weight > -700.0 else 0.0
    if recorded:
        probabilities[option] += share
        sizes[option] += share * abs(mean) * lengths[c]
        coefficients[c, 0] += share * mean
    return np.random.random() <= share, mean


@compiled_step
def _visit_terms(  # type: ignore[no-untyped-def]
    columns, squares, products, term_start, option_kind, family_of_kind, residual, along, n_seen, noise,
    gains, costs, log_share, log_empty, within, odds, means, option_sizes, coefficients, counts, sums, active, recorded,
    single, lengths, scratch,
):  # fmt: skip
    """One sweep: each term is taken out, its options are weighed against its being empty, and one of all is drawn."""
    half_precision, option_start = 0.5 / noise[0], columns.option_start
    sum_shares, sum_sizes, sum_means = sums
    for term in range(len(term_start) - 1):
        first, last = term_start[term], term_start[term + 1]
        if active[term] >= 0:
            _shift(1.0, active[term], columns, products, coefficients, residual, along)
        if not len(products):
            take_products(first, last, columns, residual, along, scratch, n_seen)
        if single[term]:
            kind, c = option_kind[first], option_start[first]
            log_odds = log_share[kind] - log_empty[family_of_kind[kind]]
            drawn, means[0, 0, 0] = _visit_line(
                first, c, lengths, along, half_precision, gains, costs, log_odds, sum_shares, sum_sizes, sum_means,
                recorded,
            )  # fmt: skip
            active[term] = -1
            if drawn:
                active[term] = first
                _enter(first, kind, means[0], columns, products, noise, gains, coefficients, residual, along, counts)
            continue
        _weigh_options(
            first, last, squares, option_start, option_kind, along, n_seen, noise, gains, costs, log_share, within,
            odds, means, option_sizes,
        )  # fmt: skip
        odds[last - first] = log_empty[family_of_kind[option_kind[first]]]
        total = _normalise(odds, last - first)
        if recorded:
            _record(first, last - first, odds, total, option_start, means, option_sizes, sums)
        place = pick(odds, last - first, total)
        active[term] = -1
        if place < last - first:
            active[term] = first + place
            kind = option_kind[first + place]
            _enter(
                first + place, kind, means[place], columns, products, noise, gains, coefficients, residual, along,
                counts,
            )  # fmt: skip


@compiled
def _chain(  # type: ignore[no-untyped-def]
    columns, squares, products, term_start, option_kind, possible, residual, labels, classes, sweeps,
    burn_in, seed, n_seen, family_of_kind, spread_guess,
):  # fmt: skip
    """All sweeps of one chain: means of sizes, probabilities, coefficients, fit, residual and noise after burn-in."""
    np.random.seed(seed)
    (outputs, n), option_start = residual.shape, columns.option_start
    most, widest = _widest(term_start), _widest(option_start)
    odds, option_sizes, means = np.zeros(most + 1), np.zeros(most), np.zeros((most, widest, outputs))
    coefficients, log_share = np.zeros((len(squares), outputs)), np.zeros(len(spread_guess))
    log_empty, within = np.zeros(len(possible)), _log_shares_within_terms(term_start, option_kind)
    sums = np.zeros(len(option_kind)), np.zeros(len(option_kind)), np.zeros((len(squares), outputs))
    counts = np.zeros(len(spread_guess)), np.zeros(len(spread_guess)), np.zeros(len(spread_guess))
    fitted, rest, sum_noise = np.zeros((outputs, n)), np.zeros((outputs, n)), 0.0
    response, latent = residual.copy(), np.zeros((outputs, n), dtype=np.float32)
    noise, spread = np.full(outputs, 1.0 if classes else 0.5), spread_guess.copy()
    spread[0], shares = COVARIATE_VARIANCE, _first_shares(possible, family_of_kind)
    active, in_use = np.full(len(term_start) - 1, -1), np.zeros(len(term_start), dtype=np.int64)
    lengths = np.sqrt(squares / n_seen)
    single = (np.diff(term_start) == 1) & (np.diff(option_start)[term_start[:-1]] == 1) & (outputs == 1)
    along = np.zeros((outputs, len(squares)), dtype=np.float32)
    gains, costs = np.zeros((outputs, len(squares))), np.zeros((outputs, len(squares)))
    scratch = np.zeros(_widest(columns.cross_start[term_start]))
    lines, line_of_column, term_of_line = line_tables(option_start, term_start, option_kind, len(squares))
    near, weights = np.full((len(products), NEAREST), -1), np.zeros(NEAREST + 1)
    for sweep in range(sweeps):
        for count in counts:
            count[:] = 0.0
        if classes:
            draw_latent(residual, latent, labels, n_seen)
        _log_priors(shares, family_of_kind, log_share, log_empty)
        _weigh_columns(squares, option_start, option_kind, noise, spread, gains, costs)
        if len(products) and sweep % FRESH == 0:
            for term in range(len(term_start) - 1):
                take_products(term_start[term], term_start[term + 1], columns, residual, along, scratch, n_seen)
        _visit_terms(
            columns, squares, products, term_start, option_kind, family_of_kind, residual, along, n_seen,
            noise, gains, costs, log_share, log_empty, within, odds, means, option_sizes, coefficients, counts, sums,
            active, sweep >= burn_in, single, lengths, scratch,
        )  # fmt: skip
        if len(products):
            change_places(
                lines, within, term_of_line, line_of_column, near, columns, squares, products, noise, gains, costs,
                coefficients, residual, along, counts, active, weights, in_use,
            )  # fmt: skip
        _draw_variances(noise, spread, spread_guess, residual, counts, n_seen, classes)
        _draw_shares(shares, counts[0], possible, family_of_kind)
        if sweep >= burn_in:
            sum_noise += noise.mean()
            rest += residual
            fitted += (latent if classes else response) - residual
    kept = max(1, sweeps - burn_in)
    return sums[1] / kept, sums[0] / kept, sums[2] / kept, fitted / kept, rest / kept, sum_noise / kept
