"""The same bytes on a Dask cluster of two processes as without one, also when one of them is killed at work.

The cases are those of joblib's own tests of its Dask backend: scatter, nesting, generators, adaptive clusters, errors
and timeouts.
"""

import os
import time

import joblib
import numpy as np
import pytest
from same_work import FITS, fitted, killing, table

from fitting import QUIET, mirror
from neuralmirror import GenomeMirror, open_genotypes
from neuralmirror._internal import pieces
from neuralmirror._internal.pieces import in_order, run_pieces
from neuralmirror.calibration import calibrate
from neuralmirror.cli import main
from neuralmirror.comparison import compare
from neuralmirror.evaluation import Scenario
from neuralmirror.simulation.designs import Simulation
from neuralmirror.simulation.genomes import simulate_genotypes, simulate_trait
from neuralmirror.studies.bench_methods import bench_methods
from neuralmirror.studies.scenarios import run_trials

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def busy(client):
    """The process of a worker that has a piece, or None."""

    def find():
        at_work = [address for address, tasks in client.processing().items() if tasks]
        return client.run(os.getpid, workers=at_work[:1])[at_work[0]] if at_work else None

    return find


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_the_same_bytes(name, client):
    with joblib.parallel_config(backend="dask"):
        assert fitted(**FITS[name]) == fitted_here(name)


def fitted_here(name):
    with joblib.parallel_config(backend="sequential"):
        return fitted(**FITS[name])


@pytest.mark.parametrize("name", ["turns", *(pytest.param(n, marks=pytest.mark.slow) for n in ("draws", "individual"))])
def test_a_killed_worker_changes_nothing(name, client, tmp_path):
    with joblib.parallel_config(backend="dask"), killing(busy(client)) as killed:
        found = fitted(**FITS[name], checkpoint=tmp_path)
    assert killed
    assert found == fitted_here(name)
    assert not list(tmp_path.rglob("*.npy")), "arrays were left behind"


def test_a_genome_is_the_same_bytes(client, tmp_path):
    genotypes = open_genotypes(simulate_genotypes(200, 120, tmp_path / "genome", 1, chromosomes=3))
    trait = simulate_trait(genotypes, 4, 0.5, 1).y

    def found():
        mirror = GenomeMirror(random_state=0, progress=False).fit(genotypes, trait)
        return mirror.group_statistics_.tobytes() + mirror.group_q_values_.tobytes()

    with joblib.parallel_config(backend="dask"):
        away = found()
    assert away == found()


def test_a_trial_has_the_same_records(client, tmp_path):
    scenario = Scenario("lines", Simulation(n=100, p=10, k=3), 0.5)
    methods = bench_methods(["sparse", "bh"], "cpu")

    def records(name):
        done = run_trials([scenario], methods, 2, tmp_path / name, show=False)
        kept = [{key: value for key, value in one.items() if key != "seconds"} for one in done]
        return sorted(kept, key=lambda one: (one["method"], one["seed"]))

    with joblib.parallel_config(backend="dask"):
        away = records("away")
    assert away == records("here")


@QUIET
def test_a_comparison_selects_the_same(client):
    x, y = table()
    here = compare(x, y, ["sparse", "bh"], random_state=0, device="cpu")
    with joblib.parallel_config(backend="dask"):
        away = compare(x, y, ["sparse", "bh"], random_state=0, device="cpu")
    np.testing.assert_array_equal(here.selected, away.selected)
    assert here.methods == away.methods


@QUIET
def test_pieces_inside_pieces_stay_in_their_worker(client):
    """A calibration sends its fits; the turns of each would be pieces of their own."""
    settings = {"links": ["linear"], "signal_shares": [0.9], "n_replicates": 2}
    selector = mirror(learner="sparse")
    here = calibrate(table(100, 8)[0], selector, **settings)
    with joblib.parallel_config(backend="dask"):
        away = calibrate(table(100, 8)[0], selector, **settings)
    assert [(line.fdr, line.power) for line in here.lines] == [(line.fdr, line.power) for line in away.lines]


def total(array, number):
    return float(array.sum()) + number


def test_large_arrays_travel_as_files(client, monkeypatch):
    """joblib would scatter them to the workers, object by object."""

    def refused(*_, **__):
        raise AssertionError("an array was sent")

    array = np.arange(1_000_000.0)
    monkeypatch.setattr(distributed.Client, "scatter", refused)
    with joblib.parallel_config(backend="dask"):
        found = in_order(total, [(array, number) for number in range(3)])
    assert found == [array.sum() + number for number in range(3)]


def slow(number):
    time.sleep(0.2)
    return number


def test_pieces_come_as_they_are_completed_and_the_rest_are_cancelled(client):
    """200 pieces take two workers 20 seconds; Ctrl-C and an error end the same way as closing does."""
    with joblib.parallel_config(backend="dask"):
        completed = run_pieces(slow, [(number,) for number in range(200)])
        next(completed)
        completed.close()
    end = time.monotonic() + 10
    while any(client.processing().values()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(client.processing().values())


def refuse(number):
    raise ValueError(f"piece {number} cannot be done")


def test_an_error_in_a_worker_is_raised_as_itself(client):
    with joblib.parallel_config(backend="dask"), pytest.raises(ValueError, match="cannot be done"):
        in_order(refuse, [(0,), (1,)])


def deadly(number):
    os._exit(1)


def test_pieces_that_kill_every_worker_end_with_one_line(monkeypatch):
    """joblib alone would wait for ever for a piece that Dask has given up."""
    monkeypatch.setattr(pieces, "ATTEMPTS", 1)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        joblib.parallel_config(backend="dask", client=client),
    ):
        cluster.scheduler.allowed_failures = 0
        with pytest.raises(OSError, match="1 pieces lost their workers"):
            in_order(deadly, [(0,)])


def test_an_adaptive_cluster_starts_workers_for_the_pieces():
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="100ms")
        with joblib.parallel_config(backend="dask", client=client):
            assert in_order(slow, [(number,) for number in range(4)]) == [0, 1, 2, 3]


def test_a_cluster_without_workers_says_so():
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        joblib.parallel_config(backend="dask", client=client, wait_for_workers_timeout=0.2),
        pytest.raises(TimeoutError, match="no worker"),
    ):
        in_order(slow, [(0,)])


def test_select_on_a_cluster_writes_the_same_bytes(client, tmp_path):
    x, y = table(100, 8)
    rows = [",".join(map(repr, [*map(float, row), float(one)])) for row, one in zip(x, y, strict=True)]
    data = tmp_path / "table.csv"
    data.write_text("\n".join([",".join([*(f"f{j}" for j in range(8)), "y"]), *rows]) + "\n")
    words = ["select", str(data), "--target", "y", "--learner", "sparse", "--n-repeats", "2", "--quiet"]
    address = client.scheduler.address
    assert main([*words, "-o", str(tmp_path / "away"), "--cluster", address]) == 0
    assert main([*words, "-o", str(tmp_path / "here")]) == 0
    for name in ("selection.csv", "model.safetensors"):
        assert (tmp_path / "away" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "away", "here"}


def test_a_scheduler_that_is_not_there_is_told_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("neuralmirror._internal.cluster.PATIENCE", 0.5)
    assert main(["trial", "linear-toeplitz-500", "--replicates", "1", "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_a_scheduler_file_that_is_not_there_is_told_at_once(tmp_path, capsys):
    assert main(["trial", "linear-toeplitz-500", "--replicates", "1", "--cluster", str(tmp_path / "none.json")]) == 2
    assert "there is no scheduler file" in capsys.readouterr().err
