"""How near is a training step to the floor of the machine, and what does TF32 save on a GPU?

Last answer (one H200): 50 networks of n = 1000 take 0.31 ms a step at p = 500 and 0.92 ms at p = 2000, 2.4 to 3.2 times
the floor, which is bytes; single precision takes 1.3 to 1.5 times as long. One network takes 0.1 ms to p = 2000 and 0.2
ms at p = 10,000: launches. 2 cores, x86-64: one network 1.6 ms at p = 500, 1.8 times the floor, three quarters of which
are FLOPs.

Simultaneous mirrors with 200 hidden units and shrinkage in minibatches of 128, as in simultaneous.py, whose floor is
taken apart here: FLOPs of the first layer at the rate of a large product (TF32 on a GPU), and 32 bytes a weight at the
rate of a copy. On a CPU there is one precision.

Run: python benchmarks/precision.py [--device cuda] [--cases 1x1000x500 50x1000x500 ...] [--steps 1000]
"""

import argparse

import numpy as np
from _clock import copy_rate, default_device, product_rate, seconds
from simultaneous import WIDTH, mirrored, perceptrons

from neuralmirror.learner.training import Recipe, squared_loss, train

CASES = {
    "cpu": ["1x1000x500", "6x1000x50"],
    "cuda": ["1x1000x500", "50x1000x500", "50x1000x2000", "1x1000x10000", "1x50000x2000"],
}
LOOPS = {"TF32": train, "single": train.__wrapped__}  # the latter without its tensor cores


def step_seconds(case, loop, steps, device):
    """Of a long training less a short one, so that the start does not count."""
    count, n, p = case
    start, seen, targets = perceptrons(*mirrored(n, p), device, count)

    def run(steps):
        recipe = Recipe(steps=steps, shrinkage=1.6, adapt_power=0.5)
        loop(start.to(device), seen, targets, squared_loss, recipe, np.random.default_rng(1))

    run(20)
    short, long = (seconds(lambda steps=steps: run(steps), device, 2) for steps in (20, 20 + steps))
    return (long - short) / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--cases", nargs="*", help="networks x n x p")
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    on_gpu = options.device != "cpu"
    loops = LOOPS if on_gpu else {"single": train}
    steps = options.steps or (1000 if on_gpu else 100)
    flops, copied = product_rate(options.device), copy_rate(options.device)
    print(f"a large product {flops / 1e12:.2f} TFLOP/s, a copy {copied / 1e9:.0f} GB/s; milliseconds of a step:")
    print(f"{'networks x n x p':>18}", *(f"{name:>8}" for name in loops), f"{'FLOPs':>8} {'bytes':>8} {'TFLOP/s':>8}")
    for name in options.cases or CASES["cuda" if on_gpu else "cpu"]:
        case = tuple(map(int, name.split("x")))
        weights = case[0] * 2 * case[2] * WIDTH
        work = 4 * 128 * weights
        took = [step_seconds(case, loop, steps, options.device) for loop in loops.values()]
        shown = [1e3 * value for value in (*took, work / flops, 32 * weights / copied)]
        print(f"{name:>18}", *(f"{value:>8.3f}" for value in shown), f"{work / took[0] / 1e12:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
