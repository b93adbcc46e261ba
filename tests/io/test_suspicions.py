"""What looks like a mistake in the data is told; what is fine raises no alarm."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralmirror.io.cleaning import Cleaned, Rules, clean
from neuralmirror.io.loading import Dataset, Source, load
from neuralmirror.io.tables import DataError, Table

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))


def cleaned(x: np.ndarray, y: np.ndarray, **texts: list[str]) -> Cleaned:
    columns = {name: np.array(column, dtype=object) for name, column in texts.items()}
    table = Table(np.asarray(x, dtype=float), tuple(f"x{j}" for j in range(x.shape[1])), texts=columns)
    return clean(Dataset(table, "y", y), Rules())


def warned(data: Cleaned) -> str:
    return " | ".join(str(decision) for decision in data.decisions if decision.warns)


@pytest.mark.parametrize("leak", [lambda y: y, lambda y: -3 * y + 1, lambda y: y + 1e-4 * X[:, 1]])
def test_a_copy_of_the_target(leak: object) -> None:
    y = X @ np.arange(4.0) + RNG.standard_normal(60)
    data = cleaned(np.column_stack([X, leak(y)]), y)  # type: ignore[operator]
    assert "'x4' looks like a copy of the target 'y'" in warned(data)
    assert "--drop 'x4'" in warned(data)
    assert "x4" in data.names


def test_a_copy_of_classes_in_words_or_numbers() -> None:
    y = np.array(["low", "middle", "high"] * 20)
    codes = np.array([3.0, 1.0, 2.0] * 20)
    data = cleaned(np.column_stack([X, codes]), y, grade=["c", "a", "b"] * 20, other=["c", "a", "b", "b"] * 15)
    assert [d.text.split(" ")[0] for d in data.decisions if "copy of the target" in d.text] == ["'x4'", "'grade'"]


@pytest.mark.parametrize("code", [-999, -9999, 9999, -9, 99999])
def test_codes_for_missing_values(code: int) -> None:
    x = X.copy()
    x[:3, 1] = code
    data = cleaned(x, X[:, 0] + RNG.standard_normal(60))
    assert f"{code:g} repeats far outside the other values of x1" in warned(data)
    assert f"--na {code:g}" in warned(data)


def test_one_outlier_is_no_code() -> None:
    x = X.copy()
    x[0, 1] = -999
    assert "repeats" not in warned(cleaned(x, RNG.standard_normal(60)))


def test_a_multiple_of_another_column_is_told() -> None:
    data = cleaned(np.column_stack([X, 2.54 * X[:, 0], 32 - 1.8 * X[:, 1]]), RNG.standard_normal(60))
    assert "2 features are exact linear functions of another" in warned(data)
    assert "x4 (of x0), x5 (of x1)" in warned(data)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_random_data_raise_no_alarm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.hstack([rng.standard_normal((40, 3)), rng.poisson(2, (40, 2)), rng.integers(0, 2, (40, 1))])
    assert not cleaned(x, rng.standard_normal(40)).decisions


def test_rows_without_a_target_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{'' if i < 3 else b}\n" for i, (a, b, *_) in enumerate(X)))
    data = clean(load(Source(path, "y")), Rules())
    assert "3 samples dropped, no value of y: row 1, row 2, row 3" in data.steps


def test_sentinels_named_by_the_user_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{-999 if i < 3 else a},{b},{b}\n" for i, (a, b, *_) in enumerate(X)))
    data = clean(load(Source(path, "y", na=("-999",))), Rules())
    assert data.missing_share["a"] == pytest.approx(3 / 60)
    assert data.x.min() > -10


@pytest.mark.parametrize(("columns", "left"), [(1, "no usable feature is left"), (2, "only 1 usable feature is left")])
def test_too_few_features_say_why(columns: int, left: str) -> None:
    words = [f"w{i}" for i in range(59)] + ["w0"]
    with pytest.raises(DataError, match=f"{left}.*text with 59 distinct values: word"):
        cleaned(X[:, : columns - 1], RNG.standard_normal(60), word=words)


def test_numbers_too_long_to_tell_apart_are_told_as_such() -> None:
    x = np.column_stack([X, 10**18 + np.arange(60), np.ones(60)])
    reasons = {d.names: d.reason for d in cleaned(x, RNG.standard_normal(60)).dropped}
    assert "double precision" in reasons[("x4",)]
    assert reasons[("x5",)] == "constant"
