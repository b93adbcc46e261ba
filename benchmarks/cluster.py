"""How much faster do two workers of a Dask cluster finish than one, and what does sending the pieces cost?

Goal: at least 1.7 times as fast for pieces of a second and more, on a machine with two free cores.
Run: python benchmarks/cluster.py [draws individual]

One run for each number of workers, after a small one that lets every worker import and compile; ratios are of seconds
in this run. "here" is the same work on one thread in this process, so here over one worker is what sending costs.
"""

import os
import sys
import warnings

import joblib
from _clock import seconds

from neuralmirror import NeuralGaussianMirror
from neuralmirror.simulation.designs import Simulation

CASES = {
    "draws": ({"n_repeats": 4, "learner": "sparse"}, Simulation(n=1000, p=100, k=20)),
    "individual": ({"scheme": "individual", "learner": "sparse"}, Simulation(n=1000, p=200, k=20)),
}


def fit(settings, data):
    warnings.simplefilter("ignore")
    return NeuralGaussianMirror(random_state=0, n_jobs=1, **settings).fit(*data[:2]).strengths_.tobytes()


def on_dask(number, settings, data):
    """Seconds and bytes with so many worker processes of one thread each."""
    from distributed import Client, LocalCluster

    found = []
    with (
        LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
        joblib.parallel_config(backend="dask", client=client),
    ):
        fit(settings, Simulation(n=100, p=10, k=3).sample(0))
        took = seconds(lambda: found.append(fit(settings, data)))
    return took, found[0]


def main(names):
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by the workers
    print(f"{'case':>12} {'here':>7} {'1 worker':>9} {'2 workers':>10} {'here/1':>7} {'1/2':>6} {'same bytes':>11}")
    for name in names:
        settings, simulation = CASES[name]
        data, found = simulation.sample(0), []
        fit(settings, Simulation(n=100, p=10, k=3).sample(0))
        here = seconds(lambda s=settings, d=data, f=found: f.append(fit(s, d)))
        (one, first), (two, second) = on_dask(1, settings, data), on_dask(2, settings, data)
        same = "yes" if found[0] == first == second else "no"
        print(
            f"{name:>12} {here:>7.1f} {one:>9.1f} {two:>10.1f} {here / one:>7.2f} {one / two:>6.2f} {same:>11}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))
