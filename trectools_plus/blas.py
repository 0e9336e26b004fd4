"""Limit matrix products to one thread: times and last digits then do not vary with threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit the BLAS libraries of this process to one thread each, in a context.

    Entering takes a quarter of a millisecond, so enter it outside loops.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


def limited_blas_threads() -> int | None:
    """Return the number of threads under the limit; ``None`` if no BLAS library is found."""
    from threadpoolctl import threadpool_info

    with one_blas_thread():
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max((pool["num_threads"] for pool in pools), default=None)
