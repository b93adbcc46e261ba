"""Pieces of work: any backend, the same results; what dies under a piece runs again; workers take one thread."""

import os
import signal
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from neuralmirror._internal import cluster, packing
from neuralmirror._internal.device import resolve_jobs
from neuralmirror._internal.packing import Packer, unpacked
from neuralmirror._internal.pieces import WorkerError, elsewhere, in_order, run_pieces, workers
from neuralmirror.cli import main


def square(number):
    return number * number


def threads_of_torch(_):
    return torch.get_num_threads(), resolve_jobs(None)


def die_once(folder, number):
    """The first of all pieces kills its own process."""
    mark = Path(folder) / "dead"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number, os.getpid()


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("how", [{}, {"n_jobs": 2}, {"n_jobs": 2, "prefer": "threads"}], ids=str)
def test_results_come_in_the_order_of_the_arguments(how):
    ticks = []
    assert in_order(square, [(n,) for n in range(9)], ticks.append, **how) == [n * n for n in range(9)]
    assert ticks == [1] * 9


def test_nothing_to_do_is_done_at_once():
    assert list(run_pieces(square, [])) == []


def test_the_callers_workers_come_first():
    assert not elsewhere()
    assert workers(3, "threads") == 3
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert elsewhere()
        assert workers(5) == 2
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert not elsewhere()


def test_workers_take_one_thread_each_and_the_caller_has_its_own_again():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert in_order(threads_of_torch, [(0,), (1,)], n_jobs=2, prefer="threads") == [(1, 1)] * 2
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def threads_of_blas(number):
    time.sleep(0.1)  # until all workers have begun
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_workers_take_one_thread_each_where_the_caller_has_said_another_number():
    with threadpool_limits(2):
        told = in_order(threads_of_blas, [(0,), (1,)], n_jobs=2, prefer="threads")
        assert {count for counts in told for count in counts} == {1}
        assert set(threads_of_blas(0)) == {2}


def test_a_piece_whose_process_was_killed_runs_again(tmp_path):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = in_order(die_once, [(str(tmp_path), number) for number in range(4)])
    assert [number for number, _ in found] == [0, 1, 2, 3]
    assert os.getpid() not in {pid for _, pid in found}


def test_pieces_that_kill_their_workers_every_time_end_with_one_line():
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(WorkerError, match="lost their workers"):
        in_order(die, [(0,), (1,)])


def test_a_large_array_is_written_once_and_small_things_travel_with_the_piece(tmp_path):
    pytest.importorskip("cloudpickle")
    large, small = np.arange(50_000.0).reshape(100, -1), np.arange(3)
    packer = Packer(tmp_path)
    first, second = (packer.packed({"large": large, "small": small, "n": n}) for n in (1, 2))
    assert len(first) < 2000
    assert len(list(tmp_path.iterdir())) == 1
    back = unpacked(second)
    assert back["n"] == 2
    np.testing.assert_array_equal(back["large"], large)
    back["large"][0] = -1  # in this process alone
    np.testing.assert_array_equal(unpacked(first)["large"], large)


def test_a_worker_that_does_not_see_the_folder_says_which(tmp_path):
    pytest.importorskip("cloudpickle")
    content = Packer(tmp_path).packed(np.zeros(50_000))
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(OSError, match=r"does not see .*JOBLIB_TEMP_FOLDER"):
        unpacked(content)


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    pytest.importorskip("cloudpickle")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packing.np, "save", full)
    with pytest.raises(OSError, match=r"no room .*No space left"):
        Packer(tmp_path).packed(np.zeros(50_000))


@pytest.mark.parametrize(("address", "extra"), [("tcp://host:8786", "dask"), ("ray://auto", "ray")])
def test_a_cluster_whose_package_is_not_there_names_the_extra(address, extra, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    assert main(["trial", "linear-toeplitz-500", "--replicates", "1", "--cluster", address]) == 2
    assert f"install neuralmirror[{extra}]" in capsys.readouterr().err
