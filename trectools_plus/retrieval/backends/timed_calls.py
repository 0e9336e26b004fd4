"""Calls of retrievers that end after a time limit, in another thread."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable
from contextvars import copy_context
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from trectools_plus.errors import UsageError
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.plugins import describe_error, raise_for_signal
from trectools_plus.retrieval.source import BackendRequest

_POLL_SECONDS = 0.5  # Windows handles no Ctrl-C while a lock is awaited


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
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Any] | None = None
        self._thread: threading.Thread | None = None

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = inf) -> Any:
        """Call a function.

        Args:
            function: The function to call.
            arguments: Its arguments.
            seconds: The time limit.

        Raises:
            TimedOutError: If the time limit is exceeded.
            RetrieverError: If the function raised ``KeyboardInterrupt``.
            BaseException: Any other error of the function.
        """
        if self._calls is None:
            self._calls = SimpleQueue()
            run = copy_context().run  # for example what `without_user_code` refuses
            # A daemon does not keep the process alive.
            self._thread = threading.Thread(target=run, args=[_work, self._calls], daemon=True)
            self._thread.start()
        answers: SimpleQueue[Any] = SimpleQueue()
        self._calls.put((function, arguments, answers))
        try:
            result, error = _get(answers, seconds)
        except BaseException:
            thread = self._thread
            self.close()
            if thread is not None and thread.ident is not None:
                _raise_in(thread.ident)
            raise
        if isinstance(error, KeyboardInterrupt):
            raise RetrieverError(describe_error(error))
        if error is not None:
            raise error
        return result

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
