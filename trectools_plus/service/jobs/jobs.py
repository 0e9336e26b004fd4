"""Run work in processes: for requests that wait for the result, and for background jobs.

Background jobs have workers of their own, so they never delay requests that wait. They are stored,
and are run again after a restart.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from trectools_plus.distributed.process import ProcessEndedError, StoppedError
from trectools_plus.service.api.models import FINISHED, JobProgress, JobState, JobStatus
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import Snapshot
from trectools_plus.service.jobs.processes import Task, TaskKind, WorkerProcesses
from trectools_plus.service.jobs.store import JobStore, StoredJob
from trectools_plus.service.problems import (
    NO_SPACE,
    ProblemDocument,
    ProblemError,
    as_problem,
    to_json,
)

_LOG = logging.getLogger("trectools_plus.service")
_MAX_ATTEMPTS = 3
"""The number of attempts of a stored job, so that one that ends its process does not loop."""
_SPACE_SECONDS = 1.0
"""The time after which a job that waits for space on the disk is tried again."""
_RETRY_SECONDS = "5"


class JobEnd(NamedTuple):
    """The end of a job: the final state, the result as JSON, and the reason for a failure."""

    state: JobState
    result: bytes | None = None
    error: ProblemError | None = None


class Job:
    """One unit of work, of a request that waits or in the background.

    Args:
        task: The work; ``None`` if it is finished.
        kind: The kind of work.
        seconds: The time limit in seconds: of a background job from its beginning, of a request
            including the time in the queue.
        in_background: True for a background job.
    """

    def __init__(
        self, task: Task | None, kind: TaskKind, seconds: float, *, in_background: bool
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.kind = kind
        self.task = task
        self.in_background = in_background
        self.attempts = 0
        self.created_at = _now()
        self.end: JobEnd | None = None
        self.was_begun = False
        self._seconds = seconds
        self._deadline = monotonic() + seconds
        self._lock = threading.Lock()
        self._cancelled = False
        self._state: JobState = "queued"
        self._progress: JobProgress | None = None
        self._finished_at: str | None = None

    @classmethod
    def restored(cls, stored: StoredJob, task: Task | None, seconds: float) -> Job:
        """Return a job that was stored; without a task, it is finished."""
        job = cls(task, stored.kind, seconds, in_background=True)
        job.id, job.created_at, job.attempts = stored.id, stored.created_at, stored.attempts
        if task is None:
            job._state, job._finished_at = stored.state, stored.finished_at
            progress, problem = stored.progress, stored.problem
            job._progress = None if progress is None else JobProgress(**progress)
            error = None if problem is None else ProblemError.of(ProblemDocument(**problem))
            job.end = JobEnd(stored.state, error=error)
        return job

    @property
    def state(self) -> JobState:
        """The current state."""
        return self._state

    def status(self) -> JobStatus:
        """Return the status for clients; ``result`` is always ``None``."""
        with self._lock:
            is_finished = self._state in FINISHED
            error = self.end.error if is_finished and self.end is not None else None
            return JobStatus(
                job_id=self.id,
                kind=self.kind,
                state=self._state,
                created_at=self.created_at,
                finished_at=self._finished_at if is_finished else None,
                progress=self._progress,
                result=None,
                problem=None if error is None else error.problem,
            )

    def begin(self) -> bool:
        """Change from queued to running; return false if the job was cancelled before."""
        with self._lock:
            if self._state != "queued":
                return False
            self._state = "running"
            if self.in_background:
                self._deadline = monotonic() + self._seconds
            self.was_begun = True
            return True

    def wait(self) -> None:
        """Change from running to queued, for lack of space on the disk."""
        with self._lock:
            self._state = "queued"

    def must_stop(self) -> bool:
        """Return true if the job was cancelled, or its time is over."""
        return self._cancelled or monotonic() > self._deadline

    def report(self, description: str, done: int, total: int) -> None:
        """Set the current step."""
        self._progress = JobProgress(description=description, done=done, total=total)

    def stop(self) -> bool:
        """Cancel the job, if it is not finished; return true if the caller has to store its end."""
        with self._lock:
            self._cancelled = True
            if self._state not in ("queued", "cancelled"):
                return False
            self.end = JobEnd("cancelled")
        self.finish()
        return True

    def end_stopped(self) -> JobEnd:
        """Return the end of a job whose work was stopped."""
        if self._cancelled:
            return JobEnd("cancelled")
        return JobEnd("failed", error=self.too_slow())

    def finish(self) -> None:
        """Change to the state of its end, after that was stored."""
        with self._lock:
            assert self.end is not None
            self._state, self._finished_at = self.end.state, self._finished_at or _now()
            if self._state == "succeeded" and self._progress is not None:
                done = {"done": self._progress.total}
                self._progress = self._progress.model_copy(update=done)
            self.task = None  # releases the uploads
            if self.in_background:
                self.end = self.end._replace(result=None)

    def as_stored(self) -> StoredJob:
        """Return the end of the job for the store."""
        assert self.end is not None
        problem = None if self.end.error is None else self.end.error.problem.model_dump(mode="json")
        progress = self._progress
        if progress is not None and self.end.state == "succeeded":
            progress = progress.model_copy(update={"done": progress.total})
        self._finished_at = self._finished_at or _now()
        return StoredJob(
            self.id,
            self.kind,
            {},
            "",
            self.created_at,
            self._finished_at,
            self.end.state,
            self.attempts,
            None if progress is None else progress.model_dump(mode="json"),
            problem,
        )

    def too_slow(self) -> ProblemError:
        """Return the problem for an exceeded time limit."""
        if not self.was_begun:
            return ProblemError(
                503,
                "busy",
                f"no worker was free within {self._seconds:g} s",
                remedy="try again later, or use background=true",
                headers={"Retry-After": _RETRY_SECONDS},
            )
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
        self._limits = settings.limits
        self.workers = WorkerProcesses(settings, most=2 * self._limits.workers)
        self._folder = None if settings.state_dir is None else Path(settings.state_dir)
        self._documents = settings.documents_name
        self._publish = publish
        self._lock = threading.Lock()
        self._pools: dict[bool, ThreadPoolExecutor] = {}
        self._store: JobStore | None = None
        self._jobs: dict[str, Job] = {}
        self._unfinished: set[Job] = set()
        self._closing = threading.Event()

    def open(self) -> None:
        """Start the workers, for the first time or again after :meth:`close`.

        Raises:
            InputError: If the stored jobs cannot be opened.
            UsageError: If another service uses them.
        """
        if self._pools:
            return
        self._closing.clear()
        self._store = JobStore(self._folder)
        self.workers.open()
        # Requests that wait have threads of their own, and so have background jobs.
        self._pools = {
            in_background: ThreadPoolExecutor(self._limits.workers, thread_name_prefix="work")
            for in_background in (False, True)
        }
        self._jobs.clear()
        for stored in self._store.jobs():
            self._restore(stored)
        self._drop_old()

    async def answer(self, task: Task) -> bytes:
        """Do work in a worker, and wait for the result.

        Returns:
            The result as JSON.

        Raises:
            ProblemError: If the work fails; 429 if too many requests are unfinished, 503 if no
                worker gets free, or the work takes too long.
        """
        job = Job(task, task.kind, self._limits.seconds, in_background=False)
        future = self._submit(job)
        waiting = asyncio.wrap_future(future)
        try:
            await asyncio.wait({waiting}, timeout=self._limits.seconds)
        finally:
            job.stop()  # has no effect on a finished job
            future.cancel()
        end = job.end
        if end is not None and end.error is not None:
            raise end.error
        if end is not None and end.result is not None:
            return end.result
        raise _stopping() if self._closing.is_set() else job.too_slow()

    def begin(self, task: Task) -> Job:
        """Store and start a background job.

        Raises:
            ProblemError: 429 if too many jobs are unfinished, or too many results have not been
                fetched; 507 if the disk is full.
        """
        store = self._store
        if store is None or self._closing.is_set():
            raise _stopping()
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
        job = Job(task, task.kind, self._limits.job_seconds, in_background=True)
        with self._lock:
            self._refuse_busy(in_background=True)
            self._unfinished.add(job)
        try:
            store.add(job.id, task, self._documents, job.created_at)
        except BaseException:
            self._unfinished.discard(job)
            raise
        with self._lock:
            self._jobs[job.id] = job
        self._submit(job, limited=False)
        return job

    def check_free(self, *, in_background: bool) -> None:
        """Check that there is a place for one more request, before its body is read.

        Raises:
            ProblemError: 429 if there is none.
        """
        with self._lock:
            self._refuse_busy(in_background=in_background)

    def check_space(self) -> None:
        """Check that jobs can be stored.

        Raises:
            ProblemError: 507 if the disk was full, and still is.
        """
        if self._store is not None:
            self._store.check_space()

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
        if job.stop() and self._store is not None:
            self._store.finish(job.as_stored(), None)

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
        self._closing.set()
        with self._lock:
            unfinished, pools, self._pools = list(self._unfinished), self._pools, {}
        for job in unfinished:
            if not job.in_background:
                job.stop()
        self.workers.close()
        for pool in pools.values():
            pool.shutdown(wait=True, cancel_futures=True)
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _restore(self, stored: StoredJob) -> None:
        """Run a stored job again if it is not finished."""
        assert self._store is not None
        if stored.state in FINISHED:
            self._jobs[stored.id] = Job.restored(stored, None, 0)
            return
        task = Task(stored.kind, stored.parameters, self._store.uploads(stored.id))
        job = self._jobs[stored.id] = Job.restored(stored, task, self._limits.job_seconds)
        error = None
        if task.needs_documents and stored.documents != self._documents:
            error = ProblemError(
                503,
                "interrupted",
                f"the service was restarted with other documents, {self._documents}",
                remedy="submit the request again",
            )
        elif stored.attempts >= _MAX_ATTEMPTS:
            error = _ended(f"the service ended during {stored.attempts} attempts")
        if error is not None:
            job.end = JobEnd("failed", error=error)
        else:
            _LOG.info("the job %s is run again", job.id)
        self._submit(job, limited=False)

    def _submit(self, job: Job, *, limited: bool = True) -> Future[None]:
        with self._lock:
            if not self._pools:
                raise _stopping()
            if limited:
                self._refuse_busy(in_background=job.in_background)
            self._unfinished.add(job)
            future = self._pools[job.in_background].submit(self._run, job)
        future.add_done_callback(lambda _: self._done(job))
        return future

    def _run(self, job: Job) -> None:
        """Do the work of a job, and store its end; wait while the disk is full."""
        while job.begin():
            try:
                job.end = job.end or self._work(job)
                if job.in_background and self._store is not None:
                    self._store.finish(job.as_stored(), job.end.result)
                job.finish()
            except StoppedError:  # the service stops
                if self._store is not None:
                    with suppress(Exception):
                        self._store.interrupt(job.id)
                return
            except Exception as error:
                problem = as_problem(error)
                if problem.problem.code != NO_SPACE:
                    job.end = JobEnd("failed", error=problem)
                    job.finish()
                    return
                job.wait()
                if self._closing.wait(_SPACE_SECONDS):
                    return

    def _work(self, job: Job) -> JobEnd:
        """Do the work of a job; errors are part of its end.

        Raises:
            StoppedError: If the service stops, and will run the job again.
            ProblemError: If the disk is full, and the job can wait.
        """
        assert job.task is not None
        while True:
            job.attempts += 1
            try:
                if job.in_background and self._store is not None:
                    self._store.start(job.id, job.attempts)
                outcome = self.workers.do(job.task, job.report, job.must_stop)
                if outcome.snapshot is not None:
                    self._publish(job.task, outcome.snapshot)
                return JobEnd("succeeded", outcome.answer)
            except StoppedError:
                if self._closing.is_set() and job.in_background:
                    raise
                return job.end_stopped()
            except ProcessEndedError as error:
                reason = _describe(error)
                _LOG.warning("the process of a job ended: %s", reason)
                if not job.in_background or job.attempts >= _MAX_ATTEMPTS:
                    return JobEnd("failed", error=_ended(reason))
            except Exception as error:
                problem = as_problem(error)
                if job.in_background and problem.problem.code == NO_SPACE:
                    job.attempts -= 1
                    raise problem from error
                return JobEnd("failed", error=problem)

    def _done(self, job: Job) -> None:
        with self._lock:
            self._unfinished.discard(job)
        if not self._closing.is_set():
            with suppress(sqlite3.OperationalError):  # the disk is full, see `check_space`
                self._drop_old()

    def _drop_old(self) -> None:
        limits = self._limits
        if self._store is None:
            return
        dropped = self._store.drop_old(limits.kept_seconds, limits.kept_jobs, limits.kept_bytes)
        with self._lock:
            for job_id in dropped:
                self._jobs.pop(job_id, None)

    def _refuse_busy(self, *, in_background: bool) -> None:
        unfinished = sum(job.in_background == in_background for job in self._unfinished)
        if unfinished >= self._limits.workers + self._limits.waiting:
            raise ProblemError(
                429,
                "busy",
                f"{unfinished} {'jobs' if in_background else 'requests'} are unfinished",
                remedy="try again later",
                headers={"Retry-After": _RETRY_SECONDS},
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


def _describe(error: ProcessEndedError) -> str:
    """Describe the end of a process in words."""
    if error.signal_name is None:
        return f"the process of the work ended with status {error.code}"
    return (
        f"the process of the work was ended by {error.signal_name}, for example for lack of memory"
    )


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
