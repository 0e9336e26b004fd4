"""The backend ``python``: functions and classes of users or of installed packages."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, Set
from contextlib import contextmanager
from importlib.metadata import entry_points
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from pathlib import Path
from time import perf_counter
from typing import Any

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.plugins import (
    describe_error,
    find_entry_point,
    import_object,
    raise_for_signal,
    working_directory_on_path,
)
from trectools_plus.retrieval.source import (
    Backend,
    BackendRequest,
    Failure,
    Hits,
    Query,
    Ranking,
    Source,
)

ENTRY_POINT_GROUP = "trectools_plus.retrievers"
_ATTEMPTS = 2
_ASYNCHRONOUS = "an asynchronous function is not awaited"

Results = Any
"""A retriever's results for one query: ids, best first; pairs of id and score; a mapping of ids to
scores; or a :class:`~trectools_plus.retrieval.source.Ranking`."""


class PythonBackend(Backend):
    """Retrievers by mode: functions, or objects with a method ``search``.

    Args:
        retrievers: ``module:name``, the name of an entry point, or the object itself, by mode.
    """

    name = "python"

    def __init__(self, retrievers: Mapping[str, Any]) -> None:
        self._retrievers = dict(retrievers)

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
        return {
            "retrievers": {
                mode: given if isinstance(given, str) else _name_of(given)
                for mode, given in self._retrievers.items()
            }
        }

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
        return {mode: _open_retriever(self._retrievers[mode], request) for mode in request.modes}


def _open_retriever(given: Any, request: BackendRequest) -> Source:
    where = given if isinstance(given, str) else _name_of(given)
    remedy = "name a retriever as importable.module:name"
    try:
        with _working_directory():
            retriever = _load_retriever(given) if isinstance(given, str) else given
            if isinstance(retriever, type):
                remedy = "name a class that can be created without arguments"
                retriever = retriever()
            has_search = callable(getattr(retriever, "search", None))
            if has_search and callable(getattr(retriever, "index", None)):
                if request.corpus is None:
                    raise UsageError(
                        "this retriever indexes documents, but none were given",
                        where=where,
                        remedy="give --dataset or --corpus",
                    )
                remedy = "fix the retriever's method index, which raised this error"
                request.progress(f"indexing for {where}", 0, 1)
                retriever.index(request.corpus)
                request.progress(f"indexing for {where}", 1, 1)
    except TrectoolsPlusError:
        raise
    except (Exception, SystemExit) as error:
        raise_for_signal()
        raise UsageError(describe_error(error), where=where, remedy=remedy) from error
    raise_for_signal()
    if iscoroutinefunction(retriever.search if has_search else retriever):
        raise UsageError(
            _ASYNCHRONOUS,
            where=where,
            remedy="name a function that calls it with asyncio.run",
        )
    if has_search:
        return FunctionSource(retriever.search, takes_list=True)
    if not callable(retriever):
        raise UsageError(
            "expected a function, or an object with a method search, but got "
            f"{type(retriever).__name__}",
            where=where,
        )
    return FunctionSource(retriever)


class FunctionSource(Source):
    """Calls a function in the main thread, with one query at a time.

    Args:
        function: Takes a query's text and a depth; or, if ``takes_list``, a list of one text and a
            depth, and returns a list whose only item is the results for that text.
        takes_list: Whether the function has the signature of
            :meth:`~trectools_plus.retrieval.source.Retriever.search`.
    """

    def __init__(self, function: Callable[[Any, int], Any], *, takes_list: bool = False) -> None:
        self._function = function
        self._takes_list = takes_list

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Call the function for each query; call it once more if it raises an error."""
        return [self._search_one(query, depth) for query in queries]

    def _search_one(self, query: Query, depth: int) -> Hits | Failure:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with _working_directory():
                    started = perf_counter()
                    ids, scores = read_results(self._call(query.text, depth))
            except (Exception, SystemExit) as error:
                raise_for_signal()
                reason = describe_error(error)
                continue
            raise_for_signal()
            return Hits(ids, scores, 1000 * (perf_counter() - started), attempt)
        return Failure(reason, lasting=True, attempts=_ATTEMPTS)

    def _call(self, text: str, depth: int) -> Results:
        if not self._takes_list:
            return _refuse_asynchronous(self._function(text, depth))
        answers = list(_refuse_asynchronous(self._function([text], depth)))
        if len(answers) != 1:
            raise TypeError(f"search returned {len(answers)} entries for 1 query")
        return answers[0]


def read_results(results: Results) -> tuple[list[str], list[float] | None]:
    """Return the ids and scores in a retriever's results; no scores if it returned only ids.

    Raises:
        TypeError: If the results have an unsupported type.
    """
    if isinstance(results, Ranking):
        return results.doc_ids, [float(score) for score in results.scores]
    if isinstance(results, Mapping):
        pairs = sorted(results.items(), key=lambda pair: -float(pair[1]))
        return [_read_id(one) for one, _ in pairs], [_read_score(score) for _, score in pairs]
    if isinstance(results, str | bytes) or not isinstance(results, Iterable):
        raise TypeError(f"expected ids, pairs or a mapping but got {_kind(results)}")
    if isinstance(results, Set) and not isinstance(results, Sequence | KeysView):
        raise TypeError("expected ids, best first, but got a set, which has no order")
    if any(hasattr(results, name) for name in ("columns", "keys")):
        # Iterating over a table gives the names of its columns.
        raise TypeError(
            f"expected ids, pairs or a mapping but got a {type(results).__name__}: "
            "return list(zip(ids, scores))"
        )
    items = list(results)
    if not any(isinstance(item, tuple | list) for item in items):
        return [_read_id(item) for item in items], None
    for item in items:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise TypeError(f"expected a pair of id and score but got {_kind(item)}")
    return [_read_id(one) for one, _ in items], [_read_score(score) for _, score in items]


def _load_retriever(name: str) -> Any:
    module_name, colon, object_name = name.partition(":")
    if colon:
        return import_object(module_name, object_name)
    point = find_entry_point(ENTRY_POINT_GROUP, name, "retriever")
    if point is not None:
        return point.load()
    known = ", ".join(sorted(entry_points(group=ENTRY_POINT_GROUP).names))
    raise UsageError(
        f"no installed package registers a retriever '{name}'",
        remedy=f"write module:name{f', or one of {known}' if known else ''}",
    )


@contextmanager
def _working_directory() -> Iterator[None]:
    """Allow imports from the working directory, and return to that directory afterwards."""
    with working_directory_on_path():
        directory = Path.cwd()
        try:
            yield
        finally:
            # Relative paths of output files refer to it.
            os.chdir(directory)


def _refuse_asynchronous(result: Any) -> Any:
    """Return the result of a function; refuse the coroutine of an asynchronous function."""
    if isawaitable(result):
        if iscoroutine(result):
            result.close()  # otherwise Python warns that it was never awaited
        raise TypeError(f"{_ASYNCHRONOUS}: call it with asyncio.run")
    return result


def _name_of(retriever: Any) -> str:
    definition = retriever if hasattr(retriever, "__qualname__") else type(retriever)
    return f"{definition.__module__}:{definition.__qualname__}"


def _read_id(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    try:
        if isinstance(value, bool):
            raise TypeError
        return str(operator.index(value))  # whole numbers of any library
    except TypeError:
        raise TypeError(f"expected an id but got {_kind(value)}") from None


def _read_score(value: Any) -> float:
    if isinstance(value, str | bytes | bool):
        raise TypeError(f"expected a score but got {_kind(value)}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"expected a score but got {_kind(value)}") from None


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {repr(value)[:40]}"
