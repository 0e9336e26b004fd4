"""Distribute work to the workers of a Dask scheduler; the results are the same as without.

Code with many independent items calls :func:`current_workers`. If there are workers, it passes the
function and the items to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Workers(Protocol):
    """Calls functions in other processes."""

    def map(
        self,
        function: Callable[[_Item], _Result],
        items: Iterable[_Item],
        on_done: Callable[[int], None] | None = None,
    ) -> list[_Result]:
        """Call a function once for each item, on any worker and in any order.

        Args:
            function: The function, which is sent to each worker once.
            items: The items, which are read as workers become free.
            on_done: Called with the number of finished items after each of them.

        Returns:
            The results in the order of the items.

        Raises:
            Exception: The error of the first item for which the function raises one.
            InputError: If the connection to the workers or the scheduler is lost.
        """


_workers: ContextVar[Workers | None] = ContextVar("workers", default=None)


def current_workers() -> Workers | None:
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
