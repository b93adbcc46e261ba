"""Diagnostics tell a network that predicts from one that does not, and signs that balance from those that lean."""

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.report.diagnostics import held_out, sign_balance
from neuralmirror.report.rendering import columns, verdicts

RNG = np.random.default_rng(0)
X = RNG.standard_normal((240, 8))
SIGNAL = 2 * X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * RNG.standard_normal(240)
TARGETS = {
    "numbers": SIGNAL,
    "two classes": np.where(SIGNAL > 0, "high", "low"),
    "three classes": np.digitize(SIGNAL, [-1.5, 1.5]),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_network_that_predicts_is_told_from_one_that_does_not(kind: str) -> None:
    mirror = NeuralGaussianMirror(steps=300, hidden_sizes=(16, 8))
    true, shuffled = held_out(mirror, X, TARGETS[kind]), held_out(mirror, X, RNG.permutation(TARGETS[kind]))
    assert true.rows == 48
    assert true.explained > 0.5
    assert shuffled.explained < 0.1


def test_balanced_and_leaning_signs() -> None:
    null = RNG.standard_normal(400)
    none = np.zeros(400, dtype=bool)
    assert sign_balance(null, none).p_value > 0.001
    assert sign_balance(np.abs(null), none).p_value < 1e-6
    balance = sign_balance(np.where(np.arange(300) % 3 == 0, 1.0, -1.0), none[:300], n_mirrors=2)
    assert (balance.won, balance.lost, balance.expected) == (100, 200, pytest.approx(1 / 3))
    assert sign_balance([], []).p_value == 1


def test_verdicts_warn_of_what_went_wrong() -> None:
    held = {"loss": 1.1, "mean_only": 1.0, "explained": -0.1, "rows": 48}
    balance = {"won": 90, "lost": 10, "expected": 0.5, "p_value": 1e-9}
    run = {"diagnostics": {"held_out": held, "sign_balance": balance}, "warnings": ["something"]}
    notes = verdicts(run)
    assert [note["verdict"] for note in notes] == ["caution"] * 3
    assert notes[0]["title"] == "The network predicts next to nothing"


def test_columns_that_say_nothing_are_left_out() -> None:
    row = {"feature": "a", "mirror_statistic": "1", "scale": "1", "selected": "true", "q_value": "0.1"}
    dull = {"selection_frequency": "1", "missing_share": "0", "represents": ""}
    assert columns([{**row, **dull}] * 2) == list(row)
    assert "represents" in columns([{**row, **dull}, {**row, **dull, "represents": "b"}])
