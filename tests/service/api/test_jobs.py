"""Workers: limits of time and number, progress and cancelling."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from trectools_plus.progress import Progress
from trectools_plus.service.api.jobs import Job, Jobs
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.problems import ProblemError


def wait_for(job: Job, *states: str) -> None:
    for _ in range(500):
        if job.state in states:
            return
        time.sleep(0.01)
    raise AssertionError(job.state)


class Steps:
    """Work that reports its steps until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.done = 0

    def __call__(self, progress: Progress) -> dict[str, Any]:
        while not self.go.wait(0.01):
            self.done += 1
            progress("stepping", self.done, 1000)
        return {"steps": self.done}


@pytest.fixture
def jobs() -> Any:
    made = Jobs(Limits(workers=1, waiting=1, seconds=0.2, job_seconds=30, kept_jobs=2))
    yield made
    made.close()


def test_progress_and_result(jobs: Jobs) -> None:
    work = Steps()
    job = jobs.begin("score", work)
    wait_for(job, "running")
    while job.status().progress is None or job.status().progress.done < 3:  # type: ignore[union-attr]
        time.sleep(0.01)
    status = job.status()
    assert status.progress is not None
    assert (status.progress.description, status.progress.total) == ("stepping", 1000)
    assert json.loads(job.as_json())["result"] is None
    work.go.set()
    wait_for(job, "succeeded")
    told = json.loads(job.as_json())
    assert told.pop("result") == {"steps": work.done}
    assert told == job.status().model_dump(mode="json", exclude={"result"})
    assert job.status().progress.done == 1000  # type: ignore[union-attr]
    assert jobs.find(job.id) is job


def test_a_running_job_stops_at_its_next_step(jobs: Jobs) -> None:
    job = jobs.begin("score", Steps())
    wait_for(job, "running")
    job.cancel()
    wait_for(job, "cancelled")
    assert job.status().finished_at
    assert job.result is None


def test_a_waiting_job_is_never_begun(jobs: Jobs) -> None:
    first, second = Steps(), Steps()
    running = jobs.begin("score", first)
    wait_for(running, "running")
    waiting = jobs.begin("score", second)
    waiting.cancel()
    assert waiting.state == "cancelled"
    first.go.set()
    wait_for(running, "succeeded")
    assert second.done == 0
    running.cancel()
    assert running.state == "succeeded", "a finished job stays as it is"


def test_too_much_waiting_is_refused(jobs: Jobs) -> None:
    works = [Steps(), Steps()]
    begun = [jobs.begin("score", work) for work in works]
    with pytest.raises(ProblemError) as refused:
        jobs.begin("score", Steps())
    assert refused.value.problem.status == 429
    assert refused.value.headers["Retry-After"]
    for work in works:
        work.go.set()
    for job in begun:
        wait_for(job, "succeeded")
    jobs.begin("score", lambda progress: {})


def test_an_answer_has_a_time_limit(jobs: Jobs) -> None:
    work = Steps()
    with pytest.raises(ProblemError) as refused:
        asyncio.run(jobs.answer("score", work))
    assert refused.value.problem.code == "time-limit"
    for _ in range(500):
        if not jobs.count():
            break
        time.sleep(0.01)
    stopped = work.done
    time.sleep(0.05)
    assert (jobs.count(), work.done) == (0, stopped), "the work itself has stopped too"


def test_a_job_has_a_time_limit() -> None:
    made = Jobs(Limits(workers=1, job_seconds=0.1))
    job = made.begin("score", Steps())
    wait_for(job, "failed")
    problem = job.status().problem
    assert problem is not None
    assert problem.code == "time-limit"
    made.close()


def test_what_fails_says_why(jobs: Jobs) -> None:
    def work(progress: Progress) -> dict[str, Any]:
        raise ProblemError(422, "bad", "it is bad")

    with pytest.raises(ProblemError, match="it is bad"):
        asyncio.run(jobs.answer("score", work))
    job = jobs.begin("score", work)
    wait_for(job, "failed")
    assert job.status().problem.code == "bad"  # type: ignore[union-attr]


def test_old_jobs_are_forgotten(jobs: Jobs) -> None:
    begun = []
    for _ in range(5):
        begun.append(jobs.begin("score", lambda progress: {}))
        wait_for(begun[-1], "succeeded")
        while jobs.count():
            time.sleep(0.01)
    assert jobs.list() == begun[-2:]
    with pytest.raises(ProblemError):
        jobs.find(begun[0].id)


def test_large_results_are_forgotten_sooner() -> None:
    made = Jobs(Limits(workers=1, kept_jobs=50, kept_bytes=3_000))
    begun = []
    for size in (900, 900, 2_000, 5_000, 10, 10):
        begun.append(made.begin("score", lambda progress, size=size: {"x": "x" * size}))
        wait_for(begun[-1], "succeeded")
        while made.count():
            time.sleep(0.01)
        assert begun[-1] in made.list(), "the last is kept, however large"
        if size == 2_000:
            assert made.list() == begun[-2:]
        if size == 5_000:
            assert made.list() == begun[-1:]
    assert made.list() == begun[-2:]
    made.close()


def test_what_arrives_has_a_place_among_what_waits(jobs: Jobs) -> None:
    with jobs.arriving(), jobs.arriving():
        with pytest.raises(ProblemError) as refused, jobs.arriving():
            raise AssertionError("there is no place left")
        assert refused.value.problem.status == 429
        with pytest.raises(ProblemError):
            jobs.begin("score", Steps())
    wait_for(jobs.begin("score", lambda progress: {}), "succeeded")


def test_closing_stops_everything() -> None:
    made = Jobs(Limits(workers=1))
    begun = [made.begin("score", Steps()) for _ in range(3)]
    wait_for(begun[0], "running")
    made.close()
    assert {job.state for job in begun} == {"cancelled"}
