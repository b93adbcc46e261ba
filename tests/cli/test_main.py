"""The command line: answers at once, exit codes, results on disk all or none, and the demonstration."""

import csv
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import numpy as np
import pytest

from neuralmirror import cli
from neuralmirror._internal.output import results_folder
from neuralmirror.report.run import FILES
from neuralmirror.report.tables import COLUMNS
from neuralmirror.simulation.example import P, example

demo_command = import_module("neuralmirror.cli.demo")
PROGRAM = [sys.executable, "-c", "import sys; from neuralmirror.cli import main; sys.exit(main())"]


def run(*arguments, cwd=None):
    """The program in a process of its own: exit code, output, errors."""
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run([*PROGRAM, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- answers ----


def test_help_lists_every_command():
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for name in cli.COMMANDS:
        assert re.search(rf"\b{name}\b", out)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_answers_need_no_heavy_module(arguments):
    program = (
        f"import sys; from neuralmirror.cli import main; code = main({arguments!r})\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy or code else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version():
    assert run("--version")[:2] == (0, version("neuralmirror") + "\n")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_is_a_documented_function(name):
    module, function = cli.COMMANDS[name][0].split(":")
    assert getattr(import_module(module), function).__doc__


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert f"Usage: neuralmirror {name}" in out


# ---- mistakes ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmo"], 'Unknown command "dmo". Did you mean "demo"'),
        (["demo", "--outt", "x"], "Unknown option: --outt. Did you mean --out"),
        (["demo", "--out"], "--out requires an argument"),
    ],
)
def test_the_users_mistake_is_one_line_and_exit_code_2(arguments, message, tmp_path):
    code, out, err = run(*arguments, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("neuralmirror: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("error", [ValueError("fdr must lie in (0, 1),\n got 10"), FileNotFoundError("no x.csv")])
def test_what_a_user_can_mend_is_exit_code_2(error, monkeypatch, capsys):
    def command():
        raise error

    monkeypatch.setattr(import_module("neuralmirror.cli.demo"), "demo", command)
    assert cli.main(["demo"]) == 2
    told = capsys.readouterr().err
    assert told == f"neuralmirror: {' '.join(str(error).split())}\n"


def test_too_little_memory_is_one_line_with_a_remedy(monkeypatch, capsys):
    def command():
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr(import_module("neuralmirror.cli.demo"), "demo", command)
    assert cli.main(["demo"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("neuralmirror: the memory does not suffice; fewer copies (--n-mirrors)")
    assert told.endswith("(Unable to allocate 9 GiB)\n")


def test_what_only_we_can_mend_is_raised(monkeypatch):
    def command():
        raise RuntimeError("a bug")

    monkeypatch.setattr(import_module("neuralmirror.cli.demo"), "demo", command)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["demo"])


def test_a_command_is_one_line(monkeypatch, capsys):
    monkeypatch.setitem(cli.COMMANDS, "where", ("os:getcwd", "Say where we are."))
    assert cli.main(["where"]) == 0


def test_a_command_that_is_none_is_refused_before_anything_is_loaded():
    program = (
        "import sys; from neuralmirror.cli import main; code = main(['slect', 'a.csv'])\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy or code != 2 else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 'Did you mean "select"' in done.stderr


def test_a_reader_who_has_read_enough_is_no_error():
    command = " ".join(["set -o pipefail;", sys.executable, "-m neuralmirror select --help | head -1"])
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_both_flags_print_the_version(flag):
    assert run(flag)[:2] == (0, version("neuralmirror") + "\n")


# ---- results on disk ----


def test_results_appear_together_or_not_at_all(tmp_path):
    out = tmp_path / "deep" / "results"
    with pytest.raises(RuntimeError), results_folder(out) as folder:  # noqa: PT012
        (folder / "a.csv").write_text("half")
        raise RuntimeError
    assert not out.exists()
    assert list(out.parent.iterdir()) == []
    with results_folder(out) as folder:
        (folder / "a.csv").write_text("whole")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["a.csv"]
    assert list(out.parent.iterdir()) == [out]


def test_results_replace_only_files_of_the_same_name_and_only_if_told(tmp_path):
    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="not empty; name another one, or add --force"), results_folder(tmp_path):
        pass
    with results_folder(tmp_path, force=True) as folder:
        (folder / "a.csv").write_text("new")
    assert (tmp_path / "a.csv").read_text() == "new"
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(ValueError, match="is a file, but results go to a folder"), results_folder(tmp_path / "a", True):
        pass


# ---- the demonstration ----


def test_the_example_is_what_it_says():
    data, again = example(), example()
    np.testing.assert_array_equal(data.y, again.y)
    assert data.x.shape == (500, 100)
    assert len(set(data.names)) == P
    kinds = [role.split()[0] for role in data.roles if role]
    assert {kind: kinds.count(kind) for kind in kinds} == {"linear": 12, "squared": 4, "times": 4}
    for name, role in zip(data.names, data.roles, strict=True):
        if role.startswith("times"):  # partners name each other
            partner = data.names.index(role.split()[1])
            assert data.roles[partner] == f"times {name}"


def test_the_response_follows_the_roles():
    """Least squares on the terms that the roles name leaves the noise, of standard deviation one half."""
    data = example()
    columns = [np.ones(500)]
    for j, role in enumerate(data.roles):
        if role == "linear":
            columns.append(data.x[:, j])
        elif role == "squared":
            columns.append(data.x[:, j] ** 2)
        elif role:
            columns.append(data.x[:, j] * data.x[:, data.names.index(role.split()[1])])
    terms = np.column_stack(columns)
    residual = data.y - terms @ np.linalg.lstsq(terms, data.y)[0]
    assert residual.std() == pytest.approx(0.5, rel=0.1)


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "results"
    return out, run("demo", "--out", out)


def test_the_demo_writes_what_select_writes_and_the_truth(demonstration):
    out, (code, _, _) = demonstration
    assert code == 0
    assert {path.name for path in out.iterdir()} == {*FILES, "truth.csv"}
    selection, truth = read_csv(out / "selection.csv"), read_csv(out / "truth.csv")
    record = json.loads((out / "run.json").read_text())
    assert {row["feature"] for row in selection} == set(example().names)
    assert [row["relevant"] == "true" for row in truth] == example().truth.tolist()
    assert record["result"]["selected"] == sum(row["selected"] == "true" for row in selection)
    assert record["settings"]["random_state"] == 0
    assert list(selection[0])[: len(COLUMNS)] == COLUMNS


def test_a_newcomer_would_call_the_demos_outcome_right(demonstration):
    out, _ = demonstration
    chosen = {row["feature"] for row in read_csv(out / "selection.csv") if row["selected"] == "true"}
    true = {name for name, role in zip(example().names, example().roles, strict=True) if role}
    assert len(chosen & true) >= 18
    assert len(chosen - true) <= 1


def test_the_demo_prints_a_table_a_verdict_and_the_page_to_open(demonstration):
    out, (_, printed, _) = demonstration
    for heading in ("feature", "effect", "stability", "q-value", "truth"):
        assert heading in printed
    for row in read_csv(out / "selection.csv"):
        if row["selected"] == "true":
            assert row["feature"] in printed
    assert "task is regression" in printed
    verdict, reason, last = printed.splitlines()[-3:]
    assert "A level of 0.1 keeps the share of false features below it on average" in reason
    assert "of 100 features selected at fdr=0.1: " in verdict
    assert last == f"Results in {out}; open {out / 'report.html'}"


def test_the_demo_explains_false_features():
    features = [{"feature": "c", "weak": True}, {"feature": "a", "weak": False}, {"feature": "b", "weak": False}]
    record = {"result": {"selected": 3, "features": features}, "data": {"features": 100}, "settings": {"fdr": 0.1}}
    scores = {"true": ["a", "b"], "false_selected": ["c"], "missed": [], "fdp": 1 / 3, "power": 1.0}
    first, second = demo_command._sentences(record, scores)
    assert "2 of the 2 that matter, and 1 that do not" in first
    assert "c: selected by chance. Beside the others the evidence for them is weak" in second
    assert "chosen without one" in demo_command._sentences(record, {**scores, "false_selected": []})[1]


def test_the_demo_does_not_overwrite(demonstration):
    out, _ = demonstration
    before = (out / "run.json").read_bytes()
    code, printed, err = run("demo", "--out", out)
    assert (code, printed) == (2, "")
    assert "add --force" in err
    assert (out / "run.json").read_bytes() == before
