"""Controlled feature selection for neural networks by Gaussian mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuralmirror.base import SelectionWarning
    from neuralmirror.calibration import calibrate
    from neuralmirror.comparison import compare
    from neuralmirror.deeppink import DeepPINK
    from neuralmirror.knockoff_selectors import FixedXKnockoffs, ModelXKnockoffs
    from neuralmirror.linear_mirror import GaussianMirror
    from neuralmirror.p_value_selectors import BHSelector, BYSelector
    from neuralmirror.selectors import NeuralGaussianMirror

__all__ = [
    "BHSelector",
    "BYSelector",
    "DeepPINK",
    "FixedXKnockoffs",
    "GaussianMirror",
    "ModelXKnockoffs",
    "NeuralGaussianMirror",
    "SelectionWarning",
    "calibrate",
    "compare",
]

# Where each public name lives. They are imported on first use, so that the command line answers before torch loads.
_HOMES = {
    "BHSelector": "p_value_selectors",
    "BYSelector": "p_value_selectors",
    "DeepPINK": "deeppink",
    "FixedXKnockoffs": "knockoff_selectors",
    "GaussianMirror": "linear_mirror",
    "ModelXKnockoffs": "knockoff_selectors",
    "NeuralGaussianMirror": "selectors",
    "SelectionWarning": "base",
    "calibrate": "calibration",
    "compare": "comparison",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'neuralmirror' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"neuralmirror.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
