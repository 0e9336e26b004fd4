"""Calls of services and user code: with a time limit, and from several threads.

A call with a time limit is made in a thread that is abandoned if the call takes too long. An error
is raised in that thread, which ends it as soon as it runs Python code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice, takewhile
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from trectools_plus.retrieval.source import CircuitBreaker


class TimedOutError(Exception):
    """A call was abandoned because it took too long."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(f"no answer within {seconds:g} s")


class CallThread:
    """Makes calls in one thread, one at a time.

    After a call that took too long, the next one is made in a new thread.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Any] | None = None
        self._thread = Thread()

    def call(
        self, function: Callable[..., Any], *arguments: Any, seconds: float | None = None
    ) -> Any:
        """Call a function; ``None`` for the seconds sets no limit.

        Raises:
            TimedOutError: If the time limit is exceeded.
            BaseException: Any error of the function.
        """
        if self._calls is None:
            self._calls = SimpleQueue()
            # A daemon does not keep the process alive.
            self._thread = Thread(target=_work, args=[self._calls], daemon=True)
            self._thread.start()
        answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._calls.put((function, arguments, answers))
        try:
            result, error = answers.get(timeout=seconds)
        except BaseException as error:
            self.close()
            thread_id, ends = ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, ends)
            if isinstance(error, Empty):
                raise TimedOutError(seconds) from None
            raise
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End the thread as soon as its call ends."""
        if self._calls is not None:
            self._calls.put(None)
        self._calls = None


def _work(calls: SimpleQueue[Any]) -> None:
    """Make the calls of a thread."""
    with suppress(SystemExit):  # may be raised after the call
        while (call := calls.get()) is not None:
            function, arguments, answers = call
            try:
                answers.put((function(*arguments), None))
            except BaseException as error:  # raised again in the calling thread
                answers.put((None, error))


Item = TypeVar("Item")
Result = TypeVar("Result")


def call_concurrently(
    function: Callable[[Item], Result],
    items: Iterator[Item],
    breaker: CircuitBreaker,
    concurrency: int,
    close: Callable[[], None],
) -> Iterator[list[Result]]:
    """Yield results as they arrive, until all items are sent or the breaker stops the calls.

    Args:
        function: Called for each item.
        items: The items.
        breaker: The caller records the results in it.
        concurrency: Maximum number of simultaneous calls; with 1, all come from this thread.
        close: Interrupts threads that wait for a retry.
    """
    if concurrency == 1:
        for item in takewhile(lambda _: not breaker.stopped, items):
            yield [function(item)]
        return
    pool = ThreadPoolExecutor(concurrency)
    waiting: set[Future[Result]] = set()
    try:
        while True:
            free = 0 if breaker.stopped else concurrency - len(waiting)
            for item in islice(items, free):
                waiting.add(pool.submit(function, item))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield [future.result() for future in done]
    except BaseException:
        close()
        raise
    finally:
        # After an error, do not wait for open requests, which may hang.
        pool.shutdown(wait=False, cancel_futures=True)
