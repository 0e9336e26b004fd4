"""A retriever of a user or of an installed package: a function, or an object with ``search``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import Parameter, signature
from typing import Any

from trectools_plus.errors import TrectoolsPlusError, UsageError, describe_error
from trectools_plus.formats.interchange.names import normalize
from trectools_plus.formats.tables import Corpus
from trectools_plus.plugins import (
    find_entry_point,
    import_object,
    working_directory_on_path,
)
from trectools_plus.retrieval.backends.results import read_results

_QUERIES = frozenset({"query", "q", "text", "question", "topic", "string", "prompt"})
"""Names of a parameter that takes the text of one query."""
_DEPTHS = frozenset(
    {"k", "n", "topk", "topn", "depth", "limit", "size", "count", "cutoff", "numresults", "numdocs"}
    | {"maxresults", "nresults", "numhits", "maxhits", "pagesize", "results", "similaritytopk"}
)
"""Names of a parameter that takes the number of results, without case and underscores."""
_KINDS = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class Call:
    """A call of a function with a query and, if it takes one, the number of results.

    The query is the first parameter. A function takes the number if a parameter is named like one
    (``k``, ``top_k``, ``limit`` …), or if a second argument is required. Values that
    ``functools.partial`` sets are never changed.

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
        required = [one.name for one in free[1:] if one.default is Parameter.empty]
        if not free or len(required) > 1:
            raise UsageError(
                f"the function requires {', '.join(required)} beside the query"
                if free
                else "the function takes no query",
                where=where,
                remedy="define it as (query, k), and give other parameters default values",
            )
        named = [one for one in free[1:] if normalize(one.name) in _DEPTHS]
        named += [one for one in free[1:] if one.name in required]
        self._function = function
        self._query, self._depth = free[0], next(iter(named), None)
        self.takes_text = self._query.name in _QUERIES or self._query.annotation in (str, "str")

    def __call__(self, query: Any, depth: int) -> Any:
        """Call the function.

        Raises:
            Exception: Any error of the function.
        """
        by_name = self._query.kind is Parameter.KEYWORD_ONLY
        values, named = ([], {self._query.name: query}) if by_name else ([query], {})
        if self._depth is not None and self._depth.kind is Parameter.POSITIONAL_ONLY:
            values.append(depth)
        elif self._depth is not None:
            named[self._depth.name] = depth
        return self._function(*values, **named)


ENTRY_POINT_GROUP = "trectools_plus.retrievers"
_METHODS = ("search", "retrieve", "invoke", "run")
"""The method that searches; the others are those of LlamaIndex, LangChain and Haystack."""


Found = tuple[list[str], list[float] | None]
"""Ids, and scores if there are any."""


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
        with _user_code(
            self._where, "name a retriever as module:name; a class must need no arguments"
        ):
            retriever = _load(given) if isinstance(given, str) else given
            retriever = retriever() if isinstance(retriever, type) else retriever
        has_search = callable(getattr(retriever, "search", None))
        self.needs_documents = has_search and callable(getattr(retriever, "index", None))
        self._retriever = retriever
        methods = _METHODS[:1] if callable(retriever) else _METHODS
        function = next(
            filter(None, (getattr(retriever, name, None) for name in methods)), retriever
        )
        if not callable(function):
            raise UsageError(
                "expected a function, or an object with a method search, but got: "
                f"{type(retriever).__name__}",
                where=self._where,
                remedy="name a function that calls it",
            )
        self._function = Call(function, self._where)
        self._takes_list = has_search and not self._function.takes_text

    def index(self, documents: Corpus) -> None:
        """Give the documents to the retriever.

        Raises:
            UsageError: If its method ``index`` raises an error.
        """
        with _user_code(self._where, "fix the method index, which raised this error"):
            self._retriever.index(documents)

    def search(self, text: str, depth: int) -> Found:
        """Call the retriever for one query.

        Raises:
            Exception: Any error of the retriever; ``TypeError`` for unsupported results.
        """
        with working_directory_on_path():
            if not self._takes_list:
                return read_results(self._function(text, depth))
            answers = list(self._function([text], depth))
            if len(answers) != 1:
                raise TypeError(f"search returned {len(answers)} entries for 1 query")
            return read_results(answers[0])


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
    raise UsageError(
        f"no installed package registers a retriever '{name}'", remedy="write module:name"
    )


@contextmanager
def _user_code(where: str, remedy: str) -> Iterator[None]:
    """Allow imports from the working directory, and turn an error into a usage error."""
    try:
        with working_directory_on_path():
            yield
    except TrectoolsPlusError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(describe_error(error), where=where, remedy=remedy) from error
