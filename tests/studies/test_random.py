"""Random designs: fixed by seed and index, within their bounds, and a page from hand-made records."""

from collections import Counter

import numpy as np
import pytest

from neuralmirror.cli import main
from neuralmirror.simulation.links import LINKS
from neuralmirror.studies import random_designs as rd
from neuralmirror.studies.panels import PANELS
from neuralmirror.studies.random_page import random_tables
from neuralmirror.studies.records import read_records

SETTINGS = [rd.draw_settings(1, index) for index in range(600)]


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("NEURALMIRROR_DATA", raising=False)


def test_seed_and_index_fix_everything():
    few, many = rd.random_scenarios(6, 7), rd.random_scenarios(12, 7)
    assert [one.name for one in few] == [one.name for one in many][: len(few)]
    for one, again in zip(few, many, strict=False):
        assert (one.labels, one.fdr) == (again.labels, again.fdr)
        for a, b in zip(one.simulation.sample(0), again.simulation.sample(0), strict=True):
            np.testing.assert_array_equal(a, b)
    other = rd.random_scenarios(6, 8)
    assert [one.labels["description"] for one in other] != [one.labels["description"] for one in few]


def test_replicates_and_designs_have_data_of_their_own():
    one = rd.random_scenarios(20, 3)[0]
    assert not np.array_equal(one.simulation.sample(0)[0], one.simulation.sample(1)[0])
    twin = rd.Seeded(one.simulation.simulation, (3, 99))
    assert not np.array_equal(one.simulation.sample(0)[0], twin.sample(0)[0])


def test_settings_lie_within_their_bounds():
    for s in SETTINGS:
        assert 200 <= s["n"] <= 3000
        assert 20 <= s["p"] <= 1000
        assert s["n"] * s["p"] <= rd.MOST_CELLS
        assert s["k"] == 0 if s["link"] == "null" else 2 <= s["k"] <= min(60, s["p"] // 2)
        assert 0.2 <= s["h2"] <= 0.95
        assert s["fdr"] in rd.LEVELS


def test_half_of_the_truths_are_lines_and_all_kinds_occur():
    links = Counter(s["link"] for s in SETTINGS)
    assert 240 < links["linear"] + links["linear-uniform"] < 360  # five standard errors around 300
    assert set(links) == set(LINKS)
    assert {s["design"] for s in SETTINGS} == set(rd.DESIGN_WEIGHTS)
    assert {s["response"] for s in SETTINGS} == set(rd.RESPONSE_WEIGHTS)
    assert {rd.link_family(link) for link in LINKS} == set(rd.LINK_FAMILIES)


def test_every_design_can_be_drawn():
    for one in rd.random_scenarios(60, 2):
        x, y, truth = one.simulation.sample(0)
        labels = one.labels
        assert x.shape == (labels["n"], labels["p"])
        assert truth.sum() == labels["k"]
        assert len(np.unique(y)) > 1
        assert f"n={labels['n']}, p={labels['p']}" in labels["description"]


def test_designs_on_measured_columns_are_left_out_without_data():
    names = [one.name for one in rd.random_scenarios(200, 1)]
    expected = [f"random-1-{i}" for i in range(200) if SETTINGS[i]["design"] not in PANELS]
    assert names == expected
    assert len(names) < 200


def test_designs_on_measured_columns_take_all_rows_and_at_most_all_columns(tmp_path):
    (tmp_path / "tomato_bauchet").mkdir()
    genotypes = np.random.default_rng(0).integers(0, 3, (50, 30)).astype(np.int8)
    np.savez(tmp_path / "tomato_bauchet" / "tomato_bauchet.npz", X=genotypes)
    here = [one for one in rd.random_scenarios(200, 1, tmp_path) if one.labels["design"] == "tomato"]
    assert here
    for one in here:
        x, _, truth = one.simulation.sample(0)
        assert x.shape == (50, one.labels["p"])
        assert one.labels["p"] <= 30
        assert truth.sum() == one.labels["k"] <= 15


def test_a_random_trial_runs_resumes_and_renders(tmp_path, capsys):
    records, page = tmp_path / "random.jsonl", tmp_path / "random.md"
    command = ["trial", "--random", "3", "--seed", "5", "--methods", "bh,bh-marginal", "--jobs", "1", "--quiet"]
    assert main([*command, "--records", str(records)]) == 0
    first = read_records(records)
    assert main([*command, "--records", str(records)]) == 0
    assert read_records(records) == first
    assert all(one["description"] for one in first)
    assert "development" in capsys.readouterr().out
    assert main(["trial", "--random-table", "--records", str(records), "--page", str(page)]) == 0
    text = page.read_text()
    assert "Seeds 1 to 99 are for development" in text
    assert "## bh-marginal" in text


def made(index, seed=1000, **values):
    base = {"bench": "random", "random_seed": seed, "method": "m", "row": f"random-{seed}-{index}", "fdr": 0.1}
    design = {"design": "ar", "link_family": "linear", "response": "gaussian", "n": 100, "p": 50, "k": 3}
    found = {"fdp": 0.0, "power": 0.5, "oracle_power": 0.8, "null_won": 1, "null_lost": 3, "seconds": 1.0}
    return {**base, **design, **found, "tail_won": 1, "tail_lost": 1, "expected_share": 0.25, **values}


def test_the_page_shows_the_excess_over_the_level_by_family():
    fits = [made(0, fdp=0.3), made(1, fdp=0.1, design="blocks"), made(2, fdp=0.2), made(2, fdp=0.0)]
    page = random_tables(fits)
    assert "| m | 3 | +0.067 ± 0.067 | 0.25 | 0.50 | 0.25 | 0.500 | 0.800 | 1.0 |" in page
    assert "| blocks | 1 | +0.000 ± 0.000 |" in page
    assert "| 1 to 3 | 3 |" in page
    assert "Seeds 1000, published" in page


def test_developments_and_refusals_are_told_apart():
    page = random_tables([made(0), made(1, seed=3, fdp=1.0)])
    assert "| m | 1 | -0.100" in page  # the published seed alone
    refused = {key: made(4, seed=3)[key] for key in ("bench", "random_seed", "method", "row", "fdr")}
    page = random_tables([made(1, seed=3), {**refused, "refused": "too few rows"}])
    assert "no result to publish" in page
    assert "m does not apply to 1 designs (the first: too few rows)" in page
    with pytest.raises(ValueError, match="no random designs"):
        random_tables([])
