"""The command line from a file to a folder: what it leaves, what it refuses, and that it repeats itself exactly."""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.cli import main
from neuralmirror.report import run as report_run

FAST = ["--learner=sparse", "--n-repeats=1", "--quiet"]
FILES = {"selection.csv", "dropped.csv", "run.json", "model.safetensors", "report.html"}


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    """Fourteen numeric features of which eight matter, a categorical one that matters, gaps, a copy, an id column."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 14))
    site = rng.integers(0, 3, 150)
    y = x[:, :8].sum(axis=1) + 2 * (site == 1) + 0.2 * rng.standard_normal(150)
    lines = [",".join(["sample", *(f"x{j}" for j in range(14)), "copy", "site", "y"])]
    for i in range(150):
        cells = ["" if (i + j) % 97 == 0 else f"{v:.4f}" for j, v in enumerate(x[i])]
        lines.append(",".join([f"s{i}", *cells, cells[13], "abc"[site[i]], f"{y[i]:.4f}"]))
    path = tmp_path / "cohort.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_select_leaves_a_whole_result(cohort: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run("select", cohort, "--target", "y", "-o", out, "--n-repeats", 2, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert {path.name for path in out.iterdir()} == FILES
    assert not list(tmp_path.glob("*.partial"))
    stored = json.loads((out / "run.json").read_text())
    assert record["selected"] == stored["result"]["features"]
    rows = list(csv.DictReader((out / "selection.csv").open()))
    assert {row["feature"] for row in rows} == {*(f"x{j}" for j in range(14)), "site"}
    assert [row["feature"] for row in rows if row["selected"] == "true"] == [
        one["feature"] for one in record["selected"]
    ]
    assert next(row for row in rows if row["feature"] == "x13")["represents"] == "copy"
    assert (out / "dropped.csv").read_text().splitlines()[1] == "copy,an exact copy of another,x13"
    assert sum(stored["result"]["explained"].values()) > 0.5
    site = next(one["effect"] for one in record["selected"] if one["feature"] == "site")
    assert (site["shape"], site["levels"], site["x"]) == ("differs by level", ["a", "b", "c"], [])
    assert site["y"] == pytest.approx([-2 / 3, 4 / 3, -2 / 3], abs=0.2), "2 more at b, about the mean of all"
    assert site["size"] == pytest.approx(0.94, abs=0.15)
    assert "differs between its levels: b +1" in (out / "report.html").read_text()
    assert set(stored["diagnostics"]["law_checks"]["is skewed"]) == {"share", "expected", "z"}
    assert len(stored["data"]["files"][0]["sha256"]) == 64
    mirror = NeuralGaussianMirror.load(out / "model.safetensors")
    chosen = {row["feature"] for row in rows if row["selected"] == "true"}
    assert {name.split("=")[0] for name in mirror.get_feature_names_out()} == chosen


def test_the_same_seed_gives_the_same_bytes(cohort: Path, tmp_path: Path) -> None:
    tables = []
    for name in ("a", "b"):
        assert run("select", cohort, "--target", "y", "-o", tmp_path / name, *FAST) == 0
        tables.append((tmp_path / name / "selection.csv").read_bytes())
    assert tables[0] == tables[1]


def test_results_are_replaced_only_by_force(cohort: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("keep")
    assert run("select", cohort, "--target", "y", "-o", out, *FAST) == 2
    assert "--force" in capsys.readouterr().err
    assert run("select", cohort, "--target", "y", "-o", out, *FAST, "--force") == 0
    assert {path.name for path in out.iterdir()} == FILES | {"mine.txt"}


def test_a_failure_leaves_nothing_but_completed_work(
    cohort: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(report_run, "render", full)
    before = set(tmp_path.iterdir())
    assert run("select", cohort, "--target", "y", "-o", tmp_path / "out", *FAST) == 2
    assert set(tmp_path.iterdir()) == before | {tmp_path / "out.partial"}, "the completed fit is kept"


def test_report_renders_again_without_the_data(cohort: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("select", cohort, "--target", "y", "-o", out, *FAST) == 0
    page = (out / "report.html").read_text()
    cohort.unlink()
    (out / "report.html").unlink()
    assert run("report", out) == 0
    assert (out / "report.html").read_text() == page
    assert run("report", tmp_path) == 2


def test_inspect_says_what_would_be_done(cohort: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(cohort.parent.iterdir())
    assert run("inspect", cohort, "--target", "y", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["read"] == {"samples": 150, "features": 16, "numbers": 15, "genotypes": 0, "text": 1}
    assert found["target"]["task"] == "regression"
    assert any("copy" in line for line in found["decisions"])
    assert found["left"] == {"samples": 150, "features": 15, "columns": 17}
    assert found["memory_bytes"] > 2**20
    assert found["seconds"] > 0
    assert set(cohort.parent.iterdir()) == before


BAD: dict[str, tuple[list[str], str]] = {
    "no such file": (["nowhere.csv", "--target", "y"], "no such file"),
    "empty file": (["empty.csv", "--target", "y"], "is empty"),
    "unknown format": (["noise.bin", "--target", "y"], "unknown format"),
    "missing target": (["cohort.csv", "--target", "Y1"], "no target is named 'Y1'"),
    "near target": (["cohort.csv", "--target", "site_"], "did you mean 'site'?"),
    "no target": (["cohort.csv"], "name the column to explain with --target"),
    "duplicate names": (["double.csv", "--target", "a"], "duplicate column name"),
    "ragged": (["ragged.csv", "--target", "a"], "line 3"),
    "text": (["text.csv", "--target", "a"], "line 3: text 'x' in the numeric column 'b'"),
    "all missing": (["hollow.csv", "--target", "a"], "column 'b' has no value at all"),
    "ids": (["cohort.csv", "--target", "z", "--pheno", "pheno.csv"], "149 of 150 sample ids"),
    "fdr": (["cohort.csv", "--target", "y", "-q", "10"], "fdr must lie in (0, 1), got 10"),
    "fdr no number": (["cohort.csv", "--target", "y", "-q", "ten"], "Invalid value for -q"),
    "cut gzip": (["cut.csv.gz", "--target", "a"], "cut short"),
    "plink": (["alone.bed"], "needs alone.bim"),
    "out is a file": (["cohort.csv", "--target", "y", "-o", "cohort.csv"], "is a file"),
    "constant target": (["flat.csv", "--target", "a"], "constant"),
    "option": (["cohort.csv", "--target", "y", "--forse"], "--forse"),
    "scheme": (["cohort.csv", "--target", "y", "--scheme", "both"], "scheme"),
    "screen": (["cohort.csv", "--target", "y", "--screen", "99"], "screen=99"),
    "maf": (["cohort.csv", "--target", "y", "--maf", "2"], "between 0 and 1"),
}


@pytest.fixture
def bad_files(cohort: Path) -> Path:
    import gzip

    folder = cohort.parent
    text = {
        "empty.csv": "",
        "double.csv": "a,a\n1,2\n",
        "ragged.csv": "a,b\n1,2\n3\n",
        "text.csv": "a,b\n1,2\n3,x\n5,6\n",
        "hollow.csv": "a,b,c\n" + "".join(f"{i},,{i * i}\n" for i in range(12)),
        "pheno.csv": "id,z\ns0,1\n",
        "flat.csv": "a,b,c\n" + "".join(f"1,{i},{i * i}\n" for i in range(12)),
    }
    for name, content in text.items():
        (folder / name).write_text(content)
    (folder / "noise.bin").write_bytes(bytes(range(256)))
    (folder / "cut.csv.gz").write_bytes(gzip.compress(cohort.read_bytes())[:500])
    (folder / "alone.bed").write_bytes(b"\x6c\x1b\x01\x00")
    return folder


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_line_and_exit_code_2(
    case: str, bad_files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, message = BAD[case]
    monkeypatch.chdir(bad_files)
    before = set(bad_files.iterdir())
    assert run("select", *arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert all(line.startswith("• ") for line in printed.out.splitlines())  # what was decided until then
    assert set(bad_files.iterdir()) == before


def test_a_folder_that_cannot_be_written(
    cohort: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("neuralmirror._internal.output.tempfile.TemporaryDirectory", refused)
    monkeypatch.setattr(report_run, "load", None)  # nothing is read before
    assert run("select", cohort, "--target", "y", "-o", tmp_path / "out", *FAST) == 2
    assert "cannot take out (Permission denied); name another place with --out" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made(cohort: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("select", cohort, "--target", "y", "-o", "/proc/out", *FAST) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_resume_after_a_kill_gives_the_uninterrupted_result(cohort: Path, tmp_path: Path) -> None:
    settings = ["--target", "y", "--scheme", "individual", "--n-repeats", "4", "--learner=sparse", "--quiet"]
    command = [sys.executable, "-c", "from neuralmirror.cli import main; raise SystemExit(main())", "select"]
    out, pieces = tmp_path / "cut", tmp_path / "cut.partial"
    process = subprocess.Popen([*command, str(cohort), "-o", str(out), *settings], start_new_session=True)
    deadline = time.monotonic() + 120
    while process.poll() is None and not list(pieces.rglob("draw-0.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not out.exists(), "nothing half-written"
    assert list(pieces.rglob("draw-0.npz")), "the completed draw is kept"
    assert run("select", cohort, "-o", out, *settings) == 0
    assert run("select", cohort, "-o", tmp_path / "whole", *settings) == 0
    assert (out / "selection.csv").read_bytes() == (tmp_path / "whole" / "selection.csv").read_bytes()
    assert not pieces.exists()


def test_ctrl_c_ends_cleanly(
    cohort: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(report_run, "fit", stopped)
    assert run("select", cohort, "--target", "y", "-o", tmp_path / "out", *FAST) == 130
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.partial").exists(), "nothing was complete"


@pytest.mark.parametrize("command", [["--help"], ["select", "--help"], ["inspect", "--help"], ["report", "--help"]])
def test_help_does_not_load_the_engine(command: list[str]) -> None:
    program = (
        "import sys\nfrom neuralmirror.cli import main\n"
        f"code = main({command})\nheavy = {{'torch', 'sklearn', 'numpy', 'matplotlib'}} & set(sys.modules)\n"
        "sys.exit(code or (', '.join(heavy) if heavy else 0))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout
