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
from trectools_plus.service.jobs.processes import Task, WorkerProcesses
from trectools_plus.service.jobs.store import JobStore, StoredJob
from trectools_plus.service.problems import (
    NO_SPACE,
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
    """The end of a job: the final status, the result as JSON, and the error of the work."""

    status: JobStatus
    result: bytes | None = None
    error: ProblemError | None = None


class Job:
    """One unit of work, of a request that waits or in the background.

    Args:
        task: The work; ``None`` if it is finished.
        status: The status for clients.
        seconds: The time limit in seconds: of a background job from its beginning, of a request
            including the time in the queue.
        in_background: True for a background job.
    """

    def __init__(
        self, task: Task | None, status: JobStatus, seconds: float, *, in_background: bool
    ) -> None:
        self.id = status.job_id
        self.task = task
        self.in_background = in_background
        self.attempts = 0
        self.end: JobEnd | None = None
        self._status = status
        self._seconds = seconds
        self._seconds_left = 0.0
        self._deadline = monotonic() + seconds
        self._lock = threading.Lock()
        self._cancelled = False

    @classmethod
    def new(cls, task: Task, seconds: float, *, in_background: bool) -> Job:
        """Return a queued job."""
        status = JobStatus(
            job_id=secrets.token_urlsafe(16),
            kind=task.kind,
            state="queued",
            created_at=_now(),
            finished_at=None,
            progress=None,
            result=None,
            problem=None,
        )
        return cls(task, status, seconds, in_background=in_background)

    @property
    def state(self) -> JobState:
        """The current state."""
        return self._status.state

    def status(self) -> JobStatus:
        """Return the status for clients; ``result`` is always ``None``."""
        with self._lock:
            return self._status.model_copy()

    def begin(self) -> bool:
        """Change from queued to running; return false if the job was cancelled before."""
        with self._lock:
            if self.state != "queued":
                return False
            self._status.state = "running"
            if self.in_background:
                self._deadline = monotonic() + self._seconds
            self._seconds_left = self._deadline - monotonic()
            return True

    def wait(self) -> None:
        """Change from running to queued, for lack of space on the disk."""
        with self._lock:
            self._status.state = "queued"

    def must_stop(self) -> bool:
        """Return true if the job was cancelled, or its time is over."""
        return self._cancelled or monotonic() > self._deadline

    def report(self, description: str, done: int, total: int) -> None:
        """Set the current step."""
        self._status.progress = JobProgress(description=description, done=done, total=total)

    def stop(self) -> bool:
        """Cancel the job, if it is not finished; return true if the caller has to store its end."""
        with self._lock:
            self._cancelled = True
            if self.state not in ("queued", "cancelled"):
                return False
            self.end = self.end_with("cancelled")
            self._status = self.end.status
            self.task = None
            return True

    def end_with(
        self, state: JobState, result: bytes | None = None, error: ProblemError | None = None
    ) -> JobEnd:
        """Return an end of the job, which clients see after :meth:`finish`."""
        progress = self._status.progress
        if state == "succeeded" and progress is not None:
            progress = progress.model_copy(update={"done": progress.total})
        changed = {
            "state": state,
            "finished_at": _now(),
            "progress": progress,
            "problem": None if error is None else error.problem,
        }
        return JobEnd(self._status.model_copy(update=changed), result, error)

    def end_stopped(self) -> JobEnd:
        """Return the end of a job whose work was stopped."""
        if self._cancelled:
            return self.end_with("cancelled")
        return self.end_with("failed", error=self.too_slow())

    def finish(self, end: JobEnd) -> None:
        """Change to the final state, after that was stored."""
        with self._lock:
            self._status = end.status
            self.end = end._replace(result=None) if self.in_background else end
            self.task = None  # releases the uploads

    def too_slow(self) -> ProblemError:
        """Return the problem for an exceeded time limit, in the queue or at work."""
        if self._seconds_left < self._seconds / 2:
            return ProblemError(
                503,
                "busy",
                f"no worker was free in time: the limit is {self._seconds:g} s",
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
        job = Job.new(task, self._limits.seconds, in_background=False)
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
        job = Job.new(task, self._limits.job_seconds, in_background=True)
        with self._lock:
            self._refuse_busy(in_background=True)
            self._unfinished.add(job)
        try:
            store.add(job.id, task, self._documents, job.status().created_at)
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
            self._store.finish(job.status(), None)

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
        status, seconds = stored.status, self._limits.job_seconds
        if status.state in FINISHED:
            self._jobs[status.job_id] = Job(None, status, seconds, in_background=True)
            return
        task = Task(stored.kind, stored.parameters, self._store.uploads(status.job_id))
        status.state = "queued"
        job = self._jobs[status.job_id] = Job(task, status, seconds, in_background=True)
        job.attempts = stored.attempts
        if task.needs_documents and stored.documents != self._documents:
            error = ProblemError(
                503,
                "interrupted",
                f"the service was restarted with other documents, {self._documents}",
                remedy="submit the request again",
            )
            job.end = job.end_with("failed", error=error)
        elif stored.attempts >= _MAX_ATTEMPTS:
            error = _ended(f"the service ended during {stored.attempts} attempts")
            job.end = job.end_with("failed", error=error)
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
                    self._store.finish(job.end.status, job.end.result)
                job.finish(job.end)
            except StoppedError:  # the service stops
                if self._store is not None:
                    with suppress(Exception):
                        self._store.interrupt(job.id)
                return
            except Exception as error:
                problem = as_problem(error)
                if problem.problem.code != NO_SPACE:
                    job.finish(job.end_with("failed", error=problem))
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
                return job.end_with("succeeded", outcome.answer)
            except StoppedError:
                if self._closing.is_set() and job.in_background:
                    raise
                return job.end_stopped()
            except ProcessEndedError as error:
                reason = _describe(error)
                _LOG.warning("the process of a job ended: %s", reason)
                if not job.in_background or job.attempts >= _MAX_ATTEMPTS:
                    return job.end_with("failed", error=_ended(reason))
            except Exception as error:
                problem = as_problem(error)
                if job.in_background and problem.problem.code == NO_SPACE:
                    job.attempts -= 1
                    raise problem from error
                return job.end_with("failed", error=problem)

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
