"""Objects in processes of their own, so that a call of a method can be ended wherever it is.

A process is started with an object, and makes one call after the other. It is ended with all
processes that it started, at the latest when this process ends, also by ``SIGKILL``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import IO, Any

from trectools_plus.progress import Progress, no_progress

_COMMAND = (
    "import sys; sys.path[:] = {}; from trectools_plus.distributed.process import serve; serve({})"
)
_POLL_SECONDS = 0.05
_START_SECONDS = 60.0
END_SECONDS = 2.0
"""Time that an idle process has to clean up when it is no longer needed."""

_Message = tuple[Any, ...]
_CLOSED: _Message = ("closed",)
"""The other end of a pipe is closed."""


class StoppedError(Exception):
    """A call was stopped."""


class ProcessEndedError(Exception):
    """The process ended during a call, for example because the system killed it.

    Args:
        code: Its exit status; on POSIX, the negative number of the signal that ended it.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"the process ended with status {code}")
        self.code = code

    @property
    def signal_name(self) -> str | None:
        """The name of the signal that ended it, for example ``SIGKILL``."""
        if self.code >= 0:
            return None
        names = {number.value: number.name for number in signal.Signals}
        return names.get(-self.code, f"signal {-self.code}")


class ObjectProcess:
    """A process with an object.

    Args:
        create: A class or function that can be imported by name; it makes the object there.
        arguments: Its arguments.
        environment: The environment of the process; that of this process by default.
    """

    def __init__(
        self,
        create: Callable[..., Any],
        *arguments: Any,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._messages: SimpleQueue[_Message] = SimpleQueue()
        self._started = threading.Event()
        self._start_by = monotonic() + _START_SECONDS
        self._ending = threading.Lock()
        self._child = _start_child(environment)
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        for target in (self._listen, self._write_requests):
            threading.Thread(target=target, daemon=True).start()
        self._send((create, arguments))

    @property
    def is_running(self) -> bool:
        """True if the process has not ended."""
        return self._child.poll() is None

    def await_start(self, must_stop: Callable[[], bool]) -> None:
        """Wait until the object is made; to stop meanwhile does not end the process.

        Raises:
            StoppedError: If ``must_stop`` returned true.
        """
        while not self._started.wait(_POLL_SECONDS):
            if monotonic() > self._start_by:
                self.kill()
            if must_stop():
                raise StoppedError

    def call(
        self,
        method: str,
        *arguments: Any,
        must_stop: Callable[[], bool],
        progress: Progress | None = None,
        grace_seconds: float = 0.0,
    ) -> Any:
        """Call a method of the object, and wait for its result.

        Args:
            method: The name of the method.
            arguments: Its arguments, and its result, must be picklable.
            must_stop: Returns true if the call has to end, for example after a time limit. It is
                called all the time, and its errors end the process too.
            progress: Receives the progress, if the method has a last parameter for that.
            grace_seconds: Time in which the method can stop by itself, at its next report of
                progress. Then the process is killed.

        Raises:
            StoppedError: If the call was stopped.
            ProcessEndedError: If the process ended.
            Exception: An error of the method.
        """
        try:
            self._send((method, arguments, progress is not None))
            return self._await_result(must_stop, progress or no_progress, grace_seconds)
        except _RaisedThereError as raised:
            raise raised.error from None
        except BaseException:
            self.kill()
            raise

    def close(self) -> None:
        """End the process: at once if a call runs, otherwise after its clean-up."""
        self._outbox.put(None)  # an idle process ends by itself
        try:
            # The process ends itself within this time, unless it is blocked in C.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(END_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and those that it started, and wait for it."""
        with self._ending:
            if os.name == "posix":
                with contextlib.suppress(OSError):
                    os.killpg(self._child.pid, signal.SIGKILL)
            self._child.kill()
            self._child.wait()
            self._outbox.put(None)

    def _await_result(
        self, must_stop: Callable[[], bool], progress: Progress, grace_seconds: float
    ) -> Any:
        kill_at = None
        while True:
            if kill_at is None and must_stop():
                kill_at = monotonic() + grace_seconds
                self._send(("stop",))
            if kill_at is not None and monotonic() >= kill_at:
                raise StoppedError
            try:
                kind, *values = self._messages.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
            if kind == "result":
                return values[0]
            if kind == "error":
                raise _RaisedThereError(values[0])
            if kind == "progress":
                progress(*values)
            if kind == "closed":
                if kill_at is not None:
                    raise StoppedError
                raise ProcessEndedError(self._exit_status())

    def _exit_status(self) -> int:
        try:
            return self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:  # it cannot be understood
            self.kill()
            return self._child.wait()

    def _send(self, message: _Message) -> None:
        self._outbox.put(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def _write_requests(self) -> None:
        """Write requests in a thread, because a process that hangs does not read them."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError), self._child.stdin as stream:
            while (content := self._outbox.get()) is not None:
                stream.write(content)
                stream.flush()

    def _listen(self) -> None:
        assert self._child.stdout is not None
        for message in _read(self._child.stdout):
            if message[0] == "started":
                self._started.set()
            else:
                self._messages.put(message)
        self._started.set()


class _RaisedThereError(Exception):
    """An error of a method, which does not end the process."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@cache
def _starter() -> ThreadPoolExecutor:
    """The thread that starts processes.

    Linux ends them with the thread that started them, so that thread must not end before.
    """
    return ThreadPoolExecutor(1, thread_name_prefix="start-process")


def _start_child(environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    # Ctrl-C in a terminal must not reach the process, which this process ends.
    options: dict[str, Any] = (
        {"process_group": 0}
        if os.name == "posix"
        else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    )
    program = [sys.executable, "-P", "-c", _COMMAND.format(sys.path, os.getpid())]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, **options
        )

    return _starter().submit(start).result()


def _write(stream: IO[bytes], message: _Message) -> None:
    # Pickle the whole message first: an error must not leave a part of it in the pipe.
    stream.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """Yield messages until the other process closes the stream, and then that it is closed."""
    with contextlib.suppress(Exception), stream:
        while True:
            yield pickle.load(stream)
    yield _CLOSED


def serve(parent: int) -> None:
    """Make the object, and call its methods, until standard input is closed.

    Args:
        parent: The id of the process that makes the requests.
    """
    _end_with(parent)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # The code of the object reads nothing, and writes to stderr.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    create, arguments = pickle.load(requests)
    server = _Server(create(*arguments), answers)
    _write(answers, ("started",))
    threading.Thread(target=server.listen, args=[requests], daemon=True).start()
    server.run()


class _Server:
    """Receives messages in a thread, and calls the methods in the main thread.

    Args:
        target: The object.
        answers: The pipe to the other process.
    """

    def __init__(self, target: Any, answers: IO[bytes]) -> None:
        self._target = target
        self._answers = answers
        self._stop = threading.Event()
        self._reported_at = -_POLL_SECONDS
        self._requests: SimpleQueue[_Message] = SimpleQueue()

    def listen(self, stream: IO[bytes]) -> None:
        for message in _read(stream):
            if message[0] == "stop":
                self._stop.set()
            else:
                self._stop.clear()
                self._requests.put(message)
        # End this process even if the code of the object still runs.
        sleep(END_SECONDS / 2)
        os._exit(1)

    def run(self) -> None:
        while (request := self._requests.get()) is not _CLOSED:
            method, arguments, reports = request
            try:
                further = [self._report] if reports else []
                answer = "result", getattr(self._target, method)(*arguments, *further)
            except Exception as error:
                answer = "error", error
            _write(self._answers, answer)

    def _report(self, description: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise StoppedError
        now = monotonic()
        if now - self._reported_at > _POLL_SECONDS:
            self._reported_at = now
            _write(self._answers, ("progress", description, done, total))


def _end_with(parent: int) -> None:
    """End this process when its parent is killed, also while it is blocked in C."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
