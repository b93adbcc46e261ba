"""The pages of the studies: tables beside the paper's, verdicts, figures, and what people wrote."""

from pathlib import Path

import pytest

from neuralmirror.studies.pages import MARK, write_page, write_summary
from neuralmirror.studies.records import read_records
from neuralmirror.studies.reproduction import verdicts
from neuralmirror.studies.study import (
    cell_name,
    load_study,
    study_names,
)
from neuralmirror.studies.tables import TABLES

pytestmark = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")

ROOT = Path(__file__).parents[2]


def made(row, method, fdps, powers, **more):
    return [
        {"row": row, "method": method, "seed": seed, "fdr": 0.1, "fdp": fdp, "power": power, "seconds": 1.0, **more}
        for seed, (fdp, power) in enumerate(zip(fdps, powers, strict=True))
    ]


FIRST, SECOND = "design=toeplitz p=500 link=sin", "design=toeplitz p=500 link=cubic"
RECORDS = [
    *made(FIRST, "default", [0.1, 0.0, 0.2], [0.9, 0.9, 0.93]),
    *made(FIRST, "sngm-paper", [0.4, 0.41, 0.42], [0.5, 0.7, 0.6]),
    *made(SECOND, "default", [0.1, 0.1, 0.1], [0.8, 0.8, 0.8]),
]


def entries(page, section, row):
    """Column name to entry, of one line of a table."""
    lines = [line for line in page.split(section)[1].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return next(dict(zip(cells[0], line, strict=True)) for line in cells[2:] if line[: len(row)] == row)


def test_tables_stand_beside_the_paper_and_mark_what_was_missed():
    page = TABLES["selections"](load_study("single-index"), RECORDS)
    fdr = entries(page, "### FDR", ["toeplitz", "500", "sin"])
    assert (fdr["paper: SNGM"], fdr["default"], fdr["sngm-paper"]) == ("0.045", "0.100 ± 0.058", "0.410 ± 0.006 ✗")
    assert fdr["s-ingm-paper"] == "–"
    power = entries(page, "### Power", ["toeplitz", "500", "sin"])
    assert (power["paper: S-INGM"], power["default"], power["sngm-paper"]) == (
        "0.900",
        "0.910 ± 0.010 ✓",
        "0.600 ± 0.058",
    )
    missed = entries(page, "### Power", ["toeplitz", "500", "cubic"])
    assert (missed["paper: S-SNGM"], missed["default"]) == ("0.873", "0.800 ± 0.000")
    assert "default 0 to 3" in page


def test_verdicts_follow_from_the_records():
    study = load_study("single-index")
    page = verdicts([study], {"single-index": RECORDS})
    by_method = entries(page, "## By method", ["single-index", "default"])
    assert (by_method["cells run"], by_method["FDR held"], by_method["power reached"]) == (
        "2 of 12",
        "2 of 2",
        "1 of 2",
    )
    first = entries(page, "## By cell", ["single-index", FIRST])
    assert (first["FDR held"], first["power reached"], first["best of ours"]) == ("yes", "yes", "default 0.910")
    assert entries(page, "## By cell", ["single-index", SECOND])["power reached"] == "**no**"
    assert entries(page, "## By method", ["single-index", "sngm-paper"])["FDR held"] == "0 of 1"


def test_one_fit_alone_has_no_standard_error_and_holds_no_level():
    study, records = load_study("single-index"), made(FIRST, "default", [0.5], [0.95])
    entry = entries(TABLES["selections"](study, records), "### FDR", ["toeplitz", "500", "sin"])["default"]
    assert entry == "0.500"  # neither ± 0.000 nor ✗
    page = verdicts([study], {"single-index": records})
    assert entries(page, "## By cell", ["single-index", FIRST])["FDR held"] == "–"
    assert entries(page, "## By method", ["single-index", "default"])["FDR held"] == "–"


def test_claims_without_numbers_are_judged():
    roc = [*made("p=100", "default", [0], [0], auc=0.9), *made("p=100", "deeppink", [0], [0], auc=0.8)]
    page = verdicts([load_study("roc")], {"roc": roc})
    assert "default 0.9, deeppink 0.8 | yes" in page
    times = [*made("p=500", "mirrors-kernel", [0], [0]), *made("p=500", "knockoffs-mvr", [0], [0])]
    times[0]["seconds"] = 3.0
    assert "mirrors-kernel 3, knockoffs-mvr 1 | **no**" in verdicts(
        [load_study("construction-time")], {"construction-time": times}
    )


@pytest.mark.parametrize("name", study_names())
def test_pages_can_be_rendered_before_anything_was_run(name, tmp_path):
    write_page(load_study(name), [], tmp_path / f"{name}.md")
    assert "–" in (tmp_path / f"{name}.md").read_text()


def test_what_people_wrote_above_the_mark_is_kept(tmp_path):
    page, study = tmp_path / "linear.md", load_study("linear")
    write_page(study, [], page)
    page.write_text(page.read_text().replace("# Linear models", "# Linear models, in our words\n\nA remark.\n"))
    write_page(study, made("design=toeplitz p=500", "default", [0.25], [0.5]), page)
    text = page.read_text()
    assert "A remark." in text.split(MARK)[0]
    assert "| 0.250 |" in text.split(MARK)[1]
    assert text.count(MARK) == 1


def test_the_same_records_give_the_same_figure(tmp_path):
    records = made("p=500 rho=0.2", "default", [0.1, 0.2], [0.9, 0.8])
    drawn = []
    for name in ("one", "two"):
        write_page(load_study("varying-correlation"), records, tmp_path / name / "page.md")
        drawn.append((tmp_path / name / "images" / "varying-correlation.svg").read_bytes())
    assert drawn[0] == drawn[1]


def test_the_committed_pages_are_those_of_the_committed_records(tmp_path):
    """Rendering is a pure function of the records, so a page that differs was edited below its mark or is stale."""
    for name in study_names():
        page = ROOT / "docs" / "results" / f"{name}.md"
        study, records = load_study(name), read_records(ROOT / "results" / f"{name}.jsonl")
        write_page(study, records, tmp_path / page.name)
        below = [file.read_text(encoding="utf-8").split(MARK)[1] for file in (page, tmp_path / page.name)]
        assert below[0] == below[1], f"render it again: neuralmirror reproduce {name} --table"


def test_the_summary_covers_all_studies(tmp_path):
    studies = [load_study(name) for name in study_names()]
    write_summary(studies, {study.name: [] for study in studies}, tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text()
    scored = [study for study in studies if study.render == "selections"]
    assert all(f"| {study.name} | {cell_name(cell)} |" in text for study in scored for cell in study.cells)
