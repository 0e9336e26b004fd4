"""The workers of a Dask scheduler.

If a worker is lost, the scheduler gives its items to the others. If no worker is left, the
connection to the scheduler is lost, or an item crashes several workers, an error is raised.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeVar

from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.models import package_versions
from trectools_plus.text import secret_in_url

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

CONNECT_SECONDS = 10
"""The time to wait for a response of the scheduler."""

WORKERLESS_SECONDS = 30.0
"""The time to wait for a first worker, or for a new one after the last was lost."""


PACKAGES = (
    "trectools-plus",
    "cloudpickle",
    "distributed",
    "ir-measures",
    "numpy",
    "polars",
    "pytrec-eval-terrier",
    "scipy",
)
"""Distributions that affect results or their transfer, so their versions must be the same."""

_load = lru_cache(maxsize=4)(pickle.loads)


@contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """Connect to a scheduler, and check its workers; the logs of ``distributed`` are turned off.

    Raises:
        MissingExtraError: If ``distributed`` is not installed.
        InputError: If no scheduler responds, or it has no workers.
        UsageError: If the scheduler or workers have other versions.
    """
    try:
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
    for name in ("distributed", "distributed.client", "tornado.application", "asyncio"):
        # Important problems are raised as errors.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with _open_client(address) as client:
        cluster = Cluster(client, address)
        cluster.check()
        yield cluster


def _open_client(address: str) -> Any:
    from distributed import Client
    from distributed.comm import connect as open_comm

    try:
        # The timeouts of Dask do not apply to a server that accepts but never responds.
        reach = asyncio.wait_for(open_comm(address), CONNECT_SECONDS)
        # Use another thread: this one may already run an event loop, for example in a notebook.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, reach).result().abort()
        with warnings.catch_warnings(action="ignore"):  # versions are compared below
            return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # other servers and other addresses cause various errors
        raise InputError(
            "no scheduler answers",
            where=address,
            remedy="start one with `dask scheduler`, and write --scheduler tcp://HOST:8786",
        ) from error


@dataclass(frozen=True, eq=False)
class Cluster:
    """The workers of one scheduler.

    Attributes:
        client: A connected ``distributed.Client``.
        address: The scheduler, for messages.
    """

    client: Any
    address: str

    def check(self) -> None:
        """Wait for a worker, and compare the versions of all workers.

        Raises:
            InputError: If there is no worker in time, or the connection to the scheduler is lost.
            UsageError: If versions differ.
        """
        self._await_worker()
        for process, actual in self.client.run(versions).items():
            check_versions(process, actual, versions())

    def map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """Call a function once for each item, on any worker and in any order.

        Args:
            function: The function, which is sent to each worker once.
            items: The items.

        Returns:
            The results in the order of the items.

        Raises:
            Exception: The error of the first item for which the function raises one.
            InputError: If the connection to the workers or the scheduler is lost.
        """
        import cloudpickle

        pickled = self.client.submit(bytes, cloudpickle.dumps(function), pure=False)
        submit = self.client.get_executor(pure=False).submit
        futures = [submit(call, pickled, cloudpickle.dumps(item)) for item in items]
        return list(map(self._result, futures))

    def _result(self, future: Future[Any]) -> Any:
        from distributed import KilledWorker

        while True:
            try:
                return future.result(timeout=1.0)
            except TimeoutError:
                self._await_worker()
            except (CancelledError, KilledWorker, OSError) as error:
                raise self._lost() from error

    def _await_worker(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=WORKERLESS_SECONDS)
        except Exception as error:
            raise self._lost() from error

    def _lost(self) -> InputError:
        return InputError(
            "the scheduler or its workers are lost, or a task crashed several of them",
            where=self.address,
            remedy="read their logs, start them again (`dask scheduler`, `dask worker "
            f"{self.address}`), and run the command again; nothing was written",
        )


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed :data:`PACKAGES`."""
    return {"python": sys.version[:4], **package_versions(PACKAGES)}


def check_versions(process: str, actual: dict[str, str], required: dict[str, str]) -> None:
    """Check that a process has the versions of this machine.

    Raises:
        UsageError: If it has others.
    """
    differences = [
        f"{name} {actual.get(name, 'none')} instead of {version}"
        for name, version in required.items()
        if actual.get(name, "none") != version
    ]
    if differences:
        raise UsageError(
            f"{process} has {', '.join(differences)}",
            where="--scheduler",
            remedy="install the same versions, because results can differ between versions",
        )


def call(function: bytes, item: bytes) -> Any:
    """Call a function on a worker.

    Args:
        function: The pickled function.
        item: Its pickled argument.

    Returns:
        The result.

    Raises:
        TrectoolsPlusError: If the function raises one, the worker lacks its module, or its machine
            has a problem, for example a full disk.
    """
    try:
        return _load(function)(pickle.loads(item))
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a worker cannot load the function: {error}",
            where="--scheduler",
            remedy="install your modules and the packages of this machine on the workers",
        ) from error
    except (OSError, MemoryError) as error:  # Dask would report an OSError as a lost connection
        raise InputError(
            f"a worker failed: {str(error) or 'out of memory'}",
            remedy="fix the problem on the worker and run the command again",
        ) from error
