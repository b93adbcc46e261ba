"""Completed work is found again by exactly the same data and settings, and a damaged piece costs nothing."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralmirror._internal import cache
from neuralmirror._internal.cache import cached, fingerprint


@dataclass
class Piece:
    numbers: np.ndarray[Any, Any]
    words: dict[str, str] = field(default_factory=dict)


def piece() -> Piece:
    return Piece(np.arange(3.0), {"a": "b"})


def never() -> Piece:
    raise AssertionError("computed again")


def test_long_settings_are_told_apart() -> None:
    """NumPy abbreviates an array of 2000 numbers when it prints it, and the middle was not seen."""
    scales = np.ones(2000)
    others = scales.copy()
    others[1000] = 2
    data = [np.zeros(3)]
    assert fingerprint(data, {"scale": scales}) != fingerprint(data, {"scale": others})
    assert fingerprint(data, {"scale": scales}) == fingerprint(data, {"scale": scales.copy()})


def test_data_of_other_shapes_and_other_versions_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [np.arange(6.0)]
    name = fingerprint(whole, {})
    assert name != fingerprint([np.arange(6.0).reshape(2, 3)], {})
    assert name != fingerprint([np.arange(2.0), np.arange(2.0, 6.0)], {})
    monkeypatch.setattr(cache, "version", lambda _: "99")
    assert name != fingerprint(whole, {})


def test_a_piece_is_computed_once(tmp_path: Path) -> None:
    first = cached(tmp_path, "one", Piece, piece)
    again = cached(tmp_path, "one", Piece, never)
    np.testing.assert_array_equal(first.numbers, again.numbers)
    assert again.words == {"a": "b"}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"\x93NUMPY"])
def test_a_damaged_piece_is_computed_again(content: bytes, tmp_path: Path) -> None:
    cached(tmp_path, "one", Piece, piece)
    (tmp_path / "one.npz").write_bytes(content)
    assert cached(tmp_path, "one", Piece, piece).words == {"a": "b"}
    assert cached(tmp_path, "one", Piece, never).words == {"a": "b"}


def test_a_piece_that_cannot_be_kept_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.np, "savez", full)
    with pytest.warns(UserWarning, match="could not be kept .*No space left"):
        assert cached(tmp_path, "one", Piece, piece).words == {"a": "b"}
    assert not list(tmp_path.iterdir())
