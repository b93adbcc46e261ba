"""Let the k-th write of `select` fail for lack of space, for k = 1, 2, ...: one line, nothing half-written.

python tests/reliability/disk_full.py 20
"""

import contextlib
import errno
import io
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cohort import SHORT, WHOLE, arguments, contents, left_behind, write_table

from neuralmirror.cli import main as neuralmirror


class Full:
    """Counts the writes into a folder, and refuses one of them and all that follow."""

    def __init__(self, folder: Path, fatal: int) -> None:
        self.folder, self.fatal, self.writes, self.open = str(folder), fatal, 0, io.open

    def opened(self, file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
        """What stands for `open`."""
        opened = self.open(file, mode, *rest, **more)
        return Counted(opened, self) if set(mode) & set("wax+") and str(file).startswith(self.folder) else opened

    def count(self) -> None:
        """One more write."""
        self.writes += 1
        if self.writes >= self.fatal:
            raise OSError(errno.ENOSPC, "No space left on device")


class Counted:
    """A file whose writes are counted."""

    def __init__(self, file: Any, disk: Full) -> None:
        self._file, self._disk = file, disk

    def write(self, text: Any) -> Any:
        """Write, or fail."""
        self._disk.count()
        return self._file.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "Counted":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


def main(last: int) -> list[str]:
    """What went wrong for the failures 1 to `last`; nothing if all is well."""
    wrong, ended = [], {0: 0, 2: 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_table(folder / "table.csv")
        selected(data, folder / "peace")
        expected = contents(folder / "peace")
        for fatal in range(1, last + 1):
            disk = Full(folder, fatal)
            with patch("io.open", disk.opened), patch("builtins.open", disk.opened):
                code, told = selected(data, folder / "out")
            ended[code] = ended.get(code, 0) + 1
            wrong += [f"write {fatal}: {text}" for text in after_failure(folder, code, told)]
            wrong += [f"write {fatal}: {text}" for text in after_space_was_made(folder, data, expected)]
    print(f"{last} failing writes: {ended[2]} ended with one line, {ended[0]} finished, {len(wrong)} problems")
    return wrong


def selected(data: Path, out: Path) -> tuple[int, str]:
    """Run the command in this process: exit code and what it printed as errors."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = neuralmirror(arguments(data, out, SHORT))
    return code, told.getvalue()


def after_failure(folder: Path, code: int, told: str) -> list[str]:
    """A failure is one line that names a path, and leaves no part of a result."""
    wrong = []
    if code == 2 and (told.count("\n") != 1 or str(folder) not in told or "space" not in told):
        wrong.append(f"said {told!r}")
    if code not in (0, 2):
        wrong.append(f"exit code {code}")
    found = {path.name for path in (folder / "out").iterdir()} if (folder / "out").exists() else set()
    if found not in (set(), WHOLE):
        wrong.append(f"half a result, {sorted(found)}")
    extra = left_behind(folder, {"table.csv", "peace", "out", "out.partial"})
    return wrong + ([f"left behind {sorted(extra)}"] if extra else [])


def after_space_was_made(folder: Path, data: Path, expected: dict[str, bytes]) -> list[str]:
    """The same command then ends with the bytes of an undisturbed run; its result is removed for the next failure."""
    wrong = []
    if not (folder / "out").exists() and selected(data, folder / "out")[0]:
        return ["the next run failed"]
    if contents(folder / "out") != expected:
        wrong.append("other bytes afterwards")
    for file in (folder / "out").iterdir():
        file.unlink()
    (folder / "out").rmdir()
    extra = left_behind(folder, {"table.csv", "peace"})
    return wrong + ([f"left behind {sorted(extra)} afterwards"] if extra else [])


if __name__ == "__main__":
    problems = main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print("\n".join(problems))
    sys.exit(bool(problems))
