"""Work in threads: answers that are waited for, and jobs in the background.

Both go through the same few workers. Work is told to stop through its progress: at the next step
that it reports, :class:`StoppedError` ends it.
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
    """The work was cancelled, or has taken too long."""


class JobProgress(BaseModel):
    """How far a job has come."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    description: str
    """What is being done."""
    done: int
    """Steps finished."""
    total: int
    """Steps there are."""


class JobStatus(BaseModel):
    """A job as clients see it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    job_id: str
    """What to ask for it by."""
    kind: str
    """``evaluate``, ``validate`` or ``score``."""
    state: State
    """``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``."""
    created_at: str
    """UTC, ISO 8601."""
    finished_at: str | None
    """UTC, ISO 8601; null while it is not finished."""
    progress: JobProgress | None
    """Null before the first step."""
    result: dict[str, Any] | None
    """What the request would have answered; null unless it succeeded."""
    problem: Problem | None
    """Why it failed; null unless it did."""


class Job:
    """One piece of work.

    Args:
        kind: What it is.
        work: Does it; called with a progress that may raise :class:`StoppedError`.
        seconds: How long it may take, waiting included.
    """

    def __init__(self, kind: str, work: Work, seconds: float) -> None:
        self.id = secrets.token_urlsafe(16)
        self.kind = kind
        self.future: Future[None] | None = None
        self._work = work
        self._ends = monotonic() + seconds
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
        """Where it stands."""
        return self._state

    def status(self) -> JobStatus:
        """A snapshot for clients, without the result."""
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
        """All that clients are told, the result included."""
        told = self.status().model_dump(mode="json", exclude={"result"})
        result = self.result if told["state"] == "succeeded" else None
        return b'{"result": %b, %b' % (result or b"null", to_json(told)[1:])

    def run(self) -> None:
        """Do the work; never raises."""
        with self._lock:
            if self._state != "queued":
                return
            self._state = "running"
        try:
            self._tell("starting", 0, 1)
            # As bytes: they take a tenth of the memory, and are made here and not between answers.
            self._finish("succeeded", to_json(self._work(self._tell)))
        except StoppedError:
            if self._cancelled:
                self._finish("cancelled")
            else:
                self._finish("failed", error=self.too_slow())
        except Exception as error:
            self._finish("failed", error=as_problem(error))

    def cancel(self) -> None:
        """Stop it at its next step; a job that waits is not begun, a finished one stays so."""
        with self._lock:
            self._cancelled = True
            if self._state == "queued":
                self._state, self._finished_at = "cancelled", _now()
                self._work = _nothing
        if self.future is not None:
            self.future.cancel()

    def too_slow(self) -> ProblemError:
        """What to say when the time is over."""
        return ProblemError(
            503,
            "time-limit",
            f"this took longer than {self._seconds:g} s",
            remedy="send less, or ask with background=true and look at the job",
        )

    def _tell(self, description: str, done: int, total: int) -> None:
        if self._cancelled or monotonic() > self._ends:
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
            self._work = _nothing  # what was uploaded goes


class Jobs:
    """The workers, and the jobs that clients may ask after.

    Args:
        limits: How many workers and jobs, and how long they may take.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self.open()
        self._jobs: dict[str, Job] = {}
        self._open: set[Job] = set()
        self._arriving = 0

    def open(self) -> None:
        """Have workers, after :meth:`close` too."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="work")

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """While a body is read: it has a place among what waits, so that memory is bounded.

        Raises:
            ProblemError: 429 if too much is waiting, before anything is read.
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
        """Do work and wait for it.

        Returns:
            What came out, as JSON.

        Raises:
            ProblemError: What went wrong; 429 if too much is waiting, 503 if it took too long.
        """
        job = self._submit(Job(kind, work, self._limits.seconds))
        assert job.future is not None
        waiting = asyncio.wrap_future(job.future)
        try:
            await asyncio.wait({waiting}, timeout=self._limits.seconds)
        finally:
            job.cancel()  # of no effect when it is finished
        if job.error is not None:
            raise job.error
        if job.result is None:
            raise job.too_slow()
        return job.result

    def begin(self, kind: str, work: Work) -> Job:
        """Do work in the background.

        Raises:
            ProblemError: 429 if too much is waiting.
        """
        job = self._submit(Job(kind, work, self._limits.job_seconds))
        with self._lock:
            self._jobs[job.id] = job
            self._forget()
        return job

    def find(self, job_id: str) -> Job:
        """The job of this id.

        Raises:
            ProblemError: 404 if there is none, or it is long forgotten.
        """
        job = self._jobs.get(job_id)
        if job is None:
            raise ProblemError(
                404,
                "no-such-job",
                "there is no job of this id",
                remedy="finished jobs are forgotten after a while, and when the service restarts",
            )
        return job

    def list(self) -> list[Job]:
        """The jobs that are remembered, oldest first."""
        with self._lock:
            return list(self._jobs.values())

    def count(self) -> int:
        """How many pieces of work are waited for or worked on."""
        with self._lock:
            return len(self._open)

    def close(self) -> None:
        """Cancel everything, and wait until it has stopped."""
        with self._lock:
            unfinished, pool, self._pool = list(self._open), self._pool, None
        for job in unfinished:
            job.cancel()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, job: Job) -> Job:
        with self._lock:
            if self._pool is None:
                raise ProblemError(503, "stopping", "the service is about to stop")
            self._refuse_busy()
            self._open.add(job)
            job.future = self._pool.submit(job.run)
        job.future.add_done_callback(lambda _: self._done(job))
        return job

    def _done(self, job: Job) -> None:
        with self._lock:
            self._open.discard(job)
            self._forget()

    def _forget(self) -> None:
        """Drop the oldest finished jobs that are too many, or whose results take too much."""
        size = 0
        finished = [one for one in self._jobs.values() if one.state in FINISHED]
        for newer, job in enumerate(reversed(finished)):
            size += len(job.result or b"")
            too_large = newer > 0 and size > self._limits.kept_bytes
            if newer >= self._limits.kept_jobs or too_large:
                del self._jobs[job.id]

    def _refuse_busy(self) -> None:
        most = self._limits.workers + self._limits.waiting
        if len(self._open) + self._arriving >= most:
            raise ProblemError(
                429,
                "busy",
                f"{len(self._open) + self._arriving} requests are waiting or worked on",
                remedy="try again later",
                headers={"Retry-After": "5"},
            )


def _nothing(progress: Progress) -> dict[str, Any]:  # noqa: ARG001
    return {}


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
