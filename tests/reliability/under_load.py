"""Time `select` alone and beside busy processes: it may take twice as long as its share of the cores explains.

python tests/reliability/under_load.py 1 2 4 --repeats 3
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cohort import write_table

BUSY = "while True: sum(range(100_000))"
POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
MOST = 2.0  # times what the share of the cores explains


def main(neighbours: list[int], repeats: int, options: list[str]) -> list[str]:
    """What took longer than it may; nothing if all is well."""
    cores, wrong = len(os.sched_getaffinity(0)), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_table(folder / "table.csv")
        timed(data, folder / "first", options)  # whatever is compiled or read from disk has been
        alone, used = median([timed(data, folder / f"alone-{i}", options) for i in range(repeats)])
        print(f"alone: {alone:.1f} s, {used:.1f} of {cores} cores")
        for number in neighbours:
            with busy(number):
                runs = [timed(data, folder / f"beside-{number}-{i}", options) for i in range(repeats)]
            fair = alone * max(1.0, used * (number + 1) / cores)
            took = median(runs)[0]
            print(
                f"beside {number} busy processes: {took:.1f} s, {took / alone:.1f} times the time alone, "
                f"{took / fair:.1f} times what its share of the cores explains"
            )
            wrong += [f"beside {number}: {took:.1f} s, at most {MOST * fair:.1f}"] if took > MOST * fair else []
    print(f"{len(wrong)} problems")
    return wrong


def timed(data: Path, out: Path, options: list[str]) -> tuple[float, float]:
    """Seconds on the clock, and processor seconds, of one run with the threads that it chooses itself."""
    free = {name: value for name, value in os.environ.items() if name not in POOLS}
    words = [sys.executable, "-m", "neuralmirror", "select", data, "--target", "y", "-o", out, "--quiet", *options]
    began, before = time.perf_counter(), sum(os.times()[2:4])
    subprocess.run([str(word) for word in words], check=True, env=free)
    return time.perf_counter() - began, sum(os.times()[2:4]) - before


def median(runs: list[tuple[float, float]]) -> tuple[float, float]:
    """The usual time, and the cores that it kept busy."""
    seconds = statistics.median(run[0] for run in runs)
    return seconds, statistics.median(run[1] / run[0] for run in runs)


@contextmanager
def busy(number: int) -> Iterator[None]:
    """So many processes that compute as long as the block lasts."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("neighbours", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--repeats", type=int, default=3)
    given, rest = parser.parse_known_args()
    problems = main(given.neighbours, given.repeats, rest)
    print("\n".join(problems))
    sys.exit(bool(problems))
