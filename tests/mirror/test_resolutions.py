"""Contracts of discoveries at several resolutions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from neuralmirror import MultiResolutionMirror
from neuralmirror.mirror.discoveries import COLUMNS

P, WIDTH, N = 60, 5, 300


def data(seed=0):
    """Twelve blocks of five near-copies, of which four hold a column that matters; and a copy of one column."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.standard_normal((N, P // WIDTH)), WIDTH, axis=1) + 0.15 * rng.standard_normal((N, P))
    y = x[:, [2, 17, 33, 48]].sum(axis=1) + 0.5 * rng.standard_normal(N)
    frame = pd.DataFrame(x, columns=[f"rs{j}" for j in range(P)])
    return frame.assign(again=frame["rs2"]), y


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([MultiResolutionMirror((1.0,), random_state=0, n_jobs=1)])
def test_it_is_a_scikit_learn_selector(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    x, y = data()
    mirror = MultiResolutionMirror(
        (1.0, 0.5), chromosomes=["1"] * 30 + ["2"] * 30 + ["1"], positions=[*range(100, 6100, 100), 350], random_state=1
    )
    with pytest.warns(UserWarning, match="repeat another"):
        return mirror.fit(x, y)


def test_the_blocks_that_matter_are_discovered(fitted):
    coarse = fitted.group_supports_[fitted.resolutions_.index("0.5")]
    matter = {*range(5), *range(15, 20), *range(30, 35), *range(45, 50), 60}
    assert set(np.flatnonzero(coarse)) >= matter
    assert coarse.sum() <= len(matter) + 2 * WIDTH  # a null block may come along, the rate is an average


def test_the_table_is_that_of_geneticists(fitted):
    table = fitted.discoveries()
    assert tuple(table.columns) == COLUMNS
    row = table[(table["resolution"] == "0.5") & (table["CHR"] == "1")].sort_values("BP.min").iloc[0]
    assert row["members"] == ["rs0", "rs1", "rs2", "rs3", "rs4", "again"]
    assert (row["size"], row["BP.min"], row["BP.max"], row["width"]) == (6, 100, 500, 400)
    assert row["lead"] in row["members"]
    assert (table["q"] <= fitted.fdr).all()


def test_statistics_within_a_group_are_equal_and_groups_lie_within_each_other(fitted):
    for groups, m in zip(fitted.groups_, fitted.group_statistics_, strict=True):
        np.testing.assert_array_equal(m, m[groups])
    fine, coarse = fitted.groups_
    np.testing.assert_array_equal(coarse, coarse[fine])


def test_the_selector_itself_is_that_of_the_finest_resolution(fitted):
    np.testing.assert_array_equal(fitted.support_, fitted.group_supports_[0])
    assert fitted.transform(data()[0]).shape == (N, fitted.support_.sum())


def test_a_lower_level_discovers_no_more(fitted):
    assert (fitted.reselect_groups(0.05) <= fitted.reselect_groups(0.3)).all()
    assert len(fitted.discovered(0.3)) >= len(fitted.discovered(0.05))


def test_the_order_of_the_columns_and_threads_change_nothing(fitted):
    x, y = data()
    order = np.random.default_rng(5).permutation(P)
    shuffled = x.iloc[:, order]
    one = MultiResolutionMirror((0.5,), random_state=1, n_jobs=1).fit(x.iloc[:, :P], y)
    two = MultiResolutionMirror((0.5,), random_state=1, n_jobs=2).fit(shuffled, y)
    np.testing.assert_allclose(two.group_statistics_[0], one.group_statistics_[0][order])


def test_results_come_back_from_a_file(fitted, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    again = MultiResolutionMirror.load(tmp_path / "model.safetensors")
    assert again.discovered() == fitted.discovered()


def test_partitions_classes_covariates_and_repeated_draws():
    x, y = data(3)
    labels = np.arange(P) // WIDTH
    mirror = MultiResolutionMirror({"mine": [*labels, 99]}, covariates=["again"], n_repeats=3, random_state=0)
    mirror.fit(x, y > 0)
    assert mirror.task_ == "classification"
    assert mirror._group_draws.shape[1] == 3
    found = {row["lead"] for row in mirror.discovered()}
    assert all(row["position"] is None and row["CHR"] is None for row in mirror.discovered())
    assert not any("again" in row["members"] for row in mirror.discovered())
    assert {int(name[2:]) // WIDTH for name in found} >= {3, 6, 9}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"resolutions": (1.5,)}, "must be correlations"),
        ({"resolutions": ()}, "at least one cut"),
        ({"resolutions": {"a": [1, 2]}}, "must hold 60 labels"),
        ({"resolutions": {"a": [1] * 60}}, "all columns in one group"),
        ({"positions": [1]}, "must hold 60 values"),
        ({"linkage": "ward"}, "linkage"),
    ],
)
def test_mistakes_are_named(settings, words):
    x, y = data()
    with pytest.raises(ValueError, match=words):
        clone(MultiResolutionMirror(**settings)).fit(x.iloc[:, :P], y)


def chromosome(rng, n=400, groups=60, width=4):
    """Counts 0, 1, 2 along a chromosome: neighbours in a group are near-copies, neighbouring groups are correlated."""
    steps = rng.standard_normal((2, n, groups))
    along = steps.copy()
    for j in range(1, groups):
        along[:, :, j] = 0.5 * along[:, :, j - 1] + np.sqrt(0.75) * steps[:, :, j]
    noisy = np.repeat(along, width, axis=2) + 0.3 * rng.standard_normal((2, n, groups * width))
    return (noisy > 0).sum(axis=0).astype(float), np.arange(groups * width) // width


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_every_resolution_keeps_its_level_and_has_power():
    """Mean FDP at most the level plus three standard errors; power of the coarser at least .8.

    A rate that is at the level fails once in about 700 runs; an FDR of .2 is seen with about 95% (30 fits, sd .08).
    """
    fdps, powers = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x, group = chromosome(rng)
        causal = rng.choice(x.shape[1], 12, replace=False)
        y = x[:, causal] @ rng.choice([-1, 1], 12) + rng.standard_normal(len(x))
        parts = {"single": np.arange(x.shape[1]), "group": group}
        mirror = MultiResolutionMirror(parts, random_state=seed, progress=False).fit(x, y)
        found = [(set(g[s]), set(g[causal])) for g, s in zip(mirror.groups_, mirror.group_supports_, strict=True)]
        fdps.append([len(chosen - true) / max(1, len(chosen)) for chosen, true in found])
        powers.append(len(found[1][0] & found[1][1]) / len(found[1][1]))
    mean, error = np.mean(fdps, axis=0), np.std(fdps, axis=0) / np.sqrt(len(fdps))
    assert (mean <= 0.1 + 3 * error).all(), (mean, error)
    assert np.mean(powers) > 0.8
