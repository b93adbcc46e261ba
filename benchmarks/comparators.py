"""What do the comparators find, how much of it is false, and how long do they take?

Run: python benchmarks/comparators.py [family ...] (about ten minutes; OMP_NUM_THREADS=1 on shared cores)

Last answer (FDR / power at level 0.1, offset 1; 10 replicates, so one standard error is about 0.02):

    family       linear mirror lasso mirror  Model-X     fixed-X     DeepPINK    BH          BY
    toeplitz     .088 / .960   .105 / .967   .089 / .963 n = 2p      .112 / .963 .083 / .960 .010 / .947
    half         .030 / .227   .136 / .640   .090 / .597 n = 2p      .080 / .280 .065 / .397 .000 / .270
    wide         .065 / .457   .029 / .497   .074 / .497 n < 2p      .038 / .127 n < p       n < p
    genotypes    .071 / .683   .115 / .793   .074 / .753 .020 / .590 .082 / .653 .066 / .740 .019 / .663
    logistic     .047 / .415   .091 / .655   .067 / .625 .063 / .470 .113 / .555 .086 / .590 .022 / .520
    multinomial  .080 / .715   .084 / .855   .065 / .820 .087 / .500 .130 / .760 .115 / .800 .025 / .730
    null         .000          .000          .000        .000        .000        .100        .000

Seconds a fit on 2 cores: linear mirror and BH below 0.3, the lasso methods 0.1 to 2.3, DeepPINK 2 to 9. Fixed-X
takes the labels of the multinomial response as numbers.
"""

import argparse
import time
import warnings

import numpy as np

from neuralmirror.comparison import METHODS
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.simulation.designs import Simulation

SETTINGS = {
    "toeplitz": Simulation("toeplitz", n=1000, p=500, k=30),
    "half": Simulation("toeplitz", n=1000, p=500, k=30, h2=0.5),
    "wide": Simulation("toeplitz", n=300, p=500, k=30, h2=0.8),
    "genotypes": Simulation("genotypes", n=1000, p=300, k=30, rho=0.8, h2=0.8),
    "logistic": Simulation("toeplitz", n=1000, p=200, k=20, h2=0.8, response="logistic"),
    "multinomial": Simulation("toeplitz", n=1000, p=100, k=20, h2=0.8, response="multinomial"),
    "null": Simulation("toeplitz", n=500, p=200, k=0, link="null"),
}
LINEAR = [name for name in METHODS if name != "neural-mirror"]


def measure(method, simulation, replicates):
    rows = []
    for seed in range(replicates):
        x, y, truth = simulation.sample(seed)
        selector = METHODS[method]()
        selector.set_params(**{k: v for k, v in {"random_state": seed}.items() if k in selector.get_params()})
        start = time.perf_counter()
        selector.fit(x, y)
        seconds = time.perf_counter() - start
        rows.append((false_discovery_proportion(selector.support_, truth), power(selector.support_, truth), seconds))
    return np.mean(rows, axis=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*", default=[*SETTINGS])
    parser.add_argument("--methods", nargs="+", default=LINEAR)
    parser.add_argument("--replicates", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'family':12} {'method':16}   FDR power  seconds a fit")
    for family in options.families:
        for method in options.methods:
            try:
                fdr, found, seconds = measure(method, SETTINGS[family], options.replicates)
            except ValueError as reason:
                print(f"{family:12} {method:16} {str(reason)[:60]}")
                continue
            print(f"{family:12} {method:16} {fdr:5.3f} {found:5.3f} {seconds:8.2f}", flush=True)


if __name__ == "__main__":
    main()
