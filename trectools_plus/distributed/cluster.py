"""The workers of a Dask scheduler, as an executor.

If a worker is lost, the scheduler gives its items to the others. If no worker is left, the
connection to the scheduler is lost, or an item crashes several workers, an error is raised.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from trectools_plus.distributed.worker import (
    PickledFunction,
    call,
    describe_difference,
    version_error,
    versions,
)
from trectools_plus.errors import InputError, MissingExtraError, TrectoolsPlusError, UsageError
from trectools_plus.redaction import secret_in_url
from trectools_plus.text import plural

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

CONNECT_SECONDS = 10
"""The time to wait for a response of the scheduler."""

WORKERLESS_SECONDS = 30.0
"""The time to wait for a first worker, or for a new one after the last was lost."""

FETCH_SECONDS = 4.0
"""The initial time to wait for a result; its worker may be lost meanwhile."""

_CHECK_SECONDS = 1.0
_ITEMS_PER_THREAD = 4
"""The number of items that are submitted at a time per thread; more would only use memory."""

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
        from distributed import Client
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
        try:
            _check_reachable(address)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # versions are compared below
                client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
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
        try:
            cluster = Cluster(client, address)
            cluster.check()
            yield cluster
        finally:
            with suppress(Exception):
                client.close(timeout=2)


class Cluster:
    """The workers of one scheduler.

    Args:
        client: A connected ``distributed.Client``.
        address: The scheduler, for messages.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._versions = versions()
        self._workerless_since: float | None = None
        self._checked_at, self._threads = -_CHECK_SECONDS, 0
        self._fetch_seconds = FETCH_SECONDS

    def check(self) -> None:
        """Wait for a worker, and compare the versions of the scheduler and all workers.

        Raises:
            InputError: If there is no worker in time, or the connection to the scheduler is lost.
            UsageError: If versions differ.
        """
        while not self._n_threads():
            time.sleep(0.2)
        found = {"the scheduler": self._client.run_on_scheduler(versions)}
        on_workers = self._client.run(versions, on_error="return")
        found |= {f"worker {name}": value for name, value in on_workers.items()}
        for process, value in found.items():
            if isinstance(value, ImportError):
                raise version_error(process, f"no compatible trectools-plus ({value})")
            if isinstance(value, dict) and (
                difference := describe_difference(value, self._versions)
            ):
                raise version_error(process, difference)

    def map(
        self,
        function: Callable[[_Item], _Result],
        items: Iterable[_Item],
        on_done: Callable[[int], None] | None = None,
    ) -> list[_Result]:
        """See :meth:`trectools_plus.distributed.Executor.map`."""
        import cloudpickle

        pickled = self._client.submit(PickledFunction, cloudpickle.dumps(function), pure=False)
        waiting: dict[Any, int] = {}
        outcomes: dict[int, tuple[bool, bytes]] = {}
        remaining = enumerate(items)
        failed = False
        while True:
            # After a failure, submit nothing, but wait for submitted items: an earlier item may
            # fail too, and the error of the first one is raised.
            limit = _ITEMS_PER_THREAD * self._n_threads()
            n_to_submit = 0 if failed else max(1, limit - len(waiting))
            for _, (number, item) in zip(range(n_to_submit), remaining, strict=False):
                content = cloudpickle.dumps(item)
                task = self._client.submit(call, pickled, content, self._versions, pure=False)
                waiting[task] = number
            if not waiting:
                break
            for task in self._next_done(list(waiting)):
                outcome = self._outcome(task)
                if outcome is None:
                    break  # other results may be lost too: check again which tasks are done
                outcomes[waiting.pop(task)] = outcome
                failed = failed or not outcome[0]
                if on_done is not None:
                    on_done(len(outcomes))
        return [_unpack(outcomes.pop(number)) for number in sorted(outcomes)]

    def _next_done(self, tasks: list[Any]) -> list[Any]:
        """Wait until some tasks are finished, failed or cancelled."""
        from distributed import CancelledError, wait

        while True:
            if self._client.status != "running":
                raise self._lost_scheduler()
            with suppress(TimeoutError, CancelledError), self._client.as_current():
                wait(tasks, timeout=_CHECK_SECONDS, return_when="FIRST_COMPLETED")
            done = [task for task in tasks if task.status in ("finished", "error", "cancelled")]
            if done:
                return done
            self._n_threads()

    def _outcome(self, task: Any) -> tuple[bool, bytes] | None:
        """Fetch the outcome of a task; ``None`` if it is not available yet, or not any more."""
        from distributed import CancelledError, KilledWorker

        try:
            outcome: tuple[bool, bytes] = task.result(timeout=self._fetch_seconds)
        except TimeoutError:
            if task.status == "finished":
                self._fetch_seconds *= 2  # the result exists, but its transfer takes longer
            return None
        except KilledWorker as error:
            raise InputError(
                f"a task crashed {plural(error.allowed_failures + 1, 'worker')}, the last one at "
                f"{error.last_worker.address}",
                where=self._address,
                remedy="read the logs of the workers, and give them more memory",
            ) from error
        except (CancelledError, OSError) as error:
            raise self._lost_scheduler() from error
        return outcome

    def _n_threads(self) -> int:
        """Return the number of threads of all workers, at most ``_CHECK_SECONDS`` old.

        Raises:
            InputError: If there has been no worker for ``WORKERLESS_SECONDS``.
        """
        now = time.monotonic()
        if self._threads and now - self._checked_at < _CHECK_SECONDS:
            return self._threads
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        except (OSError, RuntimeError, TimeoutError) as error:
            raise self._lost_scheduler() from error
        self._checked_at, self._threads = now, sum(worker["nthreads"] for worker in workers)
        if self._threads:
            self._workerless_since = None
            return self._threads
        self._workerless_since = self._workerless_since or now
        if now - self._workerless_since > WORKERLESS_SECONDS:
            raise InputError(
                f"the scheduler had no worker for {WORKERLESS_SECONDS:.0f} seconds",
                where=self._address,
                remedy=f"start workers (`dask worker {self._address}`) and run the command again",
            )
        return 0

    def _lost_scheduler(self) -> InputError:
        return InputError(
            "lost the connection to the scheduler",
            where=self._address,
            remedy="restart it and its workers, and run the command again; nothing was written",
        )


def _check_reachable(address: str) -> None:
    """Check that a scheduler responds, before a client is created.

    Raises:
        OSError: If no scheduler responds.
        ValueError: If ``address`` is not an address.
    """
    from distributed.comm import connect as open_comm

    async def open_and_close() -> None:
        # The timeout of open_comm does not apply to a server that accepts but never responds.
        opening = open_comm(address, timeout=CONNECT_SECONDS)
        comm = await asyncio.wait_for(opening, CONNECT_SECONDS)
        await comm.close()

    # Use another thread: this one may already run an event loop, for example in a notebook.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(open_and_close())).result()


def _unpack(outcome: tuple[bool, bytes]) -> Any:
    succeeded, content = outcome
    value = pickle.loads(content)
    if not succeeded:
        assert isinstance(value, TrectoolsPlusError)
        raise value
    return value


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
