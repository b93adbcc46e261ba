"""Time `select` alone and beside busy processes: it may slow down twice as much as a plain loop does, and no more.

python tests/reliability/under_load.py 1 2 4 --repeats 3

The loop, timed before and after every run, tells which share of a core a process gets, whatever else goes on.
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
PLAIN = "for _ in range(1500): sum(range(100_000))"
POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
MOST = 2.0  # times the slow-down of a plain loop

Times = tuple[float, float, float]  # of a run, of the loop, and processor seconds of the run


def main(neighbours: list[int], repeats: int, options: list[str]) -> list[str]:
    """What took longer than it may; nothing if all is well."""
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "table.csv")
        measured(folder, "first", options)  # whatever is compiled or read from disk has been
        alone = medians([measured(folder, f"alone-{i}", options) for i in range(repeats)])
        print(
            f"alone: {alone[0]:.1f} s, of which the processor {alone[2]:.1f} s; the loop {alone[1]:.1f} s", flush=True
        )
        for number in neighbours:
            with busy(number):
                runs = [measured(folder, f"beside-{number}-{i}", options) for i in range(repeats)]
            run, loop, used = (beside / before for beside, before in zip(medians(runs), alone, strict=True))
            print(
                f"beside {number} busy processes: {medians(runs)[0]:.1f} s, {run:.1f} times as long, and the loop "
                f"{loop:.1f} times: {run / loop:.1f} times what its share explains; processor time {used:.2f} times",
                flush=True,
            )
            if run > MOST * loop:
                wrong.append(f"beside {number}: {run:.1f} times as long, at most {MOST * loop:.1f}")
    print(f"{len(wrong)} problems")
    return wrong


def measured(folder: Path, name: str, options: list[str]) -> Times:
    """A run with the threads that it chooses itself, between two plain loops."""
    words = ["select", folder / "table.csv", "--target", "y", "-o", folder / name, "--quiet", *options]
    loop = [timed(["-c", PLAIN])[0]]
    run, processor = timed(["-m", "neuralmirror", *map(str, words)])
    loop.append(timed(["-c", PLAIN])[0])
    return run, statistics.mean(loop), processor


def timed(words: list[str]) -> tuple[float, float]:
    """Seconds on the clock, and processor seconds, of a Python process."""
    free = {name: value for name, value in os.environ.items() if name not in POOLS}
    began, before = time.perf_counter(), sum(os.times()[2:4])
    subprocess.run([sys.executable, *words], check=True, env=free)
    return time.perf_counter() - began, sum(os.times()[2:4]) - before


def medians(runs: list[Times]) -> Times:
    """The usual times."""
    run, loop, processor = (statistics.median(run[part] for run in runs) for part in range(3))
    return run, loop, processor


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
