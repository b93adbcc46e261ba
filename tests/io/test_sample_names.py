"""No column leaves the features without a word: names of samples, dates, and columns without a name."""

from pathlib import Path

import numpy as np
import pytest

from neuralmirror.io.cleaning import Cleaned, Rules, clean
from neuralmirror.io.loading import Source, load
from neuralmirror.io.tables import DataError

ROWS = 20


def cleaned(folder: Path, header: str, row: str, **options: object) -> Cleaned:
    """The data of a file whose rows are made with i, a number h and a random r."""
    rng = np.random.default_rng(0)
    rows = [row.format(i=i, h=i + 0.5, r=rng.standard_normal(), d=i + 1, q=i % 4) for i in range(ROWS)]
    (folder / "t.csv").write_text("\n".join([header, *rows]))
    return clean(load(Source(folder / "t.csv", "y", **options)), Rules())  # type: ignore[arg-type]


def told(data: Cleaned) -> str:
    return " | ".join([*map(str, data.decisions), *data.steps])


@pytest.mark.parametrize("name", ["id", "ids", "samples", "taxa", "sample", "ID"])
def test_numbers_under_such_a_name_stay_features(name: str, tmp_path: Path) -> None:
    data = cleaned(tmp_path, f"{name},b,y", "{r},{h},{q}")
    assert name in data.names


@pytest.mark.parametrize("name", ["id", "sample_id", "IID"])
def test_whole_different_numbers_named_id_are_names_with_a_warning(name: str, tmp_path: Path) -> None:
    data = cleaned(tmp_path, f"{name},b,c,y", "10{d},{r},{q},{r}")
    assert data.names == ("b", "c")
    decision = next(d for d in data.decisions if name in d.text)
    assert decision.warns
    assert decision.option == "--id none"
    kept = cleaned(tmp_path, f"{name},b,c,y", "10{d},{r},{q},{r}", sample_id="none")
    assert name in kept.names


def test_repeated_numbers_named_id_stay_a_feature(tmp_path: Path) -> None:
    assert "id" in cleaned(tmp_path, "id,b,y", "{q},{r},{r}").names


@pytest.mark.parametrize("header", ["id,b,c,y", "b_name,b,c,y", ",b,c,y"])
def test_different_words_are_names_and_told(header: str, tmp_path: Path) -> None:
    data = cleaned(tmp_path, header, "patient{i},{r},{q},{r}")
    assert data.names == ("b", "c")
    assert "was taken as sample names and is not a feature" in told(data)


def test_words_that_repeat_under_the_name_sample_are_a_category(tmp_path: Path) -> None:
    assert "sample" in cleaned(tmp_path, "sample,b,c,y", "kind{q},{r},{q},{r}").groups


def test_an_empty_header_is_kept_and_told(tmp_path: Path) -> None:
    data = cleaned(tmp_path, "a,b,,y", "{h},{r},{q},{r}")
    assert data.names == ("a", "b", "column_3")
    assert "column 3 has no name and is called 'column_3'" in told(data)
    two = cleaned(tmp_path, "a,,,y", "{h},{r},{q},{r}")
    assert two.names == ("a", "column_2", "column_3")


def test_row_numbers(tmp_path: Path) -> None:
    unnamed = cleaned(tmp_path, ",b,c,y", "{i},{r},{q},{r}")
    assert unnamed.names == ("b", "c")
    assert "numbers the rows" in told(unnamed)
    assert cleaned(tmp_path, ",b,c,y", "{i},{r},{q},{r}", sample_id="none").names == ("column_1", "b", "c")
    named = cleaned(tmp_path, "patient_no,b,c,y", "{i},{r},{q},{r}")
    assert "patient_no" in named.names
    assert "'patient_no' counts the rows" in told(named)
    from_r = cleaned(tmp_path, "b,c,y", "name{i},{r},{q},{r}")
    assert from_r.names == ("b", "c")


@pytest.mark.parametrize(
    "day", ["2021-03-{d:02}", "{d}.3.2021", "3/{d}/21", "2021-03-{d:02}T10:15:00Z", "2021-03-{d:02} 10:15", "7:{d:02}"]
)
def test_dates_are_dropped_as_dates(day: str, tmp_path: Path) -> None:
    data = cleaned(tmp_path, "day,b,c,y", f"{day},{{r}},{{q}},{{r}}")
    assert data.names == ("b", "c")
    assert data.dropped[0].names == ("day",)
    assert "dates or times" in told(data)


def test_a_target_of_different_words_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the target 'y' is text with a different value in every sample"):
        cleaned(tmp_path, "b,c,y", "{r},{q},word{i}")
    with pytest.raises(DataError, match="the target 'y' holds dates"):
        cleaned(tmp_path, "b,c,y", "{r},{q},2021-03-{d:02}")


def test_a_target_named_id_is_a_target(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,id\n" + "".join(f"{i},{i * i},{i}\n" for i in range(ROWS)))
    assert load(Source(tmp_path / "t.csv", "id")).target == "id"


def test_the_case_of_a_target_is_hinted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n4,5,6\n")
    with pytest.raises(DataError, match="did you mean 'y'"):
        load(Source(tmp_path / "t.csv", "Y"))


def test_the_target_is_no_covariate(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the target 'y' cannot be a covariate"):
        cleaned(tmp_path, "a,b,y", "{r},{q},{r}", covariates=("y",))


def test_a_class_with_one_member_is_left_to_the_selector(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{i},{i * i},{'abc'[min(i, 2)]}\n" for i in range(ROWS)))
    assert sorted(set(clean(load(Source(tmp_path / "t.csv", "y")), Rules()).y)) == ["a", "b", "c"]


def test_codes_of_samples_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,a,b\n" + "".join(f"{i:03},{i},{i * i}\n" for i in range(ROWS)))
    (tmp_path / "z.csv").write_text("patient,c,d\n" + "".join(f"{i:03},{i},{i * i}\n" for i in range(ROWS)))
    data = load(Source(tmp_path / "z.csv", "a", pheno=tmp_path / "x.csv", sample_id="patient"))
    assert data.table.samples is not None
    assert data.table.samples[:2] == ("000", "001")


def test_columns_that_were_set_aside_may_be_dropped_by_name(tmp_path: Path) -> None:
    assert cleaned(tmp_path, "day,b,c,y", "2021-03-{d:02},{r},{q},{r}", drop=("day",)).names == ("b", "c")
