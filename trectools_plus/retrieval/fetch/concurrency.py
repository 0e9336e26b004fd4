"""Calls of a service from several threads, until all are made or failures stop them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice, takewhile
from typing import TypeVar

from trectools_plus.retrieval.source import CircuitBreaker

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
