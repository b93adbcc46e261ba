"""Studies: descriptions, records that survive a kill, scores by hand, pages from hand-made records, and smoke runs."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.cli import main
from neuralmirror.studies import metrics
from neuralmirror.studies.construction_times import BUILDERS, can_build
from neuralmirror.studies.methods import METHODS, maker
from neuralmirror.studies.real_data import find_data, prune, read_genotypes, read_resistance
from neuralmirror.studies.records import read_records
from neuralmirror.studies.study import (
    SMOKE_REPLICATES,
    cell_name,
    chosen_methods,
    load_study,
    run_study,
    scenarios,
    study_names,
)
from neuralmirror.studies.tables import TABLES

pytestmark = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")

ROOT = Path(__file__).parents[2]
NAMES = [
    "construction-time",
    "histogram",
    "hiv",
    "linear",
    "roc",
    "single-index",
    "sparsity",
    "tomato",
    "varying-correlation",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Stand-ins for the measured data, in a folder of the usual layout."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    tomato, hiv = folder / "tomato_bauchet", folder / "hiv_drug_resistance"
    tomato.mkdir()
    hiv.mkdir()
    np.savez(tomato / "tomato_bauchet.npz", X=rng.integers(0, 3, (60, 40)).astype(np.int8))
    cells = rng.choice(["-", "I", "IV", "."], size=(50, 12), p=[0.5, 0.2, 0.2, 0.1])
    lines = ["\t".join(["IsolateName", "ATV", *(f"P{j + 1}" for j in range(12))])]
    for i, row in enumerate(cells):
        fold = "NA" if i == 7 else f"{np.exp(2 * ('I' in row[0]) + rng.normal()):.3f}"
        lines.append("\t".join([f"CA{i}", fold, *row]))
    lines[4] = lines[4].rsplit("\t", 1)[0] + "\tI*"  # an isolate with a code that stands for nothing
    (hiv / "PI_DATA.txt").write_text("\n".join(lines) + "\n")
    (hiv / "PI_TSM.txt").write_text("1\tI V\n3\tI\n")
    return folder


def options(name, data):
    """What a smoke run of the study needs beside its name."""
    where = {"tomato": "tomato_bauchet", "hiv": "hiv_drug_resistance"}
    kind = load_study(name).data
    file = {"tomato": "tomato_bauchet.npz", "hiv": "PI_DATA.txt"}
    return ["--data", str(data / where[kind] / file[kind])] if kind else []


# ---- the descriptions ----


def test_the_studies_of_the_paper_are_there():
    assert study_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_study_is_consistent(name):
    study = load_study(name)
    assert set(study.methods) <= ({*BUILDERS} if name == "construction-time" else {*METHODS})
    assert set(study.published.cells) <= {cell_name(cell) for cell in study.cells}
    for values in study.published.cells.values():
        assert len(values) == 2 * len(study.published.columns)
        assert all(0 <= value <= 1 for value in values)
    assert study.render in TABLES
    assert {study.figure[key] for key in study.figure} <= set(study.grid)
    assert all(max(map(len, text.splitlines())) <= 120 for text in (study.about, study.place))


@pytest.mark.parametrize("name", NAMES)
def test_the_smoke_version_has_the_shape_of_the_whole(name):
    whole, tiny = load_study(name), load_study(name, smoke=True)
    assert list(tiny.grid) == list(whole.grid)
    assert list(tiny.methods) == list(whole.methods)
    assert set(tiny.methods.values()) == {SMOKE_REPLICATES}
    assert len(tiny.cells) <= 2


def test_replicates_are_those_of_the_plan():
    methods = load_study("single-index").methods
    assert {methods[name] for name in ("s-sngm-paper", "sngm-paper", "default")} == {50}
    assert {methods[name] for name in ("s-ingm-paper", "deeppink")} == {20}


def test_published_values_are_read_by_cell_and_column():
    published = load_study("single-index").published
    assert published.value("design=toeplitz p=2000 link=quintic", "DeepPINK") == (0.477, 0.053)
    assert published.best("design=toeplitz p=500 link=sin") == 0.9
    assert published.value("design=toeplitz p=500 link=sin", "elsewhere") is None
    assert load_study("varying-correlation").published.value("p=2000 rho=0.8", "SNGM") == (0.33, 0.815)
    tomato = load_study("tomato").published
    assert tomato.value("columns=all p=500", "S-INGM") == (0.156, 0.964)
    assert tomato.best("columns=r95 p=500") is None
    assert load_study("linear").published.best("design=toeplitz p=500") == 0.8


def test_cells_of_simulations_are_scenarios_with_their_labels():
    study = load_study("sparsity")
    row = scenarios(study)[-1]
    assert (row.name, row.fdr, row.labels) == ("p=2000 k=50", 0.1, {"study": "sparsity", "p": 2000, "k": 50})
    assert (row.simulation.design, row.simulation.link, row.simulation.rho) == ("constant", "cubic", 0.5)


def test_methods_and_replicates_can_be_chosen():
    study = load_study("tomato")
    assert chosen_methods(study, None, None) == study.methods
    assert chosen_methods(study, ["default"], 3) == {"default": 3}
    with pytest.raises(ValueError, match=r"method must be one of .* got 'defualt'; did you mean 'default'\?"):
        chosen_methods(study, ["defualt"], None)
    with pytest.raises(ValueError, match="replicates must be a whole number"):
        chosen_methods(study, None, 0)


def test_the_papers_methods_have_the_papers_settings():
    screened = maker("s-ingm-paper", "cpu")()
    paper = NeuralGaussianMirror.paper("individual", "log", device="cpu", progress=False)
    assert repr(screened) == repr(paper)
    assert repr(screened.network) == repr(paper.network)
    assert maker("default", "cpu")().get_params() == NeuralGaussianMirror(device="cpu", progress=False).get_params()


# ---- measured data ----


def test_genotypes_lose_gaps_and_constant_columns(tmp_path):
    x = np.array([[0, 1, 2, 1], [2, 1, -1, 0], [1, 1, 0, 2]], dtype=np.int8)
    np.savez(tmp_path / "some.npz", X=x)
    found = read_genotypes(tmp_path / "some.npz")
    np.testing.assert_allclose(found, [[0, 2, 1], [2, 1, 0], [1, 0, 2]])


def test_pruning_agrees_with_a_plain_loop(monkeypatch):
    rng = np.random.default_rng(1)
    base = rng.standard_normal((40, 12))
    x = np.hstack([base, -base[:, :5] + 0.1 * rng.standard_normal((40, 5)), base[:, 3:6]])
    r = np.abs(np.corrcoef(x.T))
    kept = []
    for j in range(x.shape[1]):
        if all(r[j, i] < 0.9 for i in kept):
            kept.append(j)
    monkeypatch.setattr("neuralmirror.studies.real_data.BLOCK", 4)
    np.testing.assert_array_equal(prune(x, 0.9), x[:, kept])
    assert len(kept) < x.shape[1]


def test_resistance_is_read_from_the_published_files(data):
    found = read_resistance(data / "hiv_drug_resistance" / "PI_DATA.txt", "ATV")
    assert len(found.y) == len(found.x) == 48  # 50 less one without a measurement and one with a bad code
    assert set(np.unique(found.x)) == {0.0, 1.0}
    assert (found.x.sum(axis=0) >= 3).all()
    assert len(np.unique(found.x, axis=1).T) == found.x.shape[1]
    assert set(found.positions[found.listed]) == {1, 3}
    with pytest.raises(ValueError, match="has no column 'XYZ'"):
        read_resistance(data / "hiv_drug_resistance" / "PI_DATA.txt", "XYZ")


def test_data_are_found_in_a_folder(data, monkeypatch):
    place = data / "tomato_bauchet" / "tomato_bauchet.npz"
    assert find_data("tomato", data) == find_data("tomato", place) == place
    assert find_data("hiv", data) == data / "hiv_drug_resistance" / "PI_DATA.txt"
    monkeypatch.setenv("NEURALMIRROR_DATA", str(data))
    assert find_data("tomato", None) == place
    monkeypatch.delenv("NEURALMIRROR_DATA")
    with pytest.raises(ValueError, match=r"tomato data are needed.*--data, or set NEURALMIRROR_DATA"):
        find_data("tomato", None)


@pytest.mark.parametrize(("name", "words"), [("tomato", "Bauchet"), ("roc", "Bauchet"), ("hiv", "PI_TSM.txt")])
def test_missing_data_are_asked_for_in_one_line(name, words, capsys, tmp_path):
    assert main(["reproduce", name, "--data", str(tmp_path / "none.npz")]) == 2
    told = capsys.readouterr().err.strip()
    assert "\n" not in told
    assert words in told
    assert "--data" in told


# ---- scores ----


class Chosen:
    def __init__(self, support, statistics=None):
        self.support_ = np.array(support, dtype=bool)
        self.mirror_statistics_ = np.array(statistics if statistics is not None else support, dtype=float)


def test_a_proxy_counts_as_the_feature_it_stands_for():
    rng = np.random.default_rng(2)
    a, b, c = rng.standard_normal((3, 200))
    x = np.column_stack([a, a + 0.01 * rng.standard_normal(200), b, c])
    truth = np.array([True, False, True, False])
    kept = metrics.proxy_scores(None, Chosen([0, 1, 0, 1]), (x, None, truth))
    assert kept == {"proxy_fdp": 0.5, "proxy_power": 0.5}
    assert metrics.proxy_scores(None, Chosen([0, 0, 0, 0]), (x, None, truth)) == {"proxy_fdp": 0, "proxy_power": 0}


def test_a_roc_curve_is_kept_on_a_grid():
    truth = np.array([True, True, False, False])
    best = metrics.roc(None, Chosen(truth, [3, 2, -1, 0]), (None, None, truth))
    assert best["auc"] == 1
    assert set(best["tpr"]) == {1.0}
    useless = metrics.roc(None, Chosen(truth, [0, 0, 0, 0]), (None, None, truth))
    np.testing.assert_allclose(useless["tpr"], metrics.RATES)


def test_a_histogram_keeps_the_sides_of_zero():
    truth = np.array([True, False, False, False])
    kept = metrics.histogram(None, Chosen(truth, [4, -1, 1, 0]), (None, None, truth))
    assert kept["relevant"][-1] == 1
    nulls = np.array(kept["nulls"])
    assert nulls.sum() == 3
    assert nulls[20] == 1
    np.testing.assert_array_equal(nulls, nulls[::-1])


def test_positions_are_counted_once(data):
    source = read_resistance(data / "hiv_drug_resistance" / "PI_DATA.txt", "ATV")
    kept = metrics.positions(source, Chosen(np.ones(len(source.positions))), source.sample(0))
    assert kept == {"listed": 2, "unlisted": len(set(source.positions)) - 2}


# ---- runs ----


@pytest.mark.parametrize("name", NAMES)
def test_a_smoke_run_of_every_study(name, data, tmp_path):
    folder = ["--records", str(tmp_path), "--pages", str(tmp_path)]
    asked = ["--smoke", "--replicates", "1", "--quiet", "--jobs", "1", "--device", "cpu"]
    assert main(["reproduce", name, *asked, *options(name, data), *folder]) == 0
    study = load_study(name, smoke=True)
    records = read_records(tmp_path / f"{name}.jsonl")
    able = {m: all(can_build(m, c["p"]) for c in study.cells) if m in BUILDERS else True for m in study.methods}
    expected = {(cell_name(cell), method) for cell in study.cells for method in study.methods if able[method]}
    assert {(one["row"], one["method"]) for one in records} == expected
    assert len(records) == len(expected)
    for one in records:
        assert {"study", "seed", "version", "seconds", *study.grid} <= set(one)
    page = (tmp_path / f"{name}.md").read_text()
    assert page.startswith(f"# {study.title}\n")
    assert f"reproduce {name} --device cuda" in page
    assert (tmp_path / "images" / f"{name}.svg").exists() == ("](images/" in page)
    assert "## By method" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("cut", [1, 40])
def test_a_killed_study_goes_on_after_its_last_whole_line(cut, tmp_path):
    path, study = tmp_path / "records.jsonl", load_study("histogram", smoke=True)
    asked = {"gaussian-mirror": 4}
    whole = run_study(study, path, methods=asked, smoke=True, show=False)
    path.write_text(path.read_text()[:-cut])
    left = len(read_records(path))
    assert left == 4 - (cut > 1)
    resumed = run_study(study, path, methods=asked, smoke=True, show=False)
    assert Counter(one["seed"] for one in resumed) == Counter(range(4))
    keep = [{k: v for k, v in one.items() if k != "seconds"} for one in resumed]
    assert keep == [{k: v for k, v in one.items() if k != "seconds"} for one in whole]


def test_constructions_are_resumed_too(tmp_path):
    path, study = tmp_path / "records.jsonl", load_study("construction-time", smoke=True)
    first = run_study(study, path, methods={"mirrors-marginal": 1}, device="cpu", show=False)
    more = run_study(study, path, methods={"mirrors-marginal": 2}, device="cpu", show=False)
    assert [(one["row"], one["seed"]) for one in more] == [("p=8", 0), ("p=12", 0), ("p=8", 1), ("p=12", 1)]
    assert more[:2] == first


def test_all_studies_run_without_those_whose_data_are_missing(tmp_path, monkeypatch, capsys):
    ran = []
    monkeypatch.delenv("NEURALMIRROR_DATA", raising=False)
    monkeypatch.setattr("neuralmirror.cli.reproduce.run_study", lambda study, *args, **more: ran.append(study.name))
    assert main(["reproduce", "--all", "--smoke", "--records", str(tmp_path), "--pages", str(tmp_path)]) == 0
    assert set(NAMES) - set(ran) == {"tomato", "roc", "hiv"}
    assert "tomato is left out" in capsys.readouterr().out


def test_an_unknown_study_is_named_with_its_nearest(capsys):
    assert main(["reproduce", "single-indx"]) == 2
    assert "did you mean 'single-index'?" in capsys.readouterr().err


def test_without_a_name_the_studies_are_listed(capsys):
    assert main(["reproduce"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in NAMES)
