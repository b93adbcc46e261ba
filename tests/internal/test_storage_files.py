"""Files of fitted selectors: the same bytes every time, readable by others, and those of 0.1.0 still load."""

import json
import stat
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from neuralmirror import BHSelector


@pytest.fixture
def fitted() -> BHSelector:
    x = np.random.default_rng(0).standard_normal((50, 4))
    return BHSelector().fit(x, x[:, 0])


def test_the_same_selector_is_the_same_bytes(fitted: BHSelector, tmp_path: Path) -> None:
    for number in range(8):
        fitted.save(tmp_path / str(number))
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
    assert stat.S_IMODE((tmp_path / "0").stat().st_mode) & 0o044 == 0o044


def test_a_file_of_the_first_version_loads(fitted: BHSelector, tmp_path: Path) -> None:
    fitted.save(tmp_path / "new")
    with safe_open(tmp_path / "new", framework="numpy") as file:
        header = json.loads(file.metadata()["neuralmirror"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    old = {"class": header["class"], "version": "0.1.0", "state": json.dumps(header["state"])}
    (tmp_path / "old").write_bytes(save(arrays, metadata=old))
    np.testing.assert_array_equal(BHSelector.load(tmp_path / "old").support_, fitted.support_)


@pytest.mark.parametrize("content", [b"", b"123", b"\x10" + b"\0" * 7 + b"{}" + b" " * 14])
def test_what_is_no_model_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged|holds a None"):
        BHSelector.load(tmp_path / "x")
