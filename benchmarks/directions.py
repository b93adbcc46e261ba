"""How long do conditional directions take, and how much memory?

Goal on 2 cores, n = 1000, K = 4: p = 2000 within 3 s, p = 20,000 within 60 s and 4 GB.
Run: python benchmarks/directions.py [1000x2000 ...]
"""

import json
import sys

import numpy as np
from _clock import in_child, peak_gigabytes, seconds

from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.mirror.directions import conditional_directions

CASES = ["1000x2000", "1000x20000"]


def child(case):
    """Features that follow their neighbours, and four copies of each."""
    n, p = map(int, case.split("x"))
    x = np.random.default_rng(0).standard_normal((n, p))
    for j in range(1, p):
        x[:, j] = 0.5 * x[:, j - 1] + 0.75**0.5 * x[:, j]
    data = StandardisedData(standardised(x), np.zeros(n), np.empty((n, 0)))
    return {"seconds": seconds(lambda: conditional_directions(data, 4, (0,), n_jobs=2)), "peak": peak_gigabytes()}


def main(arguments):
    if arguments[:1] == ["--one"]:
        print(json.dumps(child(arguments[1])))
        return
    for case in arguments or CASES:
        row = in_child(__file__, "--one", case)
        print(f"{case:>12} {row['seconds']:8.1f} s, peak {row['peak']:.2f} GB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
