"""The work of requests: limits of time and number, failures, and the end of the service."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from trectools_plus.progress import Progress
from trectools_plus.service.api.settings import Limits, ServiceSettings
from trectools_plus.service.problems import ProblemError, to_json
from trectools_plus.service.work.process import ProcessEndedError, StoppedError
from trectools_plus.service.work.processes import Outcome, Task
from trectools_plus.service.work.requests import RequestWork

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

    def do(self, task: Task, must_stop: Callable[[], bool]) -> Outcome:
        def progress(description: str, done: int, total: int) -> None:
            if must_stop() or self.closed:
                raise StoppedError

        return Outcome(to_json(self.works[task.parameters["work"]](progress)))


class Made(RequestWork):
    """Requests whose work is done in this process."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(ServiceSettings(dataset="none", limits=Limits(**limits)))
        self.workers: Any = Threads()
        self.open()

    def task(self, work: Work | None = None) -> Task:
        name = "nothing" if work is None else str(id(work))
        if work is not None:
            self.workers.works[name] = work
        return Task("score", {"work": name})

    def ask(self, *works: Work | None) -> list[Any]:
        """Return the answers, or errors, of requests that arrive at the same time."""

        async def gather() -> list[Any]:
            asked = [self.answer(self.task(work)) for work in works]
            return await asyncio.gather(*asked, return_exceptions=True)

        return asyncio.run(gather())


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


def wait_until_idle(made: RequestWork) -> None:
    for _ in range(500):
        if not made.count():
            return
        time.sleep(0.01)
    raise AssertionError(made.count())


@pytest.fixture
def made() -> Iterator[Made]:
    made = Made(workers=1, waiting=1, seconds=0.2)
    yield made
    made.close()


def test_an_answer(made: Made) -> None:
    assert made.ask(None) == [b"{}"]
    assert made.count() == 0


def test_too_much_waiting_is_refused(made: Made) -> None:
    errors = made.ask(Steps(), Steps(), Steps())
    statuses = [(error.problem.status, error.problem.code) for error in errors]
    assert statuses == [(503, "time-limit"), (503, "busy"), (429, "busy")]
    assert errors[1].headers["Retry-After"]
    assert errors[2].headers["Retry-After"]
    wait_until_idle(made)
    made.check_free()
    assert made.ask(None) == [b"{}"]


def test_a_body_is_refused_before_it_is_read(made: Made) -> None:
    async def check() -> None:
        asked = [asyncio.ensure_future(made.answer(made.task(Steps()))) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(ProblemError) as refused:
            made.check_free()
        assert refused.value.problem.status == 429
        await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(check())


def test_an_answer_has_a_time_limit(made: Made) -> None:
    work = Steps()
    (error,) = made.ask(work)
    assert error.problem.code == "time-limit"
    wait_until_idle(made)
    stopped = work.done
    time.sleep(0.05)
    assert work.done == stopped, "the work itself has stopped too"


def test_a_client_that_leaves_ends_its_work(made: Made) -> None:
    work = Steps()

    async def leave() -> None:
        asked = asyncio.ensure_future(made.answer(made.task(work)))
        await asyncio.sleep(0.05)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    asyncio.run(leave())
    wait_until_idle(made)
    stopped = work.done
    time.sleep(0.05)
    assert work.done == stopped


def test_a_failure_is_answered(made: Made) -> None:
    def fail(progress: Progress) -> dict[str, Any]:
        raise ProblemError(422, "bad", "it is bad")

    (error,) = made.ask(fail)
    assert (error.problem.status, error.problem.code) == (422, "bad")


def test_a_process_that_ends(made: Made) -> None:
    def end(progress: Progress) -> dict[str, Any]:
        raise ProcessEndedError(-9)

    (error,) = made.ask(end)
    assert (error.problem.status, error.problem.code) == (500, "work-ended")
    assert "SIGKILL" in error.problem.detail


def test_closing_stops_everything() -> None:
    made = Made(workers=1)

    async def close() -> list[Any]:
        asked = [asyncio.ensure_future(made.answer(made.task(Steps()))) for _ in range(3)]
        await asyncio.sleep(0.05)
        await asyncio.to_thread(made.close)
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(close())
    problems = [answer.problem for answer in answers if isinstance(answer, ProblemError)]
    assert [problem.code for problem in problems][:1] == ["stopping"]
    assert not any(isinstance(answer, bytes) for answer in answers)
    (error,) = made.ask(None)
    assert error.problem.code == "stopping"
