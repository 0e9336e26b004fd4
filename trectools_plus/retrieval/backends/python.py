"""The backend ``python``: functions and classes of users or of installed packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from time import perf_counter
from typing import Any

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

    @property
    def facts(self) -> dict[str, Any]:
        """The retrievers' names."""
        return {"retrievers": {mode: name_of(given) for mode, given in self._retrievers.items()}}

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Import the retrievers, and give the documents to those that index them.

        Raises:
            UsageError: If a mode has no retriever, or one cannot be imported or created.
        """
        for mode in request.modes:
            if mode not in self._retrievers:
                known = ", ".join(self._retrievers)
                raise UsageError(f"unknown mode '{mode}'", remedy=f"use one of {known}")
        thread = CallThread()
        return {mode: self._open_retriever(mode, request, thread) for mode in request.modes}

    def _open_retriever(self, mode: str, request: BackendRequest, thread: CallThread) -> Source:
        given = self._retrievers[mode]
        where = name_of(given)
        # Messages name the mode, which usually has the function's name.
        named = "" if mode == re.split("[:.]", where)[-1] else f"{where}: "
        seconds, is_named = self._timeout, isinstance(given, str)
        if seconds is None and is_named:
            seconds = DEFAULT_TIMEOUT

        def call(function: Callable[..., Any], *values: Any, limit: float | None = None) -> Any:
            # A connection to a database may belong to the thread in which the module is imported.
            if not is_named and limit is None:
                return function(*values)
            # Redirected here, because a thread that hangs would never restore it.
            with redirect_stdout(sys.stderr):
                return thread.call(function, *values, seconds=limit)

        retriever: LoadedRetriever = call(LoadedRetriever, given)
        if retriever.needs_documents:
            if request.corpus is None:
                raise UsageError(
                    "this retriever indexes documents, but none were given",
                    where=where,
                    remedy="give --dataset or --corpus",
                )
            request.progress(f"indexing for {where}", 0, 1)
            call(retriever.index, request.corpus)
        return FunctionSource(partial(call, retriever.search, limit=seconds), thread.close, named)


class FunctionSource(Source):
    """Calls a function with one query at a time.

    Args:
        search: Takes a query's text and a depth.
        close: Called at the end.
        named: The start of each reason of a failure: the name of the function.
    """

    def __init__(
        self, search: Callable[[str, int], Found], close: Callable[[], None], named: str
    ) -> None:
        self._search = search
        self._named = named
        self.close = close  # type: ignore[method-assign]

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Call the function for each query; call it once more if it fails."""
        return [self._search_one(query, depth) for query in queries]

    def _search_one(self, query: Query, depth: int) -> Hits | Failure:
        for attempt in range(1, _ATTEMPTS + 1):
            kind: FailureKind = "failed"
            started = perf_counter()
            try:
                ids, scores = self._search(query.text, depth)
                return Hits(ids, scores, 1000 * (perf_counter() - started), attempt)
            except TimedOutError as error:
                reason, kind = str(error), "unavailable"
            except (Exception, SystemExit) as error:
                reason = describe_error(error)
        return Failure(self._named + reason, kind, lasting=True, attempts=_ATTEMPTS)
