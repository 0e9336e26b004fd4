"""Where work is done: on this machine, or on the workers of a scheduler.

Code that has many things to do asks :func:`current_workers` and, where there are some, hands them
a function and its items. What it computes does not depend on the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Tell = Callable[[int], None]
"""Called with the number of items that are done."""


class Workers(Protocol):
    """Something that calls functions elsewhere."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        tell: Tell | None = None,
    ) -> list[Result]:
        """Call a function once for each item, on any worker and in any order.

        Args:
            function: Sent to each worker once, with all that it holds.
            items: Looked at as workers become free.
            tell: Called as items are done.

        Returns:
            Its results, in the order of the items.

        Raises:
            Exception: What the function raised for the first item for which it did.
            InputError: If the workers or the scheduler are lost.
        """


_WORKERS: ContextVar[Workers | None] = ContextVar("workers", default=None)


def current_workers() -> Workers | None:
    """The workers of the nearest :func:`use_scheduler` around; ``None``: this machine alone."""
    return _WORKERS.get()


@contextmanager
def use_scheduler(address: str | None) -> Iterator[None]:
    """Let a Dask scheduler's workers do what can be spread, as long as the context lasts.

    Scoring run files, reading the runs of a benchmark and drawing resamples is spread. Figures
    are the same as without. Threads started inside the context work on this machine.

    Args:
        address: Such as ``tcp://10.0.0.1:8786``; ``None`` for this machine alone.

    Raises:
        MissingExtraError: If ``distributed`` is not installed.
        InputError: If there is no scheduler, or it has no worker.
        UsageError: If scheduler or workers have other versions of what makes the figures.
    """
    if address is None:
        yield
        return
    from trectools_plus.distributed.cluster import connect

    with connect(address) as workers:
        token = _WORKERS.set(workers)
        try:
            yield
        finally:
            _WORKERS.reset(token)
