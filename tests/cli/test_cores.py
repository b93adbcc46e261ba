"""What a new user tried: beside other programs, and with a typo."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from new_user import write


def test_jobs_bound_the_cores_in_use(tmp_path: Path) -> None:
    """With one job, processor time cannot exceed the time on the clock by more than what start-up takes."""
    program = (
        "import os, sys, time\nfrom neuralmirror.cli import main\nimport torch, sklearn.linear_model\n"
        "began, used = time.perf_counter(), sum(os.times()[:2])\n"
        "code = main(sys.argv[1:])\n"
        "print((sum(os.times()[:2]) - used) / (time.perf_counter() - began))\nsys.exit(code)"
    )
    words = ["select", write(tmp_path / "d.csv"), "--target", "y", "-o", tmp_path / "o", "--quiet", "-j", 1]
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True, text=True, env=free)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.15


def test_limits_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from neuralmirror.cli.threads import available_cores, threads

    before = torch.get_num_threads()
    with threads(3) as number:
        assert (number, torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (3, 3, "3")
    assert torch.get_num_threads() == before
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert available_cores() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert available_cores() == len(os.sched_getaffinity(0))


def test_a_fit_from_python_keeps_to_its_jobs() -> None:
    """BLAS and PyTorch obey n_jobs during the fit, and are as before after it."""
    program = (
        "import os, time, numpy as np, torch, neuralmirror\nfrom neuralmirror import NeuralGaussianMirror\n"
        "rng = np.random.default_rng(0); x = rng.standard_normal((600, 60)); y = x[:, :5].sum(axis=1)\n"
        "selector = NeuralGaussianMirror(random_state=0, learner='sparse', n_jobs=1)\n"
        "selector.fit(x[:100, :5], y[:100] + x[:100, 7])\n"
        "threads, began, used = torch.get_num_threads(), time.perf_counter(), sum(os.times()[:2])\n"
        "selector.fit(x, y)\n"
        "print((sum(os.times()[:2]) - used) / (time.perf_counter() - began), torch.get_num_threads() - threads)"
    )
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, env=free)
    assert done.returncode == 0, done.stderr
    share, changed = done.stdout.split()
    assert float(share) < 1.15
    assert changed == "0"


def test_a_typo_is_answered_at_once() -> None:
    began = time.perf_counter()
    done = subprocess.run(
        shlex.split(f"{sys.executable} -m neuralmirror comapre x.csv"), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert time.perf_counter() - began < 2.5


@pytest.mark.parametrize("words", ["nowhere.csv --target y", "d.csv --target y -q 10", "d.csv --target y -o d.csv"])
def test_a_mistake_that_is_plain_is_refused_before_torch_is_loaded(words: str, tmp_path: Path) -> None:
    write(tmp_path / "d.csv")
    program = (
        "import sys; from neuralmirror.cli import main; code = main(['select', *sys.argv[1:]])\n"
        "sys.exit('loaded torch' if 'torch' in sys.modules else code)"
    )
    command = [sys.executable, "-c", program, *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
