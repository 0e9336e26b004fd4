"""The backend ``python``: functions and classes of users or of installed packages.

A retriever is a function, or an object with ``search``. Its results are ids and scores as libraries
and users write them. Fields are found by name in dictionaries and objects alike, so the documents
of LangChain, the nodes of LlamaIndex, the documents of Haystack, and the hits of search engines
need no code of their own.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from inspect import Parameter, signature
from time import perf_counter
from typing import Any

from trectools_plus.display import Progress
from trectools_plus.errors import TrectoolsPlusError, UsageError, describe_error
from trectools_plus.formats.interchange.frames import is_frame
from trectools_plus.formats.interchange.names import DOC_IDS, SCORES, normalize
from trectools_plus.formats.tables import Corpus
from trectools_plus.plugins import find_entry_point, import_object, working_directory_on_path
from trectools_plus.retrieval.backends.http_client import refuse_incomplete, values_at
from trectools_plus.retrieval.backends.http_mapping import ERRORS
from trectools_plus.retrieval.backends.http_templates import load_presets
from trectools_plus.retrieval.calls import CallThread, TimedOutError
from trectools_plus.retrieval.source import (
    Backend,
    Failure,
    FailureKind,
    Hits,
    Query,
    Ranking,
    SearchRequest,
    Source,
)
from trectools_plus.text import split_list

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
        return {
            "retrievers": {mode: name_of(retriever) for mode, retriever in self._retrievers.items()}
        }

    def open(self, request: SearchRequest, progress: Progress) -> dict[str, Source]:
        """Import the retrievers, and give the documents to those that index them.

        Raises:
            UsageError: If a mode has no retriever, or one cannot be imported or created.
        """
        sources = dict[str, Source]()
        thread = CallThread()
        for mode in request.modes:
            if mode not in self._retrievers:
                raise UsageError(
                    f"unknown mode '{mode}'", remedy=f"use one of {', '.join(self._retrievers)}"
                )
            source = sources[mode] = PythonSource(
                self._retrievers[mode], mode, self._timeout, thread
            )
            if not source.retriever.needs_documents:
                continue
            where = source.retriever.where
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
        self._thread, self._is_named = thread, isinstance(given, str)
        self._timeout = DEFAULT_TIMEOUT if timeout is None and self._is_named else timeout
        self.retriever: LoadedRetriever = self.call(LoadedRetriever, given)
        where = self.retriever.where
        # Messages name the mode, which usually has the function's name.
        self._prefix = "" if mode == re.split("[:.]", where)[-1] else f"{where}: "

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


_QUERIES = frozenset(split_list("query,q,text,question,topic,string,prompt"))
"""Names of a parameter that takes the text of one query."""
_DEPTHS = frozenset(
    split_list(
        "k,n,topk,topn,depth,limit,size,count,cutoff,numresults,numdocs,maxresults,nresults,"
        "numhits,maxhits,pagesize,results,similaritytopk"
    )
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
        free = [
            parameter
            for parameter in parameters
            if parameter.kind in _KINDS and parameter.name not in bound
        ]
        required = [
            parameter.name for parameter in free[1:] if parameter.default is Parameter.empty
        ]
        if not free or len(required) > 1:
            raise UsageError(
                f"the function requires {', '.join(required)} beside the query"
                if free
                else "the function takes no query",
                where=where,
                remedy="define it as (query, k), and give other parameters default values",
            )
        named = [parameter for parameter in free[1:] if normalize(parameter.name) in _DEPTHS]
        named += [parameter for parameter in free[1:] if parameter.name in required]
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
        where: Its name in messages.
        needs_documents: Whether :meth:`index` must be called before :meth:`search`.

    Raises:
        UsageError: If it cannot be imported or created, or is not a retriever.
    """

    def __init__(self, given: Any) -> None:
        self.where = name_of(given)
        with _user_code(
            self.where, "name a retriever as module:name; a class must need no arguments"
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
                where=self.where,
                remedy="name a function that calls it",
            )
        self._function = Call(function, self.where)
        self._takes_list = has_search and not self._function.takes_text

    def index(self, documents: Corpus) -> None:
        """Give the documents to the retriever.

        Raises:
            UsageError: If its method ``index`` raises an error.
        """
        with _user_code(self.where, "fix the method index, which raised this error"):
            self._retriever.index(documents)

    def search(self, text: str, depth: int) -> Found:
        """Call the retriever for one query.

        Raises:
            Exception: Any error of the retriever; ``TypeError`` for unsupported results.
        """
        with working_directory_on_path():
            if not self._takes_list:
                return read_results(self._function(text, depth))
            return read_results(_of_one_query([*self._function([text], depth)]))


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


_PARTS = ("node", "document", "metadata", "meta")
"""Members that may have the id: the node in LlamaIndex, metadata in LangChain and Haystack."""
_ID_NAMES = (
    (*(name for name in DOC_IDS if name.endswith(("id", "no"))), "docid"),
    ("_id", "id", "node_id"),
)
"""Names of ids: those of documents count before others, which can number results."""
_SCORE_NAMES = (*SCORES, "_score")
_LISTS = ("ids", "hits.hits", "documents", "source_nodes", "result.points", "matches")
"""Paths of the list of results in an answer of Chroma, Elasticsearch, Haystack and others."""
_ACCEPTED = (
    "ids, pairs of id and score, {id: score}, results with doc_id and score, or a data frame"
)


def read_results(results: Any) -> Found:
    """Return the ids and scores in a retriever's results; no scores if it returned only ids.

    Args:
        results: The results for one query: ids, best first; pairs of id and score; a dictionary or
            a pandas Series of scores; dictionaries or objects with an id and a score; a data frame;
            an answer of a search engine; the arrays of FAISS; or a
            :class:`~trectools_plus.retrieval.source.Ranking`.

    Raises:
        TypeError: If the results have an unsupported type.
    """
    if isinstance(results, Ranking):
        return results.doc_ids, results.scores.tolist()
    # The client of Elasticsearch returns an object with the answer in its body.
    body = getattr(results, "body", None)
    results = body if isinstance(body, Mapping) else results
    if isinstance(results, Mapping):
        results = _list_in(results)
    if isinstance(results, tuple) and [getattr(part, "ndim", 0) for part in results] == [2, 2]:
        first, second = (_of_one_query(part.tolist()) for part in results)
        if all(isinstance(number, int) for number in second):  # distances and numbers of FAISS
            return [str(number) for number in second if number >= 0], None
        results = zip(first, second, strict=True)  # documents and scores of bm25s
    if is_frame(results):
        results = results.to_dict("records") if hasattr(results, "iloc") else results.to_dicts()
    elif isinstance(results, Mapping) or hasattr(results, "iloc"):
        scored = [(doc_id, _read_score(score)) for doc_id, score in results.items()]
        results = sorted(scored, key=lambda pair: -pair[1])
    is_odd = isinstance(results, str | bytes | set | frozenset) or hasattr(type(results), "columns")
    if is_odd or not isinstance(results, Iterable):
        raise TypeError(f"expected {_ACCEPTED} but got {_kind(results)}")
    pairs = [_read_result(item) for item in results]
    scores = [score for _, score in pairs if score is not None]
    if 0 < len(scores) < len(pairs):
        raise TypeError("expected a score in every result, but some have none")
    return [doc_id for doc_id, _ in pairs], scores or None


def _list_in(answer: Mapping[str, Any]) -> Any:
    """Return the list of results in the answer of a search engine; other values unchanged.

    Raises:
        AnswerError: If the answer reports an error or is incomplete.
    """
    for path in _LISTS:
        for results in values_at(answer, path):
            if isinstance(results, list):
                refuse_incomplete(answer, (*ERRORS, *load_presets()["elasticsearch"]["incomplete"]))
                return _pair_distances(results, answer) if path == "ids" else results
    return answer


def _pair_distances(ids: list[Any], answer: Mapping[str, Any]) -> list[Any]:
    """Return the ids in an answer of Chroma, with their negated distances if it has them."""
    of_query = _of_one_query(ids) if ids and isinstance(ids[0], list) else ids
    distances = answer.get("distances")
    if not distances:
        return of_query
    return [*zip(of_query, (-value for value in _of_one_query(distances)), strict=True)]


def _of_one_query(results: Sequence[Any]) -> Any:
    """Return the results for the only query."""
    if len(results) != 1:
        raise TypeError(f"expected the results for 1 query but got {len(results)} entries")
    return results[0]


def _read_result(item: Any) -> tuple[str, float | None]:
    """Return the id and the score of a result; ``None`` if it has no score."""
    if isinstance(item, tuple | list) and not hasattr(item, "_fields"):
        if len(item) != 2:
            raise TypeError(f"expected a pair of id and score but got {_kind(item)}")
        return _read_id(item[0]), _read_score(item[1])
    score = _member(item, _SCORE_NAMES)
    return _read_id(item), None if score is None else _read_score(score)


def _read_id(item: Any) -> str:
    """Return the id in a result or in one of its parts, or the result itself."""
    parts = [item, *(_member(item, [name]) for name in _PARTS)]
    members = (_member(part, names) for names in _ID_NAMES for part in parts)
    value = next((value for value in members if value is not None), item)
    if isinstance(value, str):
        return str(value)
    try:
        if isinstance(value, bool):
            raise TypeError
        return str(operator.index(value))  # whole numbers of any library
    except TypeError:
        raise TypeError(f"expected an id but got {_kind(value)} — return {_ACCEPTED}") from None


def _member(item: Any, names: Sequence[str]) -> Any:
    """Return the first member of a dictionary or object with one of these names, if any."""
    for name in names:
        value = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
        if value is not None and not callable(value):
            return value
    return None


def _read_score(value: Any) -> float:
    if isinstance(value, str | bytes | bool) or not hasattr(value, "__float__"):
        raise TypeError(f"expected a score but got {_kind(value)}")
    return float(value)


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {repr(value)[:40]}"
