"""How long does a fit at the default settings take, and how much memory?

Goal on 2 cores, n = 1000: p = 500 within 30 s, p = 2000 within 120 s, below 2 GB.
Last answer (2 cores, x86-64, nothing else running): 14 s and 0.5 GB at p = 500, 42 s and 0.8 GB at p = 2000. One H200:
2.4 s, and 2.1 s for the second fit of the process at p = 2000.
Run: python benchmarks/default.py [p ...]
"""

import resource
import sys
import time

from neuralmirror import NeuralGaussianMirror
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.simulation.designs import Simulation

GOALS = {500: 30, 2000: 120}


def main(sizes: list[int]) -> None:
    print(f"{'p':>6} {'seconds':>8} {'goal':>6} {'peak GB':>8} {'FDP':>6} {'power':>6}")
    for p in sizes:
        X, y, truth = Simulation(p=p).sample(0)
        started = time.perf_counter()
        mirror = NeuralGaussianMirror(random_state=0).fit(X, y)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        found = false_discovery_proportion(mirror.support_, truth), power(mirror.support_, truth)
        print(f"{p:>6} {seconds:>8.1f} {GOALS.get(p, ''):>6} {peak:>8.2f} {found[0]:>6.2f} {found[1]:>6.2f}")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or list(GOALS))
