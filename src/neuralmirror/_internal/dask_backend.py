"""joblib's Dask backend (1.6), with three things mended that a long run trips over. Needs the extra `dask`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib._dask import DaskDistributedBackend


class SteadyDaskBackend(DaskDistributedBackend):
    """Sends pieces to a single worker too, hears of those that Dask has given up, and cancels what is dropped."""

    def effective_n_jobs(self, n_jobs: int) -> int:
        """At least two: with one, joblib would run the pieces in the caller's process."""
        return max(2, int(super().effective_n_jobs(n_jobs)))

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
        """Pass on an error of Dask's own (`KilledWorker`), for which joblib would wait for ever."""

        def tell(done: Future[Any]) -> None:
            reason = done.exception()
            if reason is not None and callback is not None:
                callback(reason)

        future = super().submit(func, callback)
        future.add_done_callback(tell)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """A result, or the error that came in its place."""
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """After an error or Ctrl-C: cancel the pieces that wait, which joblib would leave to the workers."""
        waiting = list(self._results)
        super().abort_everything(ensure_ready)
        self.client.cancel(waiting)


def steady(backend: Any) -> SteadyDaskBackend:
    """The same cluster and settings as those of joblib's own backend."""
    patience = backend.wait_for_workers_timeout
    return SteadyDaskBackend(client=backend.client, wait_for_workers_timeout=patience, **backend.submit_kwargs)
