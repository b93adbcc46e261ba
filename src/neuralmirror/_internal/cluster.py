"""The cluster that an address names: Dask or Ray, behind joblib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PATIENCE = 30  # seconds for the scheduler, and for its first worker
FORMS = "tcp://HOST:8786 or the scheduler's .json file for Dask, ray://HOST:10001, ray://auto or ray://local for Ray"


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Send all pieces within the block to the cluster at an address; to none for None."""
    if address is None:
        yield
        return
    with _ray(address) if address.startswith("ray://") else _dask(address):
        yield


@contextmanager
def _dask(address: str) -> Iterator[None]:
    _need("distributed", "dask", address)
    import joblib
    from distributed import Client

    if address.endswith(".json") and not Path(address).is_file():  # Dask would wait for it for ever
        raise ValueError(
            f"there is no scheduler file {address}; start the scheduler with --scheduler-file, or give {FORMS}"
        )
    place = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        client = Client(**place, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as reason:
        raise ValueError(f"no Dask scheduler answers at {address} ({_first_line(reason)}); give {FORMS}") from None
    with client, joblib.parallel_config(backend="dask", client=client, wait_for_workers_timeout=PATIENCE):
        yield


@contextmanager
def _ray(address: str) -> Iterator[None]:
    _need("ray", "ray", address)
    import joblib
    import ray
    from ray.util.joblib import register_ray

    known: dict[str, Any] = {"ray://auto": {"address": "auto"}, "ray://local": {"include_dashboard": False}}
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(**known.get(address, {"address": address}), log_to_driver=False, configure_logging=False)
        except (OSError, ValueError, RuntimeError) as reason:
            raise ValueError(f"no Ray answers at {address} ({_first_line(reason)}); give {FORMS}") from None
    register_ray()
    lasting = {"max_restarts": -1, "max_task_retries": -1}  # a worker that dies is replaced, and its piece run again
    try:
        with joblib.parallel_config(backend="ray", n_jobs=-1, ray_remote_args=lasting):
            yield
    finally:
        if started:
            ray.shutdown()


def _need(package: str, extra: str, address: str) -> None:
    if find_spec(package) is None:
        raise ValueError(f"--cluster {address} needs {package}; install neuralmirror[{extra}]")


def _first_line(reason: Exception) -> str:
    return str(reason).strip().partition("\n")[0] or type(reason).__name__
