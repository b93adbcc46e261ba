"""The methods of the trial bench by name, and what makes their selectors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import Any

from neuralmirror._internal import checks
from neuralmirror.base import ControlledSelector
from neuralmirror.comparison import METHODS, NEURAL
from neuralmirror.evaluation import Maker
from neuralmirror.learner.network import Network
from neuralmirror.mirror.estimator import NeuralGaussianMirror

DEFAULT, PAPER = "default", "paper"  # beside the names of `compare`
MIRRORS = (DEFAULT, PAPER, *NEURAL)


def bench_methods(names: Sequence[str], device: str = "auto", settings: Sequence[str] = ()) -> dict[str, Maker]:
    """Labels for the records, and what makes the selectors (workers can be sent it); commas separate names."""
    wanted = [part.strip() for name in names for part in name.split(",") if part.strip()]
    return dict(_method(name, device, dict(setting(text) for text in settings)) for name in wanted)


def _method(name: str, device: str, changes: dict[str, Any]) -> tuple[str, Maker]:
    checks.check_choice("method", name, [DEFAULT, PAPER, *METHODS])
    if name not in MIRRORS:
        if changes:
            raise ValueError(f"--set changes the neural mirror, but method {name!r} is another; drop one of them")
        return name, METHODS[name]
    make = partial(_mirror, name, {"device": device, **changes})
    make()  # settings of another version are refused before anything runs
    return " ".join([name, *(f"{key}={value}" for key, value in changes.items())]), make


def _mirror(name: str, settings: dict[str, Any]) -> ControlledSelector:
    plain: dict[str, Maker] = {DEFAULT: NeuralGaussianMirror, PAPER: NeuralGaussianMirror.paper}
    selector: ControlledSelector = plain[name]() if name in plain else METHODS[name]()
    if selector.get_params()["network"] is None:  # so that its knobs can be set by name
        selector.set_params(network=Network())
    return selector.set_params(**settings)  # type: ignore[no-any-return]


def setting(text: str) -> tuple[str, Any]:
    """name=value of the neural mirror, the value a number where it can be read as one."""
    name, mark, value = text.partition("=")
    if not mark:
        raise ValueError(f"--set takes name=value, got {text!r}")
    checks.check_choice("--set", name, NeuralGaussianMirror(network=Network()).get_params())
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
