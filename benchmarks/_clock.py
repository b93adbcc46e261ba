"""What the benchmarks share: a clock that waits for the device, the rates of a machine, and child processes."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neuralmirror._internal.precision import tensor_cores


def wait(device: str) -> None:
    """Until the device has done all it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def seconds(work: Callable[[], Any], device: str = "cpu", repeats: int = 1) -> float:
    """The shortest of some runs."""
    best = np.inf
    for _ in range(repeats):
        wait(device)
        started = time.perf_counter()
        work()
        wait(device)
        best = min(best, time.perf_counter() - started)
    return float(best)


def product_rate(device: str = "cpu", size: int = 0) -> float:
    """FLOP/s of a large single-precision matrix product, on a GPU as the training computes it."""
    size = size or (2048 if device == "cpu" else 8192)
    a = torch.randn(size, size, device=device)
    with tensor_cores():
        return 2 * size**3 / seconds(lambda: a @ a, device, 8)


def exp_rate(device: str = "cpu") -> float:
    """Exponentials a second, of numbers that a cache holds and into memory that is there already."""
    values = torch.randn(2**16 if device == "cpu" else 2**22, device=device)
    out = torch.empty_like(values)
    return 100 * len(values) / seconds(lambda: [torch.exp(values, out=out) for _ in range(100)], device, 5)


def copy_rate(device: str = "cpu") -> float:
    """Bytes a second that a copy of a large array reads and writes."""
    values = torch.randn(2**26, device=device)
    out = torch.empty_like(values)
    return 8 * len(values) / seconds(lambda: out.copy_(values), device, 5)


def peak_gigabytes(device: str = "cpu") -> float:
    """The most memory that this process has held, on the device where that is not the CPU."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated() / 2**30
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    # getrusage would count what the parent held when it started this process.
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20


def in_child(file: str, *options: object) -> dict[str, Any]:
    """What a fresh process of the same file prints as JSON on its last line: its peak memory is of this work alone."""
    command = [sys.executable, file, *map(str, options)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(json.loads(printed.splitlines()[-1]))


def default_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
