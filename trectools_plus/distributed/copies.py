"""Work shared by several processes of this machine, which are copies of this one (``fork``).

A copy starts within milliseconds and shares this process's memory, but has none of its threads. So
the work must not use libraries that need their threads or locks, for example Polars. Where the
system cannot copy a process, and where Polars is loaded, this process does all work.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


def map_in_copies(function: Callable[[_T], _R], items: Iterable[_T], most: int = 8) -> list[_R]:
    """Call a function once for each item, in copies of this process where that is safe.

    If a copy fails, for example because it was killed, this process does the work.

    Args:
        function: The function, whose results are pickled.
        items: The items.
        most: The greatest number of processes.

    Returns:
        The results in the order of the items.

    Raises:
        Exception: The error of the first item for which the function raises one.
    """
    items = list(items)
    n_processes = min(most, _count_processors(), len(items))
    if n_processes < 2 or not can_copy_process():
        return list(map(function, items))
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import get_context

    # Other threads of this process only wait for input.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        fork, work = get_context("fork"), (lambda number: function(items[number]),)
        try:
            with ProcessPoolExecutor(n_processes, fork, _prepare_copy, work) as pool:
                return list(pool.map(_call, range(len(items))))
        except BrokenProcessPool:
            return list(map(function, items))


def can_copy_process() -> bool:
    """Return whether this process can be copied safely."""
    return "polars" not in sys.modules and threading.current_thread() is threading.main_thread()


def _count_processors() -> int:
    # On macOS, system libraries fail in copies.
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


_work: Callable[[int], Any]
"""In a copy, calls the function for the item of a number."""


def _prepare_copy(work: Callable[[int], Any]) -> None:
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process ends this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the other process


def _call(number: int) -> Any:
    return _work(number)
