"""A Dask scheduler with its workers, behind the interface of ``workers.Workers``.

A worker that is lost takes nothing with it: the scheduler gives its items to the others. What
cannot be gone on with (no worker is left, the scheduler is gone, an item ends every worker that
takes it) is an error of one line.
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
from typing import Any

from trectools_plus.distributed.worker import (
    Packed,
    call,
    describe_difference,
    differ,
    versions,
)
from trectools_plus.distributed.workers import Item, Result, Tell
from trectools_plus.errors import InputError, MissingExtraError, TrectoolsPlusError, UsageError

CONNECT_SECONDS = 10
"""How long to wait for a scheduler to answer."""

WORKERLESS_SECONDS = 30.0
"""How long to wait for a first worker, or for one to come back after the last was lost."""

FETCH_SECONDS = 4.0
"""How long to wait for a result at first: the worker that has it may be lost meanwhile."""

_LOOK_SECONDS = 1.0
_AHEAD = 4
"""Items under way for each thread of the workers: more would only take memory."""

_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


@contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """Connect to a scheduler, and see that everyone there can do the work.

    Raises:
        MissingExtraError: If ``distributed`` is not installed.
        InputError: If there is no scheduler, or it has no worker.
        UsageError: If the address is none, or scheduler or workers have other versions.
    """
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise MissingExtraError("--scheduler", "distributed") from None
    quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    with dask.config.set(quiet), _silent():
        try:
            _knock(address)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # versions are compared below, in our words
                client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (ValueError, TypeError) as error:
            raise UsageError(
                "expected the address of a scheduler",
                where=address,
                remedy="write --scheduler tcp://HOST:8786",
            ) from error
        except Exception as error:  # what another kind of server says can be taken for anything
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
        self._looked_at, self._threads = -_LOOK_SECONDS, 0
        self._fetch_seconds = FETCH_SECONDS

    def check(self) -> None:
        """Wait for a worker, and compare the versions of all.

        Raises:
            InputError: If there is none in time, or the scheduler is lost.
            UsageError: If versions differ.
        """
        while not self._n_threads():
            time.sleep(0.2)
        found = {"the scheduler": self._client.run_on_scheduler(versions)}
        there = self._client.run(versions, on_error="return")
        found |= {f"worker {name}": value for name, value in there.items()}
        for who, value in found.items():
            if isinstance(value, ImportError):
                raise differ(who, f"no trectools-plus that this one can talk to ({value})")
            if isinstance(value, dict) and (
                difference := describe_difference(value, self._versions)
            ):
                raise differ(who, difference)

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        tell: Tell | None = None,
    ) -> list[Result]:
        """See :class:`~trectools_plus.distributed.workers.Workers`."""
        import cloudpickle

        packed = self._client.submit(Packed, cloudpickle.dumps(function), pure=False)
        waiting: dict[Any, int] = {}
        outcomes: dict[int, tuple[bool, bytes]] = {}
        coming = enumerate(items)
        failed = False
        while True:
            # After a failure only what was begun is waited for: an earlier item may fail as well.
            room = 0 if failed else max(1, _AHEAD * self._n_threads() - len(waiting))
            for _, (number, item) in zip(range(room), coming, strict=False):
                content = cloudpickle.dumps(item)
                task = self._client.submit(call, packed, content, self._versions, pure=False)
                waiting[task] = number
            if not waiting:
                break
            for task in self._next_done(list(waiting)):
                outcome = self._outcome(task)
                if outcome is None:
                    break  # others were lost with it: look again which are done
                outcomes[waiting.pop(task)] = outcome
                failed = failed or not outcome[0]
                if tell is not None:
                    tell(len(outcomes))
        return [_unpack(outcomes.pop(number)) for number in sorted(outcomes)]

    def _next_done(self, tasks: list[Any]) -> list[Any]:
        """Wait until some task is done, or given up."""
        from distributed import CancelledError, wait

        while True:
            if self._client.status != "running":
                raise self._lost_scheduler()
            with suppress(TimeoutError, CancelledError), self._client.as_current():
                wait(tasks, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
            done = [task for task in tasks if task.status in ("finished", "error", "cancelled")]
            if done:
                return done
            self._n_threads()

    def _outcome(self, task: Any) -> tuple[bool, bytes] | None:
        """Fetch what a task came to; ``None`` if it was lost with its worker and is done again."""
        from distributed import CancelledError, KilledWorker

        try:
            outcome: tuple[bool, bytes] = task.result(timeout=self._fetch_seconds)
        except TimeoutError:
            if task.status == "finished":
                self._fetch_seconds *= 2  # it is there, and large
            return None
        except KilledWorker as error:
            raise InputError(
                f"a task ended each of the {error.allowed_failures + 1} workers that took it, the "
                f"last at {error.last_worker.address}",
                where=self._address,
                remedy="give the workers more memory, and see what they logged",
            ) from error
        except (CancelledError, OSError) as error:
            raise self._lost_scheduler() from error
        return outcome

    def _n_threads(self) -> int:
        """Threads of all workers, a moment ago; an error when there was none for too long."""
        now = time.monotonic()
        if self._threads and now - self._looked_at < _LOOK_SECONDS:
            return self._threads
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        except (OSError, RuntimeError, TimeoutError) as error:
            raise self._lost_scheduler() from error
        self._looked_at, self._threads = now, sum(worker["nthreads"] for worker in workers)
        if self._threads:
            self._workerless_since = None
            return self._threads
        self._workerless_since = self._workerless_since or now
        if now - self._workerless_since > WORKERLESS_SECONDS:
            raise InputError(
                f"the scheduler has had no worker for {WORKERLESS_SECONDS:.0f} seconds",
                where=self._address,
                remedy=f"start workers with `dask worker {self._address}`, and run this again",
            )
        return 0

    def _lost_scheduler(self) -> InputError:
        return InputError(
            "the scheduler was lost while it worked",
            where=self._address,
            remedy="start it and its workers again, and run this again; nothing was written",
        )


def _knock(address: str) -> None:
    """See that a scheduler answers, before there is a client to get rid of again.

    Raises:
        OSError: If none does.
        ValueError: If this is no address.
    """
    from distributed.comm import connect as open_comm

    async def knock() -> None:
        # Its own timeout ends before the first words: a server that only listens is not noticed.
        opening = open_comm(address, timeout=CONNECT_SECONDS)
        comm = await asyncio.wait_for(opening, CONNECT_SECONDS)
        await comm.close()

    # In a thread of its own: this one may have an event loop running, as notebooks do.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(knock())).result()


def _unpack(outcome: tuple[bool, bytes]) -> Any:
    succeeded, content = outcome
    value = pickle.loads(content)
    if not succeeded:
        assert isinstance(value, TrectoolsPlusError)
        raise value
    return value


@contextmanager
def _silent() -> Iterator[None]:
    """Keep ``distributed`` from logging what is reported as an error here, or is no loss."""
    levels = {logger: logger.level for logger in map(logging.getLogger, _LOGGERS)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
