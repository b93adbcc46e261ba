"""The study of resolutions on a small folder of the same form as KnockoffGWAS's toy data."""

from pathlib import Path

import numpy as np
import pytest

from neuralmirror.cli import main
from neuralmirror.io.errors import DataError
from neuralmirror.studies.records import read_records
from neuralmirror.studies.resolutions import LOCI, find_toy, read_toy, simulated_trait

N, P = 120, 30  # people, and variants of each chromosome


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two chromosomes of linked variants, partitions at two resolutions, a trait with four causal variants."""
    bed_reader = pytest.importorskip("bed_reader")
    folder, rng = tmp_path_factory.mktemp("toys") / "knockoffgwas_toy", np.random.default_rng(0)
    for name in ("genotypes", "partitions", "phenotypes", "results"):
        (folder / name).mkdir(parents=True)
    people, trait, causal = [str(1000 + i) for i in range(N)], np.zeros(N), []
    for chromosome in ("21", "22"):
        latent = np.repeat(rng.standard_normal((2, N, P // 3)), 3, axis=2) + 0.4 * rng.standard_normal((2, N, P))
        x, names = (latent > 0).sum(axis=0), [f"rs{chromosome}{j:02}" for j in range(P)]
        properties = {"fid": people, "iid": people, "sid": names, "chromosome": [chromosome] * P}
        properties |= {"bp_position": list(range(100, 100 + P))}
        bed_reader.to_bed(folder / f"genotypes/example_chr{chromosome}.bed", x.astype(float), properties=properties)
        labels = [f"{name} {j} {j // 3}" for j, name in enumerate(names)]
        (folder / f"partitions/example_chr{chromosome}.txt").write_text("\n".join(["SNP res_2 res_1", *labels]))
        trait += x[:, 4] + x[:, 20]
        causal += [f"{chromosome} {names[4]} 0 104", f"{chromosome} {names[20]} 0 120"]
    trait += 0.3 * rng.standard_normal(N)
    lines = [f"{i} {i} 1 {value:.4f}" for i, value in zip(people, trait, strict=True)]
    (folder / "phenotypes/phenotypes.tab").write_text("\n".join(["FID IID sex y", *lines]))
    (folder / "phenotypes/causal.txt").write_text("\n".join(["CHR SNP X BP", *causal]))
    for k in range(2):
        (folder / f"results/example_res{k}_discoveries.txt").write_text(
            "CHR Group SNP.lead\n21 1 rs2104\n21 2 rs2101\n"
        )
    return folder


def test_the_folder_is_found_itself_or_around(folder: Path) -> None:
    assert find_toy(folder) == find_toy(folder.parent) == folder
    with pytest.raises(DataError, match="name the folder"):
        find_toy(folder / "genotypes")


def test_simulated_traits_have_two_variants_a_locus(folder: Path) -> None:
    toy = read_toy(folder)
    y, causal = simulated_trait(toy, 3)
    assert len(set(causal)) == 4 * LOCI
    assert y.shape == (N,)
    np.testing.assert_array_equal(simulated_trait(toy, 3)[0], y)
    assert not np.array_equal(simulated_trait(toy, 4)[0], y)


def test_one_command_runs_and_another_renders(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records, page = tmp_path / "r.jsonl", tmp_path / "page.md"
    shared = [f"--records={records}", "--quiet"]
    command = ["trial", "--resolutions=2", "--draws=1", "--seed=1000", f"--data={folder}", "--jobs=1", *shared]
    assert main(command) == 0
    assert "Simulated traits" in capsys.readouterr().out
    assert len(read_records(records)) == 2 * (1 + 1 + 2)  # resolutions: published, the trait of the data, simulated
    assert main(command) == 0
    assert len(read_records(records)) == 8, "what the records hold is not run again"
    coarse = next(one for one in read_records(records) if one["row"] == "measured 1" and one["method"] == "mirror")
    assert coarse["groups"] == 2 * P // 3
    assert coarse["covered"] >= 3
    theirs = next(one for one in read_records(records) if one["method"] == "KnockoffGWAS")
    assert (theirs["selected"], theirs["covered"], theirs["fdp"]) == (2, 1, 0.5)
    assert main(["trial", "--resolutions-table", f"--page={page}", *shared]) == 0
    assert "Published seeds." in page.read_text(encoding="utf-8")
