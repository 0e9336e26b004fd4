"""Work in other processes: of this machine, or of the workers of a Dask scheduler.

An :class:`Executor` calls a function for many independent items. Executors are
:class:`~trectools_plus.distributed.copies.ProcessCopies`, this process and copies of it, and
:class:`~trectools_plus.distributed.cluster.Cluster`, which code gets from :func:`current_workers`.
:class:`~trectools_plus.distributed.process.ObjectProcess` makes calls that can be ended.
The results are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

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
            items: The items, which are read as processes become free.
            on_done: Called with the number of finished items after each of them.

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
