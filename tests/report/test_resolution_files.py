"""Resolutions within a run: the file, the JSON, the picture, and what is refused."""

import csv
import json

import numpy as np
import pytest

from neuralmirror.cli import main
from neuralmirror.mirror.discoveries import COLUMNS

P, WIDTH, N = 40, 4, 250


@pytest.fixture(scope="module")
def genotypes(tmp_path_factory):
    """Ten blocks of four linked variants on two chromosomes, five of them with one that matters; NPZ with positions."""
    folder, rng = tmp_path_factory.mktemp("genotypes"), np.random.default_rng(0)
    latent = np.repeat(rng.standard_normal((2, N, P // WIDTH)), WIDTH, axis=2)
    x = (latent + 0.2 * rng.standard_normal((2, N, P)) > 0).sum(axis=0).astype(np.int8)
    y = x[:, [1, 6, 17, 22, 35]].astype(float).sum(axis=1) + 0.4 * rng.standard_normal(N)
    names = np.array([f"rs{j}" for j in range(P)])
    places = {"chrom": np.repeat([1, 2], P // 2), "pos": np.tile(np.arange(P // 2) * 1000, 2)}
    np.savez(folder / "data.npz", X=x, markers=names, height=y, **places)
    rows = [f"rs{j} {j // WIDTH} {j // (2 * WIDTH)}" for j in range(P)]
    (folder / "partitions.txt").write_text("\n".join(["SNP fine coarse", *rows]) + "\n")
    return folder


def select(folder, out, *more):
    fast = ["--learner=sparse", "--n-repeats=1", "--json"]
    return main(["select", str(folder / "data.npz"), "--target=height", "-o", str(out), *fast, *more])


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_partitions_leave_a_table_a_record_and_a_picture(genotypes, tmp_path, capsys):
    assert select(genotypes, tmp_path / "out", f"--partitions={genotypes / 'partitions.txt'}") == 0
    told = json.loads(capsys.readouterr().out)
    rows = list(csv.DictReader((tmp_path / "out" / "resolutions.csv").open()))
    assert tuple(rows[0]) == COLUMNS
    assert [one["resolution"] for one in told["resolutions"]["levels"]] == ["fine", "coarse"]
    assert [one["groups"] for one in told["resolutions"]["levels"]] == [10, 6]  # labels stay within chromosomes
    assert len(rows) == len(told["resolutions"]["discoveries"])
    fine = {row["lead"] for row in rows if row["resolution"] == "fine"}
    assert {int(name[2:]) // WIDTH for name in fine} >= {0, 1, 4, 5, 8}
    for row in rows:
        assert int(row["width"]) == int(row["BP.max"]) - int(row["BP.min"])
        assert len(row["members"].split()) == int(row["size"])
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count('<rect class="won"') == len(rows)
    assert told["paths"]["resolutions"].endswith("resolutions.csv")


@pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")
def test_cuts_and_no_resolutions(genotypes, tmp_path, capsys):
    assert select(genotypes, tmp_path / "cuts", "--resolutions=0.6", "--contiguous") == 0
    (level,) = json.loads(capsys.readouterr().out)["resolutions"]["levels"]
    assert level["resolution"] == "0.6"
    assert 10 <= level["groups"] < P
    assert select(genotypes, tmp_path / "none") == 0
    assert json.loads(capsys.readouterr().out)["resolutions"] is None
    assert not (tmp_path / "none" / "resolutions.csv").exists()
    assert "At several resolutions" not in (tmp_path / "none" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--resolutions=2"], "correlations in (0, 1]"),
        (["--resolutions=high"], "separated by commas"),
        (["--contiguous"], "says how --resolutions are cut"),
        (["--partitions=nowhere.txt"], "is not there"),
        (["--resolutions=0.5", "--partitions=nowhere.txt"], "give one of them"),
    ],
)
def test_mistakes_are_told_before_the_fit(genotypes, tmp_path, capsys, more, words):
    assert select(genotypes, tmp_path / "out", *more) == 2
    assert words in capsys.readouterr().err


def test_partitions_without_a_feature_are_refused(genotypes, tmp_path, capsys):
    short = tmp_path / "short.txt"
    short.write_text("SNP fine\nrs0 1\nrs1 2\n")
    assert select(genotypes, tmp_path / "out", f"--partitions={short}") == 2
    assert "no row for 'rs2'" in capsys.readouterr().err
