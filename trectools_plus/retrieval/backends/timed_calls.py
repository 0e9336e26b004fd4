"""Calls of retrievers that end after a time limit: in another process, or in another thread.

A process can be ended whatever it does; a thread cannot. But only objects that can be imported by
name exist in another process.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from trectools_plus.blas import one_blas_thread
from trectools_plus.distributed.process import ObjectProcess, ProcessEndedError, StoppedError
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.formats.documents import Documents
from trectools_plus.plugins import describe_error, raise_for_signal
from trectools_plus.progress import progress_bar
from trectools_plus.retrieval.backends.retriever import Found, LoadedRetriever
from trectools_plus.retrieval.source import BackendRequest

_POLL_SECONDS = 0.5  # Windows handles no Ctrl-C while a lock is awaited


class RetrieverError(Exception):
    """A call failed for a reason that is described on one line."""


class TimedOutError(RetrieverError):
    """A call was ended because it took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")


def index_documents(
    where: str, request: BackendRequest, index: Callable[[Documents], None]
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


def _get(answers: SimpleQueue[Any], seconds: float) -> Any:
    """Wait for an answer; signals of the main thread are handled meanwhile.

    Raises:
        TimedOutError: If there is none within this time.
    """
    until = monotonic() + seconds
    while True:
        left = min(_POLL_SECONDS, until - monotonic())
        try:
            return answers.get(timeout=max(left, 0.0))
        except Empty:
            raise_for_signal()
            if monotonic() >= until:
                raise TimedOutError(seconds) from None


class RetrieverProcess:
    """A process that runs retrievers; it starts when it is needed, and again after it was ended.

    Args:
        request: The documents for retrievers that index them.
    """

    def __init__(self, request: BackendRequest) -> None:
        self._request = request
        self._process: ObjectProcess | None = None
        self._open: set[str] = set()

    def open(self, name: str) -> None:
        """Import a retriever, and give it the documents if it indexes them.

        Raises:
            UsageError: If the retriever cannot be imported or created, or indexing fails.
        """
        if self._process is None or not self._process.is_running:
            self._open.clear()
        if name in self._open:
            return
        try:
            if self._call("open", name):
                index_documents(
                    name, self._request, lambda documents: self._call("index", name, documents)
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
        found: Found = self._call("search", name, text, depth, seconds=seconds)
        return found

    def close(self) -> None:
        """End the process: at once if a call runs, otherwise after its clean-up."""
        if self._process is not None:
            self._process.close()
        self._process = None

    def _call(self, method: str, *arguments: Any, seconds: float = inf) -> Any:
        if self._process is None or not self._process.is_running:
            self._process = ObjectProcess(_LoadedRetrievers)
        deadline = monotonic() + seconds

        def must_stop() -> bool:
            raise_for_signal()
            return monotonic() >= deadline

        try:
            answer = self._process.call(method, *arguments, must_stop=must_stop)
        except StoppedError:
            raise TimedOutError(seconds) from None
        except ProcessEndedError as error:
            raise RetrieverError(
                f"the retriever ended its process with exit code {error.code}"
                if error.signal_name is None
                else f"the retriever's process was ended by {error.signal_name}"
            ) from None
        raise_for_signal()
        return answer


class _LoadedRetrievers:
    """The retrievers of a process, by name."""

    def __init__(self) -> None:
        self._retrievers: dict[str, LoadedRetriever] = {}
        self._limits = contextlib.ExitStack()
        self._limits.enter_context(progress_bar(style="none"))
        self._searches = False

    def open(self, name: str) -> bool:
        """Import a retriever, and return true if it needs documents."""
        with _described_errors():
            self._retrievers[name] = LoadedRetriever(name)
        return self._retrievers[name].needs_documents

    def index(self, name: str, documents: Documents) -> None:
        """Give the documents to a retriever."""
        with _described_errors():
            self._retrievers[name].index(documents)

    def search(self, name: str, text: str, depth: int) -> Found:
        """Call a retriever for one query."""
        if not self._searches:
            self._limits.enter_context(one_blas_thread())
            self._searches = True
        with _described_errors():
            try:
                return self._retrievers[name].search(text, depth)
            except TrectoolsPlusError as error:
                raise RetrieverError(describe_error(error)) from None


@contextlib.contextmanager
def _described_errors() -> Iterator[None]:
    """Raise errors of the user's code as text, because they may exist in this process only."""
    try:
        yield
    except (TrectoolsPlusError, RetrieverError):
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise RetrieverError(describe_error(error)) from None
