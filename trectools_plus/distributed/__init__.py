"""Work in other processes: in copies of this one, or on the workers of a Dask scheduler.

:func:`map_in_copies` calls a function in copies of this process (``fork``). A copy starts within
milliseconds and shares this process's memory, but has none of its threads. So the work must not use
libraries that need their threads or locks, for example Polars. Where the system cannot copy a
process, and where Polars is loaded, this process does all work.

:func:`current_workers` returns the :class:`~trectools_plus.distributed.cluster.Cluster` that does
the same on a scheduler. The results are the same everywhere.

A :class:`Place` names a file that a worker reads, which must be the same as on the user's machine.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.distributed.cluster import Cluster

_workers: ContextVar[Cluster | None] = ContextVar("workers", default=None)


def current_workers() -> Cluster | None:
    """Return the workers of the innermost :func:`use_scheduler`; ``None`` for this machine only."""
    return _workers.get()


@contextmanager
def use_scheduler(address: str | None) -> Iterator[None]:
    """Use the workers of a Dask scheduler inside the context.

    The workers score run files, read the runs of a benchmark and draw resamples. Results are the
    same as without workers. Threads started inside the context do not use the workers.

    Args:
        address: For example ``tcp://10.0.0.1:8786``; ``None`` for this machine only.

    Raises:
        MissingExtraError: If ``distributed`` is not installed.
        InputError: If there is no scheduler, or it has no workers.
        UsageError: If the scheduler or the workers have other versions of important packages.
    """
    if address is None:
        yield
        return
    from trectools_plus.distributed.cluster import connect

    with connect(address) as workers:
        token = _workers.set(workers)
        try:
            yield
        finally:
            _workers.reset(token)


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a file for processes with other working directories.

    Attributes:
        path: Its absolute path.
        n_bytes: Its size on the user's machine in bytes.
    """

    path: str
    n_bytes: int


def place_of(path: str) -> Place | None:
    """Return the location of a file for workers; ``None`` if only this process can read it.

    ``None`` is returned for standard input, pipes and files that do not exist.
    """
    file = Path(path).absolute()
    is_file = path != "-" and file.is_file()
    return Place(str(file), file.stat().st_size) if is_file else None


def check_seen(path: str, place: Place) -> None:
    """Check on a worker that a file is the same as on the user's machine.

    Args:
        path: The file as the user named it.
        place: Its location from :func:`place_of`.

    Raises:
        UsageError: If it does not exist on the worker, or has another size.
    """
    file = Path(place.path)
    n_bytes = file.stat().st_size if file.exists() else None
    if place.n_bytes != n_bytes:
        raise UsageError(
            "the workers have no file at this path, or one of another size",
            where=path,
            remedy="make it available to them at the same path",
        )


_T = TypeVar("_T")
_R = TypeVar("_R")


def map_in_copies(function: Callable[[_T], _R], items: Iterable[_T], most: int = 8) -> list[_R]:
    """Call a function once for each item, in copies of this process where that is safe.

    If a copy fails, for example because it was killed, this process does the work.

    Args:
        function: The function, whose results are pickled.
        items: The items.
        most: The greatest number of processes.

    Returns:
        The results in the order of the items.

    Raises:
        Exception: The error of the first item for which the function raises one.
    """
    items = list(items)
    n_processes = min(most, _count_processors(), len(items))
    if n_processes < 2 or not can_copy_process():
        return list(map(function, items))
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import get_context

    # Other threads of this process only wait for input.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        fork, work = get_context("fork"), (lambda number: function(items[number]),)
        try:
            with ProcessPoolExecutor(n_processes, fork, _prepare_copy, work) as pool:
                return list(pool.map(_call, range(len(items))))
        except BrokenProcessPool:
            return list(map(function, items))


def can_copy_process() -> bool:
    """Return whether this process can be copied safely."""
    return "polars" not in sys.modules and threading.current_thread() is threading.main_thread()


def _count_processors() -> int:
    # On macOS, system libraries fail in copies.
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


_work: Callable[[int], Any]
"""In a copy, calls the function for the item of a number."""


def _prepare_copy(work: Callable[[int], Any]) -> None:
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process ends this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the other process


def _call(number: int) -> Any:
    return _work(number)
