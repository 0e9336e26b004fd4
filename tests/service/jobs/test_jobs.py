"""Jobs: limits of time and number, progress, cancelling, and what survives a restart."""

from __future__ import annotations

import asyncio
import errno
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.distributed.process import ProcessEndedError, StoppedError
from trectools_plus.errors import InputError, UsageError
from trectools_plus.progress import Progress
from trectools_plus.service.api.settings import Limits, ServiceSettings
from trectools_plus.service.api.uploads import Upload
from trectools_plus.service.jobs.jobs import Job, Jobs
from trectools_plus.service.jobs.processes import Outcome, Task
from trectools_plus.service.jobs.store import FILE_NAME, JobStore, open_default_store
from trectools_plus.service.problems import ProblemError, as_problem, to_json

Work = Callable[[Progress], dict[str, Any]]


class Threads:
    """Stands in for the worker processes; the parameter ``work`` is the name of a function."""

    def __init__(self) -> None:
        self.works: dict[str, Work] = {"nothing": lambda progress: {}}
        self.closed = False

    def open(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def do(self, task: Task, report: Progress, must_stop: Callable[[], bool]) -> Outcome:
        def progress(description: str, done: int, total: int) -> None:
            if must_stop() or self.closed:
                raise StoppedError
            report(description, done, total)

        return Outcome(to_json(self.works[task.parameters["work"]](progress)))


class Made(Jobs):
    """Jobs whose work is done in this process."""

    def __init__(self, folder: Path | None = None, **limits: Any) -> None:
        state_dir = None if folder is None else str(folder)
        given = ServiceSettings(dataset="none", limits=Limits(**limits), state_dir=state_dir)
        super().__init__(given)
        self.workers: Any = Threads()
        self.open()

    def task(self, work: Work | None = None, *uploads: Upload) -> Task:
        name = "nothing" if work is None else str(id(work))
        if work is not None:
            self.workers.works[name] = work
        return Task("score", {"work": name}, uploads)

    def start(self, work: Work | None = None, *uploads: Upload) -> Job:
        return self.begin(self.task(work, *uploads))


def wait_for(job: Job, *states: str) -> None:
    for _ in range(500):
        if job.state in states:
            return
        time.sleep(0.01)
    raise AssertionError(job.state)


def wait_until_idle(jobs: Jobs) -> None:
    for _ in range(500):
        if not jobs.count():
            return
        time.sleep(0.01)
    raise AssertionError(jobs.count())


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
def jobs() -> Iterator[Made]:
    made = Made(workers=1, waiting=1, seconds=0.2, job_seconds=30, kept_jobs=2)
    yield made
    made.close()


def test_progress_and_result(jobs: Made) -> None:
    work = Steps()
    job = jobs.start(work)
    wait_for(job, "running")
    while job.status().progress is None or job.status().progress.done < 3:  # type: ignore[union-attr]
        time.sleep(0.01)
    status = job.status()
    assert status.progress is not None
    assert (status.progress.description, status.progress.total) == ("stepping", 1000)
    assert json.loads(jobs.fetch(job))["result"] is None
    work.go.set()
    wait_for(job, "succeeded")
    wait_until_idle(jobs)
    told = json.loads(jobs.fetch(job))
    assert told.pop("result") == {"steps": work.done}
    assert told == job.status().model_dump(mode="json", exclude={"result"})
    assert job.status().progress.done == 1000  # type: ignore[union-attr]
    assert jobs.find(job.id) is job


def test_a_running_job_stops_at_its_next_step(jobs: Made) -> None:
    job = jobs.start(Steps())
    wait_for(job, "running")
    jobs.cancel(job)
    wait_for(job, "cancelled")
    assert job.status().finished_at
    assert json.loads(jobs.fetch(job))["result"] is None


def test_a_waiting_job_is_never_begun(jobs: Made) -> None:
    first, second = Steps(), Steps()
    running = jobs.start(first)
    wait_for(running, "running")
    waiting = jobs.start(second)
    jobs.cancel(waiting)
    assert waiting.state == "cancelled"
    first.go.set()
    wait_for(running, "succeeded")
    assert second.done == 0
    jobs.cancel(running)
    assert running.state == "succeeded", "a finished job stays as it is"


def test_too_much_waiting_is_refused(jobs: Made) -> None:
    works = [Steps(), Steps()]
    begun = [jobs.start(work) for work in works]
    with pytest.raises(ProblemError) as refused:
        jobs.start(Steps())
    assert refused.value.problem.status == 429
    assert refused.value.headers["Retry-After"]
    for work in works:
        work.go.set()
    for job in begun:
        wait_for(job, "succeeded")
    jobs.start()


def test_an_answer_has_a_time_limit(jobs: Made) -> None:
    work = Steps()
    with pytest.raises(ProblemError) as refused:
        asyncio.run(jobs.answer(jobs.task(work)))
    assert refused.value.problem.code == "time-limit"
    for _ in range(500):
        if not jobs.count():
            break
        time.sleep(0.01)
    stopped = work.done
    time.sleep(0.05)
    assert (jobs.count(), work.done) == (0, stopped), "the work itself has stopped too"


def test_a_job_has_a_time_limit() -> None:
    made = Made(workers=1, job_seconds=0.1)
    job = made.start(Steps())
    wait_for(job, "failed")
    problem = job.status().problem
    assert problem is not None
    assert problem.code == "time-limit"
    made.close()


def test_what_fails_says_why(jobs: Made) -> None:
    def work(progress: Progress) -> dict[str, Any]:
        raise ProblemError(422, "bad", "it is bad")

    with pytest.raises(ProblemError, match="it is bad"):
        asyncio.run(jobs.answer(jobs.task(work)))
    job = jobs.start(work)
    wait_for(job, "failed")
    assert job.status().problem.code == "bad"  # type: ignore[union-attr]


def test_fetched_results_are_dropped_and_others_are_not(jobs: Made) -> None:
    begun = []
    for _ in range(5):
        begun.append(jobs.start())
        wait_until_idle(jobs)
    assert jobs.list() == begun, "no client has fetched a result"
    for job in begun:
        jobs.fetch(job)
    begun.append(jobs.start())
    wait_until_idle(jobs)
    assert jobs.list() == begun[-3:]
    with pytest.raises(ProblemError):
        jobs.find(begun[0].id)


def test_large_results_are_dropped_sooner() -> None:
    made = Made(workers=1, kept_jobs=50, kept_bytes=6_000)
    begun = []
    for size in (900, 900, 4_000, 9_000, 10):
        begun.append(made.start(lambda progress, size=size: {"x": "x" * size}))
        wait_until_idle(made)
        made.fetch(begun[-1])
    made.start()
    wait_until_idle(made)
    assert made.list()[:-1] == begun[-1:]
    made.close()


def test_results_expire() -> None:
    made = Made(workers=1, kept_seconds=0.2)
    first = made.start()
    wait_until_idle(made)
    assert made.list() == [first]
    time.sleep(0.3)
    second = made.start()
    wait_until_idle(made)
    assert made.list() == [second]
    made.close()


def test_results_that_nobody_fetches_do_not_fill_the_disk() -> None:
    made = Made(workers=1, kept_bytes=5_000)
    first = made.start(lambda progress: {"x": "x" * 9_000})
    wait_until_idle(made)
    with pytest.raises(ProblemError) as refused:
        made.start()
    assert refused.value.problem.status == 429
    assert "fetch" in str(refused.value.problem.remedy)
    made.fetch(first)
    made.start()
    made.close()


def test_jobs_do_not_delay_requests(jobs: Made) -> None:
    works = [Steps(), Steps()]
    begun = [jobs.start(work) for work in works]
    wait_for(begun[0], "running")
    with pytest.raises(ProblemError):
        jobs.check_free(in_background=True)
    jobs.check_free(in_background=False)
    assert asyncio.run(jobs.answer(jobs.task())) == b"{}"
    for work in works:
        work.go.set()


def test_a_request_for_which_no_worker_is_free(jobs: Made) -> None:
    async def ask_twice() -> list[Any]:
        asked = [jobs.answer(jobs.task(Steps())) for _ in range(2)]
        return await asyncio.gather(*asked, return_exceptions=True)

    problems = [error.problem for error in asyncio.run(ask_twice())]
    assert [(one.status, one.code) for one in problems] == [(503, "time-limit"), (503, "busy")]
    assert "send less data" not in str(problems[1].remedy)


def test_the_time_of_a_job_begins_with_its_work() -> None:
    made = Made(workers=1, job_seconds=0.4)
    first, second = Steps(), Steps()
    begun = [made.start(first), made.start(second)]
    wait_for(begun[0], "failed")
    wait_for(begun[1], "running")
    second.go.set()
    wait_for(begun[1], "succeeded")
    made.close()


class FullDisk:
    """A database that cannot grow, as on a full disk."""

    def __init__(self, jobs: Jobs) -> None:
        assert jobs._store is not None
        self._database = jobs._store._database

    def fill(self) -> None:
        ((pages,),) = self._database.execute("PRAGMA page_count").fetchall()
        self._database.execute(f"PRAGMA max_page_count = {pages}")

    def free(self) -> None:
        self._database.execute("PRAGMA max_page_count = 1000000")


def test_a_full_disk_refuses_new_jobs_and_accepted_ones_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trectools_plus.service.jobs.jobs._SPACE_SECONDS", 0.05)
    made, work = Made(tmp_path, workers=1), Steps()
    accepted = made.start(lambda progress: work(progress) | {"x": "x" * 100_000})
    wait_for(accepted, "running")
    disk = FullDisk(made)
    disk.fill()
    made.check_space()  # nothing has failed yet
    with pytest.raises(sqlite3.OperationalError) as refused:
        made.start(None, Upload("run", b"x" * 100_000))
    problem = as_problem(refused.value).problem
    assert (problem.status, problem.code) == (507, "no-space")
    assert "full" in problem.detail
    assert made.list() == [accepted]
    with pytest.raises(sqlite3.OperationalError):
        made.check_space()
    work.go.set()
    time.sleep(0.3)
    assert accepted.state in ("queued", "running"), "its result cannot be stored"
    assert accepted.status().problem is None
    steps = work.done
    disk.free()
    wait_for(accepted, "succeeded")
    assert (accepted.attempts, work.done) == (1, steps), "the work was done once"
    assert len(json.loads(made.fetch(accepted))["result"]["x"]) == 100_000
    made.check_space()
    made.close()


def test_a_job_without_space_for_its_files_waits(jobs: Made, monkeypatch: Any) -> None:
    monkeypatch.setattr("trectools_plus.service.jobs.jobs._SPACE_SECONDS", 0.01)
    attempts = []

    def work(progress: Progress) -> dict[str, Any]:
        attempts.append(1)
        if len(attempts) < 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return {}

    job = jobs.start(work)
    wait_for(job, "succeeded")
    assert (len(attempts), job.attempts) == (5, 1)
    attempts.clear()
    with pytest.raises(ProblemError) as refused:
        asyncio.run(jobs.answer(jobs.task(work)))
    assert (refused.value.problem.status, refused.value.problem.code) == (507, "no-space")


def test_a_job_that_waits_for_space_is_cancelled(jobs: Made) -> None:
    attempts = []

    def work(progress: Progress) -> dict[str, Any]:
        attempts.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    job = jobs.start(work)
    while not attempts or job.state != "queued":
        time.sleep(0.01)
    jobs.cancel(job)
    wait_for(job, "cancelled")


def test_jobs_survive_a_restart(tmp_path: Path) -> None:
    made = Made(tmp_path, workers=1)
    done = made.start(lambda progress: {"is": "done"}, Upload("run", b"1"))
    wait_until_idle(made)
    steps = Steps()
    parts = Upload("run", b"\x00\xff", "text"), Upload("qrels", b"2")
    running, queued = made.start(steps, *parts), made.start(steps)
    wait_for(running, "running")
    gone = made.start(steps)
    made.cancel(gone)
    made.close()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    assert database.execute("SELECT state, attempts FROM jobs").fetchall() == [
        ("succeeded", 1),
        ("queued", 0),
        ("queued", 0),
        ("cancelled", 0),
    ]
    database.close()
    seen: list[Task] = []
    again = Made.__new__(Made)
    Jobs.__init__(again, ServiceSettings(dataset="none", state_dir=str(tmp_path)))
    again.workers = Threads()
    again.workers.do = lambda task, *_: seen.append(task) or Outcome(b'{"second": true}')
    again.open()
    wait_until_idle(again)
    assert [job.id for job in again.list()] == [done.id, running.id, queued.id, gone.id]
    assert [job.state for job in again.list()] == [*["succeeded"] * 3, "cancelled"]
    assert json.loads(again.fetch(again.find(done.id)))["result"] == {"is": "done"}
    assert json.loads(again.fetch(again.find(running.id)))["result"] == {"second": True}
    assert sorted(len(task.uploads) for task in seen) == [0, 2]
    assert parts in [task.uploads for task in seen]
    again.close()


def test_a_job_that_ends_the_service_is_not_run_forever(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    store.add("a", Task("score", {}), "none", "2025-01-01T00:00:00Z")
    for attempt in (1, 2, 3):
        store.start("a", attempt)
    store.close()
    made = Made(tmp_path)
    (job,) = made.list()
    wait_for(job, "failed")
    assert "3 attempts" in job.status().problem.detail  # type: ignore[union-attr]
    made.close()


def test_a_job_whose_process_ends_is_tried_again(jobs: Made) -> None:
    attempts = []

    def work(progress: Progress) -> dict[str, Any]:
        attempts.append(1)
        raise ProcessEndedError(-9)

    job = jobs.start(work)
    wait_until_idle(jobs)
    assert len(attempts) == 3
    assert "SIGKILL" in job.status().problem.detail  # type: ignore[union-attr]
    with pytest.raises(ProblemError) as refused:
        asyncio.run(jobs.answer(jobs.task(work)))
    assert (refused.value.problem.status, len(attempts)) == (500, 4), "no client waits for three"


def test_a_job_for_other_documents_is_not_run(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    store.add("a", Task("evaluate", {}), "irds:x", "2025-01-01T00:00:00Z")
    store.close()
    made = Made(tmp_path)
    (job,) = made.list()
    wait_for(job, "failed")
    assert job.status().problem.code == "interrupted"  # type: ignore[union-attr]
    made.close()


def test_only_one_service_uses_a_folder(tmp_path: Path) -> None:
    made = Made(tmp_path / "1")
    with pytest.raises(UsageError, match="--state-dir"):
        JobStore(tmp_path / "1")
    assert open_default_store(tmp_path) == tmp_path / "2"
    made.close()
    assert open_default_store(tmp_path) == tmp_path / "1"
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="--state-dir"):
        JobStore(tmp_path / "file")


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be read as one" * 99, None]
)
def test_damaged_jobs_are_set_aside(
    tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    made = Made(tmp_path)
    for _ in range(20):
        made.start(None, Upload("run", b"x" * 5000))
        wait_until_idle(made)
    made.close()
    file = tmp_path / FILE_NAME
    if content is None:
        data = bytearray(file.read_bytes())
        data[4096:6000] = b"?" * (6000 - 4096)
        content = bytes(data)
    file.write_bytes(content)
    made = Made(tmp_path)
    assert made.list() == []
    assert "cannot be read" in caplog.text
    assert (tmp_path / f"{FILE_NAME}.damaged").stat().st_size >= len(content)
    made.close()


def test_jobs_of_an_earlier_version_are_continued(tmp_path: Path) -> None:
    Made(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        database.execute("ALTER TABLE parts DROP COLUMN file")
        database.execute("PRAGMA user_version = 1")
        database.commit()
    store = JobStore(tmp_path)
    parts = Upload("run", b"1", None, "bm25.run"), Upload("qrels", b"2")
    store.add("job", Task("score", {}, parts), "", "now")
    assert store.uploads("job") == parts
    store.close()


def test_jobs_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    Made(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(UsageError, match="newer version"):
        JobStore(tmp_path)


def test_closing_stops_everything() -> None:
    made = Made(workers=1)
    begun = [made.start(Steps()) for _ in range(3)]
    wait_for(begun[0], "running")
    made.close()
    with pytest.raises(ProblemError, match="stopping"):
        made.start()


def test_a_full_disk_is_answered_and_reported(
    open_service: Any, limited: Any, check_problem: Any
) -> None:
    headers, body = {"content-type": "text/plain"}, b"q1 0 d1 1\n" * 20_000
    with open_service(limited()) as client:
        disk = FullDisk(client.app.state.context.jobs)
        disk.fill()
        path = "/v1/validate?kind=qrels"
        answer = client.post(f"{path}&background=true", content=body, headers=headers)
        problem = check_problem(answer, 507, "no-space")
        assert "--state-dir" in problem["remedy"]
        check_problem(client.get("/readyz"), 503, "no-space")
        assert client.get("/healthz").status_code == 200
        assert client.post(path, content=body, headers=headers).status_code == 200
        assert client.get("/v1/jobs").json() == {"jobs": []}
        disk.free()
        assert client.get("/readyz").status_code == 200
        answer = client.post(f"{path}&background=true", content=body, headers=headers)
        assert answer.status_code == 202
