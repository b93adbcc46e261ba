"""Fits on a local Ray, compared to the last bit with fits here. A process of its own: Ray changes joblib for all of it.

python tests/cluster/on_ray.py [draws killed]
"""

import sys

import joblib
import psutil
from same_work import FITS, fitted, killing

from neuralmirror._internal.cluster import cluster
from neuralmirror._internal.pieces import elsewhere


def busy_worker() -> int | None:
    """The process of a worker that has begun a piece, or None."""
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if words and words[0].startswith("ray::PoolActor.run"):
            return process.pid
    return None


def main(what: set[str]) -> list[str]:
    """What went wrong with turns and, where asked for, with draws and with a killed worker; nothing if all is well."""
    wrong, names = [], {"turns"} | (what & {"draws"})
    with joblib.parallel_config(backend="sequential"):
        expected = {name: fitted(**FITS[name]) for name in names}
    with cluster("ray://local"):
        wrong += [f"{name}: other bytes" for name in names if fitted(**FITS[name]) != expected[name]]
        if "killed" in what:
            with killing(busy_worker) as killed:
                found = fitted(**FITS["turns"])
            wrong += [] if killed else ["no worker was killed"]
            wrong += [] if found == expected["turns"] else ["turns, a worker killed: other bytes"]
    wrong += ["pieces still go to Ray"] if elsewhere() else []
    print(f"Ray: {len(wrong)} problems")
    return wrong


if __name__ == "__main__":
    problems = main(set(sys.argv[1:]))
    print("\n".join(problems))
    sys.exit(bool(problems))
