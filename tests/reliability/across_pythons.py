"""Fit the same data with several interpreters and thread counts: every number must be the same to the last bit.

python tests/reliability/across_pythons.py /path/to/python3.12 /path/to/python3.13
"""

import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = ("mirror_statistics_", "support_", "q_values_", "scales_", "strengths_")
SETTINGS: dict[str, dict[str, Any]] = {
    "sparse": {"learner": "sparse"},
    "sparse, individual mirrors": {"learner": "sparse", "scheme": "individual"},
    "sparse and network": {},
    "two classes": {"task": "classification"},
}


def digests() -> dict[str, str]:
    """A fingerprint of what each fit finds."""
    from neuralmirror import NeuralGaussianMirror

    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 12))
    y = x[:, :5].sum(axis=1) + np.sin(3 * x[:, 5]) + x[:, 6] * x[:, 7] + 0.3 * rng.standard_normal(150)
    found = {}
    for name, settings in SETTINGS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            response = np.where(y > 0, "yes", "no") if settings.get("task") else y
            fitted = NeuralGaussianMirror(random_state=0, n_repeats=2, fdr=0.3, **settings).fit(x, response)
        numbers = b"".join(np.ascontiguousarray(getattr(fitted, result)).tobytes() for result in RESULTS)
        found[name] = hashlib.sha256(numbers).hexdigest()
    return found


def asked(interpreter: str, threads: int) -> dict[str, Any]:
    """The same from another process: its versions and its fingerprints."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([interpreter, __file__, "--tell"], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{interpreter} failed: {done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(interpreters: list[str]) -> list[str]:
    """What differs from this interpreter with one thread; nothing if all is well."""
    first, wrong, tried = asked(sys.executable, 1), [], 0
    print(f"{sys.executable}: {first['versions']}, {len(first['digests'])} fits")
    for interpreter in (sys.executable, *interpreters):
        for threads in (2,) if interpreter == sys.executable else (1, 2):
            other = asked(interpreter, threads)
            differ = [name for name, digest in other["digests"].items() if digest != first["digests"][name]]
            print(f"{interpreter}, {threads} threads: {other['versions']}: {', '.join(differ) or 'nothing'} differs")
            wrong += [f"{interpreter}, {threads} threads: {name}" for name in differ]
            tried += 1
    print(f"{tried} comparisons of {len(first['digests'])} fits, {len(wrong)} problems")
    return wrong


def versions() -> str:
    """Of Python and of what computes."""
    import numba
    import scipy
    import sklearn
    import torch

    parts = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn, "numba": numba, "torch": torch}
    named = [f"{name} {module.__version__}" for name, module in parts.items()]
    return ", ".join([f"Python {sys.version.split()[0]}", *named])


if __name__ == "__main__":
    if sys.argv[1:] == ["--tell"]:
        print(json.dumps({"versions": versions(), "digests": digests()}))
        sys.exit()
    problems = main([str(Path(path)) for path in sys.argv[1:]])
    print("\n".join(problems))
    sys.exit(bool(problems))
