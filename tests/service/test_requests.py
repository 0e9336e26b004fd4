"""The work of requests: limits of time and number, and failures."""

import asyncio
import time
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from trectools_plus.service import Limits, ServiceSettings
from trectools_plus.service.guard import ProblemError
from trectools_plus.service.models import ValidateParameters
from trectools_plus.service.work import Outcome, RequestWork

SLEEP, FAIL, DIE = "sleep", "fail", "die"


@pytest.fixture
def stopped(monkeypatch):
    """Do work in coroutines in place of processes; return the work that is stopped."""
    stopped = []

    async def run(function, parameters, *arguments, **__):
        if not isinstance(parameters, ValidateParameters):
            if DIE in stopped:  # a second idle process has ended too
                raise anyio.BrokenWorkerProcess
            return []
        name = arguments[0].name
        if name == FAIL:
            raise ProblemError(422, "bad", "it is bad")
        if name == DIE:
            stopped.append(name)
            raise anyio.BrokenWorkerProcess
        try:
            await asyncio.sleep(60 if name == SLEEP else 0)
        except asyncio.CancelledError:
            stopped.append(name)
            raise
        return Outcome(b"{}")

    monkeypatch.setattr("anyio.to_process.run_sync", run)
    return stopped


@asynccontextmanager
async def opened(**limits):
    chosen = Limits(**{"workers": 1, "waiting": 1, "seconds": 0.2, **limits})
    work = RequestWork(ServiceSettings(dataset="none", limits=chosen))

    async def ask(*names):
        """Return the answers, or errors, of requests that arrive at the same time."""
        kind = ValidateParameters(kind="run")
        answers = (work.answer(kind, Path(name), ()) for name in names)
        return await asyncio.gather(*answers, return_exceptions=True)

    async with work.open():
        await asyncio.sleep(0.01)
        yield work, ask


def problems(answers):
    return [(answer.problem.status, answer.problem.code) for answer in answers]


async def check_limits(stopped):
    async with opened() as (work, ask):
        assert await ask("nothing") == [Outcome(b"{}")]
        assert not work._free.borrowed_tokens
        began = time.monotonic()
        errors = await ask(SLEEP, SLEEP, SLEEP)
        assert problems(errors) == [(503, "time-limit"), (503, "busy"), (503, "busy")]
        assert time.monotonic() - began < 10
        assert all("Retry-After" in error.headers for error in errors[1:])
        assert stopped == [SLEEP], "the work itself has stopped too"
        assert not work._free.borrowed_tokens
        work.check_free()
        assert await ask("nothing") == [Outcome(b"{}")]


async def check_full(stopped):
    """A body is refused before it is read."""
    async with opened() as (work, ask):
        asked = asyncio.create_task(ask(SLEEP, SLEEP))
        await asyncio.sleep(0.05)
        with pytest.raises(ProblemError) as refused:
            work.check_free()
        assert problems([refused.value]) == [(503, "busy")]
        await asked


async def check_clients_that_leave(stopped):
    async with opened(seconds=60) as (work, ask):
        asked = asyncio.create_task(ask(SLEEP))
        await asyncio.sleep(0.05)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        assert stopped == [SLEEP]
        assert not work._free.borrowed_tokens


async def check_failures(stopped):
    async with opened(waiting=9) as (work, ask):
        assert problems(await ask(FAIL, DIE)) == [(422, "bad"), (500, "work-ended")]
        assert await ask("nothing") == [Outcome(b"{}")]
        await asyncio.sleep(0.01)
        assert stopped == [DIE, DIE]
        assert work.documents.are_ready


@pytest.mark.parametrize(
    "check",
    [check_limits, check_full, check_clients_that_leave, check_failures],
)
def test_work(stopped, check):
    asyncio.run(check(stopped))
