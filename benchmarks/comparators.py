"""What do the comparators find, how much of it is false, and how long do they take?

Run: python benchmarks/comparators.py [family ...] (a few minutes; OMP_NUM_THREADS=1 on shared cores)
"""

import argparse
import time
import warnings

import numpy as np

from neuralmirror.comparison import METHODS
from neuralmirror.designs import Simulation
from neuralmirror.selection import false_discovery_proportion, power

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
