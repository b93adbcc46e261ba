"""Bad data and parameters: refused at the edge, with what was expected, what came and what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fitting import QUIET, SCHEMES, data, easy, mirror
from neuralmirror.learner.network import Network


def table_with(value, column=2, row=5):
    x, _ = data(n=30)
    x[row, column] = value
    return pd.DataFrame(x, columns=[f"snp{j}" for j in range(8)])


def response_with(value, row=7):
    y = data(n=30)[1]
    y[row] = value
    return y


def text_frame(library):
    columns = {"height": np.arange(30.0), "city": ["Rome", "Oslo", "Lima"] * 10, "weight": np.arange(30.0) ** 2}
    return library.DataFrame(columns)


X, Y = data(n=30)
DOUBLE = pd.DataFrame(X, columns=["a", "b", "c", "a", "e", "f", "g", "h"])
BAD_DATA = {
    "NaN in X": (table_with(np.nan), Y, r"NaN in column 'snp2' \(row 5; 1 such cells in all\); impute or drop"),
    "inf in X": (table_with(np.inf), Y, r"inf in column 'snp2' \(row 5"),
    "minus inf in X": (table_with(-np.inf), Y, r"inf in column 'snp2'"),
    "null in polars": (pl.DataFrame({"a": [1.0, None] * 15, "b": list(range(30))}), Y, "NaN in column 'a'"),
    "huge column": (table_with(1e300), Y, "column 'snp2' of X has values about 5e.299 apart.*another unit"),
    "tiny columns": (X * 1e-300, Y, "column '0' of X has values about .*e-300 apart"),
    "huge y": (X, Y * 1e300, "y has values about .*e.300 apart"),
    "NaN in y": (X, response_with(np.nan), r"y contains NaN or inf \(first in row 7\); drop such rows"),
    "inf in y": (X, response_with(np.inf), r"y contains NaN or inf \(first in row 7\)"),
    "None in y": (X, np.array([None, *"ab" * 14, "a"], dtype=object), "y contains NaN, NA or None"),
    "mixed y": (X, np.array(["a", 1] * 15, dtype=object), "y mixes values of the types int, str"),
    "text column in pandas": (text_frame(pd), Y, "column 'city' of X has type String.*encode it"),
    "text column in polars": (text_frame(pl), Y, "column 'city' of X has type String.*encode it"),
    "category column": (table_with(0).assign(snp2=pd.Categorical(["x", "y"] * 15)), Y, "column 'snp2'.*Categorical"),
    "date column": (table_with(0).assign(snp2=pd.Timestamp("2020")), Y, "column 'snp2' of X has type Datetime"),
    "text in an array": (np.where(X > 9, X.astype(object), "x"), Y, "text 'x' in row 0, column 0"),
    "no rows": (X[:0], Y[:0], r"0 sample\(s\)"),
    "nine rows": (X[:9], Y[:9], "n_samples=9 rows, but at least 10 are needed"),
    "one column": (X[:, :1], Y, "n_features=1, but at least 2 are needed"),
    "one dimension": (X[:, 0], Y, "Expected 2D array, got 1D array"),
    "all columns constant": (np.ones((30, 3)), Y, "0 distinct, varying columns"),
    "constant y": (X, np.full(30, 2.5), r"y is constant \(one class or one value.*2.5"),
    "one class": (X, np.array(["case"] * 30), r"y is constant \(one class.*case"),
    "short y": (X, Y[:29], "y has 29 values but X has 30 rows; one value per row"),
    "long y": (X, np.r_[Y, 0], "y has 31 values but X has 30 rows"),
    "wide y": (X, np.c_[Y, Y], "y should be a 1d array"),
    "no y": (X, None, "requires y to be passed"),
    "duplicate names": (DOUBLE, Y, "several columns named 'a'; rename"),
}


@QUIET
@pytest.mark.parametrize("case", BAD_DATA)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bad_data_is_refused_with_the_place_and_the_remedy(case, scheme):
    x, y, message = BAD_DATA[case]
    with pytest.raises(ValueError, match=message):
        mirror(scheme=scheme).fit(x, y)


BAD_PARAMETERS = [
    ({"fdr": 0}, r"fdr must lie in \(0, 1\), got 0"),
    ({"fdr": 1}, r"fdr must lie in \(0, 1\), got 1"),
    ({"fdr": 10}, r"fdr must lie in \(0, 1\), got 10; did you mean 0.1\?"),
    ({"fdr": -0.1}, r"fdr must lie in \(0, 1\), got -0.1"),
    ({"fdr": float("nan")}, r"fdr must lie in \(0, 1\), got nan"),
    ({"fdr": "0.1"}, r"fdr must lie in \(0, 1\), got '0.1'"),
    ({"offset": 2}, "offset must be 0 .* or 1"),
    ({"scheme": "simultanous"}, "did you mean 'simultaneous'"),
    ({"scheme": "INDIVIDUAL"}, "scheme must be one of 'turns', 'simultaneous', 'individual', got 'INDIVIDUAL'"),
    ({"scheme": 3}, "scheme must be one of"),
    ({"noise": "independant"}, "did you mean 'independent'"),
    ({"learner": "netwrok"}, "did you mean 'network'"),
    ({"noise": "independent", "scale": "kernal"}, "did you mean 'kernel'"),
    ({"noise": "independent", "scale": "xyzzy"}, "'kernel', 'linear', 'residual', 'marginal', got 'xyzzy'$"),
    ({"noise": "independent", "scale": [1.0, 2.0]}, "or 8 positive numbers, one per column of X"),
    ({"noise": "independent", "scale": -np.ones(8)}, "8 positive numbers"),
    ({"network": Network.paper()}, "mirrored pairs X ± cZ hold one independent noise per feature, got n_mirrors=4"),
    ({"feature_groups": ["a"]}, "feature_groups must hold 8 labels, one per column of X"),
    ({"n_jobs": 0}, "n_jobs must be a number of threads"),
    ({"n_mirrors": "automatic"}, "n_mirrors must be a whole number of at least 1"),
    ({"task": "classify"}, "did you mean 'classification'"),
    ({"n_mirrors": 0}, "n_mirrors must be a whole number of at least 1"),
    ({"n_repeats": 0}, "n_repeats must be a whole number of at least 1"),
    ({"device": "gpu"}, "device must be one of 'auto', 'cpu', 'cuda', got 'gpu'"),
    ({"screen": 9}, "screen=9 asks for more features than the 8"),
    ({"screen": 1}, "screen must be a whole number of at least 2, got 1"),
    ({"screen": "haf"}, "did you mean 'half'"),
    ({"covariates": ["h2"]}, "covariates must be one of"),
    ({"covariates": [8]}, "positions below 8, got 8"),
    ({"covariates": list(range(8))}, "0 distinct, varying columns to select from"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=[str(p) for p, _ in BAD_PARAMETERS])
def test_bad_parameters_are_refused_with_the_value_and_the_remedy(parameters, message):
    with pytest.raises(ValueError, match=message):
        mirror(**parameters).fit(X, Y)


BAD_NETWORKS = [
    ({"importance": "gradiant"}, "did you mean 'gradient'"),
    ({"activation": "relo"}, "did you mean 'relu'"),
    ({"shrinkage": -1}, "shrinkage must be a number of at least 0, got -1"),
    ({"learning_rate": 0}, "learning_rate must be a number above 0, got 0"),
    ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
    ({"steps": 2.5}, "steps must be a whole number"),
    ({"batch_size": 0}, "batch_size must be a whole number"),
    ({"waves": -1}, "waves must be a whole number of at least 0, got -1"),
    ({"hidden_sizes": ()}, "hidden_sizes must name at least one hidden layer"),
    ({"hidden_sizes": (5, 0)}, "hidden_sizes must be a whole number of at least 1, got 0"),
]


@pytest.mark.parametrize("learner", ["network", "sparse"])
@pytest.mark.parametrize(("parameters", "message"), BAD_NETWORKS, ids=[str(p) for p, _ in BAD_NETWORKS])
def test_bad_networks_are_refused_at_once_whether_they_are_used_or_not(parameters, message, learner):
    with pytest.raises(ValueError, match=message):
        mirror(learner=learner, network=Network(**parameters)).fit(X, Y)


@pytest.mark.parametrize(("parameters", "message"), [({"fdr": 2}, "did you mean 0.02"), ({"offset": 3}, "offset must")])
def test_bad_levels_are_refused_after_the_fit_too(parameters, message):
    with pytest.raises(ValueError, match=message):
        easy().reselect(**parameters)


def test_a_text_response_needs_classification():
    with pytest.raises(ValueError, match="task='regression' needs a numeric y"):
        mirror(task="regression").fit(X, np.array(["a", "b"] * 15))


def test_other_columns_than_in_the_fit_are_refused():
    table = pd.DataFrame(data()[0], columns=list("abcdefgh"))
    fitted = mirror(fdr=0.5).fit(table, data()[1])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(table.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(table[list("abcdefg")])
    with pytest.raises(ValueError, match="expecting 8 features"):
        easy().transform(data()[0][:, :7])


def test_an_unavailable_device_is_named():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match="device='cuda' was asked for, but PyTorch finds no CUDA device"):
        mirror(device="cuda").fit(X, Y)
