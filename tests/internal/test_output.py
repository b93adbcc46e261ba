"""Results on disk: whole or absent, never over a user's files, and what stands in the way is said before any work."""

import errno
import os
import stat
from pathlib import Path

import pytest

from neuralmirror._internal import output
from neuralmirror._internal.output import check_folder, check_writable, escaped, results_folder

REFUSED = {
    "dangling link": (lambda d: (d / "o").symlink_to(d / "gone"), "o", "is a link to .*gone, which is not there"),
    "under a file": (lambda d: (d / "f").write_text(""), "f/o", "f is a file, .* so .*f/o cannot be a folder"),
    "a file": (lambda d: (d / "f").write_text(""), "f", "is a file, but results go to a folder"),
    "name too long": (lambda d: None, "x" * 300, "name too long"),
    "deep name too long": (lambda d: None, f"a/{'x' * 300}/b", "name too long"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_is_refused_beforehand_in_one_line(case: str, tmp_path: Path) -> None:
    prepare, name, message = REFUSED[case]
    prepare(tmp_path)
    before = set(tmp_path.iterdir())
    with pytest.raises((ValueError, OSError), match=f"(?i){message}.*name another") as caught:  # noqa: PT012
        check_folder(tmp_path / name)
        check_writable(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert set(tmp_path.iterdir()) == before


def test_no_folder_can_be_made_in_proc() -> None:
    with pytest.raises(OSError, match=r"/proc cannot take out .*name another place with --out"):
        check_writable(Path("/proc/out"))


def test_too_little_space_is_said_beforehand(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no space left for the results .* MB needed"):
        check_writable(tmp_path / "out", needed=1 << 60)
    assert not list(tmp_path.iterdir())


def test_a_long_name_that_fits_is_taken(tmp_path: Path) -> None:
    out = tmp_path / ("é" * 127)
    check_writable(out)
    with results_folder(out) as folder:
        (folder / "a").write_text("1")
    assert (out / "a").read_text() == "1"


def test_a_full_disk_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"could not be written to .*out: No space left on device; name"):  # noqa: SIM117
        with results_folder(tmp_path / "out"):
            raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_files_have_the_modes_that_the_user_set(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with results_folder(tmp_path / "out") as folder:
            (folder / "a").write_text("1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "out" / "a").stat().st_mode) == 0o644


def test_what_a_killed_run_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    left = tmp_path / f"{output._stem(tmp_path / 'out')}abc"
    mine = tmp_path / f"{output._stem(tmp_path / 'out')}mine"
    left.mkdir()
    mine.mkdir()
    (left / output.MARKER).touch()
    (mine / "thesis").write_text("precious")
    with results_folder(tmp_path / "out") as folder:
        (folder / "a").write_text("1")
        with results_folder(tmp_path / "out", force=True) as second:  # another run at the same time
            (second / "b").write_text("2")
        (folder / "c").write_text("3")
        (tmp_path / "out" / "b").unlink()
    assert not left.exists()
    assert (mine / "thesis").read_text() == "precious"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"a", "c"}


def test_a_full_output_folder_that_only_holds_a_dead_runs_folder_counts_as_empty(tmp_path: Path) -> None:
    left = tmp_path / f"{output._stem(tmp_path)}abc"
    left.mkdir()
    (left / output.MARKER).touch()
    check_folder(tmp_path)
    (tmp_path / "mine").touch()
    with pytest.raises(ValueError, match="not empty"):
        check_folder(tmp_path)


def test_formulas_are_escaped() -> None:
    assert [escaped(name) for name in ("=1", "+1", "-x", "@SUM", "\t=", "a=b")] == [
        "'=1",
        "'+1",
        "'-x",
        "'@SUM",
        "'\t=",
        "a=b",
    ]
