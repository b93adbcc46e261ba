"""How many first-layer rows does the shrinkage empty, and what would products without them save?

Last answer (500 features, any machine): none before the weights adapt at 40% of the steps; then 40% at shrinkage 1.6
and 89% at 3.2. Forward products without them save 7% and 25% of all FLOPs; knowing beforehand which stay empty, 5% and
44%.

Individual mirrors of a response of products. A row that is empty takes no part in the forward product, but its gradient
decides whether it comes back, so leaving it out of the backward product too is exact only if it stays empty for good.

Run: python benchmarks/empty_rows.py [-p 500] [--networks 4] [--shrinkage 1.6] [--steps 2500]
"""

import argparse

import numpy as np
import torch

from neuralmirror._internal.standardised import standardised
from neuralmirror.learner import training
from neuralmirror.learner.networks import Networks, initial_layers
from neuralmirror.simulation.designs import Simulation

WIDTH = 200


def problem(n, p, networks):
    """Inputs, targets and fresh networks of the first features."""
    rng = np.random.default_rng(0)
    x, y, _ = Simulation(link="products", n=n, p=p, k=20, h2=0.9).sample(0)
    shared = torch.from_numpy(standardised(x)).float()
    noise = torch.from_numpy(rng.standard_normal((networks, n), dtype=np.float32))
    held = torch.arange(networks)
    own = torch.stack([shared[:, held].T, noise], dim=2)
    inputs = training.Inputs(shared, own, torch.arange(p), torch.full((2,), p), held=held)
    rows = torch.from_numpy(rng.standard_normal((p + 2, WIDTH), dtype=np.float32)) / (p + 1) ** 0.5
    start = rows[:p, None].repeat(1, networks, 1)
    start[held, held] = 0
    layers = [(w.repeat(networks, 1, 1), b.repeat(networks, 1)) for w, b in initial_layers(rng, (WIDTH,), 1)]
    nothing = torch.zeros(networks, p, 1), torch.zeros(networks, 2, 1)
    pairs = rows[p:].repeat(networks, 1, 1)
    fresh = Networks(start, pairs, torch.zeros(networks, WIDTH), layers, *nothing, torch.relu)
    return fresh, inputs, torch.from_numpy(standardised(y[:, None])).float()[None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("-p", type=int, default=500)
    parser.add_argument("--networks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--shrinkage", type=float, nargs="*", default=[1.6, 3.2])
    options = parser.parse_args()
    print(f"{'shrinkage':>9} {'step':>6} {'empty':>6} {'in all networks':>16} {'for good':>9}")
    for shrinkage in options.shrinkage:
        networks, inputs, targets = problem(options.n, options.p, options.networks)
        recipe = training.Recipe(steps=options.steps, shrinkage=shrinkage, adapt_power=0.5)
        alive = []

        def look(_, networks=networks, alive=alive):
            alive.append(networks.shared.detach().abs().amax(dim=2).numpy() > 0)

        training.train(networks, inputs, targets, training.squared_loss, recipe, np.random.default_rng(0), tick=look)
        filled = np.stack(alive)  # (steps, p, networks)
        later = np.logical_or.accumulate(filled[::-1])[::-1]
        for step in np.linspace(0.2, 0.99, 7) * options.steps:
            now, ever = filled[int(step)], later[int(step)]
            shares = f"{1 - now.mean():>6.2f} {1 - now.any(axis=1).mean():>16.2f} {1 - ever.mean():>9.2f}"
            print(f"{shrinkage:>9} {int(step):>6} {shares}", flush=True)
        forward, both = 1 - filled.any(axis=2).mean(), 1 - later.mean()
        print(f"saved FLOPs: {forward / 2:.0%} in the forward product, {both:.0%} if rows left when empty for good")


if __name__ == "__main__":
    main()
