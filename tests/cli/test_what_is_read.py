"""What a new user tried: data that were misread, and mistakes that were noticed late."""

import json
from pathlib import Path

import numpy as np
import pytest

from neuralmirror.report import run as report_run
from new_user import FAST, Y, rows, run, write


@pytest.mark.parametrize("levels", [("M", "F"), ("True", "False"), ("a\nb", "c")])
def test_a_two_level_column_is_a_feature_like_any_other(levels: tuple[str, str], tmp_path: Path) -> None:
    file = write(tmp_path / "d.csv", sex=[levels[i % 2] for i in range(150)])
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST, "--quiet") == 0
    assert len(rows(tmp_path / "o")) == 13
    assert "sex" in {row["feature"] for row in rows(tmp_path / "o")}
    assert run("report", tmp_path / "o") == 0


def test_counts_are_numbers_and_the_task_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv", y=np.round(2 * Y).astype(int))
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST) == 0
    printed = capsys.readouterr().out
    assert "so the task is regression (--task classification takes its values as classes)" in printed
    assert {f"f{j}" for j in range(6)} <= {row["feature"] for row in rows(tmp_path / "o") if row["selected"] == "true"}


def test_two_values_are_classes_and_can_be_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv", y=(Y > 0).astype(int))
    assert run("select", file, "--target", "y", "-o", tmp_path / "a", *FAST) == 0
    assert "2 classes, 0 × " in (told := capsys.readouterr().out)
    assert "so the task is classification (--task regression takes them as numbers)" in told
    assert run("select", file, "--target", "y", "-o", tmp_path / "b", *FAST, "--task", "regression") == 0
    assert "so the task is regression" in capsys.readouterr().out


REFUSED = {
    "one member": (
        {"y": ["north", "south"] * 74 + ["north", "east"]},
        [],
        "class 'east' of y has a single member, but at least 2",
    ),
    "classes of numbers": ({}, ["--task", "classification"], "150 different values in 150 rows"),
    "target as covariate": ({}, ["--covariates", "y"], "'y' is the target and cannot be a covariate as well"),
    "seed": ({}, ["--seed", "1.5"], "a whole number is needed, got '1.5'"),
    "repeats": ({}, ["--n-repeats", "2.5"], "a whole number is needed, got '2.5'"),
    "copies": ({}, ["--n-mirrors", "1000"], "--n-mirrors must be at most 50, got 1000"),
    "jobs": ({}, ["-j", "0"], "--jobs must be at least 1, got 0"),
    "calibrate": ({}, ["--calibrate", "-1"], "--calibrate takes a number of simulated responses"),
    "under a file": ({}, ["-o", "d.csv/res"], "d.csv is a file"),
    "dangling link": ({}, ["-o", "dangling"], "is a link to nowhere, which is not there"),
    "name too long": ({}, ["-o", "x" * 300], "ame too long"),
    "proc": ({}, ["-o", "/proc/x"], "/proc cannot take x"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_one_line_before_the_fit(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change, arguments, message = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report_run, "fit", None)
    (tmp_path / "dangling").symlink_to("nowhere")
    write(tmp_path / "d.csv", **change)
    before = set(tmp_path.iterdir())
    assert run("select", "d.csv", "--target", "y", *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


@pytest.mark.filterwarnings("ignore")
def test_a_class_of_two_members_is_enough(tmp_path: Path) -> None:
    y = np.where(Y > 0, "a", "b").astype(object)
    y[[3, 4]] = "c"
    file = write(tmp_path / "d.csv", y=y)
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST, "--quiet") == 0
    record = json.loads((tmp_path / "o" / "run.json").read_text())
    assert record["data"]["classes"] == ["a", "b", "c"]


def test_a_feature_that_is_the_target_is_pointed_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv", leak=2 * Y + 1)
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST) == 0
    printed = capsys.readouterr().out
    assert "Caution: " in printed
    assert "'leak'" in printed
    assert "--drop" in printed


def test_names_with_commas_can_be_quoted(tmp_path: Path) -> None:
    file = write(tmp_path / "d.csv", names={11: "a,b"})
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST, "--quiet", "--drop", '"a,b",f10') == 0
    assert len(rows(tmp_path / "o")) == 10
