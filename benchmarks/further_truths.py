"""What becomes of truths that no scenario of the trials has, and that no constant was chosen on?

n = 2000, p = 100, 20 relevant features (18 or 19 where a truth needs that), AR(.3), nine tenths signal, level .1.
Last answer: see the section on further truths in docs/results/trials.md.
Run: python benchmarks/further_truths.py [--samples 3] [name ...]

Beside the default stands a forest on knockoffs, which anyone can write in an afternoon. Figures are means over samples.
"""

import argparse
import warnings

import numpy as np
from _clock import seconds

from neuralmirror import ModelXKnockoffs, NeuralGaussianMirror
from neuralmirror.selection import false_discovery_proportion, power

N, P, K, RHO, H2, FDR = 2000, 100, 20, 0.3, 0.9, 0.1


def signed(rng, count):
    """±Uniform(.5, 1.5)."""
    return rng.choice([-1.0, 1.0], count) * rng.uniform(0.5, 1.5, count)


def halves(x):
    return x[:, ::2], x[:, 1::2]


def pairs(function):
    """Σ β f(a, b) over the disjoint pairs."""
    return lambda rng, x: function(*halves(x)) @ signed(rng, x.shape[1] // 2)


def triples(function):
    """Σ β f(a, b, c) over the disjoint triples."""
    return lambda rng, x: function(x[:, ::3], x[:, 1::3], x[:, 2::3]) @ signed(rng, x.shape[1] // 3)


def smooth(rng, x, each):
    """Σ of random smooth functions of `each` features: 60 random waves."""
    total = np.zeros(len(x))
    for first in range(0, x.shape[1], each):
        inside = x[:, first : first + each] @ rng.normal(0, 1.5, (each, 60)) + rng.uniform(0, 2 * np.pi, 60)
        total += np.cos(inside) @ rng.standard_normal(60)
    return total


def quadratic_form(rng, x):
    """A quadratic form of rank 4 in all features."""
    return (x @ rng.standard_normal((x.shape[1], 4))) ** 2 @ [1, 1, -1, -1]


def relu_layers(rng, x):
    """Two hidden layers of 32 units."""
    for width in (x.shape[1], 32):
        x = np.maximum(x @ rng.normal(0, (2 / width) ** 0.5, (width, 32)), 0)
    return x @ rng.standard_normal(32)


def relu_units(rng, x):
    """24 units of four features each."""
    chosen = np.concatenate([rng.permutation(x.shape[1]) for _ in range(5)])[:96].reshape(24, 4)
    inside = (x[:, chosen] * rng.standard_normal((24, 4))).sum(axis=2) + 0.5 * rng.standard_normal(24)
    return np.maximum(inside, 0) @ rng.standard_normal(24)


def deep_trees(rng, x):
    """20 trees of depth 4."""
    total = np.zeros(len(x))
    for _ in range(20):
        asked, bounds, node = rng.permutation(x.shape[1])[:15], rng.normal(0, 0.5, 15), np.zeros(len(x), dtype=int)
        for _ in range(4):
            node = 2 * node + 1 + (x[np.arange(len(x)), asked[node]] > bounds[node])
        total += rng.standard_normal(16)[node - 15]
    return total


def index(function):
    """A function of one line in all features, of variance 1 where these are independent."""

    def truth(rng, x):
        slopes = signed(rng, x.shape[1])
        return function(x @ slopes / np.linalg.norm(slopes))

    return truth


def ridges(rng, x):
    """Three waves along lines in all features."""
    slopes = rng.normal(0, 1.5 / x.shape[1] ** 0.5, (x.shape[1], 3))
    return np.cos(x @ slopes + rng.uniform(0, 3, 3)).sum(axis=1)


def tanh_layers(rng, x):
    """Two hidden layers of 32 units."""
    for width in (x.shape[1], 32):
        x = np.tanh(x @ rng.normal(0, (2 / width) ** 0.5, (width, 32)) + 0.3 * rng.standard_normal(32))
    return x @ rng.standard_normal(32)


def fours(function):
    """Σ β f(a, b, c, d) over disjoint fours."""
    return lambda rng, x: function(x[:, ::4], x[:, 1::4], x[:, 2::4], x[:, 3::4]) @ signed(rng, x.shape[1] // 4)


def ones(function):
    """Σ β f(a) over the features."""
    return lambda rng, x: function(x) @ signed(rng, x.shape[1])


def switch(rng, x):
    """The sign of one feature chooses which half of the others acts."""
    one, other = np.split(np.arange(1, x.shape[1]), 2)
    return np.where(x[:, 0] > 0, x[:, one] @ signed(rng, len(one)), x[:, other] @ signed(rng, len(other)))


TRUTHS = {  # and the number of relevant features
    "larger of two": (pairs(np.maximum), K),
    "line times bump": (pairs(lambda a, b: a * np.exp(-(b**2))), K),
    "difference": (pairs(lambda a, b: np.abs(a - b)), K),
    "box": (pairs(lambda a, b: (np.abs(a) < 0.8) & (np.abs(b) < 0.8)), K),
    "sine of product": (pairs(lambda a, b: np.sin(2 * a * b)), K),
    "wave times line": (pairs(lambda a, b: np.sin(3 * a) * b), K),
    "checkerboard": (pairs(lambda a, b: np.sign(np.sin(2.5 * a) * np.sin(2.5 * b))), K),
    "smooth of two": (lambda rng, x: smooth(rng, x, 2), K),
    "cosine 5x": (lambda rng, x: np.cos(5 * x) @ signed(rng, x.shape[1]), K),
    "steps": (lambda rng, x: (x > rng.normal(0, 0.7, x.shape[1])) @ signed(rng, x.shape[1]), K),
    "smooth of one": (lambda rng, x: smooth(rng, x, 1), K),
    "three signs": (triples(lambda a, b, c: np.sign(a * b * c)), 18),
    "two gates": (triples(lambda a, b, c: a * (b > 0) * (c > 0)), 18),
    "bump of three": (triples(lambda a, b, c: np.exp(-(a**2 + b**2 + c**2) / 2)), 18),
    "switch": (switch, 19),
    "quadratic form": (quadratic_form, K),
    "length": (lambda rng, x: np.linalg.norm(x, axis=1), K),
    "exponential": (lambda rng, x: np.exp(x @ signed(rng, x.shape[1]) / x.shape[1] ** 0.5), K),
    "relu units": (relu_units, K),
    "relu layers": (relu_layers, K),
    "deep trees": (deep_trees, K),
    "ratio of three": (triples(lambda a, b, c: a * b / (1 + c**2)), 18),
    "size, line and sign": (triples(lambda a, b, c: np.abs(a) * b * np.sign(c)), 18),
    "sign times square": (pairs(lambda a, b: np.sign(a) * b**2), K),
    "line beyond one": (pairs(lambda a, b: a * (np.abs(b) > 1)), K),
    "which is larger": (pairs(np.greater), K),
    "angle": (pairs(np.arctan2), K),
    "smallest of three": (triples(lambda a, b, c: np.minimum(np.minimum(a, b), c)), 18),
    "three positive": (triples(lambda a, b, c: (a > 0) & (b > 0) & (c > 0)), 18),
    "square of three": (triples(lambda a, b, c: (a + b + c) ** 2), 18),
    "length of three": (triples(lambda a, b, c: np.sqrt(a**2 + (b * c) ** 2)), 18),
    "product of four": (fours(lambda a, b, c, d: a * b * c * d), K),
    "four signs": (fours(lambda a, b, c, d: np.sign(a * b * c * d)), K),
    "sawtooth": (ones(lambda a: np.mod(a, 1)), K),
    "beyond one": (ones(lambda a: np.abs(a) > 1), K),
    "largest of all": (lambda rng, x: x.max(axis=1), K),
    "wave of an index": (index(lambda u: np.sin(2 * u)), K),
    "square of an index": (index(np.square), K),
    "three ridges": (ridges, K),
    "tanh layers": (tanh_layers, K),
}
METHODS = {
    "default": lambda: NeuralGaussianMirror(fdr=FDR, random_state=0),
    "forest on knockoffs": lambda: ModelXKnockoffs(fdr=FDR, statistic="forest", random_state=0),
}


def sample(name, seed):
    """X, y and the truth."""
    rng, (truth, k) = np.random.default_rng([2026, list(TRUTHS).index(name), seed]), TRUTHS[name]
    x = rng.standard_normal((N, P))
    for j in range(1, P):
        x[:, j] = RHO * x[:, j - 1] + (1 - RHO**2) ** 0.5 * x[:, j]
    relevant = rng.permutation(P)[:k]
    signal = truth(rng, x[:, relevant])
    noise = rng.standard_normal(N) * (1 / H2 - 1) ** 0.5
    return x, (signal - signal.mean()) / signal.std() + noise, np.isin(np.arange(P), relevant)


def main(names, samples):
    warnings.simplefilter("ignore")
    print(f"{'truth':>19} {'':20} {'FDP':>5} {'power':>6} {'network':>8} {'trees':>6} {'seconds':>8}")
    for name in names:
        for method, make in METHODS.items():
            figures = np.zeros(5)
            for seed in range(samples):
                x, y, truth = sample(name, seed)
                selector = make()
                took = seconds(lambda selector=selector, x=x, y=y: selector.fit(x, y))
                found = selector.support_
                weights = getattr(selector, "part_weights_", {})
                counts = [weights.get(part, np.nan) for part in ("network", "trees")]
                figures += [false_discovery_proportion(found, truth), power(found, truth), *counts, took]
            fdp, share, network, trees, took = figures / samples
            rates = f"{fdp:>5.2f} {share:>6.2f} {network:>8.2f} {trees:>6.2f} {took:>8.1f}"
            print(f"{name:>19} {method:20} {rates}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[*TRUTHS, []], default=[], metavar="name", help=", ".join(TRUTHS))
    parser.add_argument("--samples", type=int, default=3)
    given = parser.parse_args()
    main(given.names or list(TRUTHS), given.samples)
