"""Runs and qrels in JSON or JSON Lines: one reader, and a row for each form.

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

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import polars as pl

from trectools_plus.formats.interchange.names import (
    QUERY_IDS,
    ColumnNames,
    Fields,
    Kind,
    find_fields,
    normalize,
)
from trectools_plus.formats.interchange.table_files import HeadedTable, Header, unjudged
from trectools_plus.text import listed

Value: TypeAlias = "str | _Object | list[Value] | bool | None"

_NO_QUERY = (
    "write {query_id: response} for the response of each query, or fetch the run: "
    "trectools-plus runs fetch --engine elasticsearch"
)


@dataclass(frozen=True, slots=True)
class JsonForm:
    """A form of JSON, known by a key.

    Attributes:
        label: Its name.
        run: The key of the results of a query, or a path with points; empty if runs do not have
            this form, or a query is its results.
        qrels: The key of the judgments of a query.
        queries: The path to the queries in the document; empty if each object or line is a query.
            ``*`` is the only key besides ``mark``.
        mark: The key by which a document with such queries is known; by default ``queries``.
    """

    label: str
    run: str = ""
    qrels: str = ""
    queries: str = ""
    mark: str = ""


FORMS = (
    JsonForm("Elasticsearch's rank_eval request", qrels="ratings", queries="requests"),
    JsonForm("Elasticsearch's rank_eval response", "hits", "hits", queries="details"),
    JsonForm("an OpenSearch judgment list", qrels="ratings", queries="judgmentRatings"),
    JsonForm("BioASQ", "documents", "documents", queries="questions"),
    JsonForm("a LlamaIndex data set", queries="relevant_docs"),
    JsonForm("MTEB predictions", queries="*.*", mark="mteb_model_meta"),
    JsonForm("TREC RAG JSON Lines", "references", "references"),
    JsonForm("TREC RAG JSON Lines", "candidates", "candidates"),
    JsonForm("DPR", "ctxs"),
    JsonForm("ragas", "retrieved_context_ids", "reference_context_ids"),
    JsonForm("a test set", qrels="relevant"),
    *(JsonForm("JSON", key, key) for key in ("results", "hits", "response", "body", "ranking")),
    *(JsonForm("JSON", key, key) for key in ("retrieved", "documents", "docs")),
)
"""The forms, in the order in which their keys are looked for."""

_NESTED = ("metadata", "query", "topic")
_TEXTS = ("topic", "q", "query", "querytext")
"""Names of ids that are those of texts too."""
_IDS = (*(name for name in map(normalize, QUERY_IDS) if name not in _TEXTS), "id")
_PARALLEL = {"scores", "distances", "similarities", "ranks", "grades"}
_NAME_KEYS = (
    "name the keys of a result: --columns query=KEY,doc_id=KEY,score=KEY (or relevance=KEY)"
)
_SPLIT = "write {query_id: {doc_id: value}}, and several runs to a file each"
LISTED = "listed documents have grade 1"
"""The note on qrels that list relevant documents."""
_N_CACHED = 256
_SURROGATE = re.compile(r"\\u[dD][89A-Fa-f]")
_PAIR = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*(?:-?[0-9][0-9.eE+-]*|NaN|-?Infinity|")')


class _Object(tuple[tuple[str, "Value"], ...]):
    """A JSON object as pairs, so that repeated keys are kept."""

    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(key for key, _ in self)

    @property
    def shown(self) -> str:
        return ", ".join(self.names[:8])

    @property
    def is_flat(self) -> bool:
        return not any(isinstance(value, list | _Object) for _, value in self)

    @property
    def by_name(self) -> dict[str, Value]:
        return {normalize(key): value for key, value in reversed(self)}


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class UnknownFormError(ValueError):
    """A document is JSON, but no run and no qrels in a known form.

    Args:
        what: The reason.
        remedy: What the user can do, if it is known.
    """

    def __init__(self, what: str, remedy: str | None = None) -> None:
        self.remedy = remedy
        super().__init__(what)


def read_json(text: str, kind: Kind, columns: ColumnNames | None = None) -> HeadedTable:
    """Read a run or qrels.

    Args:
        text: The document, or objects of which each is on one line.
        kind: The kind of file, which decides the names of fields.
        columns: The keys of some fields.

    Raises:
        UnknownFormError: If it is not JSON, or has another form; with the reason.
    """
    reader = _Reader(kind, columns)
    try:
        documents = [(1, _decode(text))]
    except (ValueError, RecursionError) as error:
        documents, text = _lines_of(text, error), ""
    for line, document in documents:
        reader.add_document(line, document)
    return reader.table(text)


def _decode(text: str) -> Value:
    value: Value = _DECODER.decode(text)
    if _SURROGATE.search(text):  # an unpaired one is no character: UnicodeEncodeError
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _lines_of(text: str, error: Exception) -> list[tuple[int, Value]]:
    """Return the values of JSON Lines, with their line numbers."""
    values: list[tuple[int, Value]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values.append((number, _decode(line)))
            except (ValueError, RecursionError):
                what = f"line {number} is not JSON" if values else f"not JSON: {error}"
                raise UnknownFormError(what) from None
    return values


def _at(value: Value, path: str) -> Value:
    """Return the value at a path of keys; the values in all objects of a list, joined."""
    for key in path.split("."):
        if isinstance(value, list):
            inner = (_at(item, key) for item in value)
            value = [item for items in inner if isinstance(items, list) for item in items]
        elif not isinstance(value, _Object):
            return None
        elif key == "*":
            if len(value) != 1:
                raise UnknownFormError(f"these are several runs: {value.shown}", _SPLIT)
            value = value[0][1]
        else:
            value = value.by_name.get(normalize(key))
    return value


class _Reader:
    """Collects the rows of a document, as columns of texts."""

    def __init__(self, kind: Kind, columns: ColumnNames | None) -> None:
        self.kind, self.user_columns = kind, columns
        self.value = kind.required[-1]
        keys = {name: key.removeprefix("-") for name, key in (columns or {}).items()}
        own = {name: (key,) for name, key in keys.items() if name in kind.fields}
        ids = (*kind.fields["doc_id"], "id", "psg_id")
        fields: Fields = {**kind.fields, **own}
        of_results: Fields = {**kind.fields, "query_id": _IDS[:-1], "doc_id": ids, **own}
        # Most objects have the same keys.
        self.find_row = lru_cache(_N_CACHED)(lambda names: find_fields(names, fields))
        self.find_result = lru_cache(_N_CACHED)(lambda names: find_fields(names, of_results))
        self.names = {name: keys.get(name, name) for name in kind.fields}
        self.label = "JSON"
        self.is_listed = False
        self.n_unjudged = self.n_queries = 0
        self.has_own_ids: set[bool] = set()
        self.lines: list[int] = []
        self.rows: list[dict[str, str]] = []

    def add_document(self, line: int, root: Value) -> None:
        """Add rows, the results of a query, or a dictionary of queries."""
        queries: Value = root if isinstance(root, list) else [root]
        if isinstance(root, _Object):
            names = root.by_name
            marks = ((form, normalize(form.mark or form.queries)) for form in FORMS)
            form = next((form for form, mark in marks if mark and mark in names), None)
            if form is not None:
                self.label = form.label
                queries = _at(_Object(pair for pair in root if pair[0] != form.mark), form.queries)
            elif self._row_of(root) is None and self._results_of(root) is None:
                queries = root
        if isinstance(queries, _Object):
            for key, value in queries:
                if not isinstance(value, list | _Object):
                    what = f"no query id and documents in the fields on line {line}"
                    raise UnknownFormError(f"{what} ({queries.shown})", _NAME_KEYS)
                self.add(line, value, key)
            if len(self.has_own_ids) > 1:
                raise UnknownFormError("expected {query_id: {doc_id: value}}", _NAME_KEYS)
        elif isinstance(queries, list):
            for item in queries:
                self.add(line, item)

    def add(self, line: int, item: Value, key: str | None = None) -> None:
        """Add a row, or the results of a query.

        Args:
            line: The line of the object.
            item: A row, an object that contains the results, or, with ``key``, the results.
            key: The id of the query in a dictionary.
        """
        if key is None and not isinstance(item, _Object):
            raise UnknownFormError(f"expected an object on line {line}")
        query_id, form, results = key, FORMS[-1], item
        if isinstance(item, _Object) and (key is None or not item.is_flat):
            if key is None and (row := self._row_of(item)):
                self._append(line, row)
                return
            found = self._results_of(item)
            if found is None:
                where = f"on line {line}" if key is None else f"in query {key!r}"
                what = f"no query id and documents in the fields {where} ({item.shown})"
                raise UnknownFormError(what, _SPLIT)
            form, results = found
            query_id = key or _query_of(item)
        self.label = form.label if form.label != "JSON" else self.label
        self.n_queries += 1
        if isinstance(results, _Object):
            results = [list(pair) for pair in results]
        for position, result in enumerate(results if isinstance(results, list) else (), 1):
            self._add_result(line, query_id, result, position)

    def _row_of(self, item: _Object) -> dict[str, str] | None:
        """Return the texts of a row, without ranks if there are scores; ``None`` for others.

        A row has one value in each of its fields.
        """
        places = self.find_row(item.names)
        values = (item[place][1] for place in places.values())
        is_row = not any(isinstance(value, list | _Object) for value in values)
        if not (is_row and self.kind.is_complete(places)):
            return None
        rank = places.get("rank") if self.value in places else None
        return {
            name: _text(value)
            for place, (name, value) in enumerate(item)
            if place != rank and not isinstance(value, list | _Object)
        }

    def _append(self, line: int, row: dict[str, str]) -> None:
        self.lines.append(line)
        self.rows.append(row)

    def _results_of(self, item: _Object) -> tuple[JsonForm, list[Value] | _Object] | None:
        """Return the results in an object, or in the response inside of it, and their form."""
        names = item.by_name
        for form in FORMS:
            path = form.qrels if self.value == "relevance" else form.run
            if not path or normalize(path.partition(".")[0]) not in names:
                continue
            results = _at(item, path)
            if isinstance(results, _Object) and not results.is_flat:
                return self._results_of(results)
            if parallel := _PARALLEL & names.keys():
                what = f"{path} and {listed(sorted(parallel))} are separate lists"
                raise UnknownFormError(what, "write {query_id: {doc_id: value}}")
            if isinstance(results, list | _Object):
                return form, results
        return None

    def _add_result(self, line: int, query_id: str | None, item: Value, position: int) -> None:
        """Add a document with a value, or one that is listed: it has a rank, and is relevant."""
        values = self._values_of(item, query_id)
        self.has_own_ids.add("query_id" in values)
        if query_id is None and "query_id" not in values:
            what = f"results without a query id on line {line}, as of Elasticsearch's _search"
            raise UnknownFormError(what, _NO_QUERY)
        values = {"query_id": query_id or "", **values}
        if values.get(self.value) == "" and self.value == "relevance":
            self.n_unjudged += 1
            return
        if self.value in values:
            values.pop("rank", None)
        elif "rank" not in values:
            self.is_listed = True
            values |= {"rank": str(position)} if "rank" in self.kind.fields else {self.value: "1"}
        self._append(line, {self.names.get(name, name): text for name, text in values.items()})

    def _values_of(self, item: Value, query_id: str | None) -> dict[str, str]:
        """Return the fields of a result."""
        if isinstance(item, list):
            if len(item) != 2:
                raise UnknownFormError("expected pairs of document and value")
            return {"doc_id": _text(item[0]), self.value: _text(item[1])}
        if not isinstance(item, _Object):
            return {"doc_id": _text(item)}
        hit = item.by_name.get("hit")
        item = _Object((*item, *hit)) if isinstance(hit, _Object) else item
        places = self.find_result(item.names)
        values = {name: _text(item[place][1]) for name, place in places.items()}
        if query_id != item.by_name.get("query", query_id) and "query_id" not in values:
            raise UnknownFormError(f"results of other queries in {query_id!r}", _NAME_KEYS)
        if "doc_id" not in values or self.kind.value_in(values) is None:
            what = f"a result has no document id or no {self.value} (fields: {item.shown})"
            raise UnknownFormError(what, _NAME_KEYS)
        return values

    def table(self, text: str) -> HeadedTable:
        """Return the rows, with the lines of a dictionary of which each row has its own pair."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        if self.n_queries and not self.lines:  # queries without results
            names = ["query_id", "doc_id", self.value]
        places = find_fields(names, self.kind.fields, self.user_columns)
        if not self.kind.is_complete(places):
            raise UnknownFormError("the document is empty: it has no rows", _NAME_KEYS)
        has_lines, lines = True, np.array(self.lines, np.uint32)
        if "\n" in text.strip():
            starts = [match.start() for match in _PAIR.finditer(text)]
            has_lines = len(starts) == len(lines)
            if has_lines:
                ends = [match.start() for match in re.finditer("\n", text)]
                lines = (np.searchsorted(ends, starts) + 1).astype(np.uint32)
        texts = {
            f"c{at}": [row.get(name, "") for row in self.rows] for at, name in enumerate(names, 1)
        }
        rows = pl.DataFrame(
            {"line": lines, **texts}, {"line": pl.UInt32} | dict.fromkeys(texts, pl.String)
        )
        notes = [LISTED] if self.is_listed and self.value == "relevance" else []
        notes += [unjudged(self.n_unjudged)] if self.n_unjudged else []
        header = Header(0, "", tuple(names), "", self.label)
        return HeadedTable(header, rows, has_lines=has_lines, places=places, notes=tuple(notes))


def _query_of(item: _Object) -> str | None:
    """Return the query id of an object, which may be inside ``query`` or ``metadata``."""
    names = item.by_name
    inner = [value.by_name for key in _NESTED if isinstance(value := names.get(key), _Object)]
    ids = [values.get(name) for values in (names, *inner) for name in _IDS]
    return next((one for one in [*ids, *map(names.get, _TEXTS)] if isinstance(one, str)), None)


def _text(value: Value) -> str:
    """Return the text of a value; "" for null."""
    if isinstance(value, list | _Object):
        raise UnknownFormError("expected a number or a text but got one more level", _SPLIT)
    if isinstance(value, bool):
        return str(int(value))
    return value or ""


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_Number
)
