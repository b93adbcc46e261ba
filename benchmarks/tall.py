"""Does a table of many rows fit into minutes and memory when the truth is not linear?

Goal: memory grows with the directions of the features and their waves, not with the columns of all pairs.
Last answer: see the section on tall tables in docs/performance.md.
Run: python benchmarks/tall.py [10000x100-mixed ...]

AR(.3), nine tenths signal, the default settings; seconds and memory of a process of its own.
"""

import json
import sys
import time
import warnings

from _clock import in_child, peak_gigabytes

from neuralmirror import NeuralGaussianMirror
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.simulation.designs import Simulation

SHAPES = {"10000x100": (10_000, 100, 24), "50000x20": (50_000, 20, 6), "100000x20": (100_000, 20, 6)}
TRUTHS = ("linear", "mixed", "trees")


def child(name):
    """One fit."""
    warnings.simplefilter("ignore")
    shape, truth = name.split("-")
    n, p, k = SHAPES[shape]
    x, y, relevant = Simulation(n=n, p=p, k=k, design="ar", rho=0.3, link=truth, h2=0.9).sample(0)
    started = time.perf_counter()
    found = NeuralGaussianMirror(random_state=0).fit(x, y).support_
    seconds = time.perf_counter() - started
    rates = {"fdp": false_discovery_proportion(found, relevant), "power": power(found, relevant)}
    return {"seconds": seconds, "peak": peak_gigabytes(), **rates}


def main(names):
    print(f"{'rows, features, truth':>22} {'seconds':>8} {'GB':>5} {'FDP':>5} {'power':>6}")
    for name in names:
        row = in_child(__file__, "--one", name)
        found = f"{row['seconds']:>8.0f} {row['peak']:>5.1f} {row['fdp']:>5.2f} {row['power']:>6.2f}"
        print(f"{name:>22} {found}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(child(sys.argv[2])))
    else:
        main(sys.argv[1:] or [f"{shape}-{truth}" for shape in SHAPES for truth in TRUTHS])
