"""What a new user tried: names, numbers and progress on the terminal and as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neuralmirror.report.tables import weak_ones
from new_user import FAST, Y, rows, run, write


def test_names_are_printed_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {0: "height [cm]", 1: "rate [/min]", 2: "[/b]", 3: "a\x1b[31mb", 4: "[bold]x[/bold]"}
    file = write(tmp_path / "d.csv", names=names)
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST) == 0
    printed = capsys.readouterr().out
    for name in ("height [cm]", "rate [/min]", "[/b]", "a\\x1b[31mb", "[bold]x[/bold]"):
        assert name in printed
    assert "\x1b" not in printed
    assert run("select", file, "--target", "\x1b[31m", "-o", tmp_path / "p", *FAST) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "select"])
def test_terminals_that_know_only_ascii(command: str, tmp_path: Path) -> None:
    file = write(tmp_path / "d.csv", names={0: "größe"}, site=list("abc") * 50)
    words = [sys.executable, "-m", "neuralmirror", command, str(file), "--target", "y", *FAST]
    words += ["-o", str(tmp_path / "o")] if command == "select" else []
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert ("150 samples x 13 features" if command == "inspect" else "* target y") in done.stdout


def test_json_names_the_selected_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv")
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert (found["task"], found["fdr"], found["offset"], found["samples"]) == ("regression", 0.1, 1, 150)
    table = rows(tmp_path / "o")
    assert [one["feature"] for one in found["selected"]] == [r["feature"] for r in table if r["selected"] == "true"]
    assert set(found["selected"][0]) == {"feature", "statistic", "q_value", "selection_frequency", "weak", "effect"}
    assert found["decisions"][0].startswith("target y: ")
    assert all(Path(path).exists() for path in found["paths"].values())
    fields = set((Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8").split("`"))
    assert set(found) <= fields, "every field is documented"


def test_effects_weights_and_shares_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv")
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", "--n-repeats", 2, "--seed", 1) == 0
    printed = capsys.readouterr().out
    assert "The sparse part (lines, curves and interactions of few features) decided " in printed
    assert "Explained on rows not seen: lines 9" in printed
    assert "2 draws of the copies voted" in printed
    assert "rises" in printed
    record = json.loads((tmp_path / "o" / "run.json").read_text())
    effect = next(f for f in record["result"]["features"] if f["feature"] == "f0")["effect"]
    assert (effect["shape"], len(effect["x"]), len(effect["low"])) == ("rises", 40, 40)
    assert effect["size"] == pytest.approx(1, abs=0.2), "in units of y"


def test_categories_are_told_by_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rare, site = [i % 30 == 0 for i in range(150)], np.arange(150) % 3
    y = Y + 5 * np.array(rare) + 3 * (site == 1)
    words = {"ill": np.where(rare, "yes", "no"), "site": np.array(list("abc"))[site]}
    file = write(tmp_path / "d.csv", y=y, **words)
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST) == 0
    printed = capsys.readouterr().out
    assert "site by level: b +" in printed
    record = json.loads((tmp_path / "o" / "run.json").read_text())
    ill = next(f["effect"] for f in record["result"]["features"] if f["feature"] == "ill")
    assert (ill["shape"], ill["levels"], ill["x"]) == ("differs by level", ["no", "yes"], [])
    assert ill["y"][1] - ill["y"][0] == pytest.approx(5, abs=1), "also for a level of few rows"
    assert "ill by level: yes +4." in printed


def test_what_the_readers_decided_is_printed_and_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv", id=[f"s{i}" for i in range(150)], gap=["nil", "1", "2"] * 50)
    options = ["--target", "y", "--na", "nil", "--na", "void", "--decimal", ".", "--encoding", "utf-8", *FAST]
    assert run("select", file, "-o", tmp_path / "o", "--max-missing", 0.5, *options) == 0
    printed = capsys.readouterr().out
    record = json.loads((tmp_path / "o" / "run.json").read_text())
    assert record["cleaning"]["decisions"]
    for one in record["cleaning"]["decisions"]:
        assert one["text"] in printed
    assert "gap" in {row["feature"] for row in rows(tmp_path / "o")}
    assert run("inspect", file, *options) == 0
    assert record["cleaning"]["decisions"][0]["text"] in capsys.readouterr().out


def test_inspect_json_holds_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv", y=np.where(Y > 0, "a", "b"))
    options = ["--task", "classification", "--screen", "6", "--seed", "3", "--device", "cpu", "-j", "1"]
    assert run("inspect", file, "--target", "y", "--json", *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"]["classes"] == {"a": int((Y > 0).sum()), "b": int((Y <= 0).sum())}
    assert all(isinstance(found[name], (int, float)) for name in ("memory_bytes", "seconds", "schema"))


@pytest.mark.filterwarnings("ignore")
def test_calibration_is_printed_with_fits_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "d.csv")
    assert run("select", file, "--target", "y", "-o", tmp_path / "o", *FAST, "--calibrate", 2) == 0
    assert "Simulated, linear, signal share 0.5: FDR " in (printed := capsys.readouterr().out)
    assert " ± " in printed
    assert "(2 fits)" in printed


def test_a_long_run_says_now_and_then_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("neuralmirror._internal.progress.HEARTBEAT", 0.01)
    file = write(tmp_path / "d.csv")
    assert run("select", file, "--target", "y", "-o", tmp_path / "a", *FAST) == 0
    beats = capsys.readouterr().err
    assert "% after " in beats
    assert "\x1b" not in beats
    assert run("select", file, "--target", "y", "-o", tmp_path / "b", *FAST, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_weak_evidence_is_pointed_out() -> None:
    strong = [{"feature": "a", "weak": False}, {"feature": "b", "weak": False}]
    assert weak_ones(strong) == []
    (told,) = weak_ones([*strong, {"feature": "c", "weak": True}])
    assert told.startswith("weak evidence beside the others for c: less than 1%")
