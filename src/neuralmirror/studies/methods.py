"""The methods that studies compare: the paper's with its own settings, our default, our networks alone, and others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from neuralmirror._internal import checks
from neuralmirror.base import ControlledSelector
from neuralmirror.comparators.deeppink import DeepPINK
from neuralmirror.comparators.gaussian_mirror import GaussianMirror
from neuralmirror.comparators.knockoffs.selectors import ModelXKnockoffs
from neuralmirror.evaluation import Maker
from neuralmirror.learner.network import Network
from neuralmirror.mirror.estimator import NeuralGaussianMirror

Settings = dict[str, Any]


class Method(NamedTuple):
    """The column of the paper that a method answers to, how it is made, and what it is made with in a smoke run."""

    column: str
    make: Callable[..., ControlledSelector]
    settings: Settings
    smoke: Settings


PLAIN: Settings = {"network": Network.paper().set_params(steps=4, hidden_sizes=6)}
FEW_STEPS: Settings = {"network": Network(steps=4, hidden_sizes=6), "n_mirrors": 1}
TINY: Settings = {"learner": "sparse", "n_mirrors": 1}
SCREEN: Settings = {"screen": "log"}  # m = [2n/log n]; the paper's other choice, [n/2], keeps all of p = 500
ONE_EACH: Settings = {"scheme": "individual"}

METHODS = {
    "s-sngm-paper": Method("S-SNGM", NeuralGaussianMirror.paper, SCREEN, PLAIN),
    "sngm-paper": Method("SNGM", NeuralGaussianMirror.paper, {}, PLAIN),
    "s-ingm-paper": Method("S-INGM", NeuralGaussianMirror.paper, SCREEN | ONE_EACH, PLAIN),
    "default": Method("SNGM", NeuralGaussianMirror, {}, TINY),
    "network": Method("SNGM", NeuralGaussianMirror, {"learner": "network"}, FEW_STEPS),
    "deeppink": Method("DeepPINK", DeepPINK, {}, {"epochs": 1, "hidden_sizes": (6,)}),
    "model-x": Method("knockoffs", ModelXKnockoffs, {}, {}),
    "gaussian-mirror": Method("GM", GaussianMirror, {}, {}),
}


def maker(name: str, device: str = "auto", smoke: bool = False) -> Maker:
    """What makes the selector of that name; workers can be sent it."""
    method = METHODS[checks.check_choice("method", name, METHODS)]
    settings = {**method.settings, **(method.smoke if smoke else {}), "device": device, "progress": False}
    known = method.make().get_params()
    return partial(method.make, **{key: value for key, value in settings.items() if key in known})
