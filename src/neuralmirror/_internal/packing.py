"""What a cluster is sent: a few bytes for each piece, and large arrays as files that its workers map into memory."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralmirror._internal.output import temporary_folder

VARIABLE = "JOBLIB_TEMP_FOLDER"  # where joblib keeps such files too
ELSEWHERE = f"name a folder that all workers see by `checkpoint`, --out or {VARIABLE}"
LARGE = 100_000  # bytes from which on an array travels as a file


def shared_folder(folder: Path | None) -> AbstractContextManager[Path]:
    """A temporary folder inside the given one; without one, where joblib has its own."""
    place = folder or Path(os.environ.get(VARIABLE) or tempfile.gettempdir()) / "neuralmirror"
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return temporary_folder(place.absolute())


class Packer:
    """Turns objects into bytes; the large arrays inside them are written to a folder once, however often they occur."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[int, tuple[NDArray[Any], str]] = {}  # by identity, so the arrays are held

    def packed(self, content: object) -> bytes:
        """Bytes that `unpacked` reads, here or on another machine that sees the folder."""
        import cloudpickle

        class Pickler(cloudpickle.Pickler):
            def reducer_override(own, value: Any) -> Any:  # noqa: N805
                if type(value) in (np.ndarray, np.memmap) and value.nbytes >= LARGE and not value.dtype.hasobject:
                    return _mapped, (self._written(value),)
                return super().reducer_override(value)

        stream = io.BytesIO()
        Pickler(stream).dump(content)
        return stream.getvalue()

    def _written(self, array: NDArray[Any]) -> str:
        if id(array) not in self._kept:
            path = str(self._folder / f"{len(self._kept)}.npy")
            try:
                np.save(path, array, allow_pickle=False)
            except OSError as reason:
                why = f"no room for the arrays of the workers in {self._folder} ({reason.strerror})"
                raise OSError(
                    f"{why}; free some, or name another folder by `checkpoint`, --out or {VARIABLE}"
                ) from None
            self._kept[id(array)] = array, path
        return self._kept[id(array)][1]


def unpacked(content: bytes) -> Any:
    """What was packed; only ever of bytes that this program has sent itself."""
    return pickle.loads(content)


def _mapped(path: str) -> NDArray[Any]:
    """An array of the shared folder; what is written to it stays in this process."""
    try:
        return np.load(path, mmap_mode="c", allow_pickle=False)  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise OSError(f"a worker does not see {path}; {ELSEWHERE}") from None
