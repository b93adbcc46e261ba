"""knockpy under the same interface, where it is installed (extra: peers)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from neuralmirror._internal.standardised import rank_normal, standardised
from neuralmirror.base import ControlledSelector


class Knockpy(ControlledSelector):
    """knockpy's Gaussian Model-X knockoffs with its lasso statistic (logistic for two classes) at knockoff+.

    target_transform : "standard" or "rank", as in `ModelXKnockoffs`
    """

    offset = 1

    def __init__(
        self, fdr: float = 0.1, method: str = "mvr", target_transform: str = "standard", random_state: int | None = None
    ) -> None:
        self.fdr = fdr
        self.method = method
        self.target_transform = target_transform
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Let knockpy estimate Σ, draw knockoffs and compare; select by its W."""
        from knockpy.knockoff_filter import KnockoffFilter

        problem = self._read(X, y)
        response = problem.y
        if not problem.classes:
            response = rank_normal(problem.y) if self.target_transform == "rank" else standardised(problem.y)
        state = np.random.get_state()  # knockpy draws from NumPy's global generator
        np.random.seed(self.random_state)
        try:
            knockoffs = KnockoffFilter(ksampler="gaussian", fstat="lasso", knockoff_kwargs={"method": self.method})
            knockoffs.forward(X=problem.x, y=response, fdr=self.fdr)
        finally:
            np.random.set_state(state)
        return self._conclude(np.asarray(knockoffs.W, dtype=float)[None])
