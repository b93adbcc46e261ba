"""Kill `select` with SIGKILL at random moments, run it again, and compare with a run that was left in peace.

python tests/reliability/kill_and_resume.py 20
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cohort import LONG, WHOLE, command, contents, environment, left_behind, write_table


def main(kills: int) -> list[str]:
    """What went wrong in so many kills; nothing if all is well."""
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_table(folder / "table.csv")
        subprocess.run(command(data, folder / "peace", LONG), check=True, env=environment())
        length = json.loads((folder / "peace" / "run.json").read_text())["seconds"]["fitting"]
        expected = contents(folder / "peace")
        wrong, early, resumed = [], 0, 0
        for number in range(kills):
            out = folder / f"run-{number}"
            moment = chance.uniform(-0.1, 1.1) * length  # of the fit; some before it and some after
            early += not killed(command(data, out, LONG), out, moment)
            resumed += bool(list(pieces(out).rglob("*.npz")))
            wrong += checked(folder, data, out, expected, f"killed {moment:.2f} s into the fit")
        print(
            f"{kills} kills, {early} of them before the end of a run and {resumed} with completed pieces to take up: "
            f"{len(wrong)} problems"
        )
    return wrong


def pieces(out: Path) -> Path:
    """Where a run keeps what is complete; it is there as soon as the fit begins."""
    return out.with_name(f"{out.name}.partial")


def killed(words: list[str], out: Path, moment: float) -> bool:
    """Start a process and kill it so many seconds into its fit; whether it had finished before."""
    process = subprocess.Popen(words, env=environment())
    while moment > 0 and process.poll() is None and not pieces(out).exists():
        time.sleep(0.005)
    time.sleep(abs(moment))
    finished = process.poll() is not None
    process.kill()
    process.wait()
    return finished


def checked(folder: Path, data: Path, out: Path, expected: dict[str, bytes], what: str) -> list[str]:
    """A result is whole or absent after the kill, and the same bytes after the next run, with nothing left behind."""
    found = {path.name for path in out.iterdir()} if out.exists() else set()
    wrong = [f"{what}: half a result, {sorted(found)}"] if found not in (set(), WHOLE) else []
    if not found:
        done = subprocess.run(command(data, out, LONG), env=environment(), capture_output=True, text=True)
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
