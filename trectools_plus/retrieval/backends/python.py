"""The backend ``python``: functions and classes of users or of installed packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from typing import Any

from trectools_plus.blas import one_blas_thread
from trectools_plus.errors import UsageError
from trectools_plus.plugins import describe_error, raise_for_signal
from trectools_plus.retrieval.backends.retriever import Found, LoadedRetriever, name_of
from trectools_plus.retrieval.backends.timed_calls import (
    CallThread,
    RetrieverError,
    TimedOutError,
    index_documents,
)
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

    Retrievers that are given by name are imported and called by another thread, with a time limit.
    Objects are called by the calling thread; with a timeout, by another thread.

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
        thread = CallThread()
        try:
            return {mode: self._open_retriever(mode, request, thread) for mode in request.modes}
        except BaseException:
            thread.close()
            raise

    def _open_retriever(self, mode: str, request: BackendRequest, thread: CallThread) -> Source:
        given = self._retrievers[mode]
        where = name_of(given)
        # Messages name the mode, which usually has the function's name.
        named = "" if mode == re.split("[:.]", where)[-1] else f"{where}: "
        is_named = isinstance(given, str)
        seconds = self._timeout or (DEFAULT_TIMEOUT if is_named else None)
        # One thread imports modules and calls their functions, whose objects may belong to it.
        call = thread.call if is_named else _call_here
        with redirect_stdout(sys.stderr) if is_named else nullcontext():
            retriever = call(LoadedRetriever, given)
            if retriever.needs_documents:
                index_documents(where, request, partial(call, retriever.index))
        if seconds is None:
            return FunctionSource(retriever.search, named=named)

        def search(text: str, depth: int) -> Found:
            with redirect_stdout(sys.stderr) if is_named else nullcontext(), one_blas_thread():
                found: Found = thread.call(retriever.search, text, depth, seconds=seconds)
            return found

        return FunctionSource(search, thread.close, named)


def _call_here(function: Callable[..., Any], *arguments: Any) -> Any:
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
            except RetrieverError as error:
                reason = str(error)
            except (Exception, SystemExit) as error:
                raise_for_signal()
                reason = describe_error(error)
            else:
                raise_for_signal()
                return Hits(found.ids, found.scores, found.latency_ms, attempt)
        return Failure(self._named + reason, kind, lasting=True, attempts=_ATTEMPTS)
