"""How long does a genome take, how much memory, and what is found there?

Goals on 2 cores and 12 GB: 5,000 people × 100,000 markers within 10 minutes, 20,000 × 200,000 within an hour. Last
answer: 3 minutes and 1.6 GB, 13 minutes and 4.4 GB; 50,000 × 500,000 on an H200 with 16 cores 6 minutes.
Run: python benchmarks/genome.py [--people 5000] [--markers 100000] [--causal 200] [--device cuda]

Genotypes of 22 chromosomes are mosaics of founders, written to a temporary folder and read from there; a trait has half
of its variance from the causal markers. Time is from opened files to discoveries at three resolutions, level 0.1.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from _clock import default_device, in_child, peak_gigabytes

from neuralmirror import GenomeMirror, open_genotypes, selection
from neuralmirror.simulation.genomes import simulate_genotypes, simulate_trait


def one(arguments):
    """A fit in this process: seconds of its parts, peak memory, and the discoveries of each resolution."""
    with tempfile.TemporaryDirectory() as folder:
        path = simulate_genotypes(arguments.people, arguments.markers, Path(folder) / "genome", arguments.seed)
        genotypes = open_genotypes(path)
        trait = simulate_trait(genotypes, arguments.causal, 0.5, arguments.seed)
        start = time.perf_counter()
        mirror = GenomeMirror(random_state=0, device=arguments.device, progress=False).fit(genotypes, trait.y)
        spent = time.perf_counter() - start
    lines = []
    for number, name in enumerate(mirror.resolutions_):
        first = np.unique(mirror.groups_[number])
        truth = np.isin(first, mirror.groups_[number][np.asarray(trait.causal)])
        found = mirror.group_supports_[number][first]
        rates = selection.false_discovery_proportion(found, truth), selection.power(found, truth)
        lines.append((name, len(first), int(found.sum()), *rates))
    return {"seconds": spent, "parts": mirror.seconds_, "gigabytes": peak_gigabytes(), "found": lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--markers", type=int, default=10_000)
    parser.add_argument("--causal", type=int, default=50)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--one", action="store_true", help="in this process, as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments)))
        return
    options = [f"--{name}={value}" for name, value in vars(arguments).items() if name != "one"]
    answer = in_child(__file__, "--one", *options)
    parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in answer["parts"].items())
    print(
        f"{arguments.people} × {arguments.markers}: {answer['seconds']:.0f} s ({parts}), {answer['gigabytes']:.1f} GB"
    )
    for name, groups, found, fdp, power in answer["found"]:
        print(f"  at {name}: {found} of {groups} groups discovered, FDP {fdp:.2f}, power {power:.2f}")


if __name__ == "__main__":
    main()
