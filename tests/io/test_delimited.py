"""Delimited text as people have it: marks, encodings, comments, quotes, missing words, and headers with gaps."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from neuralmirror.io.formats import read_table
from neuralmirror.io.options import ReadOptions
from neuralmirror.io.tables import DataError, Table

ROWS = 12


def read(folder: Path, content: str | bytes, name: str = "t.csv", **options: object) -> Table:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, ReadOptions(**options))  # type: ignore[arg-type]


def lines(header: str, row: str, n: int = ROWS) -> str:
    """A header and n rows, in which {i} counts and {h} is a half more."""
    return "\n".join([header, *(row.format(i=i, h=i + 0.5) for i in range(n))]) + "\n"


def told(table: Table) -> str:
    return " | ".join(str(decision) for decision in table.decisions)


def comma(text: str) -> str:
    return text.replace(".", ",")


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_decimal_commas_are_numbers_and_told(mark: str, tmp_path: Path) -> None:
    table = read(tmp_path, comma(lines(mark.join("aby"), mark.join(["{h}", "-{h}", "{i}"]))))
    assert table.names == ("a", "b", "y")
    np.testing.assert_array_equal(table.values[:2], [[0.5, -0.5, 0], [1.5, -1.5, 1]])
    assert "decimal comma" in told(table)
    assert "--decimal" in told(table)


def test_quoted_decimal_commas_between_commas(tmp_path: Path) -> None:
    table = read(tmp_path, '"a","y"\n' + "".join(f'"{i},25","{i}"\n' for i in range(ROWS)))
    np.testing.assert_array_equal(table.values[:2], [[0.25, 0], [1.25, 1]])


def test_the_decimal_mark_can_be_given(tmp_path: Path) -> None:
    text = "a;y\n" + "".join(f"{i + 1},250;{i}\n" for i in range(ROWS))
    doubtful, thousands = read(tmp_path, text), read(tmp_path, text, decimal=".")
    assert doubtful.values[0, 0] == 1.25
    assert doubtful.decisions[0].warns
    assert thousands.values[0, 0] == 1250
    with pytest.raises(DataError, match=r"must be \. or ,"):
        read(tmp_path, text, decimal="x")


@pytest.mark.parametrize("number", ['"1,234,567"', "1'234'567", '"1,234,567.0"', '"1 234 567"'])
def test_thousands_separators_are_numbers_and_no_sample_names(number: str, tmp_path: Path) -> None:
    rows = "".join(f"{number.replace('4', str(i % 10))},{i},{i}.5\n" for i in range(10))
    table = read(tmp_path, "income,b,y\n" + rows)
    assert table.names == ("income", "b", "y")
    assert table.values[4, 0] == 1234567
    assert table.samples is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252", "utf-32"])
def test_other_encodings_are_read_and_told(encoding: str, tmp_path: Path) -> None:
    table = read(tmp_path, lines("größe,b,y", "{h},{i},{i}").encode(encoding))
    assert table.names == ("größe", "b", "y")
    assert ("UTF-" if encoding.startswith("utf") else "Latin-1") in told(table)


@pytest.mark.parametrize("packed", [False, True])
def test_latin_1_far_into_the_file(packed: bool, tmp_path: Path) -> None:
    content = lines("a,place,y", "{h},here,{i}", 6000).encode() + "1,Orléans,2\n".encode("latin-1")
    table = read(tmp_path, gzip.compress(content) if packed else content)
    assert table.texts["place"][-1] == "Orléans"
    assert "Latin-1" in told(table)


def test_the_encoding_can_be_given(tmp_path: Path) -> None:
    table = read(tmp_path, lines("größe,b,y", "{h},{i},{i}").encode("mac-roman"), encoding="mac-roman")
    assert table.names[0] == "größe"
    with pytest.raises(DataError, match="no encoding is named 'latin-99'"):
        read(tmp_path, "a,b\n1,2\n", encoding="latin-99")
    with pytest.raises(DataError, match="not valid UTF-8"):
        read(tmp_path, b"a,b\n\xe9,2\n", encoding="utf-8")


def test_a_zero_byte_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv holds a zero byte at position 5"):
        read(tmp_path, b"a,b\n1\0,2\n3,4\n")


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffa,b,y\n1,2,3\n4,5,6\n",
        "a;b;y\n1;2;3\n4;5;6\n",
        "a\tb\ty\n1\t2\t3\n4\t5\t6\n",
        "a|b|y\n1|2|3\n4|5|6\n",
        "a b  y\n1  2 3\n4 5 6\n",
        "a,b,y\r\n1,2,3\r\n4,5,6\r\n",
        "a,b,y\r1,2,3\r4,5,6\r",
        "a,b,y,\n1,2,3,\n4,5,6,\n",
        "a,b,y\n1,2,3,\n4,5,6,\n",
        "a, b, y\n1, 2, 3\n\n4, 5, 6\n\n",
        "# made by hand\n# in March, with care\na,b,y\n1,2,3\n4,5,6\n",
        "\n\na,b,y\n1,2,3\n4,5,6\n",
    ],
)
def test_ordinary_variants_are_read_alike(content: str, tmp_path: Path) -> None:
    table = read(tmp_path, content)
    assert table.names == ("a", "b", "y")
    np.testing.assert_array_equal(table.values, [[1, 2, 3], [4, 5, 6]])


def test_comment_lines_are_told_and_a_header_may_begin_so(tmp_path: Path) -> None:
    assert "2 comment lines" in told(read(tmp_path, "# a\n# b\na,b\n1,2\n3,4\n"))
    assert read(tmp_path, "#IID\theight\tage\nx\t1\t2\nz\t3\t4\n").samples == ("x", "z")
    assert read(tmp_path, "# made today\n#a,b\n1,2\n3,4\n").names == ("#a", "b")


def test_quoted_newlines_and_separators(tmp_path: Path) -> None:
    cell = read(tmp_path, lines("a,note,y", '{h},"one\ntwo",{i}'))
    assert set(cell.texts["note"]) == {"one\ntwo"}
    header = read(tmp_path, lines('"height\n(cm)",b,y', "{h},{i},{i}"))
    assert header.names == ("height (cm)", "b", "y")
    many = ";".join(f'"x{j}, the {j}th, of all"' for j in range(22))
    assert read(tmp_path, lines(f"{many};y", ";".join(["{h}"] * 23))).names[3] == "x3, the 3th, of all"


WORDS = ["#N/A", "<NA>", "n/a", "-", "missing", "..", "*", "#DIV/0!", "NULL", "NA", "N/A", "NaN", "None", ".", "?", ""]


@pytest.mark.parametrize("word", WORDS)
def test_missing_words_among_numbers(word: str, tmp_path: Path) -> None:
    table = read(tmp_path, lines("a,b,y", "{h},{i},{i}") + f"{word},1,2\n")
    assert np.isnan(table.values[-1, 0])
    if word in ("-", "missing", "..", "*"):
        assert f"{word!r} in column 'a' was taken as missing (1 cell)" in told(table)


def test_more_missing_words_can_be_named(tmp_path: Path) -> None:
    text = lines("a,b,word,y", "{h},{i},red,{i}") + "below limit,-999,unknown,2\n"
    with pytest.raises(DataError, match=r"line 14: text 'below limit' in the numeric column 'a'.*--na 'below limit'"):
        read(tmp_path, text)
    table = read(tmp_path, text, na=("below limit", "-999", "unknown"))
    assert np.isnan(table.values[-1, :2]).all()
    assert table.texts["word"][-1] == ""


def test_a_strand_keeps_its_minus(tmp_path: Path) -> None:
    table = read(tmp_path, "a,strand,y\n" + "".join(f"{i},{'+-'[i % 2]},{i}\n" for i in range(ROWS)))
    assert set(table.texts["strand"]) == {"+", "-"}


BAD = {
    "ragged": ("a,b\n1,2\n3\n4,5\n", r"line 3: 1 cell, but the header names 2 columns"),
    "unclosed quote": ('a,b\n1,2\n"3,4\n5,6\n', r"line 3: 1 cell, .*quotation mark not closed"),
    "lines before the header count": ("# a\n\n# b\na,b\n1,2\n3\n", "line 6: 1 cell"),
    "an endless comment": (f"# {'x' * 200_000}, b\na,b\n1\n", "line 3: 1 cell"),
    "header only": ("a,b,c\n", "a header line but no rows"),
    "no header": ("1,2\n3,4\n", "add a header line"),
    "duplicate": ("a,b,a\n1,2,3\n", r"duplicate column name 'a' in .*t\.csv"),
    "text after many rows": (lines("a,b", "{h},{i}", 150) + "x,1\n", "line 152: text 'x' in the numeric column 'a'"),
    "web page": ("<!DOCTYPE html>\n<html>\n", "a web page"),
    "JSON": ('[{"a": 1}]\n', "is JSON"),
    "an endless cell": (f"a,b\n1,{'x' * 200_000}\n", "line 2: the row cannot be read"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_text_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    content, message = BAD[case]
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_square_brackets_and_angles_in_names(tmp_path: Path) -> None:
    assert read(tmp_path, lines("[cm],heart rate [/min],<a>", "{h},{i},{i}")).names[1] == "heart rate [/min]"
