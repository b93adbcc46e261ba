"""The mirror statistic: by how much a feature's strongest direction beats the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def mirror_statistics(strengths: ArrayLike) -> NDArray[np.float64]:
    """M_j: the margin of the strongest of K+1 directions over the next, (..., K+1) to (...,).

    Positive when X_j (the first) is the strongest, negative when one of its opponents is, zero for a tie. With K = 1 it
    is |L⁺ + L⁻| − |L⁺ − L⁻| (eq. mstat), as L⁺ ± L⁻ are the strengths along X_j and along c_jZ_j.
    """
    s = np.asarray(strengths, dtype=float)
    ordered = np.sort(s, axis=-1)
    margin = ordered[..., -1] - ordered[..., -2]
    return np.asarray(np.where(s[..., 0] == ordered[..., -1], margin, -margin))
