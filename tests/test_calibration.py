"""Calibration on one's own features, and the command that runs the trial bench."""

import json

import numpy as np
import pytest

from neuralmirror import BHSelector, NeuralGaussianMirror, calibrate
from neuralmirror.cli import main
from neuralmirror.studies.bench_methods import bench_methods, setting

QUICK = {"learner": "sparse", "n_mirrors": 2}


def features(n=80, p=20):
    return np.random.default_rng(0).standard_normal((n, p))


def test_each_kind_of_response_has_a_line():
    found = calibrate(features(), NeuralGaussianMirror(fdr=0.2, **QUICK), n_replicates=2, links=("linear", "squares"))
    assert [line.row for line in found.lines] == [
        f"{link}, signal share {share}" for link in ("linear", "squares") for share in (0.5, 0.9)
    ]
    assert all(line.replicates == 2 and line.level == 0.2 for line in found.lines)
    assert "squares, signal share 0.9" in str(found)


def test_any_selector_can_be_judged_and_strong_signals_are_found():
    """Least squares with 300 rows finds a linear signal of share 0.99 and keeps its level."""
    found = calibrate(
        features(n=300), BHSelector(), n_replicates=10, links=("linear",), signal_shares=(0.99,), n_relevant=6
    )
    assert found.lines[0].power > 0.9
    assert found.controlled


def test_constant_columns_are_left_out():
    x = features()
    x[:, 3] = 1.0
    assert calibrate(x, BHSelector(), n_replicates=1, links=("linear",), signal_shares=(0.9,)).lines[0].power > 0


def test_bad_features_are_named():
    x = features()
    x[4, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in column '2'"):
        calibrate(x)


def test_trial_runs_resumes_and_renders(tmp_path, capsys):
    records, page = tmp_path / "records.jsonl", tmp_path / "page.md"
    command = ["trial", "few-12", "--method", "bh", "--records", str(records), "--quiet", "--jobs", "1"]
    assert main([*command, "--replicates", "2"]) == 0
    assert main([*command, "--replicates", "3"]) == 0
    seeds = [json.loads(line)["seed"] for line in records.read_text().splitlines()]
    assert sorted(seeds) == [0, 1, 2]  # nothing twice
    assert "few-12" in capsys.readouterr().out
    assert main(["trial", "few-12", "--table", "--records", str(records), "--page", str(page)]) == 0
    assert "| few-12 | bh | 0.1 | 3 |" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["few-13"], "did you mean 'few-12'"),
        ([], "no scenario was named"),
        (["few-12", "--method", "bhh"], "did you mean 'bh'"),
        (["few-12", "--method", "bh", "--set", "n_mirrors=5"], "--set changes the neural mirror"),
        (["few-12", "--set", "steps"], "name=value"),
        (["few-12", "--set", "n_mirors=5"], "did you mean 'n_mirrors'"),
        (["few-12", "--replicates", "0"], "replicates must be"),
        (["--table", "--records", "nowhere.jsonl"], "holds no records"),
    ],
)
def test_mistakes_are_one_line(arguments, message, capsys):
    assert main(["trial", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_mistake_that_a_fit_finds_leaves_no_file_behind(tmp_path):
    records = tmp_path / "new" / "records.jsonl"
    arguments = ["trial", "few-12", "--set", "n_mirrors=0", "--jobs", "1", "--quiet", "--records", str(records)]
    assert main(arguments) == 2
    assert not records.parent.exists()


def test_settings_are_numbers_or_words():
    assert setting("network__steps=5") == ("network__steps", 5)
    assert setting("scale=kernel") == ("scale", "kernel")
    assert setting("network__hidden_sizes=(8, 4)") == ("network__hidden_sizes", (8, 4))
    assert bench_methods(["default"], "cpu", ["network__steps=5"])["default network__steps=5"]().network.steps == 5
