"""Kill one run of `select` again and again (SIGKILL), and let the next take up what it left: the same bytes at the end.

python tests/reliability/killed_often.py 12
"""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cohort import command, contents, environment, left_behind, write_table
from kill_and_resume import killed, pieces

DRAWS = {"turns": "3", "individual": "3", "simultaneous": "4"}


def main(kills: int) -> list[str]:
    """What went wrong in so many kills, a third of them of each scheme; nothing if all is well."""
    chance, wrong, done, taken_up = random.Random(1), [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_table(folder / "table.csv")
        for scheme in DRAWS:
            length = in_peace(data, folder / f"{scheme}-peace", scheme)
            out = folder / scheme
            enough = done + kills // len(DRAWS)
            while done < enough:
                done += not killed(words(data, out, scheme), out, chance.uniform(0.3, 1.0) * length)
                taken_up += bool(list(pieces(out).rglob("*.npz")))
                if out.exists():  # it was quicker than the kill; the next begins anew
                    wrong += other_bytes(folder, scheme)
                    shutil.rmtree(out)
            subprocess.run(words(data, out, scheme), check=True, env=environment())
            wrong += other_bytes(folder, scheme) + left(folder)
    print(f"{done} kills in a run, {taken_up} with completed pieces to take up: {len(wrong)} problems")
    return wrong


def words(data: Path, out: Path, scheme: str) -> list[str]:
    """The process that selects by this scheme."""
    usual = command(data, out, ["--n-repeats", DRAWS[scheme]])
    return [scheme if word == "individual" else word for word in usual]


def in_peace(data: Path, out: Path, scheme: str) -> float:
    """The seconds of an undisturbed run from its first piece on."""
    process = subprocess.Popen(words(data, out, scheme), env=environment())
    while process.poll() is None and not pieces(out).exists():
        time.sleep(0.005)
    started = time.monotonic()
    assert process.wait() == 0
    return time.monotonic() - started


def other_bytes(folder: Path, scheme: str) -> list[str]:
    """Whether the results are not those of the undisturbed run."""
    return [] if contents(folder / scheme) == contents(folder / f"{scheme}-peace") else [f"{scheme}: other bytes"]


def left(folder: Path) -> list[str]:
    """What lies beside the results when all is over."""
    extra = left_behind(folder, {"table.csv", *DRAWS, *(f"{scheme}-peace" for scheme in DRAWS)})
    return [f"left behind {sorted(extra)}"] if extra else []


if __name__ == "__main__":
    problems = main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    print("\n".join(problems))
    sys.exit(bool(problems))
