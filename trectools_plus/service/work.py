"""The work of requests, in processes with a time limit.

A process of :mod:`anyio.to_process` does one task at a time and is used again. It is killed if the
work takes too long, or the client disconnects. Uploads and temporary files are in a folder of the
request, which the service removes, so nothing in a process needs cleaning up.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from anyio import to_process

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.limits import usable_memory
from trectools_plus.service.guard import ProblemDocument, ProblemError, as_problem, to_json
from trectools_plus.service.models import (
    EvaluateParameters,
    Limits,
    ScoreParameters,
    ServiceSettings,
    ValidateParameters,
)
from trectools_plus.service.uploads import Upload

if TYPE_CHECKING:
    from trectools_plus.service.answers import Search
    from trectools_plus.service.metrics import Snapshot

Parameters = EvaluateParameters | ValidateParameters | ScoreParameters

_LOG = logging.getLogger("trectools_plus.service")
_RETRY = {"Retry-After": "5"}
REOPEN_SECONDS = 60.0
"""The time in which a process opens the documents when their indexes exist."""


class Outcome(NamedTuple):
    """The result of a request.

    Attributes:
        answer: The body of the response, as JSON.
        snapshot: The figures of an evaluation, otherwise ``None``.
    """

    answer: bytes
    snapshot: Snapshot | None = None


@dataclass(slots=True)
class Documents:
    """The state of the documents of the service.

    Attributes:
        status: ``off``, ``loading``, ``ready``, or the reason for a failure.
        modes: The modes; empty until the documents are open.
    """

    status: str
    modes: list[str] = field(default_factory=list)

    @property
    def are_ready(self) -> bool:
        """True if the service can answer all requests."""
        return self.status in ("ready", "off")

    def check(self, *, are_needed: bool) -> None:
        """Check that the documents are not being opened.

        Args:
            are_needed: Whether there must be documents.

        Raises:
            ProblemError: 404 if there are none although they are needed, 503 while they are opened.
        """
        if are_needed and self.status == "off":
            what = "the service was started without documents"
            raise ProblemError(404, "nothing-to-search", what, "start it with --dataset")
        if not self.are_ready:
            how = "try again when /readyz answers 200"
            raise ProblemError(503, "not-ready", self.status, how, headers=_RETRY)


class RequestWork:
    """The requests that are at work, or wait for a process.

    Args:
        settings: Numbers of processes and requests, and the time limit.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.documents = Documents("loading" if settings.searches else "off")
        self._settings = settings

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Accept work inside the context, and open the documents in a first process."""
        os.environ["PYTHONSAFEPATH"] = "1"  # processes import nothing from the working directory
        self._free = anyio.CapacityLimiter(self._settings.limits.workers)
        async with anyio.create_task_group() as group:
            group.start_soon(self._keep_documents_open)
            yield
            group.cancel_scope.cancel()

    async def answer(
        self, parameters: Parameters, folder: Path, uploads: tuple[Upload, ...]
    ) -> Outcome:
        """Do work in a process, and wait for the result.

        Args:
            parameters: The parameters of the request; their class decides what is done.
            folder: The folder of the request.
            uploads: The uploads.

        Raises:
            ProblemError: If the work fails; 503 if too many requests are unfinished, no process
                gets free, or the work takes too long.
        """
        self.check_free()
        is_working = False
        seconds = self._settings.limits.seconds
        with anyio.move_on_after(seconds):
            try:
                async with self._free:
                    is_working = True
                    outcome: Outcome = await _call(
                        perform, parameters, folder, uploads, self._settings
                    )
                    return outcome
            except BaseException:
                self._ended.set()
                raise
        if not is_working:
            raise _busy(f"no worker was free within {seconds:g} s")
        raise ProblemError(
            503,
            "time-limit",
            f"the work took too long: the limit is {seconds:g} s",
            "send less data, or use the command line",
        )

    def check_free(self) -> None:
        """Check that there is a place for one more request, before its body is read.

        Raises:
            ProblemError: 503 if there is none.
        """
        waiting = self._free.statistics().tasks_waiting
        if waiting >= self._settings.limits.waiting and not self._free.available_tokens:
            raise _busy(f"{waiting} requests wait for a worker")

    async def _keep_documents_open(self) -> None:
        """Open the documents, and again when a process may have been killed."""
        seconds = None  # building indexes can take long
        while True:
            self._ended = anyio.Event()
            try:
                with anyio.move_on_after(seconds) as scope:
                    async with self._free:
                        modes = await _call(open_documents, self._settings)
            except Exception as error:
                status = f"the documents cannot be opened: {as_problem(error).problem.detail}"
                _LOG.error("%s", status)
                if not self.documents.are_ready:
                    self.documents.status = status
                    return
                await anyio.sleep(1)  # a process that was idle has ended; there may be more
                continue
            seconds = REOPEN_SECONDS
            if scope.cancelled_caught:
                continue
            if not self.documents.are_ready:
                self.documents = Documents("ready", modes)
                _LOG.info("the documents are ready")
            await self._ended.wait()


async def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    limiter = anyio.CapacityLimiter(1)  # the caller limits the number of processes
    for _ in range(2):  # the first process may have ended while it was idle
        try:
            return await to_process.run_sync(
                function, *arguments, cancellable=True, limiter=limiter
            )
        except anyio.BrokenWorkerProcess:
            _LOG.warning("the process of a request ended")
    raise ProblemError(
        500,
        "work-ended",
        "the process of the work ended, for example for lack of memory",
        "send less data; the log of the system can contain the cause",
    )


def _busy(detail: str) -> ProblemError:
    return ProblemError(503, "busy", detail, "try again later", headers=_RETRY)


_search: Search | None = None
"""The documents of this process."""


def open_documents(settings: ServiceSettings) -> list[str]:
    """Prepare this process, open the documents, if the service has some, and return the modes.

    Raises:
        TrectoolsPlusError: If they cannot be opened.
    """
    prepare_process(settings.limits)
    from trectools_plus.service import answers  # noqa: F401  for the next request

    return list(_get_search(settings).retrievers) if settings.searches else []


def perform(
    parameters: Parameters, folder: Path, uploads: tuple[Upload, ...], settings: ServiceSettings
) -> Outcome:
    """Do the work of a request in this process.

    Raises:
        ProblemError: If the uploads are invalid.
    """
    prepare_process(settings.limits)
    from trectools_plus.service.answers import evaluate_test_set, score_uploads, validate_uploads

    tempfile.tempdir = str(folder)
    snapshot = None
    try:
        if isinstance(parameters, ValidateParameters):
            answer = validate_uploads(uploads, parameters, settings.limits)
        elif isinstance(parameters, ScoreParameters):
            answer = score_uploads(uploads, parameters, settings.limits)
        else:
            evaluated, snapshot = evaluate_test_set(uploads, parameters, _get_search(settings))
            answer = evaluated.model_dump(mode="json")
        return Outcome(_without_paths(answer, folder), snapshot)
    except MemoryError:
        what = "the work needs more memory than it may use"
        raise ProblemError(422, "too-much-memory", what, "send less data") from None
    except (TrectoolsPlusError, ProblemError) as error:
        known = as_problem(error)
        content = json.loads(_without_paths(known.problem.model_dump(), folder))
        known.problem = ProblemDocument(**content)
        raise known from None
    finally:
        tempfile.tempdir = None


def _get_search(settings: ServiceSettings) -> Search:
    global _search
    from trectools_plus.service.answers import Search

    if _search is None or _search.settings != settings:
        _search = Search(settings)
    return _search


@cache
def prepare_process(limits: Limits) -> None:
    """Prepare this process for its first task."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends this process
    os.dup2(sys.stderr.fileno(), 2)  # nobody reads the pipe
    if sys.platform == "linux":
        import resource

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the service
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = min(limits.memory_bytes or usable_memory() * 3 // 4, usable_memory())
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _without_paths(content: Any, folder: Path) -> bytes:
    """Return JSON without the paths of a request's folder and of installed packages."""
    text = to_json(content)
    for path in (f"{folder}/", f"{sysconfig.get_path('purelib')}/"):
        text = text.replace(to_json(path)[1:-1], b"")
    return text
