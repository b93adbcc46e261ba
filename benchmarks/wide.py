"""Does a wide table fit into minutes and memory, and what is found there?

Goal on 2 cores, n = 1000: p = 50,000 within 10 minutes and 6 GB. Last answer: 4 minutes, 4.3 GB; 5.2 GB with --file.
Run: python benchmarks/wide.py [-p 50000] [design ...]; with --file through `neuralmirror select` on an .npz file

Expression-like values in single precision: 200 modules of correlated columns ("modules"), fewer and tighter ones
("tight"), rows of unequal depth on a scale of counts ("counts"). Thirty relevant columns, noise of 0.6 of the signal's
standard deviation.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _clock import in_child, peak_gigabytes

from neuralmirror import NeuralGaussianMirror
from neuralmirror.selection import false_discovery_proportion, power

N, RELEVANT = 1000, 30


def modules(rng, p, count=200, along=0.7):
    """Columns that share a factor with the others of their module."""
    x = rng.standard_normal((N, p), dtype=np.float32)
    factors = rng.standard_normal((N, count), dtype=np.float32)
    x *= (1 - along**2) ** 0.5
    for module, columns in enumerate(np.array_split(np.arange(p), count)):
        x[:, columns] += along * factors[:, [module]]
    return x


def tight(rng, p):
    return modules(rng, p, 50, 0.85)


def counts(rng, p):
    """Logarithms of counts about the same modules."""
    rates = np.exp(0.8 * modules(rng, p) + 1.5 + rng.normal(0, 0.3, (N, 1)).astype(np.float32))
    return np.log1p(rng.poisson(rates)).astype(np.float32)


def lines(rng, x):
    return x @ rng.choice([-1.0, 1.0], RELEVANT)


def curves(rng, x):
    """A third of the columns along lines, a third squared, a third in pairs."""
    third = RELEVANT // 3
    a, b, c = x[:, :third], x[:, third : 2 * third], x[:, 2 * third :]
    return 1.5 * a.sum(axis=1) + (b**2).sum(axis=1) + 1.5 * (c[:, ::2] * c[:, 1::2]).sum(axis=1)


DESIGNS = {
    "modules-lines": (modules, lines),
    "tight-lines": (tight, lines),
    "counts-lines": (counts, lines),
    "modules-curves": (modules, curves),
}


def data(design, p, seed):
    """X (n, p), y and which columns are relevant."""
    features, link = DESIGNS[design]
    rng = np.random.default_rng(seed)
    x = features(rng, p)
    relevant = rng.choice(p, RELEVANT, replace=False)
    chosen = x[:, relevant].astype(float)
    signal = link(rng, (chosen - chosen.mean(axis=0)) / chosen.std(axis=0))
    return x, signal + 0.6 * rng.standard_normal(N) * signal.std(), np.isin(np.arange(p), relevant)


def selected_by_command(x, y):
    """The columns that `neuralmirror select` names, and the seconds and memory of its process."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "table.npz", X=x, y=y)
        out = Path(folder) / "out"
        command = [sys.executable, "-m", "neuralmirror", "select", f"{folder}/table.npz", "--target", "y", "--quiet"]
        subprocess.run([*command, "--out", str(out)], check=True)
        found = json.loads((out / "run.json").read_text())["result"]["features"]
    support = np.zeros(x.shape[1], dtype=bool)
    support[[int(one["feature"].removeprefix("x")) - 1 for one in found]] = True
    return support


def child(design, p, seed, by_command):
    """One fit in a process of its own."""
    warnings.simplefilter("ignore")
    x, y, truth = data(design, p, seed)
    started = time.perf_counter()
    support = selected_by_command(x, y) if by_command else NeuralGaussianMirror(random_state=0).fit(x, y).support_
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20 if by_command else peak_gigabytes()
    rates = {"fdp": false_discovery_proportion(support, truth), "power": power(support, truth)}
    return {"seconds": seconds, "peak": peak, **rates}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("designs", nargs="*", default=[], metavar="design", help=", ".join(DESIGNS))
    parser.add_argument("-p", type=int, default=2000, help="columns")
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--file", action="store_true", help="through the command line")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(child(options.designs[0], options.p, options.seed, options.file)))
        return
    print(f"{'design':>16} {'p':>6} {'seconds':>8} {'GB':>5} {'FDP':>5} {'power':>6}")
    for design in options.designs or list(DESIGNS):
        flags = ["-p", options.p, "--seed", options.seed, *(["--file"] if options.file else [])]
        row = in_child(__file__, design, "--one", *flags)
        found = f"{row['seconds']:>8.0f} {row['peak']:>5.1f} {row['fdp']:>5.2f} {row['power']:>6.2f}"
        print(f"{design:>16} {options.p:>6} {found}", flush=True)


if __name__ == "__main__":
    main()
