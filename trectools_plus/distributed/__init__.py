"""Work in other processes: of this machine, or of the workers of a Dask scheduler.

An :class:`Executor` calls a function for many independent items. Code gets the workers of a
scheduler (:class:`~trectools_plus.distributed.cluster.Cluster`) from :func:`current_workers`.
:func:`~trectools_plus.distributed.copies.map_in_copies` does the same in copies of this process.
The results are the same everywhere.

A :class:`Place` names a file that a worker reads, which must be the same as on the user's machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from trectools_plus.errors import CheckFailedError, FormatError, TrectoolsPlusError, UsageError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Executor(Protocol):
    """Calls functions, in this process or in others."""

    def map(
        self,
        function: Callable[[_Item], _Result],
        items: Iterable[_Item],
        on_done: Callable[[int], None] | None = None,
    ) -> list[_Result]:
        """Call a function once for each item, in any process and in any order.

        Args:
            function: The function, which is sent to each process once.
            items: The items.
            on_done: Called with the number of finished items, in order, after each of them.

        Returns:
            The results in the order of the items.

        Raises:
            Exception: The error of the first item for which the function raises one.
            InputError: If the connection to the workers or the scheduler is lost.
        """


_workers: ContextVar[Executor | None] = ContextVar("workers", default=None)


def current_workers() -> Executor | None:
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


_REMEDY = "make it available to them at the same path, or use an address like s3://…"


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a file for processes with other working directories.

    Attributes:
        path: Its address or absolute path.
        n_bytes: Its size on the user's machine in bytes; ``None`` for an address.
    """

    path: str
    n_bytes: int | None = None


def place_of(path: str) -> Place | None:
    """Return the location of a file for workers; ``None`` if only this process can read it.

    ``None`` is returned for standard input, pipes and files that do not exist.
    """
    from trectools_plus.formats.files.opening import is_address  # help needs no files

    if is_address(path):
        return Place(path)
    file = Path(path)
    if path == "-" or not file.is_file():
        return None
    return Place(str(file.absolute()), file.stat().st_size)


def check_seen(path: str, place: Place) -> None:
    """Check on a worker that a file is the same as on the user's machine.

    Args:
        path: The file as the user named it.
        place: Its location from :func:`place_of`.

    Raises:
        UsageError: If it does not exist on the worker, or has another size.
    """
    if place.n_bytes is None:
        return
    here = Path(place.path)
    if not here.exists():
        raise UsageError("the workers cannot find this file", where=path, remedy=_REMEDY)
    n_bytes = here.stat().st_size
    if n_bytes != place.n_bytes:
        raise UsageError(
            f"the workers have another file at this path, with {n_bytes:,} bytes instead of "
            f"{place.n_bytes:,}",
            where=path,
            remedy=_REMEDY,
        )


def check_read(path: str, place: Place, error: TrectoolsPlusError) -> None:
    """Raise an error if a worker has no access to an address.

    Otherwise every file at such addresses would fail on the worker and be read again on the user's
    machine.

    Args:
        path: The file as the user named it.
        place: Its location from :func:`place_of`.
        error: The error on the worker.

    Raises:
        UsageError: If ``place`` is an address, and the error is not about the file's content.
    """
    if place.n_bytes is None and not isinstance(error, CheckFailedError | FormatError):
        raise UsageError(
            f"a worker cannot read this file: {error.what}",
            where=path,
            remedy=error.remedy or "give the workers the credentials and settings of this machine",
        ) from error
