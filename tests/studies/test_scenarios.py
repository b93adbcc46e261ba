"""The trial bench: its scenarios, records that survive a kill, the formulas of its summaries, and its table."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from neuralmirror import BHSelector, NeuralGaussianMirror, evaluation
from neuralmirror.evaluation import Scenario
from neuralmirror.selection import false_discovery_proportion, power
from neuralmirror.simulation.designs import Simulation
from neuralmirror.studies import scenarios
from neuralmirror.studies.records import read_records
from neuralmirror.studies.scenarios import Aim, aims, load_scenarios, run_trials, without_data
from neuralmirror.studies.trial_page import as_markdown
from neuralmirror.summaries import Summary, summarise

pytestmark = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")

HERE = Path(__file__).parent
TINY = Scenario("tiny", Simulation("independent", n=60, p=8, k=4, h2=0.9), fdr=0.3, target=0.9)
NULL = Scenario("nothing", Simulation("independent", n=60, p=8, k=0, link="null"), fdr=0.2)


def mirror():
    return NeuralGaussianMirror(learner="sparse", n_mirrors=1)


def without_seconds(records):
    """Records as sorted text, less the one entry that no two runs share."""
    return sorted(json.dumps({k: v for k, v in one.items() if k != "seconds"}) for one in records)


@pytest.fixture
def counted(monkeypatch):
    """The (scenario, method, seed) of every fit that is run."""
    calls, real = [], evaluation.run_one

    def run_one(scenario, method, make, seed):
        calls.append((scenario.name, method, seed))
        return real(scenario, method, make, seed)

    monkeypatch.setattr(scenarios, "run_one", run_one)
    return calls


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("NEURALMIRROR_DATA", raising=False)


# ---- scenarios ----


def test_every_scenario_is_a_simulation_that_can_be_drawn():
    scenarios = load_scenarios()
    assert len({one.name for one in scenarios}) == len(scenarios) > 50
    for one in scenarios:
        assert 0 < one.fdr < 1
        assert one.target is None or 0 < one.target < 1
        small = replace(one.simulation, n=60, p=max(40, one.simulation.k))
        x, y, truth = small.sample(0)
        assert x.shape == (60, small.p)
        assert len(np.unique(y)) > 1
        assert truth.sum() == (0 if one.simulation.link == "null" else one.simulation.k)


def test_earlier_scenarios_still_give_the_same_data():
    """Records of earlier versions stand beside new ones, so the data of a seed must not move."""
    earlier = json.loads((HERE / "earlier_scenarios.json").read_text())
    now = {one.name: one for one in load_scenarios()}
    for name, expected in earlier.items():
        x, y, truth = replace(now[name].simulation, n=80, p=60).sample(7)
        weights = np.cos(np.arange(x.size)).reshape(x.shape)
        found = [(x * weights).sum(), (y * weights[:, 0]).sum(), np.flatnonzero(truth).sum()]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)


def test_scenarios_come_in_the_order_asked_for_with_the_defaults_filled_in():
    first, second = load_scenarios(["linear-half", "linear-toeplitz-500"])
    assert (first.name, second.name) == ("linear-half", "linear-toeplitz-500")
    assert first.simulation == replace(second.simulation, h2=0.5)
    assert second.simulation == Simulation("toeplitz", n=1000, p=500, k=30, rho=0.5)
    assert second.fdr == 0.1


def test_an_unknown_scenario_is_named_with_its_nearest():
    with pytest.raises(ValueError, match=r"scenario must be one of .*got 'mixed-10'; did you mean 'mixed-100'\?"):
        load_scenarios(["mixed-10"])


@pytest.fixture
def tomato(tmp_path):
    folder = tmp_path / "data"
    (folder / "tomato_bauchet").mkdir(parents=True)
    genotypes = np.random.default_rng(0).integers(0, 3, (30, 150)).astype(np.int8)
    np.savez(folder / "tomato_bauchet" / "tomato_bauchet.npz", X=genotypes)
    np.savez(folder / "tomato_bauchet" / "prune_idx.npz", r95=np.arange(0, 150, 1)[5:])
    return folder, genotypes


def test_scenarios_on_measured_columns_need_the_data(tmp_path):
    there = {one.name for one in load_scenarios()}
    assert not any("tomato" in name for name in there)
    assert {"tomato-100", "tomato-all-500", "null-tomato"} <= set(without_data())
    with pytest.raises(ValueError, match=r"scenario 'tomato-100'.*Bauchet.*--data.*NEURALMIRROR_DATA"):
        load_scenarios(["tomato-100"])
    with pytest.raises(ValueError, match=r"scenario 'tomato-100'.*is not there"):
        load_scenarios(["tomato-100"], tmp_path)


def test_measured_columns_are_those_of_the_folder(tomato, monkeypatch):
    folder, genotypes = tomato
    (one,) = load_scenarios(["tomato-100"], folder)
    x, _, truth = one.simulation.sample(0)
    assert x.shape == (30, 100)  # all rows there are
    assert truth.sum() == 30
    allowed = {tuple(column) for column in genotypes[:, 5:].T}
    assert {tuple(column) for column in x.T.astype(int)} <= allowed
    monkeypatch.setenv("NEURALMIRROR_DATA", str(folder))
    (same,) = load_scenarios(["tomato-100"])
    np.testing.assert_array_equal(same.simulation.sample(0)[0], x)
    assert without_data() == []


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


def test_a_record_keeps_the_symmetry_of_the_nulls_the_oracle_and_the_parts():
    class Fitted(BHSelector):
        def fit(self, X, y):
            self.support_ = np.array([True, False, False, False, False, False, False, False])
            self.mirror_statistics_ = np.array([5.0, 4, 3, -2, 1, -1, 0, 0.5])
            self.n_mirrors_ = 3
            self.part_weights_ = {"sparse": 0.75, "network": np.array([0.2, 0.3])}
            self.explained_ = {"all": 0.5}
            return self

    truth = np.array([True, True, False, False, False, False, False, False])
    sample = (np.zeros((4, 8)), np.zeros(4), truth)
    one = evaluation.record(TINY, "some", 0, Fitted().fit(None, None), sample, 1.0)
    assert (one["null_won"], one["null_lost"], one["null_share"]) == (3, 2, 0.6)
    assert (one["tail_won"], one["tail_lost"], one["tail_share"]) == (1, 1, 0.5)  # |M| above 1: 3 and −2
    assert (one["mirrors"], one["expected_share"]) == (3, 0.25)
    assert (one["power"], one["oracle_power"], one["truth_first"]) == (0.5, 1.0, True)
    assert one["part_weights"] == {"sparse": 0.75, "network": 0.25}
    assert one["explained"] == {"all": 0.5}
    assert json.loads(json.dumps(one)) == one


def test_a_method_that_does_not_apply_can_be_recorded_with_its_reason():
    wide = Scenario("wide", Simulation("independent", n=20, p=40, k=3), fdr=0.2, labels={"p": 40})
    one = evaluation.run_or_refuse(wide, "OLS", BHSelector, 0)
    assert (one["row"], one["p"]) == ("wide", 40)
    assert "more than p + 1 rows" in one["refused"]


# ---- many fits ----


def test_every_method_meets_every_scenario_on_the_same_data(tmp_path, counted):
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
    assert (one.scenario, one.method, one.level, one.replicates) == ("r", "m", 0.1, 3)
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


def test_scenarios_and_methods_are_summarised_apart():
    fits = [fit("a", "x"), fit("b", "x", fdp=1.0), fit("a", "y", power=0.0), fit("a", "x", seed=1)]
    assert [(s.scenario, s.method, s.replicates) for s in summarise(fits)] == [
        ("a", "x", 2),
        ("b", "x", 1),
        ("a", "y", 1),
    ]
    assert summarise([fit(null_won=0, null_lost=0)])[0].balance == 0  # no sign at all


@pytest.mark.parametrize(("fdr", "error", "controlled"), [(0.1, 0, True), (0.14, 0.02, True), (0.141, 0.02, False)])
def test_control_allows_two_standard_errors(fdr, error, controlled):
    assert summary(fdr=fdr, fdr_error=error).controlled is controlled


def summary(**changes):
    values = {
        "scenario": "tiny",
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
    table = as_markdown([summary(), summary(fdr=0.2, power=0.8), summary(scenario="nothing")], {"tiny": Aim(0.9)})
    head, rule, good, bad, free = table.splitlines()
    widths = {line.count("|") for line in (head, rule, good, bad, free)}
    assert widths == {16}
    assert "| 0.080 ± 0.010 | 0.950 ± 0.020 | 0.9 ✓ |" in good
    assert "| 0.200 ± 0.010 ✗ | 0.800 ± 0.020 | 0.9 ✗ |" in bad
    assert free.split("|")[7].strip() == ""  # without a power to reach
    assert table.endswith("\n")


def test_aims_need_no_data():
    assert aims()["tomato-2000"] == (0.8, None)
    assert aims()["ring-512"] == (0.8, 0.95)


def test_the_table_shows_what_newer_records_hold_and_says_where_older_ones_do_not():
    asked = {"tiny": Aim(0.9, first=0.95)}
    shown = [summary(), summary(oracle=0.97, first=0.9, tail=0.3, expected=0.25)]
    _, _, old, new = as_markdown(shown, asked).splitlines()
    assert "| – |  | 0.50 | – | 0.50 |" in old
    assert "| 0.970 | 0.90 of 0.95 ✗ | 0.50 | 0.30 | 0.25 |" in new


def test_old_records_are_summarised_as_before():
    (one,) = summarise([fit(), fit(seed=1, oracle_power=0.4, tail_won=1, tail_lost=3, mirrors=3, truth_first=True)])
    assert (one.oracle, one.tail, one.first) == (0.4, 0.25, 1.0)
    assert one.expected == pytest.approx((0.5 + 0.25) / 2)


def test_the_cores_are_counted():
    assert scenarios.available_cores() >= 1
