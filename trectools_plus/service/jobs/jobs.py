"""Run work in processes: for requests that wait for the result, and for background jobs.

Both share a few worker processes. Background jobs are stored, and are run again after a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from trectools_plus.service.api.settings import Limits, ServiceSettings
from trectools_plus.service.api.snapshots import Snapshot
from trectools_plus.service.jobs.processes import EndedError, Workers
from trectools_plus.service.jobs.store import JobStore, StoredJob
from trectools_plus.service.jobs.task import Kind, Outcome, StoppedError, Task
from trectools_plus.service.problems import Problem, ProblemError, as_problem, to_json

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
FINISHED: frozenset[State] = frozenset({"succeeded", "failed", "cancelled"})


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


_LOG = logging.getLogger("trectools_plus.service")
_MAX_ATTEMPTS = 3
"""The number of attempts of a stored job, so that one that ends its process does not loop."""


class Job:
    """One unit of work.

    Args:
        task: The work; ``None`` if it is finished.
        kind: The kind of work.
        seconds: The time limit in seconds, including the time in the queue.
    """

    def __init__(self, task: Task | None, kind: Kind, seconds: float) -> None:
        self.id = secrets.token_urlsafe(16)
        self.kind = kind
        self.task = task
        self.future: Future[None] | None = None
        self.is_stored = False
        self.attempts = 0
        self.created_at = _now()
        self.result: bytes | None = None
        self.error: ProblemError | None = None
        self._deadline = monotonic() + seconds
        self._seconds = seconds
        self.finishing = threading.Lock()
        self.is_ended = False
        self._lock = threading.Lock()
        self._cancelled = False
        self._state: State = "queued"
        self._progress: JobProgress | None = None
        self._finished_at: str | None = None

    @classmethod
    def restored(cls, stored: StoredJob, task: Task | None, seconds: float) -> Job:
        """Return a job that was stored; without a task, it is finished."""
        job = cls(task, stored.kind, seconds)
        job.id, job.created_at = stored.id, stored.created_at
        job.is_stored, job.attempts = True, stored.attempts
        if task is None:
            job._state, job._finished_at = stored.state, stored.finished_at
            progress, problem = stored.progress, stored.problem
            job._progress = None if progress is None else JobProgress(**progress)
            job.error = None if problem is None else ProblemError.of(Problem(**problem))
        return job

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
                created_at=self.created_at,
                finished_at=self._finished_at,
                progress=self._progress,
                result=None,
                problem=None if self.error is None else self.error.problem,
            )

    def as_stored(self) -> StoredJob:
        """Return the status for the store."""
        status = self.status().model_dump(mode="json")
        return StoredJob(
            self.id,
            self.kind,
            {},
            "",
            self.created_at,
            status["finished_at"],
            status["state"],
            self.attempts,
            status["progress"],
            status["problem"],
        )

    def begin(self) -> bool:
        """Change from queued to running; return false if the job was cancelled before."""
        with self._lock:
            if self._state != "queued":
                return False
            self._state = "running"
            return True

    def must_stop(self) -> bool:
        """Return true if the job was cancelled, or its time is over."""
        return self._cancelled or monotonic() > self._deadline

    def report(self, description: str, done: int, total: int) -> None:
        """Set the current step."""
        self._progress = JobProgress(description=description, done=done, total=total)

    def stop(self) -> None:
        """Cancel the job, if it is not finished."""
        with self._lock:
            self._cancelled = True
            if self._state == "queued":
                self._state, self._finished_at, self.task = "cancelled", _now(), None
        if self.future is not None:
            self.future.cancel()

    def finish_stopped(self) -> None:
        """Finish a job whose work was stopped."""
        if self._cancelled:
            self.finish("cancelled")
        else:
            self.finish("failed", error=self.too_slow())

    def finish(
        self, state: State, result: bytes | None = None, error: ProblemError | None = None
    ) -> None:
        """Set the final state."""
        with self._lock:
            self._state, self.result, self.error = state, result, error
            if state == "succeeded" and self._progress is not None:
                done = {"done": self._progress.total}
                self._progress = self._progress.model_copy(update=done)
            self._finished_at = _now()
            self.task = None  # releases the uploads

    def too_slow(self) -> ProblemError:
        """Return the problem for an exceeded time limit."""
        return ProblemError(
            503,
            "time-limit",
            f"the work took longer than {self._seconds:g} s",
            remedy="send less data, or use background=true",
        )


class Jobs:
    """The workers, and the background jobs.

    Args:
        settings: Numbers of workers and jobs, time limits, and the folder of stored jobs.
        publish: Called with a task and the figures of its evaluation.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        publish: Callable[[Task, Snapshot], None] = lambda _, __: None,
    ) -> None:
        self.workers = Workers(settings)
        self._limits: Limits = settings.limits
        self._folder = None if settings.state_dir is None else Path(settings.state_dir)
        self._documents = settings.documents_name
        self._publish = publish
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._store: JobStore | None = None
        self._jobs: dict[str, Job] = {}
        self._unfinished: set[Job] = set()
        self._arriving = 0
        self._closing = False

    def open(self) -> None:
        """Start the workers, for the first time or again after :meth:`close`.

        Raises:
            InputError: If the stored jobs cannot be opened.
            UsageError: If another service uses them.
        """
        if self._pool is not None:
            return
        self._closing = False
        self._store = JobStore(self._folder)
        self.workers.open()
        self._pool = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="work")
        self._jobs.clear()
        for stored in self._store.jobs():
            self._restore(stored)
        self._drop_old()

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

    async def answer(self, task: Task) -> bytes:
        """Do work in a worker, and wait for the result.

        Returns:
            The result as JSON.

        Raises:
            ProblemError: If the work fails; 429 if too many requests are unfinished, 503 if it
                takes too long.
        """
        job = self._submit(Job(task, task.kind, self._limits.seconds))
        assert job.future is not None
        waiting = asyncio.wrap_future(job.future)
        try:
            await asyncio.wait({waiting}, timeout=self._limits.seconds)
        finally:
            job.stop()  # has no effect on a finished job
        if self._closing and job.result is None:
            raise _stopping()
        if job.error is not None:
            raise job.error
        if job.result is None:
            raise job.too_slow()
        return job.result

    def begin(self, task: Task) -> Job:
        """Store and start a background job.

        Raises:
            ProblemError: 429 if too many requests are unfinished, or too many results have not been
                fetched.
        """
        store = self._opened_store()
        self._drop_old()
        if store.size() > self._limits.kept_bytes:
            raise ProblemError(
                429,
                "too-many-results",
                f"results that no client has fetched take more than {self._limits.kept_bytes:,} "
                "bytes",
                remedy="fetch the results of finished jobs, or try again when they have expired",
                headers={"Retry-After": "60"},
            )
        job = Job(task, task.kind, self._limits.job_seconds)
        with self._lock:
            self._refuse_busy()
            self._unfinished.add(job)
        try:
            store.add(job.id, task, self._documents, job.created_at)
        except BaseException:
            self._unfinished.discard(job)
            raise
        job.is_stored = True
        with self._lock:
            self._jobs[job.id] = job
        return self._submit(job)

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
                remedy="submit the request again; results expire, and the service drops the oldest "
                "results that were fetched",
            )
        return job

    def fetch(self, job: Job) -> bytes:
        """Return the status of a job as JSON, with the result; finished jobs count as fetched."""
        status = job.status().model_dump(mode="json", exclude={"result"})
        result = None
        if status["state"] in FINISHED and self._store is not None:
            result = self._store.fetch(job.id)
        return b'{"result": %b, %b' % (result or b"null", to_json(status)[1:])

    def cancel(self, job: Job) -> None:
        """Stop a job; a finished job does not change."""
        job.stop()
        self._finish(job)

    def list(self) -> list[Job]:
        """Return all background jobs that have not been dropped, oldest first."""
        with self._lock:
            return list(self._jobs.values())

    def count(self) -> int:
        """Return the number of unfinished requests and jobs."""
        with self._lock:
            return len(self._unfinished)

    def close(self) -> None:
        """End all work at once; stored jobs are run again by the next service."""
        with self._lock:
            self._closing = True
            unfinished, pool, self._pool = list(self._unfinished), self._pool, None
        for job in unfinished:
            if not job.is_stored:
                job.stop()
        self.workers.close()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _opened_store(self) -> JobStore:
        if self._store is None or self._closing:
            raise _stopping()
        return self._store

    def _restore(self, stored: StoredJob) -> None:
        """Run a stored job again if it is not finished."""
        assert self._store is not None
        if stored.state in FINISHED:
            self._jobs[stored.id] = Job.restored(stored, None, 0)
            return
        parameters = stored.parameters
        task = Task(stored.kind, parameters, self._store.parts(stored.id))
        job = Job.restored(stored, task, self._limits.job_seconds)
        self._jobs[stored.id] = job
        if task.needs_documents and stored.documents != self._documents:
            error = ProblemError(
                503,
                "interrupted",
                f"the service was restarted with other documents, {self._documents}",
                remedy="submit the request again",
            )
            job.finish("failed", error=error)
            self._store.finish(job.as_stored(), None)
        elif stored.attempts >= _MAX_ATTEMPTS:
            job.finish(
                "failed", error=_ended(f"the service ended during {stored.attempts} attempts")
            )
            self._store.finish(job.as_stored(), None)
        else:
            _LOG.info("the job %s is run again", job.id)
            self._submit(job, limited=False)

    def _submit(self, job: Job, *, limited: bool = True) -> Job:
        with self._lock:
            if self._pool is None:
                raise _stopping()
            if limited and job not in self._unfinished:
                self._refuse_busy()
            self._unfinished.add(job)
            job.future = self._pool.submit(self._run, job)
        job.future.add_done_callback(lambda _: self._done(job))
        return job

    def _run(self, job: Job) -> None:
        """Do the work of a job; errors are stored, not raised."""
        task = job.task
        if task is None or not job.begin():
            return
        try:
            outcome = self._do(job, task)
            if outcome.snapshot is not None:
                self._publish(task, outcome.snapshot)
            job.finish("succeeded", outcome.answer)
        except StoppedError:
            if self._closing and job.is_stored:
                if self._store is not None:
                    self._store.interrupt(job.id)
                return
            job.finish_stopped()
        except EndedError as error:
            job.finish("failed", error=_ended(_describe(error.code)))
        except Exception as error:
            job.finish("failed", error=as_problem(error))
        self._finish(job)

    def _do(self, job: Job, task: Task) -> Outcome:
        """Do a task; if its process ends, try again with a stored job."""
        while True:
            store = self._store
            if store is None or self._closing:
                raise StoppedError
            job.attempts += 1
            if job.is_stored:
                store.start(job.id)
            try:
                return self.workers.do(task, job.report, job.must_stop)
            except EndedError as error:
                _LOG.warning("the process of a job ended: %s", _describe(error.code))
                if not job.is_stored or job.attempts >= _MAX_ATTEMPTS:
                    raise

    def _finish(self, job: Job) -> None:
        """Store the end of a background job."""
        if not job.is_stored or job.state not in FINISHED or self._store is None:
            return
        with job.finishing:
            if job.is_ended:
                return
            self._store.finish(job.as_stored(), job.result)
            job.is_ended, job.result = True, None

    def _done(self, job: Job) -> None:
        with self._lock:
            self._unfinished.discard(job)
        if not self._closing:
            self._drop_old()

    def _drop_old(self) -> None:
        limits = self._limits
        if self._store is None:
            return
        dropped = self._store.drop_old(limits.kept_seconds, limits.kept_jobs, limits.kept_bytes)
        with self._lock:
            for job_id in dropped:
                self._jobs.pop(job_id, None)

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


def _stopping() -> ProblemError:
    return ProblemError(503, "stopping", "the service is stopping", headers={"Connection": "close"})


def _ended(what: str) -> ProblemError:
    return ProblemError(
        500,
        "work-ended",
        what,
        remedy="send less data; the log of the service can contain the cause",
    )


def _describe(code: int | None) -> str:
    """Describe the end of a process in words."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return f"the process of the work was ended by {name}, for example for lack of memory"
    return f"the process of the work ended with status {code}"


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
