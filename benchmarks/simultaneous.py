"""How fast is the training of simultaneous mirrors, beside scikit-learn's, beside LassoNet's, and beside the machine?

Goal: 5 times faster than both at equal epochs, and within twice the floor given by FLOPs and bytes.
Last answer (2 cores, x86-64): an epoch of MLPRegressor takes 1.5 to 2.0 times ours at p = 500, 2.7 to 4.0 at p = 2000
and 2.3 to 2.9 at p = 10,000 with n = 1000, and 2.0 to 2.8 with n = 50,000, p = 2000; LassoNet's 7.1, 10.9, 7.6 and (one
core) 6.1. Over the floor 1.5 to 2.5, 1.2 to 1.8, 1.2 to 1.6 and 1.7 to 1.9; MLPRegressor 2.7 to 5.2, so hardly anything
on this machine could be 5 times faster (equal losses instead of epochs: equal_loss.py). Peak 0.39, 0.43, 0.61 and 1.21
GB. A default fit at p = 500: 15 s and 0.5 GB. One H200 beside 16 cores: MLPRegressor 29, 135, 326 and 104 times ours,
LassoNet 27, 25, 16 and 25 (300, 300, 25 and 1 epochs); over the floor 55, 17, 6 and 20, launches and the recording of
the graph. Peak 0.14, 0.17, 0.32 and 0.94 GB of the GPU.

One perceptron of 200 hidden units on (X, cZ), 2p inputs, in minibatches of 128: ours with adaptive group shrinkage,
MLPRegressor with neither, LassoNet (where it is installed) with its own at one penalty. Every case runs in a process of
its own, for its peak memory, which includes the data, after an epoch that is not counted. Floor of a step: 4·128·2p·200
FLOPs of the first layer (forward, and backward to its weights) at the rate of a large product, plus 32 bytes a weight
(Adam reads weight, gradient and two moments and writes all but the gradient, which the product before has written) at
the rate of a copy.

Run: python benchmarks/simultaneous.py [--device cuda] [--cases 1000x500 ...] [--epochs 25] [--fits 1000x500 1000x2000]
"""

import argparse
import importlib.util
import json
import warnings

import numpy as np
import torch
from _clock import copy_rate, default_device, in_child, peak_gigabytes, product_rate, seconds

from neuralmirror import NeuralGaussianMirror
from neuralmirror.learner.networks import Networks, initial_layers
from neuralmirror.learner.training import Inputs, Recipe, squared_loss, train
from neuralmirror.simulation.designs import Simulation

CASES = ["1000x500", "1000x2000", "1000x10000", "50000x2000"]
WIDTH = 200


def mirrored(n, p):
    """X and noise side by side, in the order X_1, Z_1, X_2, ..., and a response of products."""
    rng = np.random.default_rng(0)
    own = rng.standard_normal((n, 2 * p), dtype=np.float32)
    return own, (own[:, :20:4] * own[:, 2:22:4]).sum(axis=1) + rng.standard_normal(n, dtype=np.float32)


def perceptrons(own, y, device, count=1):
    """Some networks of equal inputs, what they see, and their targets."""
    (n, inputs), rng = own.shape, np.random.default_rng(1)
    rows = torch.from_numpy(rng.standard_normal((count, inputs, WIDTH), dtype=np.float32)) / inputs**0.5
    layers = [(weight.repeat(count, 1, 1), bias.repeat(count, 1)) for weight, bias in initial_layers(rng, (WIDTH,), 1)]
    nothing = torch.empty(count, 0, 1), torch.zeros(count, inputs, 1)
    start = Networks(torch.empty(0, count, WIDTH), rows, torch.zeros(count, WIDTH), layers, *nothing, torch.relu)
    groups = torch.arange(inputs // 2, device=device).repeat_interleave(2)
    each = torch.from_numpy(own).to(device)[None]
    each = each if count == 1 else each.repeat(count, 1, 1)  # which copies
    seen = Inputs(torch.empty(n, 0, device=device), each, groups[:0], groups)
    return start.to(device), seen, torch.from_numpy(y).to(device).repeat(count, 1)[:, :, None]


def ours(own, y, epochs, device):
    """Our loop on one network."""
    recipe = Recipe(steps=-(-epochs * len(own) // 128), shrinkage=1.6, adapt_power=0.5)
    start, seen, targets = perceptrons(own, y, device)
    return seconds(lambda: train(start, seen, targets, squared_loss, recipe, np.random.default_rng(1)), device) / epochs


def scikit_learn(own, y, epochs, device):
    from sklearn.neural_network import MLPRegressor

    model = MLPRegressor(
        hidden_layer_sizes=(WIDTH,),
        batch_size=128,
        max_iter=epochs,
        tol=0,
        n_iter_no_change=epochs,
        alpha=0,
        learning_rate_init=2e-3,
    )
    return seconds(lambda: model.fit(own, y)) / epochs


def lassonet(own, y, epochs, device):
    """The epochs of the dense start and of one penalty together. It leaves out the rows of an incomplete minibatch."""
    from lassonet import LassoNetRegressor

    half = (max(1, epochs // 2), max(1, epochs // 2))
    model = LassoNetRegressor(
        hidden_dims=(WIDTH,),
        batch_size=128,
        n_iters=half,
        patience=None,
        lambda_seq=[1.0],
        val_size=0.0,
        backtrack=False,
        torch_seed=0,
        device=device,
    )
    took = seconds(lambda: model.path(own, y, X_val=own[:1], y_val=y[:1], return_state_dicts=False), device)
    return took / sum(half) * len(own) / (len(own) // 128 * 128)


def default_fit(n, p, device):
    """A whole fit with all its choices: sparse part, judges, members."""
    x, y, _ = Simulation(n=n, p=p).sample(0)
    return seconds(lambda: NeuralGaussianMirror(random_state=0, device=device).fit(x, y), device)


def floor(n, p, rates):
    """Seconds of an epoch, from FLOPs and from bytes."""
    weights = 2 * p * WIDTH
    return n / 128 * (4 * 128 * weights / rates[0] + 32 * weights / rates[1])


LOOPS = {"ours": ours, "scikit-learn": scikit_learn, "lassonet": lassonet}


def child(what, case, epochs, device):
    n, p = shape(case)
    if what == "fit":
        return {"seconds": default_fit(n, p, device), "peak": peak_gigabytes(device)}
    loop, data = LOOPS[what], mirrored(n, p)
    loop(*data, 1, device)  # libraries and devices wake up
    return {"seconds": loop(*data, epochs, device), "peak": peak_gigabytes(device)}


def shape(case):
    return tuple(map(int, case.split("x")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--epochs", type=int, default=25, help="of 1000 rows; one of more")
    parser.add_argument("--fits", nargs="*", default=["1000x500"], help="cases of a whole fit at the default settings")
    parser.add_argument("--one", nargs=2, metavar=("WHAT", "CASE"), help="measure one case and print JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        print(json.dumps(child(*options.one, options.epochs, options.device)))
        return
    rates = product_rate(options.device), copy_rate(options.device)
    print(f"a large product {rates[0] / 1e9:.0f} GFLOP/s, a copy {rates[1] / 1e9:.0f} GB/s")
    names = [name for name in LOOPS if name != "lassonet" or importlib.util.find_spec("lassonet")]
    print(f"{'n x p':>12} {'':14} {'s an epoch':>11} {'ratio':>6} {'over floor':>11} {'peak GB':>8}")
    for case in options.cases:
        epochs, least = options.epochs if shape(case)[0] <= 1000 else 1, floor(*shape(case), rates)
        common = "--device", options.device, "--epochs", epochs
        rows = [in_child(__file__, *common, "--one", name, case) for name in names]
        for name, row in zip(names, rows, strict=True):
            took, ratio = row["seconds"], row["seconds"] / rows[0]["seconds"]
            numbers = f"{took:>11.4f} {ratio:>6.1f} {took / least:>11.1f} {row['peak']:>8.2f}"
            print(f"{case:>12} {name:14} {numbers}", flush=True)
    for case in options.fits:
        row = in_child(__file__, "--device", options.device, "--one", "fit", case)
        print(f"{case:>12} a default fit: {row['seconds']:.1f} s, peak {row['peak']:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
