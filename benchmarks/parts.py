"""For which truths, and from how many rows on, do networks and trees predict unseen rows better than the sparse part?

Last answer: the table "By rows" in docs/decisions/4-networks.md.
Run: python benchmarks/parts.py [--samples 3] [--rows 300 1000 3000 10000] [truth ...]

p = 100, 20 relevant features, AR(.3), nine tenths signal. "Weight" is what a part counts, and "adds" the share of the
outcome that it explains beyond those before it, on rows that nothing fitted has seen; FDP and power at level .1. Means
over samples.
"""

import argparse
import warnings

import numpy as np

from neuralmirror import NeuralGaussianMirror
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.simulation.designs import Simulation

TRUTHS = ("linear", "sine3", "ratio", "sine-of-sum", "gate", "trees", "tanh-units", "perceptron")
ROWS = (300, 1000, 3000, 10_000)
PARTS = ("network", "trees")


def measured(truth, n, seed):
    """FDP and power, the weights of networks and trees, and what each adds."""
    x, y, relevant = Simulation(n=n, p=100, k=20, design="ar", rho=0.3, link=truth, h2=0.9).sample(seed)
    mirror = NeuralGaussianMirror(random_state=seed).fit(x, y)
    rates = false_discovery_proportion(mirror.support_, relevant), power(mirror.support_, relevant)
    weights = [mirror.part_weights_[part] for part in PARTS]
    return [*rates, *weights, *(mirror.explained_.get(part, 0.0) for part in PARTS)]


def main(truths, rows, samples):
    warnings.simplefilter("ignore")
    print(
        "| truth | rows | FDR / power | network: weight | adds | trees: weight | adds |\n|---|---|---|---|---|---|---|"
    )
    for truth in truths:
        for n in rows:
            fdp, share, network, trees, by_network, by_trees = np.mean(
                [measured(truth, n, seed) for seed in range(samples)], axis=0
            )
            found = f"{fdp:.2f} / {share:.2f} | {network:.2f} | {by_network:.3f} | {trees:.2f} | {by_trees:.3f} |"
            print(f"| {truth} | {n:,} | {found}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("truths", nargs="*", default=[], metavar="truth", help=", ".join(TRUTHS))
    parser.add_argument("--rows", nargs="*", type=int, default=ROWS)
    parser.add_argument("--samples", type=int, default=3)
    given = parser.parse_args()
    main(given.truths or TRUTHS, given.rows, given.samples)
