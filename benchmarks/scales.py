"""How fast are the kernel scales c_j, beside a loop over features, beside building knockoffs, and beside the machine?

Goal on 2 cores at n = 1000: 20 times faster than the loop.
Last answer (2 cores, x86-64): 250 to 420 times at p = 500 (1.2 to 1.9 s) and 700 to 830 times at p = 2000 (5.1 to
6.3 s), four to six times what its exponentials and products alone would take. Our own MVR and SDP knockoffs take 0.1 to
0.2 and 0.3 to 0.5 of that time at p = 500, 0.6 to 0.8 and 2.5 to 2.7 at p = 2000; knockpy's 2 and 14, and 7 (MVR) at p
= 2000. 100,000 rows of 20 features take 5.0 to 5.9 s and 0.3 GB beyond the data; 10,000 features of 1,000 rows 28 to
35 s. One H200: 6,700 to 7,200 and 8,700 times the loop there (12 to 14 and 39 ms), 50 to 57 and 310 to 340 times our
MVR knockoffs on 16 cores; 100,000 rows 0.04 s, 10,000 features 0.19 s.

The loop takes each feature for itself: Gram matrices of X_j ± cZ_j and X_-j at median bandwidths, at the same 14
candidates for c. It is timed on a few features and scaled up to all. Knockoffs are the diagonal s of a known Toeplitz
correlation matrix and one draw, ours and, where it is installed, knockpy's (extra: peers).

Run: python benchmarks/scales.py [--device cuda] [--sizes 500 2000] [--rows ...] [--columns ...]
Growth in n and p is drawn to docs/images/scales.svg.
"""

import argparse
import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import torch
from _clock import default_device, exp_rate, in_child, peak_gigabytes, product_rate, seconds

from neuralmirror.comparators.knockoffs.sampling import S_METHODS, gaussian_knockoffs
from neuralmirror.mirror import kernels
from neuralmirror.mirror.scales import COARSE, LANDMARKS, kernel_scales, minimise_scale
from neuralmirror.simulation.designs import ar

CANDIDATES = len(COARSE) + 5  # the coarse grid and the finer one
KNOCKPY_LARGEST = {"mvr": 2000, "sdp": 500}  # larger ones take many minutes
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "scales.svg"


def data(n, p, device):
    """Features with correlations 0.5^|j − k|, and a noise each."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(ar(rng, n, p, 0.5)).to(device, torch.float32)
    return x, torch.from_numpy(rng.standard_normal((n, p, 1), dtype=np.float32)).to(device)


def naive_scale(x, z, j):
    """c_j from explicit Gram matrices, one candidate after the other."""
    gram_w = kernels.gaussian_gram(torch.cat([x[:, :j], x[:, j + 1 :]], dim=1))

    def dependence(c):
        gram_u, gram_v = (kernels.gaussian_gram(x[:, j : j + 1] + sign * c * z[:, j]) for sign in (1, -1))
        return kernels.conditional_dependence(gram_u, gram_v, gram_w)

    def measure(scales):
        return torch.stack([dependence(c) for c in scales[0]])[None]

    return minimise_scale(measure, x[:, j].std(correction=0)[None])


def floor(n, p, device):
    """Seconds for the exponentials and for the multiplications of the linear-cost rule at the machine's own rates."""
    nodes, landmarks = len(kernels.NODES), LANDMARKS
    exps = n * p * (CANDIDATES * 2 * nodes + landmarks)
    products = n * p * (CANDIDATES * (2 * landmarks * nodes**2 + nodes**2 + 4 * nodes**2) + landmarks**2)
    return exps / exp_rate(device), products / product_rate(device)


def knockoff_seconds(x, method):
    """Ours and knockpy's time for s and a draw."""
    corr = 0.5 ** np.abs(np.subtract.outer(*[np.arange(x.shape[1])] * 2))
    numbers = x.double().cpu().numpy()

    def ours():
        gaussian_knockoffs(numbers, corr, S_METHODS[method](corr), np.random.default_rng(0))

    def theirs():
        from knockpy.knockoffs import GaussianSampler

        GaussianSampler(numbers, mu=np.zeros(len(corr)), Sigma=corr, method=method).sample_knockoffs()

    installed = importlib.util.find_spec("knockpy") and len(corr) <= KNOCKPY_LARGEST[method]
    return seconds(ours), seconds(theirs) if installed else np.nan


def compare(p, options):
    """One size at n = 1000 against the loop, knockoffs and the machine."""
    x, z = data(1000, p, options.device)
    took = seconds(lambda: kernel_scales(x, z), options.device, 3)
    sample = range(0, p, max(1, p // options.sample))
    loop = seconds(lambda: [naive_scale(x, z, j) for j in sample], options.device) / len(sample) * p
    exps, products = floor(1000, p, options.device)
    print(f"p = {p}: {took:.2f} s; the loop {loop:.0f} s (from {len(sample)} features), ratio {loop / took:.0f}")
    print(f"  floor: {exps:.2f} s of exponentials + {products:.2f} s of products, {(exps + products) / took:.0%}")
    for method in ("mvr", "sdp"):
        ours, theirs = knockoff_seconds(x, method)
        ratios = f"ratios {ours / took:.1f} and {theirs / took:.0f}"
        print(f"  {method} knockoffs: ours {ours:.2f} s, knockpy {theirs:.1f} s, {ratios}", flush=True)


def measure(n, p, device):
    """Seconds and the growth of memory at one size."""
    x, z = data(n, p, device)
    kernel_scales(x[:300, :8], z[:300, :8])
    before = peak_gigabytes(device)
    took = seconds(lambda: kernel_scales(x, z), device)
    return {"n": n, "p": p, "seconds": took, "data": before, "peak": peak_gigabytes(device)}


def draw(by_rows, by_columns, device):
    """Seconds against n and against p, with lines of slope one."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "scales", "font.size": 9})
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    for axes, found, name, held in zip(figure.subplots(1, 2), (by_rows, by_columns), "np", "pn", strict=True):
        sizes, times = ([row[key] for row in found] for key in (name, "seconds"))
        axes.loglog(sizes, times, "o-", label="measured")
        axes.loglog(sizes, [times[-1] * size / sizes[-1] for size in sizes], "k:", label="linear")
        axes.set(xlabel=f"{name}  ({held} = {found[0][held]})", ylabel="seconds")
        axes.legend(frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None, "Title": f"Kernel scales, {device}"})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 2000])
    parser.add_argument("--rows", type=int, nargs="*", default=[300, 1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument("--columns", type=int, nargs="*", default=[100, 300, 1000, 3000, 10_000])
    parser.add_argument("--sample", type=int, default=4, help="features on which the loop is timed")
    parser.add_argument("--one", type=int, nargs=2, metavar=("N", "P"), help="measure one size and print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options.device)))
        return
    warnings.simplefilter("ignore")
    for p in options.sizes:
        compare(p, options)
    by_rows = [in_child(__file__, "--device", options.device, "--one", n, 20) for n in options.rows]
    by_columns = [in_child(__file__, "--device", options.device, "--one", 1000, p) for p in options.columns]
    print(f"{'n':>8} {'p':>8} {'seconds':>8} {'GB with the data':>17} {'peak GB':>8}")
    for row in [*by_rows, *by_columns]:
        print(f"{row['n']:>8} {row['p']:>8} {row['seconds']:>8.2f} {row['data']:>17.2f} {row['peak']:>8.2f}")
    if by_rows and by_columns:
        draw(by_rows, by_columns, options.device)


if __name__ == "__main__":
    main()
