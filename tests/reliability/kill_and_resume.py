"""Kill `select` with SIGKILL at random moments, run it again, and compare with a run that was left in peace.

python tests/reliability/kill_and_resume.py 20
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cohort import WHOLE, command, contents, environment, left_behind, write_table


def main(kills: int) -> list[str]:
    """What went wrong in so many kills; nothing if all is well."""
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_table(folder / "table.csv")
        began = time.monotonic()
        subprocess.run(command(data, folder / "peace"), check=True, env=environment())
        length = time.monotonic() - began
        expected = contents(folder / "peace")
        wrong, early, resumed = [], 0, 0
        for number in range(kills):
            moment = chance.uniform(0, length)
            finished = killed(command(data, folder / f"run-{number}"), moment)
            early += not finished
            resumed += bool(list((folder / f"run-{number}.partial").rglob("*.npz")))
            wrong += checked(folder, data, folder / f"run-{number}", expected, f"killed after {moment:.2f} s")
        print(
            f"{kills} kills, {early} of them before the end of a run of {length:.1f} s and {resumed} with completed "
            f"pieces to take up: {len(wrong)} problems"
        )
    return wrong


def killed(words: list[str], moment: float) -> bool:
    """Start a process and kill it after so many seconds; whether it had finished before."""
    process = subprocess.Popen(words, env=environment())
    time.sleep(moment)
    finished = process.poll() is not None
    process.kill()
    process.wait()
    return finished


def checked(folder: Path, data: Path, out: Path, expected: dict[str, bytes], what: str) -> list[str]:
    """A result is whole or absent after the kill, and the same bytes after the next run, with nothing left behind."""
    found = {path.name for path in out.iterdir()} if out.exists() else set()
    wrong = [f"{what}: half a result, {sorted(found)}"] if found not in (set(), WHOLE) else []
    if not found:
        done = subprocess.run(command(data, out), env=environment(), capture_output=True, text=True)
        if done.returncode:
            return [*wrong, f"{what}: the next run ended with {done.returncode}: {done.stderr}"]
    if contents(out) != expected:
        wrong.append(f"{what}: other bytes")
    runs = {path.name for path in folder.glob("run-*") if path.is_dir() and not path.name.endswith(".partial")}
    extra = left_behind(folder, {"table.csv", "peace", *runs})
    return wrong + ([f"{what}: left behind {sorted(extra)}"] if extra else [])


if __name__ == "__main__":
    problems = main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print("\n".join(problems))
    sys.exit(bool(problems))
