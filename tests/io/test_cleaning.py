"""Joins by sample id, the choice of a target, and cleaning: nothing vanishes without being listed."""

from pathlib import Path

import numpy as np
import pytest

from neuralmirror.io.cleaning import Rules, clean
from neuralmirror.io.formats import read_table
from neuralmirror.io.loading import Dataset, Source, covariate_matrix, load
from neuralmirror.io.tables import DataError, Table

DATA = Path(__file__).parents[3] / "shared" / "data"


def dataset(values: np.ndarray, genotypes: bool = False, **texts: list[str]) -> Dataset:
    columns = {name: np.array(column, dtype=object) for name, column in texts.items()}
    table = Table(values, tuple(f"x{j}" for j in range(values.shape[1])), texts=columns, genotypes=genotypes)
    return Dataset(table, "y", np.arange(len(values), dtype=float))


def files(folder: Path, ids: str = "abcdefghij", pheno: str = "jihgfedcba") -> Source:
    rng = np.random.default_rng(0)
    rows = [f"{i},{','.join(f'{v:.3f}' for v in rng.standard_normal(3))}" for i in ids]
    (folder / "x.csv").write_text("\n".join(["sample,u,v,w", *rows]) + "\n")
    people = [f"{i}\t{ord(i)}\t{'mf'[ord(i) % 2]}" for i in pheno]
    (folder / "y.tsv").write_text("\n".join(["ID\theight\tsex", *people]))
    return Source(folder / "x.csv", "height", pheno=folder / "y.tsv")


def test_phenotypes_are_joined_by_sample_id(tmp_path: Path) -> None:
    data = load(files(tmp_path))
    assert data.table.samples == tuple("abcdefghij")
    assert list(data.y) == [ord(i) for i in "abcdefghij"]
    assert data.table.names == ("u", "v", "w")


@pytest.mark.parametrize(
    ("pheno", "message"),
    [("klmno", "none of the 10 sample ids"), ("abcdefg", "3 of 10 sample ids"), ("aabcdefghij", "duplicate sample id")],
)
def test_ids_that_do_not_match_are_counted(pheno: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        load(files(tmp_path, pheno=pheno))


def test_partial_matches_can_be_kept_and_are_listed(tmp_path: Path) -> None:
    source = files(tmp_path, pheno="abcdefg")
    data = load(Source(**{**vars(source), "keep_matching": True}))
    assert data.dropped_samples[0].names == ("h", "i", "j")
    assert len(data.y) == 7


def test_covariates_come_from_a_file_or_from_columns(tmp_path: Path) -> None:
    source = files(tmp_path)
    data = load(Source(**{**vars(source), "covariates": ("sex", "w")}))
    x, names = covariate_matrix(data.covariates)
    assert names == ("sex=m", "w")
    assert set(x[:, 0]) == {0.0, 1.0}
    assert data.table.names == ("u", "v")
    beside = load(Source(source.data, "u", covar=source.pheno))
    assert set(beside.covariates) == {"height", "sex"}


def test_missing_target_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'height'"):
        load(Source(**{**vars(files(tmp_path)), "target": "hieght"}))


def test_samples_without_a_response_are_dropped_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i * i},{'' if i == 3 else i % 2}\n" for i in range(12)))
    data = load(Source(path, "y"))
    assert data.dropped_samples[0].names == ("row 4",)
    assert data.y.dtype.kind == "i"


def test_every_dropped_feature_is_listed() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (60, 8)).astype(np.int8)
    x[:, 1] = x[:, 0]  # copy
    x[:, 2] = 0  # constant, hence rare
    x[:30, 3] = -1  # half missing
    x[:, 4] = 0
    x[0, 4] = 1  # one copy of the minor allele
    x[3, 5] = -1  # imputed
    done = clean(dataset(x, genotypes=True), Rules())
    assert done.names == ("x0", "x5", "x6", "x7")
    reasons = {name: d.reason for d in done.dropped for name in d.names}
    assert set(reasons) == {"x1", "x2", "x3", "x4"}
    assert dict(zip(("x1",), done.dropped[-1].stand_ins, strict=True)) == {"x1": "x0"}
    assert done.x[3, 1] == pytest.approx(np.delete(x[:, 5], 3).mean())
    assert len(done.steps) == 4
    assert done.missing_share["x5"] == pytest.approx(1 / 60)


def test_mode_and_error_for_missing_values() -> None:
    x = np.array([[0, 1, np.nan], [1, 0, 2], [2, 1, 2], [3, 0, 1]], dtype=float)
    assert clean(dataset(x), Rules(missing="mode", max_missing=0.5)).x[0, 2] == 2
    with pytest.raises(DataError, match="row 1 of 'x2'"):
        clean(dataset(x), Rules(missing="error", max_missing=0.5))


def test_a_column_without_any_value_is_an_error() -> None:
    x = np.column_stack([np.arange(5.0), np.full(5, np.nan), np.ones(5)])
    with pytest.raises(DataError, match=r"column 'x1' has no value at all.*--drop x1"):
        clean(dataset(x), Rules())


def test_pruning_leaves_no_pair_above_the_level_and_names_stand_ins() -> None:
    rng = np.random.default_rng(0)
    base = rng.standard_normal((50, 6))
    x = np.hstack([base, -base[:, :3] + 0.01 * rng.standard_normal((50, 3))])
    done = clean(dataset(x), Rules(prune=0.9))
    r = np.abs(np.corrcoef(done.x.T))
    assert (r[~np.eye(len(r), dtype=bool)] <= 0.9).all()
    assert done.dropped[0].stand_ins == ("x0", "x1", "x2")


def test_text_becomes_levels_of_one_group() -> None:
    x = np.random.default_rng(0).standard_normal((12, 2))
    colours = (["red", "green", ""] * 4)[:12]
    done = clean(dataset(x, colour=colours, yes=["n", "y"] * 6, name=list("abcdefghijkl")), Rules(max_missing=0.5))
    assert done.names[2:5] == ("colour=(missing)", "colour=green", "colour=red")
    assert done.groups[2:6] == ("colour",) * 3 + ("yes",)
    assert done.x[:, 2:5].sum() == 12


def test_maf_is_refused_for_other_numbers() -> None:
    with pytest.raises(DataError, match="coded 0, 1, 2"):
        clean(dataset(np.random.default_rng(0).standard_normal((20, 3))), Rules(maf=0.05))


@pytest.mark.skipif(not DATA.exists(), reason="the real panels are not beside the project")
def test_pruning_agrees_with_the_published_index_of_tomato() -> None:
    table = read_table(DATA / "tomato_bauchet" / "tomato_bauchet.npz")
    done = clean(Dataset(table, "y", np.arange(291.0)), Rules(prune=0.95))
    expected = np.load(DATA / "tomato_bauchet" / "prune_idx.npz")["r95"]
    assert [table.names.index(name) for name in done.names] == list(expected)


@pytest.mark.skipif(not DATA.exists(), reason="the real panels are not beside the project")
def test_maize_with_its_missing_calls() -> None:
    data = load(Source(DATA / "maize282_gapit" / "maize282.npz", "EarHT", array="X_raw"))
    done = clean(data, Rules())
    assert len(done.y) == 279
    assert np.isfinite(done.x).all()
    assert done.x.shape[1] + sum(len(d.names) for d in done.dropped) == 3093


def test_infinity_is_named_by_its_column() -> None:
    values = np.random.default_rng(0).standard_normal((20, 3))
    values[4, 1] = np.inf
    with pytest.raises(ValueError, match="inf in column 'x1'"):
        clean(dataset(values), Rules())


def test_a_column_that_is_infinite_throughout_is_dropped_as_such() -> None:
    values = np.random.default_rng(0).standard_normal((20, 5))
    values[:, 1], values[:, 2], values[:, 3] = np.inf, 1.0, 10**18
    values[:3, 1:4] = np.nan
    reasons = {d.names: d.reason for d in clean(dataset(values), Rules()).dropped}
    assert reasons[("x1",)] == "infinite in every row that has a value"
    assert reasons[("x2",)] == "constant"
    assert "15 digits" in reasons[("x3",)]


def test_infinity_in_the_target_is_named_by_its_sample(tmp_path: Path) -> None:
    rows = [f"s{i},{i},{i * i},{'inf' if i == 4 else i}" for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["id,a,b,y", *rows]))
    with pytest.raises(ValueError, match="inf in the target 'y', s4; correct it, or drop such samples with --na inf"):
        load(Source(tmp_path / "t.csv", "y"))
    assert len(load(Source(tmp_path / "t.csv", "y", na=("inf",))).y) == 19


def test_whole_numbers_that_no_integer_holds_stay_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{i},{i * i},{i}e30\n" for i in range(1, 20)))
    assert load(Source(tmp_path / "t.csv", "y")).y.max() == 1.9e31


def test_a_covariate_without_any_value_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c,y\n" + "".join(f"{i},{i * i},NA,{i}\n" for i in range(20)))
    with pytest.raises(ValueError, match="the covariate 'c' has no value at all"):
        clean(load(Source(tmp_path / "t.csv", "y", covariates=("c",))), Rules())
