"""Packed genotypes against the same genotypes as numbers: any range, any rows, any number of parts."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralmirror.io.errors import DataError
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.io.packed_matrix import MappedFile, PackedMatrix, pack, packed_width


def drawn(markers: int, samples: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1, 3, (markers, samples)).astype(np.int8)


def in_parts(counts: np.ndarray, cuts: list[int]) -> PackedMatrix:
    return PackedMatrix([pack(part) for part in np.split(counts, sorted(cuts))], counts.shape[1])


def on_disk(counts: np.ndarray, path: Path) -> PackedMatrix:
    path.write_bytes(b"\x6c\x1b\x01" + pack(counts).tobytes())
    return PackedMatrix([MappedFile(path, 3, len(counts), packed_width(counts.shape[1]))], counts.shape[1])


def labelled(matrix: PackedMatrix, chromosomes: list[str], positions: list[int]) -> PackedGenotypes:
    p = matrix.n_markers
    letters, names = np.array(["A"] * p), np.array([f"rs{j}" for j in range(p)])
    samples = tuple(f"s{i}" for i in range(matrix.n_samples))
    return PackedGenotypes(matrix, samples, names, np.array(chromosomes), np.array(positions), letters, letters)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 70), st.integers(0, 20), st.lists(st.integers(0, 20), max_size=3), st.integers(0, 99), st.data())
def test_any_range_is_what_was_packed(n: int, p: int, cuts: list[int], seed: int, data: st.DataObject) -> None:
    counts = drawn(p, n, seed)
    matrix = in_parts(counts, [min(cut, p) for cut in cuts])
    first = data.draw(st.integers(0, p))
    last = data.draw(st.integers(first, p))
    np.testing.assert_array_equal(matrix.counts(first, last), counts[first:last])
    np.testing.assert_array_equal(matrix.packed(first, last), pack(counts)[first:last])
    assert (matrix.n_markers, matrix.n_samples) == (p, n)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 140), st.integers(1, 12), st.integers(0, 99), st.booleans())
def test_sums_are_those_of_the_numbers(n: int, p: int, seed: int, dirty: bool) -> None:
    counts = drawn(p, n, seed)
    packed = pack(counts)
    if dirty and n % 4:  # whatever fills the last byte must not count
        packed[:, -1] |= np.uint8(0xFF << (2 * (n % 4)) & 0xFF)
    matrix = PackedMatrix([packed], n)
    rows = np.random.default_rng(seed).random(n) < 0.6
    for chosen in (None, rows, np.flatnonzero(rows)[::-1]):
        part = counts if chosen is None else counts[:, chosen]
        sums = matrix.allele_counts(chosen)
        known = np.where(part < 0, 0, part).astype(int)
        np.testing.assert_array_equal(sums.known, (part >= 0).sum(axis=1))
        np.testing.assert_array_equal(sums.total, known.sum(axis=1))
        np.testing.assert_array_equal(sums.squares, (known**2).sum(axis=1))


def test_sums_in_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = in_parts(drawn(30, 50), [7, 19])
    whole = matrix.allele_counts()
    monkeypatch.setattr(PackedMatrix, "pieces", lambda self: ((j, j + 4) for j in range(0, 28, 4)))
    for one, other in zip(whole, matrix.allele_counts(), strict=True):
        np.testing.assert_array_equal(one[:28], other[:28])
        assert not other[28:].any()


def test_pieces_cover_every_marker_once() -> None:
    pieces = list(in_parts(drawn(30, 50), [7]).pieces(size=40))
    assert pieces[0] == (0, 3)
    assert [first for first, _ in pieces[1:]] == [last for _, last in pieces[:-1]]
    assert pieces[-1][1] == 30


def test_a_file_is_pickled_as_its_place(tmp_path: Path) -> None:
    counts = drawn(500, 403)
    matrix = on_disk(counts, tmp_path / "f.bed")
    content = pickle.dumps(matrix)
    assert len(content) < 1000
    np.testing.assert_array_equal(pickle.loads(content).counts(0, 500), counts)


@pytest.mark.parametrize(
    ("rows", "message"), [(np.ones(3, bool), "must have 5 entries"), (np.array([1, 1]), "each sample at most once")]
)
def test_strange_rows_are_refused(rows: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_parts(drawn(2, 5), []).allele_counts(rows)


def test_ranges_and_shapes_are_checked() -> None:
    matrix = in_parts(drawn(4, 5), [])
    with pytest.raises(IndexError, match="markers 2 to 5 are asked for, of 0 to 4"):
        matrix.counts(2, 5)
    with pytest.raises(ValueError, match=r"9 samples need parts of bytes of shape \(markers, 3\)"):
        PackedMatrix([pack(drawn(4, 5))], 9)
    with pytest.raises(ValueError, match="3 entries for 4 markers"):
        labelled(matrix, ["1"] * 3, [1, 2, 3, 4])


def test_chromosomes_are_found() -> None:
    genotypes = labelled(in_parts(drawn(5, 4), [3]), ["1", "1", "2", "2", "X"], [5, 5, 1, 9, 3])
    assert genotypes.parts_by_chromosome() == {"1": slice(0, 2), "2": slice(2, 4), "X": slice(4, 5)}
    assert labelled(in_parts(drawn(0, 4), []), [], []).parts_by_chromosome() == {}


@pytest.mark.parametrize(
    ("chromosomes", "positions", "message"),
    [
        ("112", [5, 4, 1], r"chromosome 1 is not in order of position: rs1 at 4 comes after rs0 at 5; .*--make-bed"),
        ("121", [5, 4, 6], r"chromosome 1 do not lie side by side: marker 3 \(rs2\).*--make-bed"),
    ],
)
def test_disorder_is_refused(chromosomes: str, positions: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        labelled(in_parts(drawn(3, 4), []), list(chromosomes), positions).parts_by_chromosome()
