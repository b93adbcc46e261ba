"""Diagnostics tell signs that balance from those that lean, either way, and say in words what decided."""

import numpy as np
import pytest

from neuralmirror.report.diagnostics import balance, left_out, upper_half
from neuralmirror.report.rendering import columns
from neuralmirror.report.verdicts import decided, guarantee, verdicts

RNG = np.random.default_rng(0)
EVEN = {"won": 20, "lost": 80, "expected": 0.2, "p_value": 1.0}
SETTINGS = {"fdr": 0.1, "offset": 1, "noise": "conditional", "screen": None, "n_repeats": 1}


def a_run(**trust: object) -> dict:
    """The record of a fit with nothing to complain of, but for what is given."""
    law = {"is skewed": {"share": 0.2, "expected": 0.2, "z": 0.0}}
    good = {"sign_balance": EVEN, "sign_balance_upper": EVEN, "law_checks": law, "indistinguishable": []}
    return {
        "diagnostics": {**good, **trust},
        "warnings": [],
        "settings": dict(SETTINGS),
        "data": {"covariates": []},
        "result": {
            "part_weights": {"sparse": 1.0, "network": 0.0},
            "explained": {"lines": 0.5, "curves": 0.1},
            "n_mirrors": 4,
        },
    }


def test_balanced_and_leaning_signs() -> None:
    null = RNG.standard_normal(400)
    assert balance(null).p_value > 0.001
    assert balance(np.abs(null)).p_value < 1e-6
    assert balance(-np.abs(null)).p_value < 1e-6, "too many losses are as suspicious as too many wins"
    found = balance(np.where(np.arange(300) % 3 == 0, 1.0, -1.0), n_mirrors=2)
    assert (found.won, found.lost, found.expected) == (100, 200, pytest.approx(1 / 3))
    assert balance([]).p_value == 1


def test_counts_of_several_draws_are_averaged() -> None:
    assert (balance([[1, 1, -1], [1, -1, -1], [1, -1, 0]]).won) == 1
    assert (balance([[1, 1, -1], [1, -1, -1], [1, -1, 0]]).lost) == 1


def test_losers_beyond_the_weakest_winner_do_not_count() -> None:
    draws = np.array([[5.0, 3.0, 1.0, -1.0, -4.0]])
    np.testing.assert_array_equal(left_out(draws, [True, True, False, False, False]), [[0, 0, 1, -1, 0]])
    np.testing.assert_array_equal(left_out(draws, [False] * 5), draws)
    np.testing.assert_array_equal(upper_half(draws), [[5, 3, 0, 0, -4]])
    np.testing.assert_array_equal(upper_half(np.zeros((1, 3))), np.zeros((1, 3)))


def test_a_good_fit_gets_no_caution() -> None:
    assert {note["verdict"] for note in verdicts(a_run())} == {"good"}


@pytest.mark.parametrize(
    ("trust", "title"),
    [
        ({"sign_balance": {**EVEN, "won": 90, "p_value": 1e-9}}, "The features left out win too often"),
        ({"sign_balance_upper": {**EVEN, "won": 0, "p_value": 1e-9}}, "The features left out lose too often"),
        ({"law_checks": {"x": {"share": 0.1, "expected": 0.2, "z": -4.0}}}, "Copies can be told from their features"),
        ({"indistinguishable": ["a", "b"]}, "Features that cannot be told from others"),
    ],
)
def test_each_check_can_fail(trust: dict, title: str) -> None:
    assert [note["title"] for note in verdicts(a_run(**trust)) if note["verdict"] == "caution"] == [title]


def test_a_fit_that_predicts_nothing_is_told() -> None:
    run = a_run()
    run["result"]["explained"] = {"lines": -0.02, "curves": 0.0}
    assert verdicts(run)[0]["title"] == "Next to nothing is explained on unseen rows"


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"sparse": 1.0, "network": 0.0}, "did not help on rows they had not seen"),
        (
            {"sparse": 0.9, "network": 0.4, "trees": 0.0},
            "together with a network for what goes beyond lines (weight 0.40);",
        ),
        ({"sparse": 0.9, "network": 0.04}, "all but alone, with a network for what goes beyond lines (weight 0.04);"),
        ({"sparse": 0.9, "network": 0.02, "trees": 0.8}, "(weight 0.02) and boosted trees (weight 0.80);"),
        ({"sparse": 1.0}, "alone, as asked for"),
        ({"network": 1.0}, "Networks decided alone"),
    ],
)
def test_what_decided_is_one_sentence(weights: dict, words: str) -> None:
    run = a_run()
    run["result"]["part_weights"] = weights
    assert words in decided(run)


def test_the_guarantee_names_its_conditions() -> None:
    run = a_run()
    plain = " ".join(guarantee(run))
    assert "only if 3 or more features stand out together" in plain
    for word in ("before looking", "repeat each other", "relatives", "not measured"):
        assert word in plain
    run["settings"] |= {"offset": 0, "screen": "log", "noise": "independent", "n_repeats": 5}
    more = " ".join(guarantee(run))
    for word in ("offset is 0", "screening (screen=log)", "independent noise", "5 draws vote"):
        assert word in more
        assert word not in plain


def test_columns_that_say_nothing_are_left_out() -> None:
    row = {"feature": "a", "mirror_statistic": "1", "scale": "1", "selected": "true", "q_value": "0.1"}
    dull = {"selection_frequency": "1", "missing_share": "0", "represents": ""}
    assert columns([{**row, **dull}] * 2) == list(row)
    assert "represents" in columns([{**row, **dull}, {**row, **dull, "represents": "b"}])
