"""How much faster are repeated draws and replicates as one batch than one by one?

Goal: 5 times on a GPU, 1.5 times on 2 cores.
Last answer (2 cores, x86-64; 6 draws, 300 steps): training 2.1 to 2.5, repeated draws 1.3 to 1.5, replicates 1.0 to 1.9
at p = 50; 1.9, 1.3 and 1.1 at p = 200: whole fits are limited by the sparse part, which is fitted draw by draw. One
H200, 12 draws and all 2,500 steps, p = 200: 8.2, 7.4 and 5.2, before lassos were recorded as graphs.

Repeated draws are `n_repeats` of one data set, replicates are data sets of one shape (`fit_together`). Both are whole
fits at the default settings but for the number of steps; `training` is the training of as many networks alone.

Run: python benchmarks/batches.py [--device cuda] [-p 50 200] [--draws 6] [--steps 300] [--jobs 2]
"""

import argparse

import numpy as np
import torch
from _clock import default_device, seconds

from neuralmirror import NeuralGaussianMirror
from neuralmirror.designs import Simulation
from neuralmirror.networks import Networks, initial_layers
from neuralmirror.selectors import fit_together
from neuralmirror.training import Inputs, Recipe, squared_loss, train

WIDTH = 200


def training_seconds(n, p, draws, steps, device):
    """One by one and together, for networks of 2p inputs each with data of its own."""
    rng = np.random.default_rng(0)
    own = torch.from_numpy(rng.standard_normal((draws, n, 2 * p), dtype=np.float32)).to(device)
    groups = torch.arange(p, device=device).repeat_interleave(2)
    inputs = Inputs(torch.empty(n, 0, device=device), own, groups[:0], groups)
    layers = [(w.repeat(draws, 1, 1), b.repeat(draws, 1)) for w, b in initial_layers(rng, (WIDTH,), 1)]
    start = Networks(
        torch.empty(0, draws, WIDTH),
        torch.from_numpy(rng.standard_normal((draws, 2 * p, WIDTH), dtype=np.float32)) / (2 * p) ** 0.5,
        torch.zeros(draws, WIDTH), layers, torch.empty(draws, 0, 1), torch.zeros(draws, 2 * p, 1), torch.relu,
    ).to(device)  # fmt: skip
    targets = (own[:, :, :10:2] * own[:, :, 2:12:2]).sum(dim=2, keepdim=True)
    recipe = Recipe(steps=steps, shrinkage=1.6, adapt_power=0.5)

    def run(part):
        networks = start.select(part)
        train(networks, inputs.networks(part), targets[part], squared_loss, recipe, np.random.default_rng(0))

    every = torch.arange(draws, device=device)
    run(every[:1])
    return seconds(lambda: [run(part) for part in every.split(1)], device), seconds(lambda: run(every), device)


def fit_seconds(n, p, draws, settings, device):
    """One by one and together, of repeated draws and of replicates."""
    data = [Simulation(n=n, p=p, k=min(30, p // 4)).sample(seed)[:2] for seed in range(draws)]

    def mirror(seed=0, **changes):
        return NeuralGaussianMirror(random_state=seed, device=device, progress=False, **settings, **changes)

    def separately(samples):
        for seed, (x, y) in enumerate(samples):
            mirror(seed).fit(x, y)

    repeats = (
        seconds(lambda: separately(data[:1] * draws), device),
        seconds(lambda: mirror(n_repeats=draws).fit(*data[0]), device),
    )
    replicates = (
        seconds(lambda: separately(data), device),
        seconds(lambda: fit_together([mirror(seed) for seed in range(draws)], data), device),
    )
    return repeats, replicates


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default=default_device())
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("-p", type=int, nargs="*", default=[50, 200])
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=None, help="threads of the sparse part")
    options = parser.parse_args()
    settings = {"steps": options.steps, "n_jobs": options.jobs}
    print(f"{'p':>6} {'':16} {'one by one':>11} {'together':>9} {'ratio':>6}")
    for p in options.p:
        training = training_seconds(options.n, p, options.draws, options.steps, options.device)
        repeats, replicates = fit_seconds(options.n, p, options.draws, settings, options.device)
        for name, pair in (("training", training), ("repeated draws", repeats), ("replicates", replicates)):
            alone, together = pair
            print(f"{p:>6} {name:16} {alone:>11.2f} {together:>9.2f} {alone / together:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
