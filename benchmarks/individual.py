"""How much faster are individual mirrors trained together than as one PyTorch model per feature in a loop?

Goal: 10 times on 2 cores and 100 times on an H200, at equal results.
Last answer (2 cores, x86-64): a step 1.9 to 3.8 times in six runs, 0.28 to 0.34 s for 500 networks, weights equal to
5e-8, 40 to 51% of the rate of a large product. The loop reaches a fifth of that rate, so tenfold needs fewer FLOPs: see
docs/performance.md. A whole fit from the common start takes 115 to 143 s, the loop's 2,500 steps 12 to 16 times that;
with products, not believed, 41 to 45 s. One H200: a step 610 to 1190 times, 0.7 to 1.3 ms, with weights that TF32 moves
by 2e-3 to 3e-3 of their size; a whole fit with n = 1000 1.6 s, with products 2.4 s, with n = 2000 2.4 and 2.8 to 3.2 s
(goal: 3 s), the loop 620 to 1270 times that; at p = 2000 4.7 to 4.9 s, with products 6.7 to 8.4 s (goal: 60 s).

Both train perceptrons of one hidden layer on X_-j and the pair (X_j, cZ_j) with Adam and the adaptive group shrinkage,
from the same weights and on the same minibatches. The loop is timed on a few features and scaled up; that both reach
the same weights is checked on these. The floor is the time of the products alone at the rate of a large one.

The last lines are about the product: the individual scheme starts all networks from a common one and takes a tenth of
the steps (docs/decisions/7-common-start.md). With straight lines as sparse parts its perceptrons are believed, by
default products of features leave them little to learn.

Run: python benchmarks/individual.py [--device cuda] [-p 500] [--steps 60] [--sample 8] [--width 200] [--fits 2000x500]
"""

import argparse
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from _clock import default_device, product_rate, seconds
from torch import nn

from neuralmirror import NeuralGaussianMirror
from neuralmirror.learner.networks import Networks, initial_layers
from neuralmirror.learner.training import Inputs, Recipe, cosine_rates, minibatches, squared_loss, train
from neuralmirror.simulation.designs import Simulation

DEFAULT_STEPS = Recipe().steps


def problem(options):
    """X shared by all networks, each one's pair, and a response of products."""
    rng, (n, p) = np.random.default_rng(0), (options.n, options.p)
    x = torch.from_numpy(rng.standard_normal((n, p), dtype=np.float32)).to(options.device)
    noise = torch.from_numpy(rng.standard_normal((p, n), dtype=np.float32)).to(options.device)
    own = torch.stack([x.T, noise], dim=2)  # (p, n, 2)
    features = torch.arange(p, device=options.device)
    inputs = Inputs(x, own, features, torch.full((2,), p, device=options.device), held=features)
    return inputs, (x[:, :10:2] * x[:, 1:10:2]).sum(dim=1)[None, :, None]


def fresh(options):
    """Networks that differ in the rows of their pairs alone."""
    rng, (p, h) = np.random.default_rng(1), (options.p, options.width)
    rows = torch.from_numpy(rng.standard_normal((p, h), dtype=np.float32)) / (p + 1) ** 0.5
    shared = rows[:, None].repeat(1, p, 1)
    shared[range(p), range(p)] = 0
    own = torch.from_numpy(rng.standard_normal((p, 2, h), dtype=np.float32)) / (p + 1) ** 0.5
    layers = [(weight.repeat(p, 1, 1), bias.repeat(p, 1)) for weight, bias in initial_layers(rng, (h,), 1)]
    nothing = torch.zeros(p, p, 1), torch.zeros(p, 2, 1)
    return Networks(shared, own, torch.zeros(p, h), layers, *nothing, torch.relu).to(options.device)


def one_model(start, j):
    """The j-th network as a module; its inputs are X_-j and then the pair."""
    width, inputs = start.bias.shape[1], len(start.shared) + 1
    model = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, 1)).to(start.bias.device)
    others = torch.cat([start.shared[:j, j], start.shared[j + 1 :, j]])
    with torch.no_grad():
        model[0].weight.copy_(torch.cat([others, start.own[j]]).T)
        model[0].bias.zero_()
        model[2].weight.copy_(start.layers[0][0][j].T)
        model[2].bias.zero_()
    return model


def train_one(model, inputs, targets, j, recipe):
    """What a user would write: a data matrix, Adam, a loop, and the shrinkage after every step."""
    x = torch.cat([inputs.shared[:, :j], inputs.shared[:, j + 1 :], inputs.own[j]], dim=1)
    adam = torch.optim.Adam(model.parameters())
    weight, amounts = model[0].weight, torch.ones(x.shape[1], device=x.device)
    batches = minibatches(len(x), recipe, np.random.default_rng(0))
    for number, (rows, rate) in enumerate(zip(batches, cosine_rates(recipe), strict=True)):
        adam.param_groups[0]["lr"] = float(rate)
        rows = torch.from_numpy(rows).to(x.device)
        loss = (model(x[rows]) - targets[0, rows]).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        with torch.no_grad():
            norms = weight.norm(dim=0)
            weight *= (1 - float(rate) * recipe.shrinkage * amounts / norms.clamp(min=1e-12)).clamp(min=0)
            if number + 1 == round(recipe.adapt_at * recipe.steps):
                norms = weight.norm(dim=0)
                sizes = torch.cat([norms[:-2], norms[-2:].sum()[None].repeat(2)])
                share = sizes / sizes.max()
                amounts = ((0.5 + recipe.adapt_floor) / (share + recipe.adapt_floor)) ** recipe.adapt_power


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default=default_device())
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("-p", type=int, default=500)
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--sample", type=int, default=8, help="features on which the loop is timed")
    parser.add_argument("--fits", nargs="*", default=["2000x500"], help="rows and features of whole fits")
    options = parser.parse_args()
    full = Recipe(steps=options.steps, shrinkage=1.6, adapt_power=0.5)
    short = replace(full, steps=options.steps // 5)
    inputs, targets = problem(options)
    start, sample = fresh(options), range(0, options.p, max(1, options.p // options.sample))

    def together(recipe):
        return train(start.to(options.device), inputs, targets, squared_loss, recipe, np.random.default_rng(0))[0]

    def loop(recipe):
        models = [one_model(start, j) for j in sample]
        for j, model in zip(sample, models, strict=True):
            train_one(model, inputs, targets, j, recipe)
        return torch.stack([model[0].weight.detach()[:, -2:].T for model in models])

    def a_step(work, repeats):
        """Seconds of a step, without what comes before the first."""
        long, brief = (seconds(partial(work, recipe), options.device, repeats) for recipe in (full, short))
        return (long - brief) / (full.steps - short.steps)

    pairs = loop(short)
    difference = float((together(short).own[list(sample)] - pairs).norm() / pairs.norm())
    ours, theirs = a_step(together, 1), a_step(loop, 2) / len(sample) * options.p
    flops = 4 * full.batch_size * (options.p + 2) * options.width * options.p
    rate = product_rate(options.device)
    print(f"one step of {options.p} networks: {ours:.3f} s, in a loop {theirs:.3f} s, ratio {theirs / ours:.1f}")
    print(f"weights of the pairs after {short.steps} steps differ by {difference:.0e} of their size")
    reached = f"{flops / ours / 1e9:.0f} of {rate / 1e9:.0f} GFLOP/s"
    print(f"products: {reached}, {flops / rate / ours:.0%} of what a large one reaches")
    print(f"so {DEFAULT_STEPS} steps take {DEFAULT_STEPS * ours:.0f} s, the loop {DEFAULT_STEPS * theirs:.0f} s")
    for n, p in (map(int, fit.split("x")) for fit in options.fits):
        for skip in ("linear", "auto"):
            took, belief = whole_fit(n, p, skip, options.device)
            against = f", that loop {DEFAULT_STEPS * theirs / took:.0f} times as long" if p == options.p else ""
            print(f"a whole fit of {n} x {p}, skip={skip!r}, belief {belief:.2f}: {took:.1f} s{against}", flush=True)


def whole_fit(n, p, skip, device):
    """Seconds of the individual scheme with sparse parts, judge and common start, and its belief.

    Where sparse parts are straight lines, perceptrons have squares and products to learn.
    """
    x, y, _ = Simulation(link="mixed", n=n, p=p, k=24, h2=0.9).sample(0)
    mirror = NeuralGaussianMirror(scheme="individual", skip=skip, random_state=0, device=device, progress=False)
    return seconds(lambda: mirror.fit(x, y), device), float(mirror.beliefs_[0])


if __name__ == "__main__":
    main()
