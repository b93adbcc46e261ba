"""What an estimator resolved from its parameters, and the device it runs on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from neuralmirror._internal import checks
from neuralmirror.learner.networks import Networks
from neuralmirror.learner.training import Recipe
from neuralmirror.mirror.importance import field_strengths
from neuralmirror.mirror.scales import kernel_scales


@dataclass(frozen=True)
class Settings:
    """What an estimator resolved from its parameters."""

    recipe: Recipe = field(default_factory=Recipe)
    importance: Callable[[Networks, Tensor, Tensor], Tensor] = field_strengths
    scale: Callable[[Tensor, Tensor], Tensor] = kernel_scales
    n_networks: int = 3
    hidden: tuple[int, ...] | None = None
    activation: str = "relu"
    skip: bool = True
    degree: int | None = None
    products: bool = False
    transform: str = "auto"
    choose_shrinkage: bool = False
    early_stopping: bool = False
    memory: int = 2**30
    device: str = "cpu"
    n_jobs: int | None = None


def resolve_device(device: str) -> str:
    """ "auto" takes CUDA where there is one."""
    checks.check_choice("device", str(device).split(":")[0], ("auto", "cpu", "cuda"))
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={device!r} was asked for, but PyTorch finds no CUDA device; use 'auto' or 'cpu'")
    return device
