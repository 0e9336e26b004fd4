"""A retriever of a user or of an installed package: a function, or an object with ``search``."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from importlib.metadata import entry_points
from inspect import Parameter, iscoroutinefunction, signature
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.formats.interchange.names import RESULT_FIELDS, find_fields, normalize
from trectools_plus.plugins import (
    describe_error,
    find_entry_point,
    import_object,
    working_directory_on_path,
)
from trectools_plus.retrieval.source import Ranking

_QUERY = re.compile(
    r"q|s|(search|query|question|topic|input)?(query|question|text|string|str|term)|topic|input|"
    r"keywords?|utterance|sentence|prompt"
)
"""Names of a parameter that takes the text of one query."""
_DEPTH = re.compile(
    r"k|n|top[kn]?|(max|num|n)k?|depth|limit|number|size|count|cutoff|length|maximum|howmany|"
    r"(max|num|n|numberof|count)(results|hits|docs|documents|rows)|results|hits|rows|"
    r"results?(limit|count|size)|(page|result)?size|(results)?perpage"
)
"""Names of a parameter that takes the number of results."""
_KINDS = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class Call:
    """A call of a function with a query and, if it takes one, the number of results.

    The query is the parameter that is named like one, otherwise the first. A function takes the
    number if a parameter is named like one (``k``, ``top_k``, ``limit`` …), or if a second argument
    is required. Values that ``functools.partial`` sets are never changed.

    Args:
        function: Any callable.
        where: Its name in messages.

    Attributes:
        takes_text: Whether the name or type of the parameter is that of one query.

    Raises:
        UsageError: If it takes no argument, or requires more than these two.
    """

    def __init__(self, function: Callable[..., Any], where: str) -> None:
        try:
            parameters = list(signature(function).parameters.values())
        except (TypeError, ValueError):  # a builtin
            parameters = [Parameter("query", Parameter.POSITIONAL_ONLY)]
        bound = function.keywords if isinstance(function, partial) else {}
        free = [one for one in parameters if one.kind in _KINDS and one.name not in bound]
        takes_rest = any(one.kind is Parameter.VAR_POSITIONAL for one in parameters)
        if not free and takes_rest:
            free = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("query", "k")]
        if not free:
            raise UsageError(
                "the function takes no query", where=where, remedy="define it as (query, k)"
            )
        query = next(filter(_is_query, free), free[0])
        others = [one for one in free if one is not query]
        required = [one for one in others if one.default is Parameter.empty]
        depth = next(filter(_is_depth, others), required[0] if len(required) == 1 else None)
        if names := [one.name for one in required if one is not depth]:
            raise UsageError(
                f"the function requires {', '.join(names)} beside the query and the number of "
                "results",
                where=where,
                remedy="give default values, or set them with functools.partial",
            )
        self._function = function
        self._parameters = [one for one in free if one in (query, depth)]
        self._query = query
        self._by_name = free[: len(self._parameters)] != self._parameters
        self.takes_text = _is_query(query) or query.annotation in (str, "str")

    def __call__(self, query: Any, depth: int) -> Any:
        """Call the function.

        Raises:
            Exception: Any error of the function.
        """
        positional, named = [], {}
        for one in self._parameters:
            value = query if one is self._query else depth
            if one.kind is Parameter.POSITIONAL_ONLY:
                positional.append(value)
            elif one.kind is Parameter.KEYWORD_ONLY or self._by_name:
                named[one.name] = value
            else:
                positional.append(value)
        return self._function(*positional, **named)


def _is_query(parameter: Parameter) -> bool:
    return _QUERY.fullmatch(normalize(parameter.name)) is not None


def _is_depth(parameter: Parameter) -> bool:
    return _DEPTH.fullmatch(normalize(parameter.name)) is not None


ENTRY_POINT_GROUP = "trectools_plus.retrievers"

Results = Any
"""A retriever's results for one query: ids, best first; pairs of id and score; a dictionary of ids
to scores; dictionaries or objects with an id and a score; a data frame; or a
:class:`~trectools_plus.retrieval.source.Ranking`."""

_RESULT_NAMES = frozenset(normalize(name) for names in RESULT_FIELDS.values() for name in names)
_ACCEPTED = "ids, pairs of id and score, dictionaries or a data frame"


class Found(NamedTuple):
    """Results of one call: ids, scores if there are any, and the milliseconds of the call."""

    ids: list[str]
    scores: list[float] | None
    latency_ms: float


class LoadedRetriever:
    """A retriever, ready to be called.

    Args:
        given: ``module:name``, the name of an entry point, or the object itself.

    Attributes:
        needs_documents: Whether :meth:`index` must be called before :meth:`search`.

    Raises:
        UsageError: If it cannot be imported or created, or is not a retriever.
    """

    def __init__(self, given: Any) -> None:
        self._where = name_of(given)
        remedy = "name a retriever as importable.module:name"
        with _one_line_errors(self._where, lambda: remedy), _working_directory():
            retriever = _load(given) if isinstance(given, str) else given
            if isinstance(retriever, type):
                remedy = "name a class that can be created without arguments"
                retriever = retriever()
        has_search = callable(getattr(retriever, "search", None))
        self.needs_documents = has_search and callable(getattr(retriever, "index", None))
        self._retriever = retriever
        function = retriever.search if has_search else retriever
        if iscoroutinefunction(function):
            raise UsageError(
                "an asynchronous function is not awaited",
                where=self._where,
                remedy="name a function that calls it with asyncio.run",
            )
        if not callable(function):
            raise UsageError(
                "expected a function, or an object with a method search, but got "
                f"{type(retriever).__name__}",
                where=self._where,
            )
        self._function = Call(function, self._where)
        self._takes_list = has_search and not self._function.takes_text

    def index(self, documents: DocumentCollection) -> None:
        """Give the documents to the retriever.

        Raises:
            UsageError: If its method ``index`` raises an error.
        """
        remedy = "fix the retriever's method index, which raised this error"
        with _one_line_errors(self._where, lambda: remedy), _working_directory():
            self._retriever.index(documents)

    def search(self, text: str, depth: int) -> Found:
        """Call the retriever for one query.

        Raises:
            Exception: Any error of the retriever; ``TypeError`` for unsupported results.
        """
        with _working_directory():
            started = perf_counter()
            ids, scores = read_results(self._call(text, depth))
            return Found(ids, scores, 1000 * (perf_counter() - started))

    def _call(self, text: str, depth: int) -> Results:
        if not self._takes_list:
            return self._function(text, depth)
        answers = list(self._function([text], depth))
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
        pairs = [(_read_id(one), _read_score(score)) for one, score in results.items()]
        pairs.sort(key=lambda pair: -pair[1])
        return [one for one, _ in pairs], [score for _, score in pairs]
    if hasattr(type(results), "columns"):
        return _read_table(results)
    if isinstance(results, str | bytes) or not isinstance(results, Iterable):
        raise TypeError(f"expected {_ACCEPTED} but got {_kind(results)}")
    if isinstance(results, Set) and not isinstance(results, Sequence | KeysView):
        raise TypeError("expected ids, best first, but got a set, which has no order")
    if hasattr(results, "keys") and not isinstance(results, KeysView):
        # Iterating over it would give its keys.
        raise TypeError(f"expected {_ACCEPTED} but got a {type(results).__name__}")
    items = list(results)
    rows = [_fields_of(item) for item in items]
    if any(row is not None for row in rows):
        return _read_rows(items, rows)
    if not any(isinstance(item, tuple | list) for item in items):
        return [_read_id(item) for item in items], None
    for item in items:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise TypeError(f"expected a pair of id and score but got {_kind(item)}")
    return [_read_id(one) for one, _ in items], [_read_score(score) for _, score in items]


def _read_table(table: Any) -> tuple[list[str], list[float] | None]:
    """Return ids and scores of a data frame, in its order."""
    from trectools_plus.formats.interchange.frames import is_frame

    if not is_frame(table):
        raise TypeError(f"expected {_ACCEPTED} but got a {type(table).__name__}")
    table = table.collect() if hasattr(table, "collect") else table
    names = [str(name) for name in table.columns]
    found = find_fields(names, RESULT_FIELDS)
    if "doc_id" not in found:
        shown = ", ".join(names) or "none"
        raise TypeError(f"expected a table with the columns doc_id and score but got {shown}")
    columns = {
        field: (
            table.iloc[:, place].tolist() if hasattr(table, "iloc") else table[:, place].to_list()
        )
        for field, place in found.items()
    }
    return _read_columns(columns)


def _fields_of(item: Any) -> Mapping[str, Any] | None:
    """Return the fields of a result that is a dictionary or an object; ``None`` for others."""
    if isinstance(item, Mapping):
        return {str(name): value for name, value in item.items()}
    if isinstance(item, str | bytes | int | list):
        return None
    names = (name for name in dir(item) if name[:2] != "__" and normalize(name) in _RESULT_NAMES)
    fields = {name: getattr(item, name) for name in names}
    fields = {name: value for name, value in fields.items() if not callable(value)}
    return fields if "doc_id" in find_fields(fields, RESULT_FIELDS) else None


def _read_rows(
    items: Sequence[Any], rows: Sequence[Mapping[str, Any] | None]
) -> tuple[list[str], list[float] | None]:
    """Return ids and scores of dictionaries or objects, all with the same fields."""
    columns: dict[str, list[Any]] = {}
    for item, row in zip(items, rows, strict=True):
        found = find_fields(row or (), RESULT_FIELDS)
        if row is None or "doc_id" not in found:
            raise TypeError(f"expected a result with doc_id and score but got {_kind(item)}")
        values = list(row.values())
        for field, place in found.items():
            columns.setdefault(field, []).append(values[place])
    for field in ("score", "rank"):
        if field in columns and len(columns[field]) < len(items):
            raise TypeError(f"expected a {field} in every result, but some have none")
    return _read_columns(columns)


def _read_columns(columns: Mapping[str, list[Any]]) -> tuple[list[str], list[float] | None]:
    """Return ids and scores; without scores, in the order of the ranks, if there are any."""
    ids = [_read_id(value) for value in columns["doc_id"]]
    if "score" in columns:
        return ids, [_read_score(value) for value in columns["score"]]
    if "rank" in columns:
        order = [_read_score(value) for value in columns["rank"]]
        ids = [one for _, one in sorted(zip(order, ids, strict=True), key=lambda pair: pair[0])]
    return ids, None


def name_of(given: Any) -> str:
    """Return the name of a retriever for messages and manifests: ``module:name``."""
    if isinstance(given, str):
        return given
    while isinstance(given, partial):
        given = given.func
    definition = given if hasattr(given, "__qualname__") else type(given)
    return f"{definition.__module__}:{definition.__qualname__}"


def _load(name: str) -> Any:
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
def _one_line_errors(where: str, remedy: Callable[[], str]) -> Iterator[None]:
    """Turn an error of the user's code into a usage error."""
    try:
        yield
    except TrectoolsPlusError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(describe_error(error), where=where, remedy=remedy()) from error


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
