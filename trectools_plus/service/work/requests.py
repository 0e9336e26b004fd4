"""Do the work of requests in processes, with a time limit and a limit on waiting requests."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic

from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import Snapshot
from trectools_plus.service.problems import ProblemError
from trectools_plus.service.work.process import ProcessEndedError, StoppedError
from trectools_plus.service.work.processes import Task, WorkerProcesses

_LOG = logging.getLogger("trectools_plus.service")
_RETRY_SECONDS = "5"


class _Work:
    """The work of one request, and its time limit, which includes the time in the queue."""

    def __init__(self, task: Task, seconds: float) -> None:
        self.task = task
        self._seconds = seconds
        self._deadline = monotonic() + seconds
        self._seconds_left = 0.0
        self._cancelled = False

    def begin(self) -> None:
        self._seconds_left = self._deadline - monotonic()

    def cancel(self) -> None:
        self._cancelled = True

    def must_stop(self) -> bool:
        return self._cancelled or monotonic() > self._deadline

    def too_slow(self) -> ProblemError:
        """Return the problem for an exceeded time limit, in the queue or at work."""
        if self._seconds_left < self._seconds / 2:
            return ProblemError(
                503,
                "busy",
                f"no worker was free in time: the limit is {self._seconds:g} s",
                remedy="try again later",
                headers={"Retry-After": _RETRY_SECONDS},
            )
        return ProblemError(
            503,
            "time-limit",
            f"the work took longer than {self._seconds:g} s",
            remedy="send less data, or use the command line",
        )


class RequestWork:
    """The workers, and the requests that wait for them.

    Args:
        settings: Numbers of workers and requests, and the time limit.
        publish: Called with a task and the figures of its evaluation.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        publish: Callable[[Task, Snapshot], None] = lambda _, __: None,
    ) -> None:
        self._limits = settings.limits
        self.workers = WorkerProcesses(settings, most=self._limits.workers)
        self._publish = publish
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._unfinished: set[_Work] = set()
        self._closing = threading.Event()

    def open(self) -> None:
        """Start the workers, for the first time or again after :meth:`close`."""
        if self._pool is None:
            self._closing.clear()
            self.workers.open()
            self._pool = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="work")

    async def answer(self, task: Task) -> bytes:
        """Do work in a worker, and wait for the result.

        Returns:
            The result as JSON.

        Raises:
            ProblemError: If the work fails; 429 if too many requests are unfinished, 503 if no
                worker gets free, or the work takes too long.
        """
        work = _Work(task, self._limits.seconds)
        future = self._submit(work)
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=self._limits.seconds)
        finally:
            work.cancel()  # has no effect on finished work
            future.cancel()
        if done:
            return waiting.result()
        raise _stopping() if self._closing.is_set() else work.too_slow()

    def check_free(self) -> None:
        """Check that there is a place for one more request, before its body is read.

        Raises:
            ProblemError: 429 if there is none.
        """
        with self._lock:
            self._refuse_busy()

    def count(self) -> int:
        """Return the number of unfinished requests."""
        with self._lock:
            return len(self._unfinished)

    def close(self) -> None:
        """End all work at once."""
        self._closing.set()
        with self._lock:
            pool, self._pool = self._pool, None
            for work in self._unfinished:
                work.cancel()
        self.workers.close()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, work: _Work) -> Future[bytes]:
        with self._lock:
            if self._pool is None:
                raise _stopping()
            self._refuse_busy()
            self._unfinished.add(work)
            future = self._pool.submit(self._do, work)
        future.add_done_callback(lambda _: self._done(work))
        return future

    def _do(self, work: _Work) -> bytes:
        work.begin()
        try:
            outcome = self.workers.do(work.task, work.must_stop)
        except StoppedError:
            raise _stopping() if self._closing.is_set() else work.too_slow() from None
        except ProcessEndedError as error:
            reason = _describe(error)
            _LOG.warning("the process of a request ended: %s", reason)
            raise ProblemError(
                500,
                "work-ended",
                reason,
                remedy="send less data; the log of the service can contain the cause",
            ) from None
        if outcome.snapshot is not None:
            self._publish(work.task, outcome.snapshot)
        return outcome.answer

    def _done(self, work: _Work) -> None:
        with self._lock:
            self._unfinished.discard(work)

    def _refuse_busy(self) -> None:
        unfinished = len(self._unfinished)
        if unfinished >= self._limits.workers + self._limits.waiting:
            raise ProblemError(
                429,
                "busy",
                f"{unfinished} requests are unfinished",
                remedy="try again later",
                headers={"Retry-After": _RETRY_SECONDS},
            )


def _stopping() -> ProblemError:
    return ProblemError(503, "stopping", "the service is stopping", headers={"Connection": "close"})


def _describe(error: ProcessEndedError) -> str:
    """Describe the end of a process in words."""
    if error.signal_name is None:
        return f"the process of the work ended with status {error.code}"
    return (
        f"the process of the work was ended by {error.signal_name}, for example for lack of memory"
    )
