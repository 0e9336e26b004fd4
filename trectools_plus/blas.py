"""Limit matrix products to one thread: times and last digits then do not vary with threads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_lock = threading.Lock()
_active_contexts = 0
_limits = ExitStack()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the BLAS libraries of this process to one thread each.

    Entering takes a quarter of a millisecond, so enter it outside loops. Several threads may enter:
    the limit applies to the process and ends when the last thread leaves.
    """
    global _active_contexts
    from threadpoolctl import OpenBLASController, threadpool_limits

    with _lock:
        if _active_contexts == 0:
            _limits.enter_context(threadpool_limits(1, user_api="blas"))
        _active_contexts += 1
    try:
        yield
    finally:
        with _lock:
            _active_contexts -= 1
            if _active_contexts == 0:
                # Since version 3.8, only the thread that set a limit can change it, and that
                # thread may have left earlier.
                if hasattr(OpenBLASController, "clear_controlling_thread"):
                    OpenBLASController.clear_controlling_thread(force=True)
                _limits.close()


def limited_blas_threads() -> int | None:
    """Return the number of threads under the limit; ``None`` if no BLAS library is found."""
    from threadpoolctl import threadpool_info

    with one_blas_thread():
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max((pool["num_threads"] for pool in pools), default=None)


def load_numpy_without_threads() -> None:
    """Import NumPy for a command without matrix products: starting threads takes half the time.

    A number of threads that the user set is kept, and so are those of a loaded library.
    """
    variable = "OPENBLAS_NUM_THREADS"
    if "numpy" in sys.modules or variable in os.environ:
        return
    os.environ[variable] = "1"
    try:
        import numpy as np  # noqa: F401
    finally:
        del os.environ[variable]
