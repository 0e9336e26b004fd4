"""Calls of retrievers that end after a time limit: in another process, or in another thread.

A process can be ended whatever it does; a thread cannot. But only objects that can be imported by
name exist in another process.
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
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, BinaryIO

from trectools_plus.blas import one_blas_thread
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.plugins import describe_error, raise_for_signal
from trectools_plus.progress import progress_bar
from trectools_plus.retrieval.backends.retriever import Found, LoadedRetriever
from trectools_plus.retrieval.source import BackendRequest

_COMMAND = (
    "import sys; sys.path[:] = {}; "
    "from trectools_plus.retrieval.backends.timed_calls import serve; serve({})"
)
_POLL_SECONDS = 0.5  # Windows handles no Ctrl-C while a lock is awaited
_END_SECONDS = 2.0
"""Time that the user's code has to end when its process is no longer needed."""
_CLOSED = object()


class RetrieverError(Exception):
    """A call failed for a reason that is described on one line."""


class TimedOutError(RetrieverError):
    """A call was ended because it took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")


def index_documents(
    where: str, request: BackendRequest, index: Callable[[DocumentCollection], None]
) -> None:
    """Give the documents of a request to a retriever, with progress.

    Raises:
        UsageError: If there are no documents, or indexing fails.
    """
    if request.corpus is None:
        raise UsageError(
            "this retriever indexes documents, but none were given",
            where=where,
            remedy="give --dataset or --corpus",
        )
    request.progress(f"indexing for {where}", 0, 1)
    index(request.corpus)
    request.progress(f"indexing for {where}", 1, 1)


class CallThread:
    """Makes calls in another thread, one at a time.

    If a call takes too long, an error is raised in its thread, which has an effect as soon as the
    thread runs Python code; the next call is made in a new thread.

    Args:
        function: The function to call.
        seconds: The time limit of one call.
    """

    def __init__(self, function: Callable[[str, int], Found], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._calls: SimpleQueue[Any] | None = None
        self._thread: threading.Thread | None = None

    def call(self, text: str, depth: int) -> Found:
        """Call the function.

        Raises:
            TimedOutError: If the time limit is exceeded.
            BaseException: Any error of the function.
        """
        if self._calls is None:
            self._calls = SimpleQueue()
            # A daemon does not keep the process alive.
            self._thread = threading.Thread(target=_work, args=[self._calls], daemon=True)
            self._thread.start()
        answers: SimpleQueue[Any] = SimpleQueue()
        self._calls.put((self._function, (text, depth), answers))
        try:
            result, error = _get(answers, self._seconds)
        except BaseException:
            thread = self._thread
            self.close()
            if thread is not None and thread.ident is not None:
                _raise_in(thread.ident)
            raise
        if error is not None:
            raise error
        found: Found = result
        return found

    def close(self) -> None:
        """End the thread as soon as its call ends."""
        if self._calls is not None:
            self._calls.put(None)
        self._calls = self._thread = None


def _work(calls: SimpleQueue[Any]) -> None:
    """Make the calls of a thread."""
    with contextlib.suppress(SystemExit):  # raised by `_raise_in` after the call
        while (call := calls.get()) is not None:
            function, arguments, answers = call
            try:
                answers.put((function(*arguments), None))
            except BaseException as error:  # raised again in the calling thread
                answers.put((None, error))


def _raise_in(thread_id: int) -> None:
    """Raise an error in another thread, where the interpreter can."""
    api = getattr(ctypes, "pythonapi", None)
    if api is not None:
        api.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(SystemExit))


def _get(answers: SimpleQueue[Any], seconds: float | None) -> Any:
    """Wait for an answer; signals of the main thread are handled meanwhile.

    Raises:
        TimedOutError: If there is none within this time.
    """
    until = None if seconds is None else monotonic() + seconds
    while True:
        left = _POLL_SECONDS if until is None else min(_POLL_SECONDS, until - monotonic())
        try:
            return answers.get(timeout=max(left, 0.0))
        except Empty:
            raise_for_signal()
            if seconds is not None and until is not None and monotonic() >= until:
                raise TimedOutError(seconds) from None


class RetrieverProcess:
    """A process that runs retrievers; it starts when it is needed, and again after it was ended.

    Args:
        request: The documents for retrievers that index them.
    """

    def __init__(self, request: BackendRequest) -> None:
        self._request = request
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._open: set[str] = set()

    def open(self, name: str) -> None:
        """Import a retriever, and give it the documents if it indexes them.

        Raises:
            UsageError: If the retriever cannot be imported or created, or indexing fails.
        """
        if name in self._open:
            return
        try:
            if self._exchange("open", name):
                index_documents(
                    name, self._request, lambda documents: self._exchange("index", name, documents)
                )
        except RetrieverError as error:
            remedy = "fix the retriever, whose process ended while it was opened"
            raise UsageError(str(error), where=name, remedy=remedy) from error
        self._open.add(name)

    def search(self, name: str, text: str, depth: int, seconds: float) -> Found:
        """Call a retriever; if it was ended, start it again first.

        Raises:
            TimedOutError: If the call took longer than ``seconds``; it was ended.
            RetrieverError: If the call raised an error, or ended the process.
            UsageError: If the retriever cannot be started again.
        """
        self.open(name)
        return Found(*self._exchange("search", name, text, depth, seconds=seconds))

    def close(self) -> None:
        """End the process: at once if a call runs, otherwise after its clean-up."""
        process, self._process = self._process, None
        self._open.clear()
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()  # an idle process ends by itself
        try:
            # The process ends itself within this time, unless it is blocked in C.
            process.wait(_END_SECONDS)
        except BaseException as error:
            _kill(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
        else:
            _kill(process)  # processes that the user's code started

    def _kill(self) -> None:
        process, self._process = self._process, None
        self._open.clear()
        if process is not None:
            _kill(process)

    def _exchange(self, *request: Any, seconds: float | None = None) -> Any:
        """Send a request, and return the answer."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            with contextlib.suppress(OSError):  # it ended, which its answers show
                pickle.dump(request, process.stdin, pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
            answer = _get(self._answers, seconds)
        except BaseException:
            self._kill()
            raise
        raise_for_signal()
        if answer is _CLOSED:
            code = process.wait()
            self._kill()
            raise RetrieverError(_describe_end(code))
        result, error = answer
        if isinstance(error, TrectoolsPlusError):
            raise error
        if error is not None:
            raise RetrieverError(error)
        return result

    def _start(self) -> subprocess.Popen[bytes]:
        self._answers = SimpleQueue()
        # Ctrl-C in a terminal must not reach the process, which this process ends.
        options: dict[str, Any] = (
            {"process_group": 0}
            if os.name == "posix"
            else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        )
        self._process = process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND.format(sys.path, os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **options,
        )
        assert process.stdout is not None
        threading.Thread(target=_receive, args=[process.stdout, self._answers], daemon=True).start()
        return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started, and wait for it."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _describe_end(code: int) -> str:
    if code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"the retriever's process was ended by {names.get(-code, f'signal {-code}')}"
    return f"the retriever ended its process with exit code {code}"


def _receive(stream: BinaryIO, messages: SimpleQueue[Any]) -> None:
    """Read messages until the other process closes the stream, and report that."""
    with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError), stream:
        while True:
            messages.put(pickle.load(stream))
    messages.put(_CLOSED)


def serve(parent: int) -> None:
    """Answer the requests on standard input, until it is closed.

    Args:
        parent: The id of the process that sends the requests.
    """
    _end_with(parent)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # The user's code reads nothing, and writes to stderr.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    inbox: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive_requests, args=[requests, inbox], daemon=True).start()
    retrievers: dict[str, LoadedRetriever] = {}
    with contextlib.ExitStack() as limits, progress_bar(style="none"):
        searches = False
        while (request := inbox.get()) is not _CLOSED:
            if request[0] == "search" and not searches:
                limits.enter_context(one_blas_thread())
                searches = True
            answer = _answer(retrievers, *request)
            answers.write(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
            answers.flush()


def _receive_requests(stream: BinaryIO, inbox: SimpleQueue[Any]) -> None:
    """Pass on requests; at their end, end this process even if the user's code still runs."""
    _receive(stream, inbox)
    sleep(_END_SECONDS / 2)
    os._exit(1)


def _answer(retrievers: dict[str, LoadedRetriever], kind: str, name: str, *values: Any) -> Any:
    """Return a result and ``None``, or ``None`` and an error."""
    try:
        if kind == "open":
            retrievers[name] = LoadedRetriever(name)
            return retrievers[name].needs_documents, None
        if kind == "index":
            retrievers[name].index(*values)
            return None, None
        return tuple(retrievers[name].search(*values)), None
    except TrectoolsPlusError as error:
        return None, (error if kind != "search" else describe_error(error))
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return None, describe_error(error)


def _end_with(parent: int) -> None:
    """End this process when its parent is killed, also while it is blocked in C."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
