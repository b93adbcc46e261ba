"""The study of simulated genomes: records, what they are measured against, and the page."""

from __future__ import annotations

import pytest

from neuralmirror.cli import main
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.studies.genomes import genome_table, run_genome, write_genomes
from neuralmirror.studies.records import read_records


def asked(folder, *more):
    sizes = ("--people", "300", "--markers", "220", "--causal", "6")
    places = ("--records", str(folder / "genomes.jsonl"), "--scratch", str(folder / "genotypes"))
    return main(["trial", "--genomes", "1", "--seed", "7", *sizes, *places, "--jobs", "1", "--quiet", *more])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("genomes")
    assert asked(place) == 0
    return place


def test_each_trait_is_measured_at_every_resolution(folder):
    records = read_records(folder / "genomes.jsonl")
    assert [one["row"].split(",")[0] for one in records] == ["coalescent", "copying"]
    for record in records:
        assert list(record["resolutions"]) == ["0.99", "0.75", "0.5"]
        groups = [one["groups"] for one in record["resolutions"].values()]
        assert groups == sorted(groups, reverse=True)  # coarser resolutions have fewer groups
        assert all(0 <= one["fdp"] <= 1 and 0 <= one["power"] <= 1 for one in record["resolutions"].values())


def test_genotypes_are_simulated_once_and_traits_are_not_run_again(folder, capsys):
    before = {path: path.stat().st_mtime_ns for path in sorted((folder / "genotypes").iterdir())}
    assert asked(folder) == 0
    assert {path: path.stat().st_mtime_ns for path in sorted((folder / "genotypes").iterdir())} == before
    assert len(read_records(folder / "genomes.jsonl")) == 2
    assert "development" in capsys.readouterr().out


def test_the_same_seed_gives_the_same_record(folder):
    first = read_records(folder / "genomes.jsonl")[1]
    again = run_genome("copying", 300, 220, 6, folder / "genotypes", 1, 7)
    assert again["resolutions"] == first["resolutions"]
    assert open_genotypes(folder / "genotypes" / "copying-300-220.bed").n_markers == 220


def test_the_page_has_a_line_for_each_resolution(folder, tmp_path):
    records = read_records(folder / "genomes.jsonl")
    write_genomes(records, tmp_path / "genomes.md")
    text = (tmp_path / "genomes.md").read_text(encoding="utf-8")
    assert text.count("| coalescent, 300 × 220, 6 causal |") == 3
    assert "✗" in genome_table([_with_fdp(one, 0.9 + 0.01 * seed, 1000 + seed) for seed in range(3) for one in records])


def test_a_page_needs_records(tmp_path, capsys):
    assert main(["trial", "--genomes-table", "--records", str(tmp_path / "none.jsonl")]) == 2
    assert "holds no records" in capsys.readouterr().err
    with pytest.raises(ValueError, match="hold no genomes"):
        genome_table([{"bench": "random"}])


def _with_fdp(record, fdp, seed):
    parts = {name: {**one, "fdp": fdp} for name, one in record["resolutions"].items()}
    return {**record, "seed": seed, "resolutions": parts}
