"""The documents say what the code does: the README's example prints its output, and every link leads somewhere."""

import contextlib
import io
import re
from importlib import import_module
from pathlib import Path

import pytest

from neuralmirror.cli import main

MEASURED = ("memory", "time")
ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/method.md",
    "docs/comparators.md",
    "docs/deviations.md",
    "docs/performance.md",
    "docs/choosing.md",
    "docs/report.md",
    "docs/json.md",
    "docs/genetics.md",
    "docs/reliability.md",
    "docs/cluster.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*/*.md")),
]


def blocks(page, language):
    """The fenced blocks of one language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def links(page):
    """Text and target of all links that stay in the repository."""
    found = re.findall(r"\[([^\]]+)\]\(([^)#\s]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    return [(text, target) for text, target in found if not target.startswith(("http", "mailto"))]


def test_the_readmes_example_prints_what_it_says():
    (code,), (expected,) = blocks("README.md", "python"), blocks("README.md", "text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


@pytest.mark.slow
@pytest.mark.parametrize("command", ["inspect", "select"])
def test_the_guides_example_prints_what_it_says(command, tmp_path, monkeypatch, capsys):
    """All but memory and time, which depend on the machine."""
    block = next(b for b in blocks("docs/report.md", "console") if b.startswith(f"$ neuralmirror {command} cohort"))
    first, *expected = block.splitlines()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    exec(compile(blocks("docs/report.md", "python")[0], "docs/report.md", "exec"), {})
    assert main(first.split()[2:]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if not line.startswith(MEASURED)] == [
        line for line in expected if not line.startswith(MEASURED)
    ]


def test_the_readmes_example_is_ten_lines():
    (code,) = blocks("README.md", "python")
    assert len([line for line in code.splitlines() if line]) <= 10


def test_the_readmes_targets_exist():
    (shell, *_) = blocks("README.md", "sh")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", shell):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for text, target in links(page):
        assert ((ROOT / page).parent / target).exists(), f"[{text}]({target})"


def test_every_equation_is_linked_to_a_function_that_exists():
    functions = [(text.strip("`"), target) for text, target in links("docs/method.md") if target.endswith(".py")]
    assert len(functions) > 20
    for name, target in functions:
        module = import_module(".".join(Path(target).with_suffix("").parts[2:]))  # ../src/neuralmirror/…
        assert getattr(module, name).__doc__, f"{module.__name__}.{name}"


def test_the_map_names_folders_and_files_that_exist():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src/neuralmirror"
    files = set(re.findall(r"`((?:\w+/)+\w*(?:\.\w+)?)`", text)) - {"tests/"}
    assert len(files) > 15
    for name in files:
        assert (package / name).exists() or (ROOT / name).exists(), name
    for folder in [path.name for path in package.iterdir() if (path / "__init__.py").exists()]:
        assert f"`{folder}/`" in text, folder


def test_every_decision_is_listed():
    listed = {target for _, target in links("docs/decisions/README.md")}
    pages = {page.name for page in (ROOT / "docs/decisions").glob("*.md")} - {"README.md"}
    assert pages == {target for target in listed if not target.startswith("..")}


def test_the_readmes_attributes_and_parameters_exist():
    from neuralmirror import NeuralGaussianMirror

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    attributes = set(re.findall(r"`(\w+_)`", text))
    documented = NeuralGaussianMirror.__doc__
    assert attributes
    for name in attributes:
        assert name in documented, name
    parameters = set(re.findall(r"`(\w+)=", text))
    assert parameters <= {*NeuralGaussianMirror().get_params(), "transform"}
