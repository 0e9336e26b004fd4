"""Work in other processes: in copies of this one, or on the workers of a Dask scheduler.

:func:`~trectools_plus.distributed.copies.map_in_copies` calls a function in copies of this process.
:func:`current_workers` returns the :class:`~trectools_plus.distributed.cluster.Cluster` that does
the same on a scheduler. The results are the same everywhere.

A :class:`Place` names a file that a worker reads, which must be the same as on the user's machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
