"""Runs and qrels in JSON or JSON Lines: one reader for all forms.

Without a form of their own are read::

    {query_id: {doc_id: value}}                       pytrec_eval, ir_measures, ranx, MTEB
    {query_id: [doc_id, …]}                           in rank order; relevant documents in qrels
    {query_id: [[doc_id, value], …]}
    {query_id: [{"doc_id": …, "score": …}, …]}
    {query_id: {"hits": {"hits": [{"_id": …}]}}}      responses of Elasticsearch
    [{"query_id": …, "doc_id": …, "score": …}, …]     or one object per line, or {"data": […]}

Names of fields are those of :mod:`trectools_plus.formats.interchange.names`. The position of an
object has no meaning unless its form says so: a result has a score, a rank or a grade.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import polars as pl

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.columns.decimals import DECIMAL
from trectools_plus.formats.interchange.names import (
    QUERY_IDS,
    SYSTEMS,
    ColumnNames,
    Fields,
    Kind,
    find_fields,
    normalize,
)
from trectools_plus.formats.interchange.table_files import MAX_COLUMNS, Format, HeadedTable, headed
from trectools_plus.formats.jsonl import decode_json
from trectools_plus.text import listed, show


@dataclass(frozen=True, slots=True)
class JsonForm(Format):
    """A form of JSON, known by a key: its marks are the keys of the results of a query.

    A mark is empty if a query is its results.

    Attributes:
        queries: The key of the queries in the document; empty if each object or line is a query.
        arrange: Returns the queries, or else the results of a query, of the object with the key
            and the value of the key. Errors of Python in it mean that the object has another form.
    """

    queries: str = ""
    arrange: Callable[[Any, Any], Any] | None = None

    def values(self, item: dict[str, Any], value: Any) -> Any:
        """Return the queries or results, arranged if they are not the value itself.

        Raises:
            InputError: If values are missing, or there are several.
        """
        try:
            return self.arrange(item, value) if self.arrange else value
        except (LookupError, TypeError, ValueError, AttributeError, StopIteration):
            raise InputError(
                f"a key is that of {self.label}, but an id or list is missing or repeated",
                remedy=_SPLIT,
            ) from None


_VALUE_LISTS = {"scores", "distances", "similarities", "ranks", "grades"}
_JUDGED_LISTS = {"irrelevant", "notrelevant", "nonrelevant", "judged"}
_TEXTS = ("topic", "q", "query", "querytext")
"""Names of ids that are those of texts too."""
_IDS = (*(name for name in map(normalize, QUERY_IDS) if name not in _TEXTS), "id")
_NAME_KEYS = (
    "name the keys of a result: --columns query=KEY,doc_id=KEY,score=KEY (or relevance=KEY)"
)
_SPLIT = "write {query_id: {doc_id: value}} without further levels, and several runs to a file each"
_INCOMPLETE = {"timedout", "failed", "failures", "partialresults", "terminatedearly"}
"""Keys of a response that lacks results, or of its ``_shards`` or ``responseHeader``."""
_NUMBER = re.compile(f"{DECIMAL}|True$|False$")
_SYSTEMS = {*map(normalize, SYSTEMS)}
LISTED = "listed documents have grade 1"
"""The note on qrels that list relevant documents."""
_NOT_JSON = (ValueError, RecursionError)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"(\s*+:\s*+(?=[-0-9NIn"]))?')
"""A string, and the colon before a value of one word if it is a key."""


class UnknownFormError(FormatError):
    """A file is JSON, but no run and no qrels in a known form."""


def read_json(
    text: str, path: str, kind: Kind, columns: ColumnNames | None, forms: Sequence[JsonForm]
) -> HeadedTable:
    """Read a run or qrels.

    Args:
        text: The document, or objects of which each is on one line.
        path: The file.
        kind: The kind of file, which decides the names of fields.
        columns: The keys of some fields.
        forms: The forms, in the order in which their keys are looked for.

    Raises:
        UnknownFormError: If it is not JSON, or has another form; with the line and the reason.
    """
    reader, line, problem = _Reader(kind, columns or {}, forms), 1, ""
    try:
        try:
            reader.add_document(line, decode_json(text))
        except _NOT_JSON as error:
            problem = str(error)
            for line, row in enumerate(text.split("\n"), 1):
                if row.strip():
                    reader.add_document(line, decode_json(row))
            text = ""
        return reader.table(text)
    except _NOT_JSON as error:
        # A document over several lines fails on the first one too.
        what = f"not JSON: {str(error).partition(':')[0] if reader.rows else problem}"
        raise UnknownFormError(what, path=path, line=line, remedy="write the file again") from None
    except InputError as error:
        raise UnknownFormError(error.what, path=path, line=line, remedy=error.remedy) from None


def _by_name(item: dict[str, Any]) -> dict[str, Any]:
    return {normalize(key): value for key, value in reversed(item.items())}


class _Reader:
    """Collects the rows of a document, as texts by the names of columns."""

    def __init__(self, kind: Kind, columns: ColumnNames, forms: Sequence[JsonForm]) -> None:
        self.kind, self.user_columns, self.value = kind, columns, kind.required[-1]
        self.keys = {name: key.removeprefix("-") for name, key in columns.items()}
        own = {name: (key,) for name, key in self.keys.items() if name in kind.fields}
        ids = (*kind.fields["doc_id"], "id", "psg_id")
        fields: Fields = {**kind.fields, **own}
        names = {"query_id": _IDS[:-1], "doc_id": ids, "model": SYSTEMS}
        of_results: Fields = {**kind.fields, **names, **own}
        # Most objects have the same keys.
        self.find_row = lru_cache(256)(lambda names: find_fields(names, fields))
        self.find_result = lru_cache(256)(lambda names: find_fields(names, of_results))
        self.forms = [form for form in forms if form.mark(kind) is not None]
        self.marks = {normalize(mark): form for form in self.forms if (mark := form.mark(kind))}
        self.all_marks = {
            normalize(mark) for form in forms for mark in (form.run, form.qrels) if mark
        }
        self.form = JsonForm("JSON", "")
        self.n_listed = 0
        self.has_queries = False
        self.has_own_ids: set[bool] = set()
        self.rows: list[tuple[int, dict[str, str]]] = []

    def add_document(self, line: int, root: Any) -> None:
        """Add rows, the results of a query, or a dictionary of queries."""
        queries = self._queries_of(root) if isinstance(root, dict) else root
        if not isinstance(queries, dict):
            for item in queries if isinstance(queries, list) else [queries]:
                self.add(line, item)
            return
        for item in [queries, *queries.values()][:2]:
            if isinstance(item, dict) and self.kind.is_complete(self.find_row(tuple(item))):
                raise InputError(
                    "the keys are names of columns, not ids of queries",
                    remedy="write a list of objects, as pandas does with orient='records'",
                )
        for key, value in queries.items():
            self.add(line, value, key)
        if len(self.has_own_ids) > 1:
            raise InputError("expected {query_id: {doc_id: value}}", remedy=_NAME_KEYS)

    def _queries_of(self, root: dict[str, Any]) -> Any:
        """Return the queries or rows of an object: a list, or a dictionary of ids and results."""
        names = _by_name(root)
        for form in self.forms:
            if (key := normalize(form.queries)) and key in names:
                self._results_of(root)  # refuses what is incomplete
                self.form = form
                return form.values(root, names[key])
        is_query = self._row_of(root) is not None or self._results_of(root) is not None
        return root if not is_query and all(map(_is_nested, root.values())) else [root]

    def _unknown(self, item: Any) -> InputError:
        """Return the error for an object that is no row, and has no results."""
        what = f"no query id, document id and {self.value}, or results, in {show(item)}"
        return InputError(what, remedy=f"{_SPLIT}, or {_NAME_KEYS}")

    def add(self, line: int, item: Any, query_id: str | None = None) -> None:
        """Add a row, or the results of a query.

        Args:
            line: The line of the object.
            item: A row, an object that contains the results, or the results of a dictionary.
            query_id: The key of the results in a dictionary.
        """
        if not isinstance(item, dict if query_id is None else list | dict):
            raise self._unknown(item)
        if query_id is None and (row := self._row_of(item)):
            self.rows.append((line, row))
            return
        systems: dict[str, str] = {}
        if isinstance(item, dict) and (query_id is None or any(map(_is_nested, item.values()))):
            results = self._results_of(item)
            if results is None:
                raise self._unknown(item)
            inner = item.get("metadata")
            fields = item | inner if isinstance(inner, dict) else item
            systems = {
                name: str(value)
                for name, value in fields.items()
                if normalize(name) in _SYSTEMS and isinstance(value, str | int)
            }
            item, query_id = results, query_id or self._query_of(item)
        self.has_queries = True
        for position, result in enumerate(item.items() if isinstance(item, dict) else item, 1):
            self._add_result(line, query_id, result, position, systems)

    def _row_of(self, item: Any) -> dict[str, str] | None:
        """Return the texts of a row, without ranks if there are scores; ``None`` for others.

        A row has one value in each of its fields.
        """
        names = tuple(item)
        places = self.find_row(names)
        is_row = not any(_is_nested(item[names[at]]) for at in places.values())
        if not (is_row and self.kind.is_complete(places)):
            return None
        rank = names[places["rank"]] if "rank" in places and self.value in places else None
        return {
            name: _text(value)
            for name, value in item.items()
            if name != rank and not _is_nested(value)
        }

    def _results_of(self, item: Any) -> Any:
        """Return the results in an object, or in the response inside of it."""
        names = _by_name(item)
        for part in (names, *map(names.get, ("shards", "responseheader"))):
            if isinstance(part, dict) and any(map(_by_name(part).get, _INCOMPLETE)):
                raise InputError(
                    "an incomplete response (timed out, partial results, or failures)",
                    remedy="search again",
                )
        for key, form in self.marks.items():
            results = names.get(key)
            if isinstance(results, dict) and any(map(_is_nested, results.values())):
                return self._results_of(results)
            if not _is_nested(results):
                continue
            if values := _VALUE_LISTS & names.keys() | self._lists_beside(names, key):
                raise InputError(
                    f"{key} and {listed(sorted(values))} are separate lists", remedy=_SPLIT
                )
            if self.form.label == "JSON":
                self.form = form
            return form.values(item, results)
        return None

    def _lists_beside(self, names: dict[str, Any], mark: str) -> set[str]:
        """Return the keys of lists beside listed ids: with the values of these ids, or more ids.

        Args:
            names: The values in an object, by normalized key.
            mark: The key of the listed ids.
        """
        if not all(isinstance(result, str | int) for result in names[mark]):
            return set()
        ids = {key for key, form in self.marks.items() if not form.arrange} | _JUDGED_LISTS
        return {
            name
            for name, items in names.items()
            if name != mark
            and items
            and _is_nested(items)
            and (name in ids or (len(items) == len(names[mark]) and name not in self.all_marks))
            and all(
                isinstance(item, str | int) if name in ids else _NUMBER.match(str(item))
                for item in items
            )
        }

    def _query_of(self, item: Any) -> str | None:
        """Return the query id of an object, which may be inside ``query`` or ``metadata``."""
        names = _by_name(item)
        nested = map(names.get, ("metadata", "query", "topic"))
        inner = (_by_name(value) for value in nested if isinstance(value, dict))
        ids = (values.get(name) for values in (names, *inner) for name in _IDS)
        values = (item.get(self.keys.get("query_id")), *ids, *map(names.get, _TEXTS))
        return next((str(value) for value in values if isinstance(value, str | int)), None)

    def _add_result(
        self, line: int, query_id: str | None, item: Any, position: int, systems: dict[str, str]
    ) -> None:
        """Add a document with a value, or one that is listed: it has a rank, and is relevant."""
        values = self._values_of(item, query_id)
        self.has_own_ids.add("query_id" in values)
        if query_id is None and "query_id" not in values:
            raise InputError(
                "results without a query id, as of Elasticsearch's _search",
                remedy="write {query_id: response} for the response of each query, or fetch the "
                "run: trectools-plus runs fetch --engine elasticsearch",
            )
        if self.value in values:
            values.pop("rank", None)
        elif "rank" not in values:
            self.n_listed += 1
            values |= {"rank": str(position)} if "rank" in self.kind.fields else {self.value: "1"}
        values = {"query_id": query_id or "", **systems, **values}
        self.rows.append((line, {self.keys.get(name, name): values[name] for name in values}))

    def _values_of(self, item: Any, query_id: str | None) -> dict[str, str]:
        """Return the fields of a result."""
        if isinstance(item, list | tuple) and len(item) == 2:
            return {"doc_id": _text(item[0]), self.value: _text(item[1])}
        if not isinstance(item, dict):
            return {"doc_id": _text(item)}
        if isinstance(hit := item.get("hit"), dict):
            item = item | hit
        names = tuple(item)
        values = {name: _text(item[names[at]]) for name, at in self.find_result(names).items()}
        if query_id != item.get("query", query_id) and "query_id" not in values:
            raise InputError(f"results of other queries in {query_id!r}", remedy=_NAME_KEYS)
        if not self.kind.is_complete({"query_id", *values}):
            raise InputError(
                f"a result has no document id or no {self.value} (fields: {listed([*item], 8)})",
                remedy=_NAME_KEYS,
            )
        return values

    def table(self, text: str) -> HeadedTable:
        """Return the rows, with the lines of a dictionary of which each row has its own pair."""
        names = list(dict.fromkeys(name for _, row in self.rows for name in row))
        if len(names) > MAX_COLUMNS:
            raise InputError(f"the objects have {len(names):,} different keys", remedy=_NAME_KEYS)
        if self.has_queries and not self.rows:  # queries without results
            names = ["query_id", "doc_id", self.value]
        places = find_fields(names, self.kind.fields, self.user_columns)
        if not self.kind.is_complete(places):
            raise InputError("the document is empty: it has no rows", remedy=_NAME_KEYS)
        lines, has_lines = self._lines_in(text)
        notes = (LISTED,) if self.n_listed and self.value == "relevance" else ()
        columns = [
            pl.Series(name, [row.get(name, "") for _, row in self.rows], pl.String)
            for name in names
        ]
        return headed(
            lines,
            columns,
            self.form.label,
            has_lines=has_lines,
            places=places,
            notes=notes,
        )

    def _lines_in(self, text: str) -> tuple[Sequence[int], bool]:
        """Return the line of each row, and whether it is known."""
        lines = [line for line, _ in self.rows]
        if "\n" not in text.strip():
            return lines, True
        ends = [match.start() for match in re.finditer("\n", text)]
        keys = (match.start() for match in _STRING.finditer(text) if match[1])
        pairs = [bisect(ends, key) + 1 for key in keys]
        is_known = len(pairs) == len(lines)
        return pairs if is_known else lines, is_known


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict)


def _text(value: Any) -> str:
    """Return the text of a value; "" for null."""
    if _is_nested(value):
        raise InputError("expected a number or a text but got one more level", remedy=_SPLIT)
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)
