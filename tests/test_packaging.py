"""Contract: the wheel holds the whole package and imports, and torch loads only where a network is needed."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import neuralmirror

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "neuralmirror"


def modules() -> list[str]:
    """Dotted names of the package's modules, `__init__` and `__main__` left out."""
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
    return sorted(".".join(path.parts) for path in paths if not path.name.startswith("__"))


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


@pytest.mark.parametrize("line", ["from neuralmirror import BHSelector", "import neuralmirror.comparison"])
def test_what_needs_no_network_loads_no_torch(line: str, tmp_path: Path) -> None:
    assert run("-c", f"import sys\n{line}\nprint('torch' in sys.modules)", cwd=tmp_path).strip() == "False"


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    assert run("-m", "neuralmirror", "--version", cwd=tmp_path).strip() == neuralmirror.__version__
