"""A retriever of a user or of an installed package: a function, or an object with ``search``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import entry_points
from inspect import Parameter, iscoroutinefunction, signature
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from trectools_plus.errors import TrectoolsPlusError, UsageError, describe_error
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.formats.interchange.names import normalize
from trectools_plus.plugins import (
    find_entry_point,
    import_object,
    working_directory_on_path,
)
from trectools_plus.retrieval.backends.results import Results, read_results

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
        by_name = free[: len(self._parameters)] != self._parameters
        kinds = _KINDS[1:] if by_name else _KINDS[2:]
        self._named = [one.name for one in self._parameters if one.kind in kinds]
        self.takes_text = _is_query(query) or query.annotation in (str, "str")

    def __call__(self, query: Any, depth: int) -> Any:
        """Call the function.

        Raises:
            Exception: Any error of the function.
        """
        values = {one.name: query if one is self._query else depth for one in self._parameters}
        named = {name: values.pop(name) for name in self._named}
        return self._function(*values.values(), **named)


def _is_query(parameter: Parameter) -> bool:
    return _QUERY.fullmatch(normalize(parameter.name)) is not None


def _is_depth(parameter: Parameter) -> bool:
    return _DEPTH.fullmatch(normalize(parameter.name)) is not None


ENTRY_POINT_GROUP = "trectools_plus.retrievers"
_METHODS = ("retrieve", "invoke", "run")
"""Other names of the method ``search``: of LlamaIndex, LangChain and Haystack."""


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
        methods = () if callable(retriever) else _METHODS
        names = [name for name in ("search", *methods) if hasattr(retriever, name)]
        function = getattr(retriever, names[0]) if names else retriever
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
    point = find_entry_point(ENTRY_POINT_GROUP, name)
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
