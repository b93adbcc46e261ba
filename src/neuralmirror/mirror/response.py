"""What is predicted: the response itself or its ranks, whichever lines explain better."""

from __future__ import annotations

import numpy as np

from neuralmirror._internal.standardised import StandardisedData, rank_normal, standardised
from neuralmirror._internal.threads import in_threads
from neuralmirror.learner.outcome import Response
from neuralmirror.learner.sparse import QUICK, fit_sparse
from neuralmirror.mirror.directions import Directions, blinded


def standard_response(data: StandardisedData) -> Response:
    """Class labels as they are, numbers standardised."""
    return Response(data.y[:, None] if data.classes else standardised(data.y[:, None]), data.classes)


def choose_response(data: StandardisedData, directions: Directions, seed: int, n_jobs: int = 1) -> tuple[Response, str]:
    """Ranks of y where a fit of lines leaves less of them than of y, by more than one standard error.

    The fit sees all directions alike. A feature that y does not depend on, its ranks do not depend on either.
    """
    plain = standard_response(data)
    if data.classes or len(np.unique(data.y)) <= 2:
        return plain, "standard"
    inputs, _ = blinded(directions)
    ranked = Response(rank_normal(data.y)[:, None])

    def noise_variance(response: Response) -> float:
        return fit_sparse(inputs, response, seed, scans=False, effort=QUICK).chain.noise_variance

    known = inputs.products_of_lines(n_jobs)  # once, before both need them
    left, of_ranks = in_threads(noise_variance, (plain, ranked), 1 if known is None else n_jobs)
    standard_error = left * (2 / len(data.y)) ** 0.5
    return (ranked, "rank") if of_ranks < left - standard_error else (plain, "standard")
