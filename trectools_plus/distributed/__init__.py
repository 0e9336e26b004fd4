"""Work spread over the workers of a Dask scheduler, or done here: the same results either way.

Code that has many things to do asks :func:`current_workers` and, where there are some, passes them
a function and its items. The results do not depend on the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from trectools_plus.distributed.workers import Workers

__all__ = ["current_workers", "use_scheduler"]

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
