"""Results that are saved and loaded again are the same, and hold no pickle."""

import numpy as np
import pandas as pd
import pytest

from fitting import QUIET, data, easy, mirror, small_network
from neuralmirror import NeuralGaussianMirror


@QUIET
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"scheme": "individual", "n_mirrors": 2},
        {"n_repeats": 2},
        {"random_state": np.random.RandomState(0)},
        {"covariates": [np.int64(1)]},
        {"network": small_network(hidden_sizes=np.array([5, 3]))},
        {"noise": "independent", "scale": np.ones(8)},
        {"fdr": 0.01},
    ],
    ids=["plain", "individual", "repeats", "RandomState", "NumPy integers", "NumPy widths", "scales", "empty"],
)
def test_results_survive_storage(parameters, tmp_path):
    x, y = data()
    table = pd.DataFrame(x, columns=list("abcdefgh"))
    fitted = mirror(**{"fdr": 0.5, **parameters}).fit(table, y)
    fitted.save(tmp_path / "result")
    loaded = NeuralGaussianMirror.load(tmp_path / "result")
    for name in ("support_", "mirror_statistics_", "q_values_", "scales_", "strengths_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    assert loaded.threshold_ == fitted.threshold_
    assert loaded.explain() == fitted.explain()
    np.testing.assert_array_equal(loaded.reselect(fdr=0.3, offset=0), fitted.reselect(fdr=0.3, offset=0))
    if fitted.support_.any():
        one, other = (s.set_output(transform="pandas").transform(table) for s in (loaded, fitted))
        pd.testing.assert_frame_equal(one, other)


@QUIET
def test_classes_survive_storage(tmp_path):
    x, t = data()
    fitted = mirror().fit(x, np.where(t > 0, "case", "control"))
    fitted.save(tmp_path / "result")
    assert NeuralGaussianMirror.load(tmp_path / "result").classes_.tolist() == ["case", "control"]


def test_a_stored_result_is_no_pickle(tmp_path):
    easy().save(tmp_path / "result")
    stored = (tmp_path / "result").read_bytes()
    assert stored[8:9] == b"{"  # safetensors: a length, then a JSON header
    assert b"pickle" not in stored


def test_loading_another_class_is_refused(tmp_path):
    easy().save(tmp_path / "result")

    class Other(NeuralGaussianMirror):
        pass

    with pytest.raises(ValueError, match="holds a NeuralGaussianMirror, not a Other"):
        Other.load(tmp_path / "result")
