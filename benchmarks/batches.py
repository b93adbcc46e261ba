"""How much faster are repeated draws and replicates as one batch than one by one?

Goal: 5 times on a GPU, 1.5 times on 2 cores.
Last answer (2 cores, x86-64, two runs): training 2.0 to 2.1 times, repeated draws 1.3 to 1.5, replicates 1.2 to 1.4 as
one batch and 1.6 to 1.9 on the cores at p = 50; 1.9, 1.1 to 1.2, 0.9 to 1.1 and 1.1 to 1.2 at p = 200. A single fit
keeps both cores busy with products by now, and more networks do not speed those up. One H200, p = 200: 7.7 to 8.2, 5.4
to 6.1 and 4.9 to 5.3 with 12 draws; 22, 8.5 to 8.9 and 7.5 to 7.7 with 50.

Repeated draws are `n_repeats` of one data set, replicates are data sets of one shape: as one batch (`fit_together`),
and on a CPU also as one process per core, which is how `trial` and `reproduce` run them there. All are whole fits;
`training` is the training of as many networks alone. One by one a few are timed and scaled up.

Run: python benchmarks/batches.py [--device cuda] [-p 50 200] [--draws 6] [--alone 3] [--steps 2500] [--jobs 2]
"""

import argparse

import numpy as np
import torch
from _clock import default_device, seconds
from joblib import Parallel, delayed

from neuralmirror import NeuralGaussianMirror
from neuralmirror.learner.networks import Networks, initial_layers
from neuralmirror.learner.training import Inputs, Recipe, squared_loss, train
from neuralmirror.mirror.estimator import fit_together
from neuralmirror.simulation.designs import Simulation
from neuralmirror.studies.scenarios import available_cores

WIDTH = 200


def training_seconds(p, options):
    """One by one and together, for networks of 2p inputs each with data of its own."""
    rng, n, draws, device = np.random.default_rng(0), options.n, options.draws, options.device
    own = torch.from_numpy(rng.standard_normal((draws, n, 2 * p), dtype=np.float32)).to(device)
    groups = torch.arange(p, device=device).repeat_interleave(2)
    inputs = Inputs(torch.empty(n, 0, device=device), own, groups[:0], groups)
    layers = [(w.repeat(draws, 1, 1), b.repeat(draws, 1)) for w, b in initial_layers(rng, (WIDTH,), 1)]
    start = Networks(
        torch.empty(0, draws, WIDTH),
        torch.from_numpy(rng.standard_normal((draws, 2 * p, WIDTH), dtype=np.float32)) / (2 * p) ** 0.5,
        torch.zeros(draws, WIDTH),
        layers,
        torch.empty(draws, 0, 1),
        torch.zeros(draws, 2 * p, 1),
        torch.relu,
    ).to(device)
    targets = (own[:, :, :10:2] * own[:, :, 2:12:2]).sum(dim=2, keepdim=True)
    recipe = Recipe(steps=options.steps, shrinkage=1.6, adapt_power=0.5)

    def run(part):
        networks = start.select(part)
        train(networks, inputs.networks(part), targets[part], squared_loss, recipe, np.random.default_rng(0))

    every = torch.arange(options.draws, device=device)
    run(every[:1])
    one = seconds(lambda: run(every[:1]), device, options.alone)
    return one * options.draws, seconds(lambda: run(every), device)


def mirror(options, seed=0, **changes):
    settings = {"steps": options.steps, "n_jobs": options.jobs, "device": options.device, **changes}
    return NeuralGaussianMirror(random_state=seed, progress=False, **settings)


def fit_seconds(p, options):
    """Of fits one by one, and of each way to do them together."""
    draws, data = options.draws, [sample(p, options, seed) for seed in range(options.draws)]

    def separately():
        for seed, (x, y) in enumerate(data[: options.alone]):
            mirror(options, seed).fit(x, y)

    def on_the_cores():
        cores(delayed(mirror(options, seed).fit)(*one) for seed, one in enumerate(data))

    ways = {
        "repeated draws": lambda: mirror(options, n_repeats=draws).fit(*data[0]),
        "replicates": lambda: fit_together([mirror(options, seed) for seed in range(draws)], data),
    }
    if options.device == "cpu":
        ways["on the cores"] = on_the_cores
        cores = Parallel(n_jobs=available_cores())
        cores([delayed(mirror)(options)] * available_cores())  # processes start
    mirror(options, steps=10).fit(*data[0])  # libraries and devices wake up
    alone = seconds(separately, options.device) / options.alone * draws
    return alone, {name: seconds(way, options.device) for name, way in ways.items()}


def sample(p, options, seed):
    return Simulation(n=options.n, p=p, k=min(30, p // 4)).sample(seed)[:2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default=default_device())
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("-p", type=int, nargs="*", default=[50, 200])
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--alone", type=int, default=3, help="fits timed one by one")
    parser.add_argument("--steps", type=int, default=Recipe().steps)
    parser.add_argument("--jobs", type=int, default=None, help="workers of the sparse part")
    options = parser.parse_args()
    options.alone = min(options.alone, options.draws)
    print(f"{'p':>6} {'':16} {'one by one':>11} {'together':>9} {'ratio':>6}")

    def show(p, name, alone, together):
        print(f"{p:>6} {name:16} {alone:>11.2f} {together:>9.2f} {alone / together:>6.1f}", flush=True)

    for p in options.p:
        show(p, "training", *training_seconds(p, options))
        alone, together = fit_seconds(p, options)
        for name, took in together.items():
            show(p, name, alone, took)


if __name__ == "__main__":
    main()
