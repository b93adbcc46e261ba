"""Contract: the wheel holds the whole package and imports, and the modules keep to their layers."""

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "neuralmirror"

# From top to bottom: a module may import only from rows above its own.
LAYERS = [
    "kernels",
    "mirrors",
    "networks",
    "training",
    "ensembles",
    "importance",
    "selection",
    "problems",
    "products",
    "proximal",
    "solvers",
    "lasso",
    "individual_skips",
    "starts",
    "schemes",
    "screening",
    "base",
    "selectors",
    "diagnostics",
    "covariances",
    "knockoffs",
    "knockoff_statistics",
    "least_squares",
    "linear_mirror",
    "knockoff_selectors",
    "deeppink",
    "p_value_selectors",
    "peers",
    "responses",
    "designs",
    "tables",
    "genotypes",
    "delimited",
    "readers",
    "datasets",
    "cleaning",
    "records",
    "trials",
    "calibration",
    "real_data",
    "scores",
    "constructions",
    "study_methods",
    "study",
    "study_tables",
    "verdicts",
    "plots",
    "study_figures",
    "study_pages",
    "comparison",
    "report",
    "runs",
    "forecasts",
    "options",
    "commands",
    "comparison_command",
    "trial_command",
    "reproduce_command",
    "demo",
    "cli",
]
# These stand on NumPy alone, so that they can be read, tested and reused without the rest.
ALONE = {"selection", "responses"}


def is_private(name: str) -> bool:
    """Helpers such as `_validation` lie above the first row; `__init__` and `__main__` are no helpers."""
    return name.startswith("_") and not name.startswith("__")


def allowed_imports(name: str, siblings: set[str]) -> set[str]:
    """The siblings that module `name` may import."""
    if name in ALONE:
        return set()
    helpers = {sibling for sibling in siblings if is_private(sibling)}
    return helpers if is_private(name) else helpers | set(LAYERS[: LAYERS.index(name)])


def imported_siblings(source: str) -> set[str]:
    """Modules of the package that `source` imports, wherever in the file the import stands.

    Names taken from the package itself (`from neuralmirror import X`) count as siblings called X.
    """
    dotted: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            dotted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, ["neuralmirror" if node.level else "", node.module or ""]))
            dotted |= {f"{base}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in dotted if name.startswith("neuralmirror.")}


def modules() -> list[str]:
    """Names of the package's modules, `__init__` and `__main__` left out."""
    return sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__"))


def run(*command: str | Path, cwd: Path) -> str:
    """Run a Python command outside any inherited path and return what it prints."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the installed backend so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    sources = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert "neuralmirror/py.typed" in inside
    assert sources <= inside, f"missing from the wheel: {sorted(sources - inside)}"


def test_wheel_installs_and_imports_by_itself(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel, cwd=tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(target)!r})\n"
        "import importlib, neuralmirror\n"
        f"for name in {modules()}: importlib.import_module(f'neuralmirror.{{name}}')\n"
        "print(neuralmirror.__file__)"
    )
    printed = run("-c", program, cwd=tmp_path).splitlines()[-1]
    assert Path(printed) == target / "neuralmirror" / "__init__.py"


@pytest.mark.parametrize("name", modules())
def test_module_imports_only_from_rows_above(name: str) -> None:
    assert is_private(name) or name in LAYERS, f"give {name} its row in LAYERS"
    source = (PACKAGE / f"{name}.py").read_text(encoding="utf-8")
    forbidden = imported_siblings(source) - allowed_imports(name, set(modules()))
    assert not forbidden, f"{name} must not import {sorted(forbidden)}"


@pytest.mark.parametrize(
    ("line", "siblings"),
    [
        ("import numpy, neuralmirror.plots", {"plots"}),
        ("from neuralmirror import cli", {"cli"}),
        ("from neuralmirror.selection import power", {"selection"}),
        ("from . import kernels, mirrors", {"kernels", "mirrors"}),
        ("def f():\n    from .report import page", {"report"}),
        ("import torch\nfrom numpy.linalg import solve", set()),
    ],
)
def test_every_form_of_import_is_seen(line: str, siblings: set[str]) -> None:
    assert imported_siblings(line) == siblings
