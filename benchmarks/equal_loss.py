"""How long do simultaneous mirrors train until they predict as well as scikit-learn's perceptron ever does?

Goal: a fifth of the time.
Last answer (2 cores, x86-64, single runs of a tenth of a second to nine): MLPRegressor takes 5.8 to 8.9 times as long
at n = 1000, p = 500, 1.7 to 4.4 times at n = 20,000, p = 500 and 4.7 times at n = 50,000, p = 2000. Not run on a GPU.
How long MLPRegressor may run matters: with --epochs 160 its best at n = 20,000 takes 25 times as long as ours.

Both are perceptrons of 200 hidden units on (X, cZ), 2p inputs, with minibatches of 128 and Adam's rate 0.002, on a
linear response of 30 features. MLPRegressor runs for some epochs without any penalty, and the epoch of its lowest loss
on 2,000 unseen rows counts. Ours has the adaptive group shrinkage of a fit, and a rate whose schedule is as long as the
run: runs of more and more steps are tried, each a quarter longer than the last, and the first counts that is as good,
or as long.
Losses are shares of the variance of y. With n = 1000 and p = 2000 or more MLPRegressor never predicts better than the
mean of y, so such cases say little (4.3 times at p = 2000, 1.7 at p = 10,000).

Run: python benchmarks/equal_loss.py [--device cuda] [--cases 1000x500 ...] [--epochs 40]
"""

import argparse
import warnings

import numpy as np
import torch
from _clock import default_device, seconds
from simultaneous import WIDTH, perceptrons, shape
from sklearn.neural_network import MLPRegressor

from neuralmirror._internal.standardised import standardised
from neuralmirror.learner.training import Recipe, squared_loss, train
from neuralmirror.simulation.designs import Simulation

UNSEEN = 2000


def data(n, p):
    """Inputs (n + UNSEEN, 2p) in the order X_1, Z_1, X_2, ..., and the response."""
    x, y, _ = Simulation(n=n + UNSEEN, p=p).sample(0)
    own = np.stack([standardised(x), np.random.default_rng(1).standard_normal(x.shape)], axis=2)
    return own.reshape(len(x), -1).astype(np.float32), standardised(y).astype(np.float32)


def scikit_learn(own, y, epochs):
    """Steps, seconds and loss at the lowest loss."""
    model = MLPRegressor(hidden_layer_sizes=(WIDTH,), batch_size=128, alpha=0, learning_rate_init=2e-3, random_state=0)
    spent, losses = [], []
    for _ in range(epochs):
        spent.append(seconds(lambda: model.partial_fit(own[:-UNSEEN], y[:-UNSEEN])))
        losses.append(unseen_loss(model.predict(own[-UNSEEN:]), y))
    best = int(np.argmin(losses))
    return (best + 1) * -(-(len(y) - UNSEEN) // 128), sum(spent[: best + 1]), losses[best]


def ours(own, y, steps, device):
    """Seconds and loss of a run."""
    recipe = Recipe(steps=steps, shrinkage=1.6, adapt_power=0.5)
    start, seen, targets = perceptrons(own[:-UNSEEN], y[:-UNSEEN], device)
    fitted = []
    took = seconds(
        lambda: fitted.append(train(start, seen, targets, squared_loss, recipe, np.random.default_rng(1))[0]), device
    )
    rows = torch.from_numpy(own[-UNSEEN:]).to(device)
    with torch.no_grad():
        outputs = fitted[0].perceptron(rows[:, :0], rows[None])[0, :, 0]
    return took, unseen_loss(outputs.cpu().numpy(), y)


def unseen_loss(outputs, y):
    return float(np.square(outputs - y[-UNSEEN:]).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--cases", nargs="*", default=["1000x500", "20000x500", "50000x2000"])
    parser.add_argument("--epochs", type=int, default=40, help="of MLPRegressor with 1000 rows; a quarter with more")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'n x p':>12} {'':14} {'steps':>7} {'loss':>6} {'seconds':>8} {'ratio':>6}")
    for case in options.cases:
        own, y = data(*shape(case))
        ours(own, y, 8, options.device)  # libraries and devices wake up
        epochs = options.epochs if shape(case)[0] <= 1000 else max(1, options.epochs // 4)
        theirs, spent, bound = scikit_learn(own, y, epochs)
        print(f"{case:>12} {'scikit-learn':14} {theirs:>7} {bound:>6.3f} {spent:>8.2f}", flush=True)
        steps, took, loss = 8, 0.0, np.inf
        while loss > bound and took < spent:
            steps += steps // 4
            took, loss = ours(own, y, steps, options.device)
        print(f"{case:>12} {'ours':14} {steps:>7} {loss:>6.3f} {took:>8.2f} {spent / took:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
