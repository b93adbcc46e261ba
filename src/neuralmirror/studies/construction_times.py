"""How long it takes to build a method's inputs: mirrors for every feature, or Model-X knockoffs."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import torch
from numpy.typing import NDArray

from neuralmirror._internal.device import resolve_device
from neuralmirror.comparators.knockoffs.covariances import covariance_matrix
from neuralmirror.comparators.knockoffs.sampling import S_METHODS, gaussian_knockoffs, knockoff_s
from neuralmirror.evaluation import Record, Scenario
from neuralmirror.mirror.noise import draw_noise, feature_generators, mirrored_pair
from neuralmirror.mirror.scales import SCALES

Floats = NDArray[np.float64]
Builder = Callable[[Floats, int, str], object]  # X, seed, device

KNOCKPY_LARGEST = {"mvr": 2000, "sdp": 500}  # beyond, one construction takes many minutes


def mirrors(scale: str) -> Builder:
    """X ± cZ of all features with one noise each, c by the rule `scale`."""

    def build(x: Floats, seed: int, device: str) -> object:
        z = torch.from_numpy(draw_noise(feature_generators(x, seed), len(x), 1)).to(device)
        values = torch.from_numpy(x).float().to(device)
        plus, _ = mirrored_pair(values, z[:, :, 0], SCALES[scale](values, z))
        return plus.sum().item()  # the device has done its work when the sum is there

    return build


def knockoffs(method: str) -> Builder:
    """Gaussian knockoffs with the covariance estimated from X."""

    def build(x: Floats, seed: int, device: str) -> object:
        sigma = covariance_matrix(x)
        return gaussian_knockoffs(x, sigma, knockoff_s(sigma, S_METHODS[method]), np.random.default_rng(seed))

    return build


def knockpy(method: str) -> Builder:
    """The same by knockpy."""

    def build(x: Floats, seed: int, device: str) -> object:
        from knockpy.knockoffs import GaussianSampler

        return GaussianSampler(X=x, Sigma=covariance_matrix(x), method=method).sample_knockoffs()

    return build


BUILDERS: dict[str, Builder] = {
    "mirrors-kernel": mirrors("kernel"),
    "mirrors-marginal": mirrors("marginal"),
    "knockoffs-mvr": knockoffs("mvr"),
    "knockoffs-sdp": knockoffs("sdp"),
    "knockpy-mvr": knockpy("mvr"),
    "knockpy-sdp": knockpy("sdp"),
}


def can_build(method: str, p: int) -> bool:
    """knockpy where it is installed, and up to the size at which it ends in minutes."""
    package, _, kind = method.partition("-")
    if package != "knockpy":
        return True
    return importlib.util.find_spec("knockpy") is not None and p <= KNOCKPY_LARGEST[kind]


def timing(scenario: Scenario, method: str, device: str, seed: int) -> Record | None:
    """The seconds of one construction; None where the method cannot do it. Not to be run beside another."""
    device = resolve_device(device) if method.startswith("mirrors") else "cpu"
    x, _, _ = scenario.simulation.sample(seed)
    if not can_build(method, x.shape[1]):
        return None
    BUILDERS[method](x[:, :20], 0, device)  # first use of the device and of libraries
    started = time.perf_counter()
    BUILDERS[method](x, seed, device)
    seconds = round(time.perf_counter() - started, 4)
    fields = {"row": scenario.name, "method": method, "seed": seed, "version": version("neuralmirror")}
    return {**scenario.labels, **fields, "device": device, "seconds": seconds}
