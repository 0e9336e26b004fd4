"""Run work in threads: for requests that wait for the result, and for background jobs.

Both share a small pool of workers. To stop work, its progress function raises
:class:`StoppedError` at the next step.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from trectools_plus.progress import Progress
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.problems import Problem, ProblemError, as_problem, to_json

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
Work = Callable[[Progress], dict[str, Any]]

FINISHED: frozenset[State] = frozenset({"succeeded", "failed", "cancelled"})


class StoppedError(Exception):
    """The work was cancelled, or exceeded its time limit."""


class JobProgress(BaseModel):
    """The progress of a job."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    description: str
    """Description of the current step."""
    done: int
    """Number of finished steps."""
    total: int
    """Total number of steps."""


class JobStatus(BaseModel):
    """The status of a job."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    job_id: str
    """The id of the job."""
    kind: str
    """``evaluate``, ``validate`` or ``score``."""
    state: State
    """``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``."""
    created_at: str
    """The time of the request: UTC, ISO 8601."""
    finished_at: str | None
    """The time of the end: UTC, ISO 8601; null while the job is not finished."""
    progress: JobProgress | None
    """The current step; null before the first step."""
    result: dict[str, Any] | None
    """The response to the request; null unless the job succeeded."""
    problem: Problem | None
    """The reason for the failure; null unless the job failed."""


class Job:
    """One unit of work.

    Args:
        kind: The name of the work.
        work: The function to call, with a progress function that can raise :class:`StoppedError`.
        seconds: The time limit in seconds, including the time in the queue.
    """

    def __init__(self, kind: str, work: Work, seconds: float) -> None:
        self.id = secrets.token_urlsafe(16)
        self.kind = kind
        self.future: Future[None] | None = None
        self._work = work
        self._deadline = monotonic() + seconds
        self._seconds = seconds
        self._lock = threading.Lock()
        self._cancelled = False
        self._state: State = "queued"
        self._progress: JobProgress | None = None
        self._created_at = _now()
        self._finished_at: str | None = None
        self.result: bytes | None = None
        self.error: ProblemError | None = None

    @property
    def state(self) -> State:
        """The current state."""
        return self._state

    def status(self) -> JobStatus:
        """Return the status for clients; ``result`` is always ``None``."""
        with self._lock:
            return JobStatus(
                job_id=self.id,
                kind=self.kind,
                state=self._state,
                created_at=self._created_at,
                finished_at=self._finished_at,
                progress=self._progress,
                result=None,
                problem=None if self.error is None else self.error.problem,
            )

    def as_json(self) -> bytes:
        """Return the status as JSON, with the result."""
        status = self.status().model_dump(mode="json", exclude={"result"})
        result = self.result if status["state"] == "succeeded" else None
        return b'{"result": %b, %b' % (result or b"null", to_json(status)[1:])

    def run(self) -> None:
        """Do the work; errors are stored, not raised."""
        with self._lock:
            if self._state != "queued":
                return
            self._state = "running"
        try:
            self._report("starting", 0, 1)
            # JSON needs a tenth of the memory of the objects. Encoding it in this thread does not
            # delay other responses.
            self._finish("succeeded", to_json(self._work(self._report)))
        except StoppedError:
            if self._cancelled:
                self._finish("cancelled")
            else:
                self._finish("failed", error=self.too_slow())
        except Exception as error:
            self._finish("failed", error=as_problem(error))

    def cancel(self) -> None:
        """Stop at the next step; a queued job does not start, a finished job does not change."""
        with self._lock:
            self._cancelled = True
            if self._state == "queued":
                self._state, self._finished_at = "cancelled", _now()
                del self._work  # releases the uploads
        if self.future is not None:
            self.future.cancel()

    def too_slow(self) -> ProblemError:
        """Return the problem for an exceeded time limit."""
        return ProblemError(
            503,
            "time-limit",
            f"the work took longer than {self._seconds:g} s",
            remedy="send less data, or use background=true",
        )

    def _report(self, description: str, done: int, total: int) -> None:
        if self._cancelled or monotonic() > self._deadline:
            raise StoppedError
        self._progress = JobProgress(description=description, done=done, total=total)

    def _finish(
        self,
        state: State,
        result: bytes | None = None,
        error: ProblemError | None = None,
    ) -> None:
        with self._lock:
            self._state, self.result, self.error = state, result, error
            if state == "succeeded" and self._progress is not None:
                done = {"done": self._progress.total}
                self._progress = self._progress.model_copy(update=done)
            self._finished_at = _now()
            del self._work  # releases the uploads


class Jobs:
    """The workers, and the background jobs.

    Args:
        limits: Numbers of workers and jobs, and time limits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self.open()
        self._jobs: dict[str, Job] = {}
        self._unfinished: set[Job] = set()
        self._arriving = 0

    def open(self) -> None:
        """Start the workers, for the first time or again after :meth:`close`."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="work")

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Count a request as unfinished while its body is read, to limit memory.

        Raises:
            ProblemError: 429 if too many requests are unfinished.
        """
        with self._lock:
            self._refuse_busy()
            self._arriving += 1
        try:
            yield
        finally:
            with self._lock:
                self._arriving -= 1

    async def answer(self, kind: str, work: Work) -> bytes:
        """Do work in a worker, and wait for the result.

        Returns:
            The result as JSON.

        Raises:
            ProblemError: If the work fails; 429 if too many requests are unfinished, 503 if it
                takes too long.
        """
        job = self._submit(Job(kind, work, self._limits.seconds))
        assert job.future is not None
        waiting = asyncio.wrap_future(job.future)
        try:
            await asyncio.wait({waiting}, timeout=self._limits.seconds)
        finally:
            job.cancel()  # has no effect on a finished job
        if job.error is not None:
            raise job.error
        if job.result is None:
            raise job.too_slow()
        return job.result

    def begin(self, kind: str, work: Work) -> Job:
        """Start a background job.

        Raises:
            ProblemError: 429 if too many requests are unfinished.
        """
        job = self._submit(Job(kind, work, self._limits.job_seconds))
        with self._lock:
            self._jobs[job.id] = job
            self._drop_old()
        return job

    def find(self, job_id: str) -> Job:
        """Return the job with an id.

        Raises:
            ProblemError: 404 if there is none, or it has been dropped.
        """
        job = self._jobs.get(job_id)
        if job is None:
            raise ProblemError(
                404,
                "no-such-job",
                "there is no job with this id",
                remedy="submit the request again; the service drops the oldest finished jobs, and "
                "all jobs when it restarts",
            )
        return job

    def list(self) -> list[Job]:
        """Return all background jobs that have not been dropped, oldest first."""
        with self._lock:
            return list(self._jobs.values())

    def count(self) -> int:
        """Return the number of unfinished requests and jobs."""
        with self._lock:
            return len(self._unfinished)

    def close(self) -> None:
        """Cancel all work, and wait until it has stopped."""
        with self._lock:
            unfinished, pool, self._pool = list(self._unfinished), self._pool, None
        for job in unfinished:
            job.cancel()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, job: Job) -> Job:
        with self._lock:
            if self._pool is None:
                raise ProblemError(503, "stopping", "the service is stopping")
            self._refuse_busy()
            self._unfinished.add(job)
            job.future = self._pool.submit(job.run)
        job.future.add_done_callback(lambda _: self._done(job))
        return job

    def _done(self, job: Job) -> None:
        with self._lock:
            self._unfinished.discard(job)
            self._drop_old()

    def _drop_old(self) -> None:
        """Drop the oldest finished jobs if there are too many, or their results are too large."""
        size = 0
        finished = [one for one in self._jobs.values() if one.state in FINISHED]
        for newer_jobs, job in enumerate(reversed(finished)):
            size += len(job.result or b"")
            too_large = newer_jobs > 0 and size > self._limits.kept_bytes
            if newer_jobs >= self._limits.kept_jobs or too_large:
                del self._jobs[job.id]

    def _refuse_busy(self) -> None:
        limit = self._limits.workers + self._limits.waiting
        if len(self._unfinished) + self._arriving >= limit:
            raise ProblemError(
                429,
                "busy",
                f"{len(self._unfinished) + self._arriving} requests are unfinished",
                remedy="try again later",
                headers={"Retry-After": "5"},
            )


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
