"""How does a fit at the default settings compare with Model-X knockoffs and a lasso, in the same run?

Goal: no more seconds than MVR knockoffs with a lasso on linear truths, and power where the lasso has none. Last answer:
1.1 times as many with p = 500, 0.4 times with p = 2000.
Run: python benchmarks/default.py [1000x500-linear ...]

Knockoffs are knockpy's (MVR, Ledoit-Wolf covariance, cross-validated lasso) where it is installed, and our own
ModelXKnockoffs otherwise. All selectors see the same data; seconds, FDP and power are means over some samples, for on
some of them chance lets networks count. Ratios are ours over theirs.
"""

import importlib.util
import sys
import warnings

import numpy as np
from _clock import seconds

from neuralmirror import ModelXKnockoffs, NeuralGaussianMirror
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.simulation.designs import Simulation

CASES = {  # and how many samples of each
    "1000x500-linear": (Simulation(n=1000, p=500), 6),
    "1000x2000-linear": (Simulation(n=1000, p=2000), 2),
    "2000x100-mixed": (Simulation(n=2000, p=100, k=24, link="mixed", h2=0.9), 3),
}
FDR = 0.1


def knockpy_lasso(x, y):
    """knockpy's filter: what its documents recommend."""
    from knockpy import KnockoffFilter

    found = KnockoffFilter(ksampler="gaussian", fstat="lasso", knockoff_kwargs={"method": "mvr"})
    return found.forward(X=x, y=y, fdr=FDR, shrinkage="ledoitwolf").astype(bool)


def our_knockoffs(x, y):
    return ModelXKnockoffs(fdr=FDR, random_state=0).fit(x, y).support_


def mirrors(x, y):
    return NeuralGaussianMirror(fdr=FDR, random_state=0).fit(x, y).support_


def sparse_part(x, y):
    """The same without networks."""
    return NeuralGaussianMirror(fdr=FDR, learner="sparse", random_state=0).fit(x, y).support_


def main(names):
    warnings.simplefilter("ignore")
    peer = "knockpy" if importlib.util.find_spec("knockpy") else "ModelXKnockoffs"
    methods = {"mirrors": mirrors, "sparse": sparse_part, peer: knockpy_lasso if peer == "knockpy" else our_knockoffs}
    small, response, _ = Simulation(n=100, p=20, k=4).sample(0)
    for method in methods.values():
        method(small, response)  # compilation and libraries
    print(f"{'case':>18} {'':16} {'seconds':>8} {'ratio':>6} {'FDP':>6} {'power':>6}")
    for name in names:
        simulation, samples = CASES[name]
        figures = {method: np.zeros(3) for method in methods}
        for seed in range(samples):
            x, y, truth = simulation.sample(seed)
            for method, select in methods.items():
                found = []
                took = seconds(lambda select=select, x=x, y=y, found=found: found.append(select(x, y)))
                figures[method] += [took, false_discovery_proportion(found[0], truth), power(found[0], truth)]
        for method, sums in figures.items():
            took, fdp, found_share = sums / samples
            ratio = figures["mirrors"][0] / sums[0]
            print(f"{name:>18} {method:16} {took:>8.1f} {ratio:>6.1f} {fdp:>6.2f} {found_share:>6.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))
