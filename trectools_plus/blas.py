"""One thread for matrix products, so that times and last digits do not depend on threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_lock = threading.Lock()
_inside = 0
_limits = ExitStack()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the BLAS libraries of this process to one thread each.

    Entering takes a quarter of a millisecond, so put it around a loop. Several threads may enter:
    the limit applies to the process and ends when the last one leaves.
    """
    global _inside
    from threadpoolctl import OpenBLASController, threadpool_limits

    with _lock:
        if _inside == 0:
            _limits.enter_context(threadpool_limits(1, user_api="blas"))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                # Since version 3.8, only the thread that set a limit can change it, and that
                # thread may have left earlier.
                if hasattr(OpenBLASController, "clear_controlling_thread"):
                    OpenBLASController.clear_controlling_thread(force=True)
                _limits.close()


def limited_blas_threads() -> int | None:
    """Return the number of threads under the limit; ``None`` if no BLAS library is found."""
    from threadpoolctl import threadpool_info

    with one_blas_thread():
        threads = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    return max(threads, default=None)
