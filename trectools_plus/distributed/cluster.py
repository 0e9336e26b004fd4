"""The workers of a Dask scheduler, as an executor.

If a worker is lost, the scheduler gives its items to the others. If no worker is left, the
connection to the scheduler is lost, or an item crashes several workers, an error is raised.
"""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from trectools_plus.distributed.worker import PickledFunction, call, check_versions, versions
from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.redaction import secret_in_url
from trectools_plus.text import plural

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

CONNECT_SECONDS = 10
"""The time to wait for a response of the scheduler."""

WORKERLESS_SECONDS = 30.0
"""The time to wait for a first worker, or for a new one after the last was lost."""

_CHECK_SECONDS = 1.0
_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


@contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """Connect to a scheduler, and check its workers.

    Raises:
        MissingExtraError: If ``distributed`` is not installed.
        InputError: If no scheduler responds, or it has no workers.
        UsageError: If the address is invalid, or the scheduler or workers have other versions.
    """
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtraError("--scheduler", "distributed") from None
    if secret := secret_in_url(address):
        raise UsageError(
            f"the address contains {secret}, but addresses are written to logs",
            where="--scheduler",
            remedy="write --scheduler tcp://HOST:8786, and put credentials into the configuration "
            "of Dask",
        )
    no_size_warning = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    with dask.config.set(no_size_warning), _without_logs():
        client = _open_client(address)
        try:
            cluster = Cluster(client, address)
            cluster.check()
            yield cluster
        finally:
            with suppress(Exception):
                client.close(timeout=2)


def _open_client(address: str) -> Any:
    from distributed import Client
    from distributed.comm import connect as open_comm

    async def check_reachable() -> None:
        # The timeouts of Dask do not apply to a server that accepts but never responds.
        comm = await asyncio.wait_for(open_comm(address), CONNECT_SECONDS)
        await comm.close()

    try:
        # Use another thread: this one may already run an event loop, for example in a notebook.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: asyncio.run(check_reachable())).result()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared below
            return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (ValueError, TypeError) as error:
        raise UsageError(
            "expected the address of a scheduler",
            where=address,
            remedy="write --scheduler tcp://HOST:8786",
        ) from error
    except Exception as error:  # servers of other kinds cause various errors
        raise InputError(
            "no scheduler answers",
            where=address,
            remedy="start one with `dask scheduler`, or leave out --scheduler",
        ) from error


class Cluster:
    """The workers of one scheduler.

    Args:
        client: A connected ``distributed.Client``.
        address: The scheduler, for messages.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._last_worker_at = time.monotonic()

    def check(self) -> None:
        """Wait for a worker, and compare the versions of the scheduler and all workers.

        Raises:
            InputError: If there is no worker in time, or the connection to the scheduler is lost.
            UsageError: If versions differ.
        """
        while not self._has_workers():
            time.sleep(0.2)
        check_versions("the scheduler", self._client.run_on_scheduler(versions), versions())
        for name, actual in self._client.run(versions, on_error="return").items():
            if isinstance(actual, ImportError):
                check_versions(f"worker {name}", {}, versions())
            elif isinstance(actual, dict):
                check_versions(f"worker {name}", actual, versions())

    def map(
        self,
        function: Callable[[_Item], _Result],
        items: Iterable[_Item],
        on_done: Callable[[int], None] | None = None,
    ) -> list[_Result]:
        """See :meth:`trectools_plus.distributed.Executor.map`."""
        import cloudpickle

        pickled = self._client.submit(PickledFunction, cloudpickle.dumps(function), pure=False)
        executor = self._client.get_executor(pure=False)
        futures = [
            executor.submit(call, pickled, cloudpickle.dumps(item), versions()) for item in items
        ]
        results: list[_Result] = []
        try:
            for number, future in enumerate(futures, 1):
                results.append(self._result(future))
                if on_done is not None:
                    on_done(number)
        finally:
            executor.shutdown(wait=False)
        return results

    def _result(self, future: Future[Any]) -> Any:
        from distributed import KilledWorker

        while True:
            try:
                return future.result(_CHECK_SECONDS)
            except TimeoutError:
                self._has_workers()
            except KilledWorker as error:
                raise InputError(
                    f"a task crashed {plural(error.allowed_failures + 1, 'worker')}, the last one "
                    f"at {error.last_worker.address}",
                    where=self._address,
                    remedy="read the logs of the workers, and give them more memory",
                ) from error
            except (CancelledError, OSError) as error:
                raise self._lost_scheduler() from error

    def _has_workers(self) -> bool:
        """Return whether there is a worker.

        Raises:
            InputError: If there has been none for ``WORKERLESS_SECONDS``, or the scheduler is lost.
        """
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, RuntimeError, TimeoutError) as error:
            raise self._lost_scheduler() from error
        if self._client.status != "running":
            raise self._lost_scheduler()
        now = time.monotonic()
        if workers:
            self._last_worker_at = now
        elif now - self._last_worker_at > WORKERLESS_SECONDS:
            raise InputError(
                f"the scheduler had no worker for {WORKERLESS_SECONDS:.0f} seconds",
                where=self._address,
                remedy=f"start workers (`dask worker {self._address}`) and run the command again",
            )
        return bool(workers)

    def _lost_scheduler(self) -> InputError:
        return InputError(
            "lost the connection to the scheduler",
            where=self._address,
            remedy="restart it and its workers, and run the command again; nothing was written",
        )


@contextmanager
def _without_logs() -> Iterator[None]:
    """Disable the logs of ``distributed``; important problems are raised as errors."""
    levels = {logger: logger.level for logger in map(logging.getLogger, _LOGGERS)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
