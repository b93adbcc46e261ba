"""How far the selections of two seeds agree."""

import pytest

from neuralmirror.studies.agreement import WEAK, agreement_table, jaccard, sample, write_agreement


def record(seed, selected, row="APV", draws=1):
    return {
        "row": row, "method": f"n_repeats={draws}", "seed": seed, "selected": selected, "right": 1, "seconds": 2.0,
    }  # fmt: skip


def test_the_jaccard_index_of_sets():
    assert jaccard([1, 2, 3], [2, 3, 4]) == pytest.approx(0.5)
    assert jaccard([], []) == 1
    assert jaccard([], [1]) == 0


def test_the_table_has_the_mean_over_all_pairs_of_seeds():
    records = [record(0, [1, 2]), record(1, [1, 2]), record(2, [1]), record(0, [1], draws=5)]
    lines = agreement_table(records).splitlines()
    assert lines[2].split("|")[4].strip() == f"{(1 + 0.5 + 0.5) / 3:.2f}"
    assert lines[3].split("|")[2].strip() == "5"


def test_the_page_is_written_and_its_weak_lines_need_no_files(tmp_path):
    write_agreement([record(0, [1], WEAK), record(1, [1], WEAK)], tmp_path / "agreement.md")
    assert "| 1.00 |" in (tmp_path / "agreement.md").read_text()
    x, y, truth = sample(tmp_path, WEAK)
    assert x.shape == (1000, 500)
    assert len(y) == 1000
    assert truth.sum() == 30
