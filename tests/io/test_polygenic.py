"""Predictions of regenie's first step: joined by sample, by chromosome, with one line for whatever is wrong."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from neuralmirror.io.errors import DataError
from neuralmirror.io.polygenic import plain_chromosome, read_offsets

IDS = ["F1_a", "F2_b", "c_c", "0_d_1"]
LOCO = f"FID_IID {' '.join(IDS)}\n" + "".join(
    f"{chromosome} {' '.join(str(chromosome + place / 8) for place in range(4))}\n" for chromosome in (1, 2, 23)
)


def listed(folder: Path, text: str = LOCO, packed: bool = False) -> Path:
    loco = folder / ("fit_1.loco.gz" if packed else "fit_1.loco")
    loco.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    path = folder / "fit_pred.list"
    path.write_text(f"height {loco}\nweight elsewhere/fit_2.loco\n")
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_predictions_follow_the_samples(packed: bool, tmp_path: Path) -> None:
    offsets = read_offsets(listed(tmp_path, packed=packed), "height", ["d_1", "c", "F2:b", "a"])
    assert list(offsets) == ["1", "2", "23"]
    np.testing.assert_array_equal(offsets["2"], 2 + np.array([3, 2, 1, 0]) / 8)


def test_a_loco_file_alone_and_names_of_the_genotypes(tmp_path: Path) -> None:
    listed(tmp_path)
    offsets = read_offsets(tmp_path / "fit_1.loco", "height", ["a"], ["chr2", "X"])
    assert {name: values[0] for name, values in offsets.items()} == {"chr2": 2.0, "X": 23.0}
    assert [plain_chromosome(name) for name in ("chr1", "01", "chrX", "22", "0")] == ["1", "1", "23", "22", "0"]


def test_a_list_that_has_moved_finds_the_file_beside_it(tmp_path: Path) -> None:
    path = listed(tmp_path)
    path.write_text("height /gone/fit_1.loco\n")
    assert read_offsets(path, "height", ["a"])["1"][0] == 1.0


def test_individuals_of_two_families_are_not_confused(tmp_path: Path) -> None:
    path = listed(tmp_path, "FID_IID F1_a F2_a\n1 1 2\n")
    np.testing.assert_array_equal(read_offsets(path, "height", ["F2:a", "F1:a"])["1"], [2, 1])
    with pytest.raises(DataError, match=r"no predictions for 1 sample of 1 \(a\)"):
        read_offsets(path, "height", ["a"])


@pytest.mark.parametrize(
    ("text", "trait", "samples", "message"),
    [
        (LOCO, "heigth", ["a"], "did you mean 'height'"),
        (LOCO, "weight", ["a"], r"names elsewhere/fit_2\.loco for weight, which is neither there nor beside"),
        (LOCO, "height", ["a", "e"], r"fit_1\.loco has no predictions for 1 sample of 2 \(e\)"),
        (LOCO.replace("FID_IID", "ID"), "height", ["a"], "expected a first line that begins with FID_IID"),
        (LOCO.replace("2.125", ""), "height", ["a"], "line 3: 4 columns, but the header names 5"),
        (LOCO.replace("2.125", "two"), "height", ["a"], "line 3: a prediction must be a number"),
        (LOCO.replace("2.125", "NA"), "height", ["a", "b"], r"without chromosome 2 for 1 sample \(b\)"),
        (LOCO.replace("\n23 ", "\n2 "), "height", ["a"], "line 4: chromosome 2 is there twice"),
        (LOCO.splitlines()[0], "height", ["a"], "holds no predictions"),
    ],
)
def test_what_is_wrong_is_one_line(text: str, trait: str, samples: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_offsets(listed(tmp_path, text), trait, samples)
    assert "\n" not in str(caught.value)


def test_missing_chromosomes_files_and_damaged_lists(tmp_path: Path) -> None:
    path = listed(tmp_path)
    with pytest.raises(DataError, match="no line for chromosome chr7, only for 1, 2, 23"):
        read_offsets(path, "height", ["a"], ["chr1", "chr7"])
    with pytest.raises(DataError, match="no such file"):
        read_offsets(tmp_path / "none.list", "height", ["a"])
    path.write_text("height\n")
    with pytest.raises(DataError, match="line 1: expected a trait and the path"):
        read_offsets(path, "height", ["a"])


def test_a_missing_prediction_of_a_sample_not_asked_for_is_no_matter(tmp_path: Path) -> None:
    path = listed(tmp_path, LOCO.replace("2.125", "NA"))
    assert read_offsets(path, "height", ["c"])["2"][0] == 2.25
