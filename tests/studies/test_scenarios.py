"""The trial bench: its rows, records that survive a kill, the formulas of its summaries, and its table."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from neuralmirror import BHSelector, NeuralGaussianMirror, evaluation
from neuralmirror.evaluation import Scenario, Summary, summarise
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.simulation.designs import Simulation
from neuralmirror.studies import scenarios
from neuralmirror.studies.records import read_records
from neuralmirror.studies.scenarios import as_markdown, load_scenarios, run_trials

pytestmark = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")

NOWHERE = Path("no-such-file.npz")
TINY = Scenario("tiny", Simulation("independent", n=60, p=8, k=4, h2=0.9), fdr=0.3, target=0.9)
NULL = Scenario("nothing", Simulation("independent", n=60, p=8, k=0, link="null"), fdr=0.2)


def mirror():
    return NeuralGaussianMirror(steps=20, hidden_sizes=(6,), n_networks=1, n_mirrors=1, skip="linear")


def without_seconds(records):
    """Records as sorted text, less the one entry that no two runs share."""
    return sorted(json.dumps({k: v for k, v in one.items() if k != "seconds"}) for one in records)


@pytest.fixture
def counted(monkeypatch):
    """The (row, method, seed) of every fit that is run."""
    calls, real = [], evaluation.run_one

    def run_one(row, method, make, seed):
        calls.append((row.name, method, seed))
        return real(row, method, make, seed)

    monkeypatch.setattr(scenarios, "run_one", run_one)
    return calls


# ---- rows ----


def test_every_row_is_a_simulation_that_can_be_drawn():
    rows = load_scenarios(tomato=NOWHERE)
    assert len({row.name for row in rows}) == len(rows) > 25
    for row in rows:
        assert 0 < row.fdr < 1
        assert row.target is None or 0 < row.target < 1
        small = replace(row.simulation, n=60, p=max(40, row.simulation.k))
        x, y, truth = small.sample(0)
        assert x.shape == (60, small.p)
        assert len(np.unique(y)) > 1
        assert truth.sum() == (0 if row.simulation.link == "null" else row.simulation.k)


def test_rows_come_in_the_order_asked_for_with_the_defaults_filled_in():
    first, second = load_scenarios(["linear-half", "linear-toeplitz-500"], NOWHERE)
    assert (first.name, second.name) == ("linear-half", "linear-toeplitz-500")
    assert first.simulation == replace(second.simulation, h2=0.5)
    assert second.simulation == Simulation("toeplitz", n=1000, p=500, k=30, rho=0.5)
    assert second.fdr == 0.1


def test_an_unknown_row_is_named_with_its_nearest():
    with pytest.raises(ValueError, match=r"row must be one of .*got 'mixed-10'; did you mean 'mixed-100'\?"):
        load_scenarios(["mixed-10"])


def test_rows_on_real_columns_need_the_data(tmp_path):
    everything = {row.name for row in load_scenarios(tomato=NOWHERE)}
    assert not any(name.startswith("tomato") for name in everything)
    with pytest.raises(ValueError, match=r"row 'tomato-100' needs the tomato genotypes.*no-such-file"):
        load_scenarios(["tomato-100"], NOWHERE)
    genotypes = np.random.default_rng(0).integers(0, 3, (30, 150))
    np.savez(tmp_path / "tomato.npz", X=genotypes)
    np.savez(tmp_path / "prune_idx.npz", r95=np.arange(0, 150, 1)[5:])
    (row,) = load_scenarios(["tomato-100"], tmp_path / "tomato.npz")
    x, _, truth = row.simulation.sample(0)
    assert x.shape == (30, 100)  # all rows there are
    assert truth.sum() == 30
    allowed = {tuple(column) for column in genotypes[:, 5:].T}
    assert {tuple(column) for column in x.T.astype(int)} <= allowed


# ---- one fit ----


@pytest.mark.parametrize("make", [mirror, BHSelector], ids=["mirror", "BH"])
def test_a_record_says_what_was_found_on_the_data_of_its_seed(make):
    one = evaluation.run_one(TINY, "some", make, seed=3)
    x, y, truth = TINY.simulation.sample(3)
    selector = make().set_params(fdr=0.3)
    if "random_state" in selector.get_params():
        selector.set_params(random_state=3)
    support = selector.fit(x, y).support_
    assert one["fdp"] == pytest.approx(false_discovery_proportion(support, truth), abs=1e-5)
    assert one["power"] == pytest.approx(power(support, truth), abs=1e-5)
    assert one["selected"] == support.sum()
    signs = np.sign(getattr(selector, "mirror_statistics_", np.zeros(8))[~truth])
    assert (one["null_won"], one["null_lost"]) == ((signs > 0).sum(), (signs < 0).sum())
    assert (one["row"], one["method"], one["seed"], one["fdr"]) == ("tiny", "some", 3, 0.3)
    assert json.loads(json.dumps(one)) == one


def test_a_batch_gives_the_records_of_single_fits():
    """On data where the order of minibatches tells little, up to the statistics' small differences."""
    seeds = [0, 1, 2]
    batch = scenarios.run_batch(TINY, "mirror", mirror, seeds)
    single = [evaluation.run_one(TINY, "mirror", mirror, seed) for seed in seeds]
    assert [one["seed"] for one in batch] == seeds
    assert [set(one) for one in batch] == [set(one) for one in single]
    assert without_seconds(batch[:1]) == without_seconds(single[:1])  # the batch takes its first seed's order
    assert [one["power"] for one in batch] == pytest.approx([one["power"] for one in single], abs=0.5)


def test_replicates_with_copies_of_columns_are_no_batch():
    genotypes = np.random.default_rng(0).integers(0, 3, (60, 20)).astype(float)
    genotypes[:, 10:15] = genotypes[:, :5]
    row = Scenario("copies", Simulation("columns", n=60, p=8, k=3, source=genotypes), fdr=0.3)
    seeds = [0, 1, 2, 3]
    assert len({np.unique(row.simulation.sample(seed)[0], axis=1).shape[1] for seed in seeds}) > 1
    batch = scenarios.run_batch(row, "mirror", mirror, seeds)
    assert without_seconds(batch) == without_seconds(
        [evaluation.run_one(row, "mirror", mirror, seed) for seed in seeds]
    )


# ---- many fits ----


def test_every_method_meets_every_row_on_the_same_data(tmp_path, counted):
    methods = {"OLS": BHSelector, "marginal": lambda: BHSelector(p_values="marginal")}
    records = run_trials([TINY, NULL], methods, 3, tmp_path / "new" / "trials.jsonl", show=False)
    expected = {(row, method, seed) for row in ("tiny", "nothing") for method in methods for seed in range(3)}
    assert {(r["row"], r["method"], r["seed"]) for r in records} == expected
    assert len(records) == len(counted) == 12
    for seed in range(3):
        (alone,) = (r for r in records if (r["row"], r["method"], r["seed"]) == ("tiny", "OLS", seed))
        assert without_seconds([alone]) == without_seconds([evaluation.run_one(TINY, "OLS", BHSelector, seed)])


def test_what_is_there_is_not_computed_again(tmp_path, counted):
    path = tmp_path / "trials.jsonl"
    first = run_trials([TINY], {"OLS": BHSelector}, 2, path, show=False)
    more = run_trials([TINY, NULL], {"OLS": BHSelector}, 3, path, show=False)
    assert more[:2] == first
    assert counted[2:] == [("tiny", "OLS", 2), ("nothing", "OLS", 0), ("nothing", "OLS", 1), ("nothing", "OLS", 2)]
    assert run_trials([TINY, NULL], {"OLS": BHSelector}, 3, path, show=False) == more
    assert len(counted) == 6


@pytest.mark.parametrize("cut", [1, 30, 100])
def test_a_killed_trial_goes_on_after_its_last_whole_line(cut, tmp_path, counted):
    path = tmp_path / "trials.jsonl"
    whole = run_trials([TINY], {"OLS": BHSelector}, 4, path, show=False)
    text = path.read_text()
    path.write_text(text[:-cut])  # the kill came while the last line was written, or before its end
    lost = len(whole) - len(read_records(path))
    assert lost == (cut > 1)
    del counted[:]
    resumed = run_trials([TINY], {"OLS": BHSelector}, 5, path, show=False)
    assert [seed for _, _, seed in counted] == [3, 4][1 - lost :]
    assert [r["seed"] for r in resumed] == [0, 1, 2, 3, 4]
    assert without_seconds(resumed[:4]) == without_seconds(whole)
    run_trials([TINY], {"OLS": BHSelector}, 5, path, show=False)
    assert len(counted) == lost + 1


def test_workers_do_not_change_the_records(tmp_path):
    with parallel_config(backend="threading"):  # processes would spend seconds on imports
        one, two = (
            run_trials([TINY], {"OLS": BHSelector}, 4, tmp_path / f"{n}.jsonl", n_jobs=n, show=False) for n in (1, 2)
        )
    assert without_seconds(one) == without_seconds(two)


def test_there_are_no_records_before_the_first_fit(tmp_path):
    assert read_records(tmp_path / "none.jsonl") == []
    assert summarise([]) == []


# ---- summaries ----


def fit(row="r", method="m", seed=0, **values):
    base = {"fdr": 0.1, "fdp": 0.0, "power": 1.0, "selected": 3, "null_won": 1, "null_lost": 1, "seconds": 1.0}
    return {"row": row, "method": method, "seed": seed, **base, **values}


def test_summaries_are_means_with_standard_errors():
    fits = [
        fit(fdp=0.0, power=0.5, selected=0, null_won=3, null_lost=1, seconds=1),
        fit(fdp=0.2, power=1.0, selected=4, null_won=0, null_lost=0, seconds=9),
        fit(fdp=0.1, power=0.9, selected=5, null_won=1, null_lost=3, seconds=2),
    ]
    (one,) = summarise(fits)
    assert (one.row, one.method, one.level, one.replicates) == ("r", "m", 0.1, 3)
    assert one.fdr == pytest.approx(0.1)
    assert one.power == pytest.approx(0.8)
    for error, values in ((one.fdr_error, [0, 0.2, 0.1]), (one.power_error, [0.5, 1, 0.9])):
        assert error == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert one.selecting == pytest.approx(2 / 3)
    assert one.balance == 0.5
    assert one.seconds == 2


def test_one_fit_has_no_standard_error():
    (one,) = summarise([fit(fdp=0.3)])
    assert (one.fdr, one.fdr_error, one.power_error) == (0.3, 0, 0)


def test_rows_and_methods_are_summarised_apart():
    fits = [fit("a", "x"), fit("b", "x", fdp=1.0), fit("a", "y", power=0.0), fit("a", "x", seed=1)]
    assert [(s.row, s.method, s.replicates) for s in summarise(fits)] == [("a", "x", 2), ("b", "x", 1), ("a", "y", 1)]
    assert summarise([fit(null_won=0, null_lost=0)])[0].balance == 0  # no sign at all


@pytest.mark.parametrize(("fdr", "error", "controlled"), [(0.1, 0, True), (0.14, 0.02, True), (0.141, 0.02, False)])
def test_control_allows_two_standard_errors(fdr, error, controlled):
    assert summary(fdr=fdr, fdr_error=error).controlled is controlled


def summary(**changes):
    values = {
        "row": "tiny",
        "method": "OLS",
        "level": 0.1,
        "replicates": 5,
        "fdr": 0.08,
        "fdr_error": 0.01,
        "power": 0.95,
        "power_error": 0.02,
        "selecting": 1.0,
        "balance": 0.5,
        "seconds": 1.25,
    }
    return Summary(**{**values, **changes})


def test_the_table_marks_what_was_missed():
    table = as_markdown([summary(), summary(fdr=0.2, power=0.8), summary(row="nothing")], [TINY, NULL])
    head, rule, good, bad, free = table.splitlines()
    widths = {line.count("|") for line in (head, rule, good, bad, free)}
    assert widths == {10}
    assert "| 0.080 ± 0.010 | 0.950 ± 0.020 | 0.9 ✓ |" in good
    assert "| 0.200 ± 0.010 ✗ | 0.800 ± 0.020 | 0.9 ✗ |" in bad
    assert free.split("|")[7].strip() == ""  # a row without a power to reach
    assert table.endswith("\n")


def test_the_cores_are_counted():
    assert scenarios.available_cores() >= 1
