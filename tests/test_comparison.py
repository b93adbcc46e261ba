import csv
import json

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import neuralmirror as nm
from neuralmirror import cli
from neuralmirror import comparison as co

FAST = ("gaussian-mirror", "model-x", "bh")


def example(n=200, p=30, k=12, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]), x[:, :k].sum(axis=1) + rng.standard_normal(n)


@pytest.fixture(scope="module")
def result():
    return nm.compare(*example(), methods=FAST, random_state=0)


@pytest.fixture
def file(tmp_path):
    x, y = example()
    path = tmp_path / "data.csv"
    x.assign(y=y).to_csv(path, index=False)
    return path


def test_entries_are_what_the_methods_select_alone(result):
    x, y = example()
    alone = nm.GaussianMirror(random_state=0).fit(x, y)
    np.testing.assert_array_equal(result.entries[0].support, alone.support_)
    np.testing.assert_array_equal(result.entries[0].q_values, alone.q_values_)
    assert result.entries[0].note == alone.explain()
    assert result.methods == FAST
    assert all(entry.seconds > 0 for entry in result.entries)


def test_the_table_lists_every_feature_once_by_votes(result):
    table = pd.DataFrame(result.table())
    assert sorted(table["feature"]) == sorted(result.features)
    assert (table["votes"] == table[list(FAST)].sum(axis=1)).all()
    assert table["votes"].is_monotonic_decreasing
    for method, entry in zip(FAST, result.entries, strict=True):
        assert set(table["feature"][table[method]]) == set(np.array(result.features)[entry.support])


def test_agreement_is_the_jaccard_index(result):
    shares = result.agreement()
    np.testing.assert_array_equal(np.diag(shares), 1)
    np.testing.assert_array_equal(shares, shares.T)
    a, b = (set(np.flatnonzero(result.entries[i].support)) for i in (0, 2))
    assert shares[0, 2] == len(a & b) / len(a | b)


def test_jaccard_of_small_sets():
    none, one, two = np.array([0, 0, 0], bool), np.array([1, 0, 0], bool), np.array([1, 1, 0], bool)
    assert np.isnan(co.jaccard(none, none))
    assert co.jaccard(none, one) == 0
    assert co.jaccard(one, two) == 0.5


def test_a_method_that_does_not_apply_is_listed_with_its_reason():
    x, y = example(n=25)
    result = nm.compare(x, y, methods=["gaussian-mirror", "bh"], random_state=0)
    assert not result.entries[1].applies
    assert "p_values='marginal'" in result.entries[1].note
    assert np.isnan(result.agreement()[0, 1])
    with pytest.raises(ValueError, match="marginal"):
        nm.compare(x, y, methods=["bh", "by"])


def test_what_a_user_should_know_is_kept():
    x, y = example()
    result = nm.compare(x.assign(flat=1.0), np.digitize(y, [-2, 2]), methods=["bh", "fixed-x"], random_state=0)
    assert ["flat" in text for text in result.entries[0].warnings] == [True]


def test_selectors_are_taken_as_they_are_and_may_have_labels():
    x, y = example()
    mine = nm.BHSelector(fdr=0.3)
    result = nm.compare(x.to_numpy(), y, methods={"mine": mine, "usual": "bh"}, fdr=0.05)
    assert result.methods == ("mine", "usual")
    assert result.features[:2] == ("0", "1")
    assert not hasattr(mine, "support_")
    np.testing.assert_array_equal(result.entries[0].support, mine.fit(x.to_numpy(), y).support_)
    np.testing.assert_array_equal(result.entries[1].support, nm.BHSelector(fdr=0.05).fit(x, y).support_)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["model-y"], "did you mean 'model-x'"),
        ([], "methods is empty"),
        ([nm.BHSelector(), nm.BHSelector(fdr=0.2)], "give them labels"),
    ],
)
def test_bad_methods_are_refused_with_a_remedy(methods, message):
    with pytest.raises(ValueError, match=message):
        nm.compare(*example(), methods=methods)


def test_every_named_method_can_be_made():
    assert set(co.USUAL) <= set(co.METHODS)
    known = nm.NeuralGaussianMirror().get_params()
    for name, make in co.METHODS.items():
        settings = co.NEURAL.get(name, {})
        if set(settings) <= set(known):
            assert make().get_params().items() >= {"fdr": 0.1, **settings}.items()
        else:
            with pytest.raises(ValueError, match="has no parameter"):
                make()


def test_forests_on_knockoffs_are_a_method():
    assert co.METHODS["forest-knockoffs"]().statistic == "forest"


def test_the_plot_takes_and_returns_axes(result):
    _, ax = plt.subplots()
    assert result.plot(ax=ax) is ax
    assert [label.get_text().split("\n")[0] for label in ax.get_xticklabels()] == list(FAST)
    assert len(ax.get_yticklabels()) == (result.selected.sum(axis=1) > 0).sum()
    assert len(co.plot_comparison(result, most=3).get_yticklabels()) == 3
    plt.close("all")


def test_the_plot_of_empty_selections():
    x, _ = example()
    result = nm.compare(x, np.random.default_rng(5).standard_normal(len(x)), methods=["bh"], fdr=0.001)
    assert not result.selected.any()
    assert not result.plot().get_yticklabels()
    plt.close("all")


def test_the_command_writes_and_prints_the_comparison(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert cli.main(["compare", str(file), "--target", "y", "--methods", "gaussian-mirror,bh", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "gaussian-mirror" in printed
    assert "Jaccard" in printed
    with (out / "selections.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == ["feature", "gaussian-mirror", "bh", "votes"]
    assert len(rows) == 30
    expected = nm.compare(*example(), methods=["gaussian-mirror", "bh"], random_state=0)
    chosen = {row["feature"] for row in rows if row["bh"] == "true"}
    assert chosen == set(np.array(expected.features)[expected.entries[1].support])
    record = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert [row["method"] for row in record["methods"]] == ["gaussian-mirror", "bh"]
    assert (out / "agreement.csv").read_text(encoding="utf-8").startswith("method,gaussian-mirror,bh\n")
    assert (out / "comparison.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z"], "z"),
        (["--target", "y", "--methods", "lasso"], "must be one of"),
        (["--target", "y", "--fdr", "10"], "did you mean 0.1"),
        (["--target", "y", "--prune", "2"], "between 0 and 1"),
    ],
)
def test_the_command_refuses_mistakes_in_one_line(file, tmp_path, capsys, arguments, message):
    assert cli.main(["compare", str(file), *arguments, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def write_cohort(path):
    """A category of three levels and a covariate that both matter, beside numbers."""
    x, y = example()
    rng = np.random.default_rng(1)
    site, age = rng.choice(["north", "south", "east"], len(x)), rng.standard_normal(len(x))
    x.assign(site=site, age=age, y=y + 3 * (site == "north") + 2 * age).to_csv(path, index=False)
    return path


def test_categories_stay_whole_and_covariates_are_never_selected(tmp_path, capsys):
    file = write_cohort(tmp_path / "c.csv")
    options = ["--methods", "gaussian-mirror,bh,model-x", "--covariates", "age", "--device", "cpu", "-j", "1", "--json"]
    assert cli.main(["compare", str(file), "--target", "y", "--out", str(tmp_path / "out"), *options]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert (record["schema"], record["offset"]) == (1, 1)
    for method in record["methods"]:
        assert method["applies"], method
        assert "site" in method["selected"]
        assert not any("=" in name or name == "age" for name in method["selected"])
    with (tmp_path / "out" / "selections.csv").open(encoding="utf-8") as lines:
        assert len(list(csv.DictReader(lines))) == 31


def test_the_task_is_passed_on(tmp_path, capsys):
    x, y = example()
    x.assign(y=np.digitize(y, [-3, 3])).to_csv(tmp_path / "d.csv", index=False)
    command = ["compare", str(tmp_path / "d.csv"), "--target", "y", "--methods", "bh", "--task", "classification"]
    assert cli.main([*command, "--out", str(tmp_path / "out")]) == 0
    assert "3 classes" in capsys.readouterr().out


def test_all_methods_get_the_same_offset():
    x, y = example()
    made = {}
    for name in ("gaussian-mirror", "model-x", "fixed-x", "deeppink", "neural-mirror"):
        made[name] = co._selector(name, {"offset": 0, "fdr": 0.2})
    assert {selector.offset for selector in made.values()} == {0}
    strict, paper = (nm.compare(x, y, ["model-x"], random_state=0, offset=k).entries[0].q_values for k in (1, 0))
    assert (paper <= strict).all()
    assert (paper < strict).any()


def test_covariates_are_regressed_out_for_methods_that_know_none():
    """By Frisch, Waugh and Lovell the residuals have the coefficients of the whole regression."""
    x, y = example()
    age = np.random.default_rng(1).standard_normal(len(x))
    both = x.assign(age=age)
    entry = nm.compare(both, y + 5 * age, ["bh"], covariates=["age"]).entries[0]
    whole = nm.BHSelector().fit(both, y + 5 * age)
    np.testing.assert_array_equal(entry.support, whole.support_[:-1])
    with pytest.raises(ValueError, match="takes no covariates where the response holds classes"):
        nm.compare(both, y > 0, ["bh"], covariates=["age"])


def test_two_empty_selections_agree_about_nothing():
    x, _ = example()
    nothing = np.random.default_rng(5).standard_normal(len(x))
    result = nm.compare(x, nothing, methods=["bh", "by"], fdr=0.001)
    assert np.isnan(result.agreement()).all()
