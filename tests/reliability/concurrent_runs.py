"""Several runs of `select` at once into neighbouring folders: all end with the same bytes and leave nothing else.

python tests/reliability/concurrent_runs.py 8
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from cohort import SHORT, command, contents, environment, left_behind, write_table


def main(runs: int) -> list[str]:
    """What went wrong in so many runs at once; nothing if all is well."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_table(folder / "table.csv")
        outs = [folder / f"run-{number}" for number in range(runs)]
        processes = [
            subprocess.Popen(command(data, out, SHORT), env=environment(), stderr=subprocess.PIPE, text=True)
            for out in outs
        ]
        ends = [(process.communicate()[1], process.returncode) for process in processes]
        wrong = [f"{out.name} ended with {code}: {told}" for out, (told, code) in zip(outs, ends, strict=True) if code]
        if not wrong:
            wrong = [f"{out.name}: other bytes" for out in outs if contents(out) != contents(outs[0])]
        extra = left_behind(folder, {"table.csv", *(out.name for out in outs)})
        wrong += [f"left behind {sorted(extra)}"] if extra else []
    print(f"{runs} runs at once, {len(wrong)} problems")
    return wrong


if __name__ == "__main__":
    problems = main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
    print("\n".join(problems))
    sys.exit(bool(problems))
