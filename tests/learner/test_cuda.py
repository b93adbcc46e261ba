"""On a GPU fits come out as on a CPU, and recorded steps as launched ones; without one there is nothing to compare."""

import numpy as np
import pytest
import torch

from neuralmirror import NeuralGaussianMirror
from neuralmirror.learner import proximal
from neuralmirror.simulation.designs import Simulation

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
SAMPLES = {
    "linear": Simulation(n=300, p=30, k=6, h2=0.9),
    "mixed": Simulation(link="mixed", n=400, p=30, k=8, h2=0.9),
    "logistic": Simulation(n=300, p=30, k=6, h2=0.9, response="logistic"),
}


def statistics(sample, device, **settings):
    mirror = NeuralGaussianMirror(n_mirrors=1, random_state=0, device=device, progress=False, **settings)
    return mirror.fit(*sample.sample(1)[:2]).mirror_statistics_


@pytest.mark.parametrize("scheme", ["simultaneous", "individual"])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_fit_is_that_of_the_cpu(name, scheme):
    there, here = (statistics(SAMPLES[name], device, scheme=scheme) for device in ("cuda", "cpu"))
    assert np.corrcoef(there, here)[0, 1] > 0.999


def test_recorded_lassos_are_launched_ones(monkeypatch):
    recorded = statistics(SAMPLES["mixed"], "cuda", scheme="individual")
    monkeypatch.setattr(proximal, "RECORDED", 0)
    np.testing.assert_allclose(recorded, statistics(SAMPLES["mixed"], "cuda", scheme="individual"), atol=1e-5)
