"""The backend ``python``: functions and classes of users or of installed packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from time import perf_counter
from typing import Any

from trectools_plus.display import Progress
from trectools_plus.errors import UsageError, describe_error
from trectools_plus.retrieval.backends.retriever import LoadedRetriever, name_of
from trectools_plus.retrieval.backends.timed_calls import CallThread, TimedOutError
from trectools_plus.retrieval.source import (
    Backend,
    Failure,
    FailureKind,
    Hits,
    Query,
    SearchRequest,
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

    def open(self, request: SearchRequest, progress: Progress) -> dict[str, Source]:
        """Import the retrievers, and give the documents to those that index them.

        Raises:
            UsageError: If a mode has no retriever, or one cannot be imported or created.
        """
        sources: dict[str, Source] = {}
        thread = CallThread()
        for mode in request.modes:
            if mode not in self._retrievers:
                known = ", ".join(self._retrievers)
                raise UsageError(f"unknown mode '{mode}'", remedy=f"use one of {known}")
            given = self._retrievers[mode]
            source = sources[mode] = PythonSource(given, mode, self._timeout, thread)
            if not source.retriever.needs_documents:
                continue
            where = name_of(given)
            if request.corpus is None:
                raise UsageError(
                    "this retriever indexes documents, but none were given",
                    where=where,
                    remedy="give --dataset or --corpus",
                )
            progress(f"indexing for {where}", 0, 1)
            source.call(source.retriever.index, request.corpus)
        return sources


class PythonSource(Source):
    """Calls a retriever with one query at a time.

    Args:
        given: The retriever, or its name.
        mode: Its mode.
        timeout: Seconds for one call, if they are limited.
        thread: Makes the calls of retrievers that are given by name, and those with a time limit.
    """

    def __init__(self, given: Any, mode: str, timeout: float | None, thread: CallThread) -> None:
        self._thread, self._is_named, where = thread, isinstance(given, str), name_of(given)
        self._timeout = DEFAULT_TIMEOUT if timeout is None and self._is_named else timeout
        # Messages name the mode, which usually has the function's name.
        self._prefix = "" if mode == re.split("[:.]", where)[-1] else f"{where}: "
        self.retriever: LoadedRetriever = self.call(LoadedRetriever, given)

    def call(self, function: Callable[..., Any], *values: Any, seconds: float | None = None) -> Any:
        """Call a function of the retriever.

        A connection to a database may belong to the thread in which the module is imported.

        Raises:
            BaseException: Any error of the function, and :class:`TimedOutError`.
        """
        if not self._is_named and seconds is None:
            return function(*values)
        # Redirected here, because a thread that hangs would never restore it.
        with redirect_stdout(sys.stderr):
            return self._thread.call(function, *values, seconds=seconds)

    def close(self) -> None:
        """End the thread."""
        self._thread.close()

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Call the retriever for each query; call it once more if it fails."""
        return [self._search_one(query, depth) for query in queries]

    def _search_one(self, query: Query, depth: int) -> Hits | Failure:
        for attempt in range(1, _ATTEMPTS + 1):
            kind: FailureKind = "failed"
            started = perf_counter()
            try:
                ids, scores = self.call(
                    self.retriever.search, query.text, depth, seconds=self._timeout
                )
                return Hits(ids, scores, 1000 * (perf_counter() - started), attempt)
            except TimedOutError as error:
                reason, kind = str(error), "unavailable"
            except (Exception, SystemExit) as error:
                reason = describe_error(error)
        return Failure(self._prefix + reason, kind, lasting=True, attempts=_ATTEMPTS)
