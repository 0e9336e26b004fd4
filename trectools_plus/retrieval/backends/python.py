"""The backend ``python``: functions and classes of users or of installed packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any, TypeVar

from trectools_plus.errors import UsageError, describe_error
from trectools_plus.retrieval.backends.retriever import Found, LoadedRetriever, name_of
from trectools_plus.retrieval.backends.timed_calls import CallThread, TimedOutError
from trectools_plus.retrieval.source import (
    Backend,
    BackendRequest,
    Failure,
    FailureKind,
    Hits,
    Query,
    Source,
)

DEFAULT_TIMEOUT = 30.0
"""Seconds for one call of a retriever that is given by name."""
_ATTEMPTS = 2

Result = TypeVar("Result")


class PythonBackend(Backend):
    """Retrievers by mode: functions, or objects with a method ``search``.

    Retrievers that are given by name are imported and called in another thread, which is abandoned
    if a call takes too long. Objects are called by the calling thread; with a timeout, by another.

    Args:
        retrievers: ``module:name``, the name of an entry point, or the object itself, by mode.
        timeout: Seconds for one call, above 0. By default 30 for names, and no limit for objects.

    Raises:
        UsageError: If the timeout is not above 0.
    """

    name = "python"

    def __init__(self, retrievers: Mapping[str, Any], timeout: float | None = None) -> None:
        if timeout is not None and not timeout > 0:
            raise UsageError(f"expected a timeout above 0 seconds but got {timeout:g}")
        self._retrievers = dict(retrievers)
        self._timeout = timeout

    @classmethod
    def check_modes(cls, modes: Sequence[str], setting: Any = None) -> None:
        """Check the names of the requested modes; each must be the name of a retriever."""
        super().check_modes(modes, setting)
        for mode in modes:
            if mode not in setting:
                raise UsageError(
                    f"unknown mode '{mode}'", remedy=f"use one of {', '.join(setting)}"
                )

    @property
    def facts(self) -> dict[str, Any]:
        """The retrievers' names."""
        return {"retrievers": {mode: name_of(given) for mode, given in self._retrievers.items()}}

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Import the retrievers, and give the documents to those that index them.

        Raises:
            UsageError: If a mode has no retriever, or one cannot be imported or created.
        """
        unknown = [mode for mode in request.modes if mode not in self._retrievers]
        if unknown:
            raise UsageError(
                f"no retriever is named '{unknown[0]}'",
                remedy=f"use one of {', '.join(self._retrievers)}",
            )
        thread = QuietThread()
        return {mode: self._open_retriever(mode, request, thread) for mode in request.modes}

    def _open_retriever(self, mode: str, request: BackendRequest, thread: QuietThread) -> Source:
        given = self._retrievers[mode]
        where = name_of(given)
        # Messages name the mode, which usually has the function's name.
        named = "" if mode == re.split("[:.]", where)[-1] else f"{where}: "
        seconds = self._timeout
        if seconds is None and isinstance(given, str):
            seconds = DEFAULT_TIMEOUT
        # A connection to a database may belong to the thread in which the module is imported.
        call = thread.call if isinstance(given, str) else _call_here
        retriever = call(LoadedRetriever, given)
        if retriever.needs_documents:
            if request.corpus is None:
                raise UsageError(
                    "this retriever indexes documents, but none were given",
                    where=where,
                    remedy="give --dataset or --corpus",
                )
            request.progress(f"indexing for {where}", 0, 1)
            call(retriever.index, request.corpus)
            request.progress(f"indexing for {where}", 1, 1)
        if seconds is None:
            return FunctionSource(retriever.search, named=named)

        def search(text: str, depth: int) -> Found:
            return thread.call(retriever.search, text, depth, seconds=seconds)

        return FunctionSource(search, thread.close, named)


class QuietThread(CallThread):
    """Makes calls whose printed text goes to stderr."""

    def call(
        self, function: Callable[..., Result], *arguments: Any, seconds: float | None = None
    ) -> Result:
        """Call a function; see :meth:`CallThread.call`."""
        # Here, because a thread that hangs would never restore it.
        with redirect_stdout(sys.stderr):
            return super().call(function, *arguments, seconds=seconds)


def _call_here(function: Callable[..., Result], *arguments: Any) -> Result:
    return function(*arguments)


class FunctionSource(Source):
    """Calls a function with one query at a time.

    Args:
        search: Takes a query's text and a depth.
        close: Called at the end.
        named: The start of each reason of a failure: the name of the function.
    """

    def __init__(
        self,
        search: Callable[[str, int], Found],
        close: Callable[[], None] | None = None,
        named: str = "",
    ) -> None:
        self._search = search
        self._close = close
        self._named = named

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Call the function for each query; call it once more if it fails."""
        return [self._search_one(query, depth) for query in queries]

    def close(self) -> None:
        """End the thread of the function."""
        if self._close is not None:
            self._close()

    def _search_one(self, query: Query, depth: int) -> Hits | Failure:
        for attempt in range(1, _ATTEMPTS + 1):
            kind: FailureKind = "failed"
            try:
                found = self._search(query.text, depth)
            except TimedOutError as error:
                reason, kind = str(error), "unavailable"
            except (Exception, SystemExit) as error:
                reason = describe_error(error)
            else:
                return Hits(found.ids, found.scores, found.latency_ms, attempt)
        return Failure(self._named + reason, kind, lasting=True, attempts=_ATTEMPTS)
