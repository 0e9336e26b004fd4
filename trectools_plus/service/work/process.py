"""Objects in processes of their own, so that a call of a method can be ended wherever it is.

A process is started with an object, and makes one call after the other. It is ended with this
process at the latest: on Linux at once, elsewhere when its call has ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import IO, Any

_COMMAND = (
    "import sys; sys.path[:] = {}; from trectools_plus.service.work.process import serve; serve({})"
)
_POLL_SECONDS = 0.05


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
        environment: The environment of the process.
    """

    def __init__(
        self, create: Callable[..., Any], *arguments: Any, environment: Mapping[str, str]
    ) -> None:
        # Linux ends the process with the thread that starts it. The same thread waits for answers.
        self._thread = ThreadPoolExecutor(1)
        self._child = self._thread.submit(_start_child, environment).result()
        self._start = self._thread.submit(self._ask, create, arguments)

    @property
    def is_running(self) -> bool:
        """True if the process has not ended."""
        return self._child.poll() is None

    def await_start(self, must_stop: Callable[[], bool]) -> None:
        """Wait until the object is made; to stop meanwhile does not end the process.

        Raises:
            StoppedError: If ``must_stop`` returned true.
        """
        _wait(self._start, must_stop)

    def call(self, method: str, *arguments: Any, must_stop: Callable[[], bool]) -> Any:
        """Call a method of the object, and wait for its result.

        Args:
            method: The name of the method.
            arguments: Its arguments, and its result, must be picklable.
            must_stop: Returns true if the call has to end, for example after a time limit. It is
                called all the time, and its errors end the process too.

        Raises:
            StoppedError: If the call was stopped, which kills the process.
            ProcessEndedError: If the process ended.
            Exception: An error of the method.
        """
        try:
            answer = self._thread.submit(self._ask, method, arguments)
            _wait(answer, must_stop)
            succeeded, result = answer.result()
        except (OSError, EOFError, pickle.UnpicklingError, RuntimeError):
            self.kill()
            raise ProcessEndedError(self._child.returncode) from None
        except BaseException:
            self.kill()
            raise
        if not succeeded:
            raise result
        return result

    def kill(self) -> None:
        """End the process, and wait for it."""
        self._child.kill()
        self._child.wait()
        self._thread.shutdown()  # a call that runs ends now
        for stream in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):  # of a request that was not read
                if stream is not None:
                    stream.close()

    def _ask(self, *message: Any) -> Any:
        requests, answers = self._child.stdin, self._child.stdout
        assert requests is not None
        assert answers is not None
        _send(requests, message)
        return pickle.load(answers)


def _wait(answer: Future[Any], must_stop: Callable[[], bool]) -> None:
    while not wait([answer], _POLL_SECONDS).done:
        if must_stop():
            raise StoppedError


def _start_child(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # Ctrl-C in a terminal must not reach the process, which this process ends.
    options: dict[str, Any] = (
        {"process_group": 0}
        if os.name == "posix"
        else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    )
    program = [sys.executable, "-P", "-c", _COMMAND.format(sys.path, os.getpid())]
    return subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, **options
    )


def _send(stream: IO[bytes], message: object) -> None:
    # Pickle the whole message first: an error must not leave a part of it in the pipe.
    stream.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    stream.flush()


def serve(parent: int) -> None:
    """Make the object, and call its methods, until standard input is closed.

    Args:
        parent: The id of the process that makes the requests.
    """
    if sys.platform == "linux":  # also while this process is stopped, or busy in C
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            return
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # The code of the object reads nothing, and writes to stderr.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    create, arguments = pickle.load(requests)
    target = create(*arguments)
    _send(answers, None)
    with contextlib.suppress(EOFError):
        while True:
            method, arguments = pickle.load(requests)
            try:
                answer = True, getattr(target, method)(*arguments)
            except Exception as error:
                answer = False, error
            _send(answers, answer)
