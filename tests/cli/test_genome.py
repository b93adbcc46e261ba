"""`neuralmirror genome` from files to a folder: what it leaves, that it repeats itself, and that it is taken up."""

import csv
import json

import numpy as np
import pytest

from genomes import small_genome, write, write_loco
from neuralmirror.cli import main
from neuralmirror.genome import estimator
from neuralmirror.mirror.discoveries import COLUMNS
from neuralmirror.simulation.genomes import simulate_genotypes

N, P = 300, 160
FILES = {"resolutions.csv", "run.json", "report.html"}
CAUSAL = (10, 30, 50, 70, 95, 115, 135, 150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small genome, of which three people lack a trait or a covariate."""
    place = tmp_path_factory.mktemp("genome")
    genotypes, trait = small_genome(place, N, P, causal=CAUSAL)
    for name, rows in (("pheno.tsv", [1, 2]), ("covar.tsv", [3])):
        lines = (place / name).read_text().splitlines()
        for row in rows:
            cells = lines[row].split("\t")
            lines[row] = "\t".join([cells[0], *["NA"] * (len(cells) - 1)])
        (place / name).write_text("\n".join(lines) + "\n")
    guess = 0.3 * trait + 0.3 * np.random.default_rng(0).standard_normal(N)
    write_loco(place / "fit.list", genotypes.samples, ["1", "2"], {"1": guess, "2": guess})
    write(place / "groups.txt", ["SNP", "sixes"], genotypes.names, np.arange(P) // 6)
    return place


def genome(folder, out, *more, files=("cohort.bed",), jobs=1):
    paths = [str(folder / name) for name in files]
    given = ["--pheno", folder / "pheno.tsv", "--target", "height", "--jobs", jobs, "--resolutions", "0.9,0.5"]
    if "--partitions" in more:
        given = given[:-2]
    return main(["genome", *paths, *map(str, [*given, "--out", out, *more])])


@pytest.fixture(scope="module")
def result(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("results") / "out"
    assert genome(folder, out, "--covar", folder / "covar.tsv", "--components", 2, "--quiet") == 0
    return out


def test_a_run_leaves_a_table_a_record_and_a_page(result):
    assert {path.name for path in result.iterdir()} == FILES
    assert not list(result.parent.glob("*.partial"))
    rows = list(csv.DictReader((result / "resolutions.csv").open()))
    record = json.loads((result / "run.json").read_text())
    assert rows
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(record["resolutions"]["discoveries"])
    data = record["data"]
    assert (data["people"], data["people_read"], data["markers_read"]) == (N - 3, N, P)
    assert data["markers"] + record["left_out"]["rare"] + record["left_out"]["missing"] == P
    assert data["covariates"] == ["age", "sex=m"]
    assert data["components"] == 2
    assert [one["count"] for one in record["left_out"]["people"]] == [2, 1]
    assert record["settings"]["random_state"] == 0
    assert set(record["polygenic"]["shares"]) == {"1", "2"}
    assert {"reading", "learning from groups", "fitting"} <= set(record["seconds"])
    for level in record["resolutions"]["levels"]:
        assert level["discoveries"] <= level["screened"] <= level["groups"]


def test_the_page_stands_alone(result):
    page = (result / "report.html").read_text(encoding="utf-8")
    record = json.loads((result / "run.json").read_text())
    assert "http" not in page.split("</style>")[1].replace("http-equiv", "")
    assert "<script" not in page
    assert page.count('<rect class="won"') == len(record["resolutions"]["discoveries"])
    assert page.count('<circle class="won"') == len(record["along"]["found"])
    assert 'class="level"' in page
    for row in record["resolutions"]["discoveries"]:
        assert row["lead"] in page
    for words in ("Population structure", "Relatives", "on average over data sets", "How to cite"):
        assert words in page


def test_the_report_is_rendered_again(result, capsys):
    page = result / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert main(["report", str(result)]) == 0
    assert page.read_bytes() == before


def test_a_damaged_record_is_told(result, tmp_path, capsys):
    record = json.loads((result / "run.json").read_text())
    for change in ({"along": None}, {"resolutions": {"levels": []}}):
        (tmp_path / "run.json").write_text(json.dumps({**record, **change}))
        assert main(["report", str(tmp_path)]) == 2
        assert "neuralmirror genome" in capsys.readouterr().err
    del record["along"]
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert main(["report", str(tmp_path)]) == 2
    assert "no 'along'" in capsys.readouterr().err


def test_the_same_command_gives_the_same_table(folder, result, tmp_path):
    out = tmp_path / "again"
    assert genome(folder, out, "--covar", folder / "covar.tsv", "--components", 2, "--quiet", jobs=2) == 0
    assert (out / "resolutions.csv").read_bytes() == (result / "resolutions.csv").read_bytes()


def test_what_is_printed(folder, tmp_path, capsys):
    assert genome(folder, tmp_path / "out", "--covar", folder / "covar.tsv") == 0
    told = capsys.readouterr().out
    for words in ("300 people and 160 markers on 2 chromosomes", "2 left out: no value of height", "covariate age"):
        assert words in told
    for words in ("Groups discovered", "Relatives", "Results in"):
        assert words in told


def test_json_is_all_that_is_printed(folder, tmp_path, capsys):
    assert genome(folder, tmp_path / "out", "--json", "--no-polygenic", "--screen", 60) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1
    assert told["people"] == N - 2
    assert told["screen"] == 60
    assert told["polygenic"] == {"given": False, "shares": {}}
    assert {one["resolution"] for one in told["levels"]} == {"0.9", "0.5"}
    assert (tmp_path / "out" / "resolutions.csv").samefile(told["paths"]["resolutions"])


def test_a_run_that_was_cut_off_is_taken_up(folder, result, tmp_path, capsys, monkeypatch):
    keep, stored = estimator.store, []

    def dies(place, name, piece):
        if len(stored) == 3:
            raise KeyboardInterrupt
        stored.append(name)
        keep(place, name, piece)

    given = ("--covar", folder / "covar.tsv", "--components", 2)
    monkeypatch.setattr(estimator, "store", dies)
    assert genome(folder, tmp_path / "out", *given) == 130
    monkeypatch.undo()
    assert not (tmp_path / "out").exists()
    assert len(list((tmp_path / "out.partial").rglob("*.npz"))) == 3
    capsys.readouterr()
    assert genome(folder, tmp_path / "out", *given) == 0
    assert "taking up 3 completed pieces" in capsys.readouterr().out
    assert (tmp_path / "out" / "resolutions.csv").read_bytes() == (result / "resolutions.csv").read_bytes()
    assert not (tmp_path / "out.partial").exists()


def test_one_file_a_chromosome_by_a_pattern(folder, tmp_path, monkeypatch, capsys):
    lines = (folder / "cohort.bim").read_text().splitlines()
    bed, width = (folder / "cohort.bed").read_bytes(), -(-N // 4)
    for name in ("1", "2"):
        here = [j for j, line in enumerate(lines) if line.split()[0] == name]
        (tmp_path / f"chr{name}.bim").write_text("\n".join(lines[j] for j in here) + "\n")
        (tmp_path / f"chr{name}.fam").write_bytes((folder / "cohort.fam").read_bytes())
        body = b"".join(bed[3 + j * width : 3 + (j + 1) * width] for j in here)
        (tmp_path / f"chr{name}.bed").write_bytes(bed[:3] + body)
    tables = []
    for files in (["cohort.bed"], [tmp_path / "chr{1:2}.bed"], [tmp_path / "chr*.bed"]):
        assert genome(folder, tmp_path / "out", "--force", "--quiet", files=files) == 0
        tables.append((tmp_path / "out" / "resolutions.csv").read_bytes())
    assert tables[0] == tables[1] == tables[2]


def test_predictions_of_regenie_and_groups_of_ones_own(folder, tmp_path, capsys):
    given = ("--pred", folder / "fit.list", "--partitions", folder / "groups.txt", "--json")
    assert genome(folder, tmp_path / "out", *given) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["polygenic"]["given"] is True
    assert [one["resolution"] for one in told["levels"]] == ["sixes"]


def test_the_phenotype_of_the_fam(tmp_path, capsys):
    path = simulate_genotypes(120, 60, tmp_path / "cohort", 3, 1)
    rows = [line.split() for line in (tmp_path / "cohort.fam").read_text().splitlines()]
    sick = [" ".join([*row[:5], str(1 + i % 2) if i else "-9"]) for i, row in enumerate(rows)]
    (tmp_path / "cohort.fam").write_text("\n".join(sick) + "\n")
    assert main(["genome", str(path), "--out", str(tmp_path / "out"), "--json", "--resolutions", "0.5"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["classes"] == ["case", "control"]
    assert told["people"] == 119
    assert any("one chromosome" in line for line in told["decisions"])
    assert "No group was discovered" in told["explanation"]


def test_a_dry_run_tells_what_to_expect_and_writes_nothing(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert genome(folder, tmp_path / "out", "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["people"], told["markers_read"]) == (N - 2, P)
    assert set(told["groups"]) == {"0.9", "0.5"}
    assert told["memory_bytes"] > 0
    assert sum(told["seconds"].values()) > 0
    assert genome(folder, tmp_path / "out", "--dry-run") == 0
    told = capsys.readouterr().out
    for words in ("people", "markers", "groups", "memory", "time"):
        assert f"\n{words}" in f"\n{told}"
    assert not list(tmp_path.iterdir())


def test_names_are_text_on_the_page(tmp_path):
    simulate_genotypes(150, 60, tmp_path / "cohort", 3, 1)
    lines = [line.split() for line in (tmp_path / "cohort.bim").read_text().splitlines()]
    (tmp_path / "cohort.bim").write_text(
        "\n".join(" ".join([a, f"<b>{j}</b>", *rest]) for j, (a, _, *rest) in enumerate(lines)) + "\n"
    )
    from neuralmirror import open_genotypes

    genotypes = open_genotypes(tmp_path / "cohort.bed")
    counts = genotypes.counts(0, 60).astype(float)
    y = counts[[5, 15, 25, 35, 45]].sum(axis=0) + 0.2 * np.random.default_rng(0).standard_normal(150)
    write(tmp_path / "pheno.tsv", ["IID", "<i>y</i>"], genotypes.samples, y)
    given = ["--pheno", str(tmp_path / "pheno.tsv"), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(["genome", str(tmp_path / "cohort.bed"), *given]) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "&lt;i&gt;y&lt;/i&gt;" in page
    assert "<i>y" not in page
    assert "<b>" not in page
