"""Processes that do the work, so that it can be ended at any time, wherever it is.

A process does one task at a time and is used again. It first gets a chance to stop by itself, at
the next step of its work; if it does not stop soon, it is killed, and the next task gets a new one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from trectools_plus.service.jobs.messages import Message, receive, send
from trectools_plus.service.jobs.task import Outcome, StoppedError, Task
from trectools_plus.service.problems import ProblemError

if TYPE_CHECKING:
    from trectools_plus.progress import Progress
    from trectools_plus.service.api.settings import ServiceSettings

GRACE_SECONDS = 0.5
"""The time in which work may stop by itself before its process is killed."""

_POLL_SECONDS = 0.05
_START_SECONDS = 60.0
_LOG = logging.getLogger("trectools_plus.service")


class EndedError(Exception):
    """The process ended during the work, for example because the system killed it.

    Args:
        code: Its exit status; on POSIX, the negative number of the signal that ended it.
    """

    def __init__(self, code: int | None) -> None:
        super().__init__(f"the process of the work ended with status {code}")
        self.code = code


class DocumentState:
    """The state of the documents of the service, for all its processes.

    Args:
        searches: True if the service has documents.
    """

    def __init__(self, *, searches: bool) -> None:
        self.text = "loading: not started" if searches else "off"
        self.modes: list[str] = []

    @property
    def failed(self) -> bool:
        """True if the documents could not be opened; the service does not try again."""
        return self.text != "off" and not self.modes and not self.text.startswith("loading: ")

    def update(self, message: Message) -> None:
        """Take a message of a worker into account."""
        if message[0] == "opened":
            self.text, self.modes = "ready", message[1]
            _LOG.info("the documents are ready")
        elif not self.modes:  # later processes open the same documents
            self.text = f"loading: {message[1]}" if message[0] == "loading" else message[1]
            if self.failed:
                _LOG.error("the documents cannot be searched: %s", self.text)

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


class Workers:
    """The processes of a service.

    Args:
        settings: The settings of the service.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.documents = DocumentState(searches=settings.searches)
        self._settings = settings
        self._lock = threading.Lock()
        self._closed = True
        self._all: list[_Process] = []
        self._idle: list[_Process] = []

    def open(self) -> None:
        """Start the first process, which opens the documents."""
        with self._lock:
            if not self._closed:
                return
            self._closed = False
            self._start(opens=self._settings.searches, idle=True)

    def do(self, task: Task, report: Progress, must_stop: Callable[[], bool]) -> Outcome:
        """Do a task in a process, and wait for it.

        Args:
            task: The task.
            report: Called with the progress.
            must_stop: Returns true if the work has to stop.

        Raises:
            StoppedError: If the work was stopped.
            ProblemError: If it failed.
            EndedError: If its process ended.
        """
        process = self._take(task)
        try:
            process.await_ready(must_stop, documents=task.needs_documents)
            return process.do(task, report, must_stop)
        except EndedError:
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

    def _take(self, task: Task) -> _Process:
        """Return an idle process; one with open documents for a search, if possible."""
        with self._lock:
            if self._closed:
                raise StoppedError
            for process in [one for one in self._idle if not one.is_running]:
                self._remove(process)
            fitting = [one for one in self._idle if one.opens == task.needs_documents]
            if not fitting and len(self._all) < self._settings.limits.workers:
                return self._start(opens=task.needs_documents, idle=False)
            process = (fitting or self._idle)[0]
            self._idle.remove(process)
            if task.needs_documents:
                process.open()
            return process

    def _give_back(self, process: _Process) -> None:
        with self._lock:
            if self._closed:
                return
            if process.is_running:
                self._idle.append(process)
                return
            self._remove(process)
            # Start the next one, and open the documents, before the next request.
            opens = process.opens and not any(one.opens for one in self._all)
            self._start(opens=opens, idle=True)

    def _remove(self, process: _Process) -> None:
        process.kill()
        self._all.remove(process)
        if process in self._idle:
            self._idle.remove(process)

    def _start(self, *, opens: bool, idle: bool) -> _Process:
        process = _Process(self._settings, self.documents)
        if opens:
            process.open()
        self._all.append(process)
        if idle:
            self._idle.append(process)
        return process


class _Process:
    """A worker process.

    Args:
        settings: The settings of the service.
        documents: Receives the state of the documents.
    """

    def __init__(self, settings: ServiceSettings, documents: DocumentState) -> None:
        self.opens = False
        self._documents = documents
        self._limits = settings.limits
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        self._started, self._opened = threading.Event(), threading.Event()
        self._start_by = monotonic() + _START_SECONDS
        self._folder = tempfile.mkdtemp(prefix="trectools-plus-")
        self._kill_lock = threading.Lock()
        # -P: modules in the working directory must not replace others.
        program = [sys.executable, "-P", "-m", "trectools_plus.service.jobs.worker"]
        environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder)}
        self._child = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self._send(("settings", settings))

    @property
    def is_running(self) -> bool:
        """True if the process has not ended."""
        return self._child.poll() is None

    def open(self) -> None:
        """Begin to open the documents, if this has not begun."""
        if not self.opens:
            self.opens = True
            self._send(("open",))

    def await_ready(self, must_stop: Callable[[], bool], *, documents: bool) -> None:
        """Wait until the process has started; stopping meanwhile does not end it.

        Args:
            must_stop: Returns true if the work has to stop.
            documents: True to wait until the documents are open, too.

        Raises:
            StoppedError: If the work was stopped.
            ProblemError: If the documents cannot be opened.
        """
        for event in [self._started, *([self._opened] if documents else [])]:
            while not event.wait(_POLL_SECONDS):
                if not self._started.is_set() and monotonic() > self._start_by:
                    self.kill()
                if must_stop():
                    raise StoppedError
        if documents:
            self._documents.check()

    def do(self, task: Task, report: Progress, must_stop: Callable[[], bool]) -> Outcome:
        """Do a task, see :meth:`Workers.do`."""
        limits = self._limits
        in_background = task.parameters.get("background")
        self._send(("do", task, limits.job_seconds if in_background else limits.seconds))
        kill_at = None
        while True:
            if kill_at is None and must_stop():
                kill_at = monotonic() + GRACE_SECONDS
                self._send(("stop",))
            elif kill_at is not None and monotonic() > kill_at:
                self.kill()
                raise StoppedError
            with contextlib.suppress(Empty):
                message = self._messages.get(timeout=_POLL_SECONDS)
                if message is None:
                    if kill_at is not None:
                        raise StoppedError
                    raise EndedError(self._child.wait())
                if message[0] == "progress":
                    report(*message[1:])
                    continue
                return _outcome(message)

    def kill(self) -> None:
        """End the process, and remove its files."""
        with self._kill_lock:
            self._child.kill()
            self._child.wait()
            with contextlib.suppress(OSError):
                if self._child.stdin is not None:
                    self._child.stdin.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, message: Message) -> None:
        assert self._child.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # the reader notices the end of the process
            send(self._child.stdin, message)

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as stream:
            while (message := _receive(stream)) is not None:
                if message[0] == "started":
                    self._started.set()
                elif message[0] in ("loading", "opened", "unopened"):
                    self._documents.update(message)
                    if message[0] != "loading":
                        self._opened.set()
                else:
                    self._messages.put(message)
        self._messages.put(None)
        self._started.set()
        self._opened.set()


def _receive(stream: Any) -> Message | None:
    try:
        return receive(stream)
    except (OSError, ValueError):
        return None


def _outcome(message: Message) -> Outcome:
    if message[0] == "stopped":
        raise StoppedError
    if message[0] == "failed":
        _, problem, headers, traceback = message
        if traceback is not None:
            _LOG.error("unexpected error\n%s", traceback)
        raise ProblemError.of(problem, headers)
    outcome: Outcome = message[1]
    return outcome
