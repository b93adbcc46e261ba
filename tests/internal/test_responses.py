"""Numbers are numbers and words are classes, and what can be neither is refused in one line before any fit."""

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from neuralmirror import BHSelector
from neuralmirror._internal import matrices
from neuralmirror._internal.responses import guess_task

N = 60
X = np.random.default_rng(0).standard_normal((N, 4))
T = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(N)

TASKS = {
    "counts": (np.round(3 * T).astype(int), "regression"),
    "whole floats": (np.round(T), "regression"),
    "scores": (np.digitize(T, [-1, 0, 1]), "regression"),
    "objects": (np.digitize(T, [-1, 0, 1]).astype(object), "regression"),
    "nullable": (pd.Series(np.digitize(T, [-1, 0, 1])).astype("Int64"), "regression"),
    "0 and 1": ((T > 0).astype(int), "classification"),
    "1.5 and 2.5": (np.where(T > 0, 1.5, 2.5), "classification"),
    "booleans": (T > 0, "classification"),
    "text": (np.where(T > 0, "a", "b"), "classification"),
    "category": (pd.Series(np.digitize(T, [-1, 1])).astype(str).astype("category"), "classification"),
}


@pytest.mark.parametrize("case", TASKS)
def test_the_task_is_what_the_values_say(case: str) -> None:
    y, task = TASKS[case]
    assert BHSelector().fit(X, y).task_ == task


def test_the_user_decides_otherwise() -> None:
    assert guess_task(np.array([0, 1, 2]), "classification") == "classification"
    assert guess_task(np.array([0, 1, 1]), "regression") == "regression"


def rare(words: bool) -> np.ndarray:
    codes = np.array([0, 1] * (N // 2))
    codes[7] = 2
    return np.array(["north", "south", "east"])[codes] if words else codes


BAD = {
    "dates": (pd.date_range("2020", periods=N), "auto", "y holds dates or times; turn them into numbers"),
    "day objects": (np.array([datetime.date(2020, 1, 1 + i % 20) for i in range(N)]), "auto", "y holds dates"),
    "time zones": (pd.Series(pd.date_range("2020", periods=N, tz="UTC")), "auto", "y holds dates"),
    "NA": (pd.Series(["a", "b", None] * (N // 3), dtype="string"), "auto", r"NA or None \(first in row 2\)"),
    "NA numbers": (pd.Series([1, 2, None] * (N // 3), dtype="Int64"), "auto", "y contains NaN"),
    "one member": (rare(True), "auto", "class 'east' of y has a single member.*drop that row, or merge"),
    "one member in numbers": (rare(False), "classification", "class '2' .*task='regression'"),
    "numbers as classes": (T, "classification", "60 different values in 60 rows.*use task='regression'"),
    "text all different": (np.array([f"s{i}" for i in range(N)]), "auto", "too many for classes; choose another"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_a_response_is_refused(case: str) -> None:
    y, task, message = BAD[case]
    with pytest.raises(ValueError, match=message) as caught:
        BHSelector(task=task).fit(X, y)
    assert "\n" not in str(caught.value)


def test_sparse_matrices_and_frames_are_taken() -> None:
    zeros = np.where(np.abs(X) < 0.3, 0, X)
    expected = BHSelector().fit(zeros, T).p_values_
    np.testing.assert_allclose(BHSelector().fit(sparse.csr_matrix(zeros), T).p_values_, expected)
    frame = pd.DataFrame(zeros, columns=list("abcd")).astype(pd.SparseDtype("float", 0.0))
    fitted = BHSelector().fit(frame, T)
    np.testing.assert_allclose(fitted.p_values_, expected)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    assert BHSelector().fit(zeros, T).transform(sparse.csr_matrix(zeros)).shape[0] == N


def test_a_sparse_matrix_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "_free_memory", lambda: 100)
    with pytest.raises(ValueError, match=r"X is sparse and takes .* GB .* are free"):
        BHSelector().fit(sparse.csr_matrix(X), T)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("columns", "first"), [([10, 11, 12, 13], "10"), (pd.MultiIndex.from_product([["a", "b"], [0, 1]]), "('a', 0)")]
)
def test_names_that_are_no_text_become_strings_of_themselves(columns: object, first: str) -> None:
    frame = pd.DataFrame(X, columns=columns)
    fitted = BHSelector(fdr=1e-9).fit(frame, T)
    assert fitted.feature_names_in_[0] == first
    assert fitted.get_feature_names_out().tolist() == [first]
    np.testing.assert_array_equal(fitted.transform(frame), X[:, :1])


def test_the_table_holds_names_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = BHSelector().fit(pd.DataFrame(X, columns=list("abcd")), T)
    table = fitted.table()
    assert list(table.columns) == ["feature", "statistic", "q_value", "selection_frequency", "selected"]
    assert table["feature"].tolist() == list("abcd")
    np.testing.assert_array_equal(table["selected"], fitted.support_)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert fitted.table() == table.to_dict("records")
