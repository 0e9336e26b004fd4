"""Work shared by several processes of this machine, which are copies of this one (``fork``).

A copy starts within milliseconds and shares this process's memory, but has none of its threads. So
the work must not use libraries that need their threads or locks, for example Polars. Where the
system cannot copy a process, and where Polars is loaded, this process does all work.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")

_MAX_PROCESSES = 8


def map_in_copies(
    function: Callable[[_T], _R], items: Iterable[_T], most: int = _MAX_PROCESSES
) -> list[_R]:
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
    n_processes = min(most, _MAX_PROCESSES, _count_processors(), len(items))
    if n_processes < 2 or not can_copy_process():
        return [function(item) for item in items]
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import get_context

    fork = get_context("fork")
    sys.stdout.flush()
    with warnings.catch_warnings():
        # Other threads of this process only wait for input.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            with ProcessPoolExecutor(n_processes, fork, _prepare_copy, (function, items)) as pool:
                return list(pool.map(_call, range(len(items))))
        except BrokenProcessPool:
            return [function(item) for item in items]


def can_copy_process() -> bool:
    """Return whether this process can be copied safely."""
    return (
        sys.platform == "linux"  # on macOS, system libraries fail in copies
        and "polars" not in sys.modules
        and threading.current_thread() is threading.main_thread()
    )


def end_with_parent() -> None:
    """End this process, which ``multiprocessing`` started, soon after its parent has ended."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_and_end, daemon=True).start()


def _count_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_work: tuple[Callable[[Any], Any], Sequence[Any]]
"""The function and all items, in a copy."""


def _prepare_copy(function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _work
    _work = function, items
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process ends this one
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    end_with_parent()


def _call(number: int) -> Any:
    function, items = _work
    return function(items[number])
