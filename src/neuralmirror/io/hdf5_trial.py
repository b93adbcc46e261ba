"""A first look at an HDF5 file in a process of its own.

HDF5 follows damaged references without end, or reserves gigabytes for a damaged length, and nothing inside the
process can stop it. So another process reads what is referred to that way, all names and texts, within limits of time
and memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from neuralmirror.io.errors import DataError

SECONDS = 15.0  # and one more for each two megabytes
NO_LIBRARY = 3

PROGRAM = f"""
import sys
try:
    import h5py
except ImportError:
    sys.exit({NO_LIBRARY})
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), resource.getrlimit(resource.RLIMIT_AS)[1]))
except (ImportError, ValueError, OSError):
    pass

def look(name, item):
    dict(item.attrs)
    if isinstance(item, h5py.Dataset) and item.dtype.kind == "O":
        item[...]

with h5py.File(sys.argv[1], "r") as file:
    look("/", file)
    file.visititems(look)
"""


def check_references(path: Path) -> None:
    """An error where the other process fails or does not come back."""
    size = path.stat().st_size
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-c", PROGRAM, str(path), str((2 << 30) + 30 * size)]
    try:
        done = subprocess.run(
            command, env=environment, timeout=SECONDS + size / 2e6, capture_output=True, text=True, errors="replace"
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"{path} is damaged: its references lead nowhere or in circles; copy it again") from None
    except OSError:
        return  # no second process to be had here
    if done.returncode not in (0, NO_LIBRARY):
        cause = (done.stderr.strip().splitlines() or ["the reader crashed"])[-1][:160]
        raise DataError(f"{path} cannot be read as AnnData .h5ad, it is cut short or damaged ({cause}); copy it again")
