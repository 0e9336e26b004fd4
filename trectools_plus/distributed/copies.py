"""Work shared by several processes, which are copies of this one (``fork``).

A copy starts within milliseconds and shares this process's memory, but has none of its threads. So
the work must not use libraries that need their threads or locks, for example Polars. Where the
system cannot copy a process, and where Polars is loaded, this process does all work.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")

_MAX_PROCESSES = 8
_NUMBER = struct.Struct("=i")
_MAX_NUMBERS = 4096
"""The greatest number of numbers that a pipe takes before it is read (16 KiB) on every system."""
_ENDINGS = {
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
}


class ProcessCopies:
    """An executor that works in this process and in copies of it.

    Each process takes the next item when it has finished one. If a copy fails, for example because
    it was killed, this process does its work; an error of the function is raised here.

    Args:
        most: The greatest number of processes, including this one.
    """

    def __init__(self, most: int = _MAX_PROCESSES) -> None:
        self._most = most

    def map(
        self,
        function: Callable[[_T], _R],
        items: Iterable[_T],
        on_done: Callable[[int], None] | None = None,
    ) -> list[_R]:
        """See :meth:`trectools_plus.distributed.Executor.map`; a function can be called twice."""
        given = list(items)
        n_processes = min(self._most, _count_processors(), len(given))
        results: dict[int, _R] = {}

        def work(number: int) -> None:
            results[number] = function(given[number])
            if on_done is not None:
                on_done(len(results))

        if n_processes > 1 and can_copy_process():
            with _Numbers(len(given)) as numbers, _copies() as copies:
                _start_copies(n_processes - 1, copies, _Work(function, given, numbers))
                for number in numbers:
                    work(number)
                for copy in copies:
                    found, failed = _read_results(copy)
                    results |= found
                    if failed is not None:  # raises the error here, before other work
                        work(failed)
        for number in range(len(given)):
            if number not in results:
                work(number)
        return [results[number] for number in range(len(given))]


def can_copy_process() -> bool:
    """Return whether this process can be copied safely."""
    return (
        sys.platform == "linux"  # on macOS, system libraries fail in copies
        and "polars" not in sys.modules
        and threading.current_thread() is threading.main_thread()
    )


def _count_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Copy(NamedTuple):
    """A copy of this process, and the pipe for its results."""

    pid: int
    reader: int


class _Numbers:
    """The numbers from 0 to n - 1, in a pipe from which each process takes the next one."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._step = -(-n // _MAX_NUMBERS)

    def __enter__(self) -> Self:
        self._reader, writer = os.pipe()
        starts = range(0, self._n, self._step)
        os.write(writer, b"".join(map(_NUMBER.pack, starts)))
        os.close(writer)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reader)

    def __iter__(self) -> Iterator[int]:
        while data := os.read(self._reader, _NUMBER.size):
            (start,) = _NUMBER.unpack(data)
            yield from range(start, min(start + self._step, self._n))

    def clear(self) -> None:
        """Take all numbers that are left."""
        while os.read(self._reader, 1 << 16):
            pass


class _Work(NamedTuple):
    """A function, its arguments, and the numbers of those that no process has taken."""

    function: Callable[[Any], Any]
    items: Sequence[Any]
    numbers: _Numbers


@contextmanager
def _copies() -> Iterator[list[_Copy]]:
    """Collect copies, and end those that still run, for example after an error or a signal."""
    copies: list[_Copy] = []
    try:
        yield copies
    finally:
        for copy in copies:
            os.close(copy.reader)
            os.kill(copy.pid, signal.SIGKILL)
        for copy in copies:
            os.waitpid(copy.pid, 0)


def _start_copies(n_copies: int, copies: list[_Copy], work: _Work) -> None:
    """Start up to ``n_copies`` copies, and add them to ``copies``."""
    parent = os.getpid()
    sys.stdout.flush()
    # The copy must not run handlers of this process, nor this one miss a copy that it started.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        for _ in range(n_copies):
            reader, writer = os.pipe()
            try:
                with warnings.catch_warnings():
                    # Other threads of this process only wait for input.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    pid = os.fork()
            except OSError:  # too many processes, or too little memory
                os.close(reader)
                os.close(writer)
                return
            if pid == 0:
                _work_as_copy(work, writer, parent)
            os.close(writer)
            copies.append(_Copy(pid, reader))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work_as_copy(work: _Work, writer: int, parent: int) -> NoReturn:
    """Do a share of the work, send the results, and end this process."""
    try:
        gc.disable()  # collecting the objects of the other process would copy their memory
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process ends this one
        for number in _ENDINGS - {signal.SIGINT}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)
        found: dict[int, Any] = {}
        failed = None
        for number in work.numbers:
            if os.getppid() != parent:
                break
            try:
                found[number] = work.function(work.items[number])
            except Exception:  # the other process repeats this work, and reports the error
                work.numbers.clear()
                failed = number
                break
        data = memoryview(pickle.dumps((found, failed), pickle.HIGHEST_PROTOCOL))
        while data:
            data = data[os.write(writer, data) :]
    finally:
        os._exit(0)


def _read_results(copy: _Copy) -> tuple[dict[int, Any], int | None]:
    """Return a copy's results by number, and the number with which it failed, if any."""
    with os.fdopen(os.dup(copy.reader), "rb") as file:
        data = file.read()
    try:
        found: tuple[dict[int, Any], int | None] = pickle.loads(data)
    except (EOFError, pickle.UnpicklingError):  # it was killed
        return {}, None
    return found
