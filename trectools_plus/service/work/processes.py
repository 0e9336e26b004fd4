"""The work of requests, and the processes that do it.

A process does one task at a time and is used again. If a task has to stop, its process is killed,
and the next task gets a new one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import sleep
from typing import Any, Literal

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.limits import usable_memory
from trectools_plus.measures.evaluation import DEFAULT_MEASURES as SCORE_MEASURES
from trectools_plus.service.api.evaluation import (
    DEFAULT_MEASURES,
    choose_measures,
    choose_mode,
    evaluate_test_set,
)
from trectools_plus.service.api.models import (
    EvaluateParameters,
    ScoreParameters,
    ValidateParameters,
)
from trectools_plus.service.api.search import Search
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import Snapshot
from trectools_plus.service.api.uploads import Upload
from trectools_plus.service.api.validate_and_score import score_uploads, validate_uploads
from trectools_plus.service.log import prepare_log
from trectools_plus.service.problems import ProblemError, as_problem, to_json
from trectools_plus.service.work.process import ObjectProcess, ProcessEndedError, StoppedError

_POLL_SECONDS = 0.05
_LOG = logging.getLogger("trectools_plus.service")

TaskKind = Literal["evaluate", "validate", "score"]


@dataclass(frozen=True, slots=True)
class Task:
    """One request for work: plain values, so that it can be sent.

    Attributes:
        kind: The kind of work.
        parameters: The parameters of the request, as JSON values.
        uploads: The uploads.
    """

    kind: TaskKind
    parameters: dict[str, Any]
    uploads: tuple[Upload, ...] = ()

    @property
    def needs_documents(self) -> bool:
        """True if the work searches the documents of the service."""
        return self.kind == "evaluate"

    @property
    def is_own(self) -> bool:
        """True if it evaluates the service's own test set."""
        return self.kind == "evaluate" and not self.uploads


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task.

    Attributes:
        answer: The body of the response, as JSON.
        snapshot: The figures of an evaluation, otherwise ``None``.
    """

    answer: bytes
    snapshot: Snapshot | None = None


class Worker:
    """Does one task after the other, in a process of its own.

    The service ends a process that does not stop at once, so nothing here needs cleaning up:
    temporary files are in a folder that the service removes.

    Args:
        settings: The settings of the service.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the service ends workers
            with contextlib.suppress(AttributeError, ValueError, OSError):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        prepare_log()
        _limit_memory(settings.limits.memory_bytes)
        self._settings = settings
        self._search = Search(settings)

    def open(self) -> list[str]:
        """Open the documents, and return the modes.

        Raises:
            ProblemError: If they cannot be opened.
        """
        try:
            self._search.open()
        except TrectoolsPlusError as error:
            raise ProblemError(503, "not-ready", str(error)) from None
        except Exception as error:
            _LOG.exception("the documents cannot be opened")
            what = f"the documents cannot be opened: {type(error).__name__}"
            raise ProblemError(503, "not-ready", what) from None
        return list(self._search.documents.retrievers)

    def perform(self, task: Task) -> Outcome:
        """Do a task.

        Raises:
            ProblemError: If the uploads are invalid, or the work fails.
        """
        try:
            return perform(task, self._search, self._settings)
        except MemoryError:
            raise ProblemError(
                422,
                "too-much-memory",
                "the work needs more memory than it may use",
                remedy="send less data",
            ) from None
        except Exception as error:
            raise as_problem(error) from None


def perform(task: Task, search: Search, settings: ServiceSettings) -> Outcome:
    """Do a task in this process.

    Args:
        task: The task.
        search: The documents; open if the task needs them.
        settings: The settings of the service.

    Raises:
        ProblemError: If the uploads are invalid.
    """
    uploads, snapshot = list(task.uploads), None
    if task.kind == "validate":
        chosen = ValidateParameters(**task.parameters)
        answer = validate_uploads(uploads, chosen, settings.limits)
    elif task.kind == "score":
        given = ScoreParameters(**task.parameters)
        measures = choose_measures(given.measures, SCORE_MEASURES)
        answer = score_uploads(uploads, measures, given, settings.limits)
    else:
        asked = EvaluateParameters(**task.parameters)
        mode = choose_mode(asked.components, settings)
        measures = choose_measures(asked.measures, DEFAULT_MEASURES)
        test_set = uploads[0] if uploads else None
        answer, snapshot = evaluate_test_set(test_set, mode, measures, search, settings)
    return Outcome(to_json(answer), snapshot)


def _limit_memory(limit: int | None) -> None:
    """Limit the private memory of this process, where the system can."""
    if sys.platform != "linux":
        return
    import resource

    if limit is None:
        limit = usable_memory() * 3 // 4
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


class DocumentState:
    """The state of the documents of the service, for all its processes.

    Args:
        searches: True if the service has documents.

    Attributes:
        text: ``off``, ``loading``, ``ready``, or the reason for a failure.
        modes: The modes; empty until the documents are open.
    """

    def __init__(self, *, searches: bool) -> None:
        self.text = "loading" if searches else "off"
        self.modes: list[str] = []

    @property
    def are_ready(self) -> bool:
        """True if the service can answer all requests."""
        return self.text in ("ready", "off")

    def set_open(self, modes: list[str]) -> None:
        """Record that a process has opened the documents."""
        if not self.modes:
            _LOG.info("the documents are ready")
        self.text, self.modes = "ready", modes

    def set_failed(self, reason: str) -> None:
        """Record that the documents cannot be opened; the service does not try again."""
        if not self.modes:
            self.text = reason
            _LOG.error("the documents cannot be searched: %s", reason)

    def check(self) -> None:
        """Check that there are documents to search.

        Raises:
            ProblemError: 404 if there are none, 503 while they are being opened.
        """
        if self.text == "off":
            raise ProblemError(
                404,
                "nothing-to-search",
                "the service was started without documents",
                remedy="start it with --dataset",
            )
        if not self.modes:
            raise ProblemError(
                503,
                "not-ready",
                self.text,
                remedy="try again when /readyz answers 200",
                headers={"Retry-After": "5"},
            )


class WorkerProcesses:
    """The worker processes of a service.

    Args:
        settings: The settings of the service.
        most: The greatest number of processes.
    """

    def __init__(self, settings: ServiceSettings, most: int) -> None:
        self.documents = DocumentState(searches=settings.searches)
        self._settings = settings
        self._most = most
        self._lock = threading.Lock()
        self._closed = True
        self._all: list[_WorkerProcess] = []
        self._idle: list[_WorkerProcess] = []

    def open(self) -> None:
        """Start the first process, which opens the documents."""
        with self._lock:
            if self._closed:
                self._closed = False
                self._prepare(opens=self._settings.searches)

    def do(self, task: Task, must_stop: Callable[[], bool]) -> Outcome:
        """Do a task in a process, and wait for it.

        Args:
            task: The task.
            must_stop: Returns true if the work has to stop.

        Raises:
            StoppedError: If the work was stopped.
            ProblemError: If it failed.
            ProcessEndedError: If its process ended.
        """
        process = self._take(task, must_stop)
        try:
            with process.in_use(must_stop):
                if task.needs_documents:
                    process.open_documents(self.documents, must_stop)
                outcome: Outcome = process.call("perform", task, must_stop=must_stop)
            return outcome
        except ProcessEndedError:
            if self._closed:
                raise StoppedError from None
            raise
        finally:
            self._give_back(process)

    def close(self) -> None:
        """Kill all processes."""
        with self._lock:
            self._closed = True
            processes, self._all, self._idle = self._all, [], []
        for process in processes:
            process.kill()

    def _take(self, task: Task, must_stop: Callable[[], bool]) -> _WorkerProcess:
        """Return an idle process, with open documents for a search if possible, or a new one."""
        while True:
            with self._lock:
                if self._closed:
                    raise StoppedError
                for process in [one for one in self._idle if not one.is_running]:
                    self._remove(process)
                fitting = [one for one in self._idle if one.has_documents == task.needs_documents]
                if not fitting and len(self._all) < self._most:
                    return self._start()
                if fitting or self._idle:
                    process = (fitting or self._idle)[0]
                    self._idle.remove(process)
                    return process
            if must_stop():
                raise StoppedError
            sleep(_POLL_SECONDS)

    def _give_back(self, process: _WorkerProcess) -> None:
        with self._lock:
            if self._closed:
                return
            if process.is_running:
                self._idle.append(process)
                return
            self._remove(process)
            # Start the next one, and open the documents, before the next request.
            others = any(one.has_documents for one in self._all)
            self._prepare(opens=process.has_documents and not others)

    def _remove(self, process: _WorkerProcess) -> None:
        process.kill()
        self._all.remove(process)
        if process in self._idle:
            self._idle.remove(process)

    def _start(self) -> _WorkerProcess:
        process = _WorkerProcess(self._settings)
        self._all.append(process)
        return process

    def _prepare(self, *, opens: bool) -> None:
        """Start an idle process, and let it open the documents."""
        process = self._start()
        self._idle.append(process)
        process.has_documents = opens

        def open_documents() -> None:
            def must_stop() -> bool:
                return self._closed

            try:
                with process.in_use(must_stop):
                    process.open_documents(self.documents, must_stop)
            except ProcessEndedError as error:
                ended = error.signal_name or f"status {error.code}"
                self.documents.set_failed(f"the process that opens the documents ended: {ended}")
            except (ProblemError, StoppedError):
                return

        if opens:
            threading.Thread(target=open_documents, daemon=True).start()


class _WorkerProcess(ObjectProcess):
    """A worker process with a folder for its temporary files.

    Args:
        settings: The settings of the service.

    Attributes:
        has_documents: True if the documents are open, or are being opened.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.has_documents = False
        self._is_open = False
        self._use = threading.Lock()
        self._folder = tempfile.mkdtemp(prefix="trectools-plus-")
        environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder)}
        super().__init__(Worker, settings, environment=environment)

    @contextlib.contextmanager
    def in_use(self, must_stop: Callable[[], bool]) -> Iterator[None]:
        """Wait until the process has started, and makes no other call.

        Raises:
            StoppedError: If ``must_stop`` returned true meanwhile, which does not end the process.
        """
        self.await_start(must_stop)
        while not self._use.acquire(timeout=_POLL_SECONDS):
            if must_stop():
                raise StoppedError
        try:
            yield
        finally:
            self._use.release()

    def open_documents(self, state: DocumentState, must_stop: Callable[[], bool]) -> None:
        """Open the documents, if they are not open.

        Raises:
            ProblemError: If they cannot be opened.
        """
        if self._is_open:
            return
        self.has_documents = True
        try:
            state.set_open(self.call("open", must_stop=must_stop))
            self._is_open = True
        except ProblemError as error:
            self.has_documents = False
            state.set_failed(error.problem.detail)
            raise

    def kill(self) -> None:
        """End the process, and remove its files."""
        super().kill()
        shutil.rmtree(self._folder, ignore_errors=True)
