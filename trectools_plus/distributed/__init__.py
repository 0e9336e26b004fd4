"""Work on the workers of a Dask scheduler or on this machine, with the same results.

Code with many items of work calls :func:`current_workers` and, if there are workers, passes them a
function and its items.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from trectools_plus.distributed.workers import Workers

__all__ = ["current_workers", "use_scheduler"]

_WORKERS: ContextVar[Workers | None] = ContextVar("workers", default=None)


def current_workers() -> Workers | None:
    """Return the workers of the innermost :func:`use_scheduler`; ``None`` for this machine only."""
    return _WORKERS.get()


@contextmanager
def use_scheduler(address: str | None) -> Iterator[None]:
    """Use the workers of a Dask scheduler inside the context.

    They score run files, read the runs of a benchmark and draw resamples. Figures are the same as
    without workers. Threads started inside the context work on this machine.

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
        token = _WORKERS.set(workers)
        try:
            yield
        finally:
            _WORKERS.reset(token)
