"""How long does the diagonal s of Gaussian knockoffs take, beside knockpy's?

Run: python benchmarks/knockoffs.py (extra: peers, for the comparison)

Last answer (Toeplitz 0.5, one run, seconds: ours / knockpy 1.3.5):

    p          500            1000           2000
    equi       0.02 / 0.08    0.04 / 0.21    0.25 / fails
    MVR        0.17 / 1.5     0.51 / 13.8    5.0 / 52.5 (block-diagonal approximation; ours is exact)
    SDP        0.59 / 19.9    1.7  / not run 12.0 / not run

Our SDP's mean s is certified within 1e-6 of the optimum; knockpy's stops 5e-4 below it here. knockpy's
equicorrelated p = 2000 ends in an AttributeError with SciPy 1.17.

Machine: 2 cores of an AMD EPYC, NumPy 2.4.6, SciPy 1.17.1, with other work on it at the time (load about 2), so
single figures vary, up to threefold. Where other processes hold the cores, OPENBLAS_NUM_THREADS=1 is steadier:
0.5 s for the SDP at p = 500, 19 s at p = 2000.
"""

import importlib.util
import time
import warnings

import numpy as np

from neuralmirror.comparators.knockoffs.sampling import S_METHODS
from neuralmirror.comparators.knockoffs.sdp import sdp_solution

SIZES = (500, 1000, 2000)
# Larger ones do not end in reasonable time: knockpy's SDP grows more than eightfold with every doubling of p.
KNOCKPY_LARGEST = {"equicorrelated": 2000, "mvr": 2000, "sdp": 500}


def toeplitz(p, rho=0.5):
    return rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def seconds(function, *args, **options):
    start = time.perf_counter()
    result = function(*args, **options)
    return time.perf_counter() - start, result


def knockpy_seconds(corr, method):
    if importlib.util.find_spec("knockpy") is None or len(corr) > KNOCKPY_LARGEST[method]:
        return np.nan, np.full_like(corr, np.nan)
    from knockpy.smatrix import compute_smatrix

    try:
        return seconds(compute_smatrix, corr, method=method)
    except AttributeError:  # knockpy 1.3.5 catches ARPACK's failure by a name that SciPy has since dropped
        return np.nan, np.full_like(corr, np.nan)


def compare(corr, method, show=True):
    ours, s = seconds(S_METHODS[method], corr)
    theirs, S = knockpy_seconds(corr, method)
    if not show:
        return
    print(
        f"{method:14} {len(corr):5} {ours:9.2f} {theirs:9.2f} {theirs / ours:7.1f} {s.mean():9.4f} "
        f"{np.diag(S).mean():9.4f}",
        flush=True,
    )


def main():
    warnings.simplefilter("ignore")
    for method in S_METHODS:  # threads and imports start outside the clock
        compare(toeplitz(50), method, show=False)
    print("method             p  ours (s) knockpy s   ratio    mean s knockpy's")
    for p in SIZES:
        for method in S_METHODS:
            compare(toeplitz(p), method)
    s, bound = sdp_solution(toeplitz(SIZES[0]))
    print(f"certified: mean s of the SDP within {(bound - s.sum()) / len(s):.1e} of the optimum at p = {len(s)}")


if __name__ == "__main__":
    main()
