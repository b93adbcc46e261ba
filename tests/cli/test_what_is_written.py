"""What a new user tried: files that were lost, damaged or private."""

import json
import os
import stat
from pathlib import Path

import pytest

from neuralmirror.report import run as report_run
from new_user import FAST, rows, run, write


def test_a_users_own_folder_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, mine = write(tmp_path / "d.csv"), tmp_path / "res.partial"
    mine.mkdir()
    (mine / "thesis.txt").write_text("precious")
    (tmp_path / "res.partial-1").symlink_to(mine)
    monkeypatch.setattr(report_run, "render", None)  # fails after the fit, so pieces stay
    with pytest.raises(TypeError):
        run("select", file, "--target", "y", "-o", tmp_path / "res", *FAST, "--quiet")
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]
    assert list((tmp_path / "res.partial-2").rglob("*.npz"))
    monkeypatch.undo()
    assert run("select", file, "--target", "y", "-o", tmp_path / "res", *FAST, "--quiet") == 0
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]
    assert not (tmp_path / "res.partial-2").exists()


def test_completed_work_is_taken_up_by_the_same_command_and_left_alone_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, command = write(tmp_path / "d.csv"), ["--target", "y", "-o", tmp_path / "res", *FAST]
    with monkeypatch.context() as broken:
        broken.setattr(report_run, "render", None)
        with pytest.raises(TypeError):
            run("select", file, *command, "--quiet")
    pieces = {path: path.read_bytes() for path in (tmp_path / "res.partial").rglob("*.npz")}
    assert pieces
    assert run("select", file, *command, "--seed", 5, "--quiet") == 0
    assert {path: path.read_bytes() for path in (tmp_path / "res.partial").rglob("*.npz")} == pieces
    assert run("select", file, *command, "--force") == 0
    assert f"taking up {len(pieces)} completed pieces" in capsys.readouterr().out
    assert not (tmp_path / "res.partial").exists()
    assert run("select", file, "--target", "y", "-o", tmp_path / "fresh", *FAST, "--quiet") == 0
    assert (tmp_path / "fresh" / "selection.csv").read_bytes() == (tmp_path / "res" / "selection.csv").read_bytes()


def test_pieces_are_there_until_the_results_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    render = report_run.render
    partial = tmp_path / "res.partial"
    monkeypatch.setattr(report_run, "render", lambda f: kept.append(len([*partial.rglob("*.npz")])) or render(f))
    assert run("select", write(tmp_path / "d.csv"), "--target", "y", "-o", tmp_path / "res", *FAST, "--quiet") == 0
    assert kept == [12 + 4]  # a turn for each feature, the fit they share, weights, what is beside it, and the draw
    assert not partial.exists()


def test_formulas_can_be_escaped_and_the_page_still_knows_the_names(tmp_path: Path) -> None:
    file = write(tmp_path / "d.csv", names={0: "=cmd|x", 1: "@SUM", 2: "+1", 3: "-2"}, flat=[1] * 150)
    out = tmp_path / "o"
    assert run("select", file, "--target", "y", "-o", out, *FAST, "--quiet", "--escape-formulas") == 0
    assert {"'=cmd|x", "'@SUM", "'+1", "'-2", "f4"} <= {row["feature"] for row in rows(out)}
    assert not any(row["mirror_statistic"].startswith("'") for row in rows(out))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert '"=cmd|x"' in page
    assert run("report", out) == 0
    assert (out / "report.html").read_text(encoding="utf-8") == page


def test_files_are_readable_by_others(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        assert run("select", write(tmp_path / "d.csv"), "--target", "y", "-o", tmp_path / "o", *FAST, "--quiet") == 0
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "o").iterdir()} == {0o644}


def test_a_damaged_result_cannot_be_rendered_and_that_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "o"
    assert run("select", write(tmp_path / "d.csv"), "--target", "y", "-o", out, *FAST, "--quiet") == 0
    whole = json.loads((out / "run.json").read_text())
    for text in ("{", "[]", "{}", json.dumps({**whole, "data": {}}), json.dumps({**whole, "result": None})):
        (out / "run.json").write_text(text)
        assert run("report", out) == 2
        assert capsys.readouterr().err.count("\n") == 1
    (out / "run.json").write_text(json.dumps(whole))
    (out / "model.safetensors").write_bytes(b"123")
    assert run("report", out) == 2
    assert "damaged" in capsys.readouterr().err


def test_the_default_folder_is_none_of_the_repositorys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("select", write(tmp_path / "d.csv"), "--target", "y", *FAST, "--quiet") == 0
    assert (tmp_path / "neuralmirror-results" / "report.html").exists()
    root = Path(__file__).parents[2]
    assert not (root / "neuralmirror-results").exists()
