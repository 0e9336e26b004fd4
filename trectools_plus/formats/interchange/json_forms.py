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

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.interchange.names import (
    QUERY_IDS,
    ColumnNames,
    Fields,
    Kind,
    find_fields,
    names_of,
    normalize,
)
from trectools_plus.formats.interchange.table_files import HeadedTable, headed, unjudged
from trectools_plus.formats.jsonl import decode_json
from trectools_plus.text import listed


@dataclass(frozen=True, slots=True)
class JsonForm:
    """A form of JSON, known by a key.

    Attributes:
        label: Its name.
        run: The key of the results of a query, or a path with points; empty if runs do not have
            this form, or a query is its results.
        qrels: The key of the judgments of a query.
        queries: The key of the queries in the document; empty if each object or line is a query.
    """

    label: str
    run: str = ""
    qrels: str = ""
    queries: str = ""


MTEB = "mteb_model_meta"
"""The key of MTEB's predictions beside their only subset, whose only split has the queries."""
FORMS = (
    JsonForm("Elasticsearch's rank_eval request", qrels="ratings", queries="requests"),
    JsonForm("Elasticsearch's rank_eval response", "hits", "hits", queries="details"),
    JsonForm("an OpenSearch judgment list", qrels="ratings", queries="judgmentRatings"),
    JsonForm("BioASQ", "documents", "documents", queries="questions"),
    JsonForm("a LlamaIndex data set", queries="relevant_docs"),
    JsonForm("MTEB predictions", queries=MTEB),
    JsonForm("TREC RAG JSON Lines", "references", "references"),
    JsonForm("TREC RAG JSON Lines", "candidates", "candidates"),
    JsonForm("DPR", "ctxs"),
    JsonForm("ragas", "retrieved_context_ids", "reference_context_ids"),
    JsonForm("a test set", qrels="relevant"),
    *(
        JsonForm("JSON", key, key)
        for key in names_of("results hits response body ranking retrieved documents docs")
    ),
)
"""The forms, in the order in which their keys are looked for."""

_ID_LISTS = {
    "score": {normalize(form.run) for form in FORMS},
    "relevance": {normalize(form.qrels) for form in FORMS}
    | {"irrelevant", "notrelevant", "nonrelevant", "judged"},
}
"""The keys of lists of ids, by the field of a result that they stand for."""
_VALUE_LISTS = {"scores", "distances", "similarities", "ranks", "grades"}
_TEXTS = ("topic", "q", "query", "querytext")
"""Names of ids that are those of texts too."""
_IDS = (*(name for name in map(normalize, QUERY_IDS) if name not in _TEXTS), "id")
_NAME_KEYS = (
    "name the keys of a result: --columns query=KEY,doc_id=KEY,score=KEY (or relevance=KEY)"
)
_SPLIT = "write {query_id: {doc_id: value}}, and several runs to a file each"
LISTED = "listed documents have grade 1"
"""The note on qrels that list relevant documents."""
_PAIR = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*(?:-?[0-9][0-9.eE+-]*|NaN|-?Infinity|")')


class UnknownFormError(InputError):
    """A document is JSON, but no run and no qrels in a known form."""


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
        documents = [(1, decode_json(text))]
    except (ValueError, RecursionError) as error:
        documents, text = _lines_of(text, error), ""
    for line, document in documents:
        reader.add_document(line, document)
    return reader.table(text)


def _lines_of(text: str, error: Exception) -> list[tuple[int, Any]]:
    """Return the values of JSON Lines, with their line numbers."""
    values: list[tuple[int, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values.append((number, decode_json(line)))
            except (ValueError, RecursionError):
                raise UnknownFormError(
                    f"line {number} is not JSON" if values else f"not JSON: {error}"
                ) from None
    return values


def _by_name(item: dict[str, Any]) -> dict[str, Any]:
    return {normalize(key): value for key, value in reversed(item.items())}


def _shown(item: dict[str, Any]) -> str:
    return ", ".join([*item][:8])


def _only_value(item: Any) -> Any:
    values = [value for key, value in item.items() if key != MTEB] if isinstance(item, dict) else []
    if len(values) != 1:
        raise UnknownFormError("these are several runs, or none", remedy=_SPLIT)
    return values[0]


class _Reader:
    """Collects the rows of a document, as texts by the names of columns."""

    def __init__(self, kind: Kind, columns: ColumnNames | None) -> None:
        self.kind, self.user_columns = kind, columns
        self.value = kind.required[-1]
        keys = {name: key.removeprefix("-") for name, key in (columns or {}).items()}
        own = {name: (key,) for name, key in keys.items() if name in kind.fields}
        ids = (*kind.fields["doc_id"], "id", "psg_id")
        fields: Fields = {**kind.fields, **own}
        of_results: Fields = {**kind.fields, "query_id": _IDS[:-1], "doc_id": ids, **own}
        # Most objects have the same keys.
        self.find_row = lru_cache(256)(lambda names: find_fields(names, fields))
        self.find_result = lru_cache(256)(lambda names: find_fields(names, of_results))
        self.names = {name: keys.get(name, name) for name in kind.fields}
        self.label = "JSON"
        self.is_listed = False
        self.n_unjudged = self.n_queries = 0
        self.has_own_ids: set[bool] = set()
        self.rows: list[tuple[int, dict[str, str]]] = []

    def add_document(self, line: int, root: Any) -> None:
        """Add rows, the results of a query, or a dictionary of queries."""
        queries: Any = root if isinstance(root, list) else [root]
        if isinstance(root, dict):
            names = _by_name(root)
            forms = (form for form in FORMS if form.queries)
            form = next((form for form in forms if normalize(form.queries) in names), None)
            if form is not None:
                self.label, queries = form.label, names[normalize(form.queries)]
                queries = _only_value(_only_value(root)) if form.queries == MTEB else queries
            elif self._row_of(root) is None and self._results_of(root) is None:
                queries = root
        if not isinstance(queries, dict):
            for item in queries if isinstance(queries, list) else ():
                self.add(line, item)
            return
        for key, value in queries.items():
            self.add(line, value, key)
        if len(self.has_own_ids) > 1:
            raise UnknownFormError("expected {query_id: {doc_id: value}}", remedy=_NAME_KEYS)

    def add(self, line: int, item: Any, key: str | None = None) -> None:
        """Add a row, or the results of a query.

        Args:
            line: The line of the object.
            item: A row, an object that contains the results, or, with ``key``, the results.
            key: The id of the query in a dictionary.
        """
        if not isinstance(item, dict if key is None else list | dict):
            raise UnknownFormError(
                f"expected an object with results but got no query id or documents on line {line}",
                remedy=_NAME_KEYS,
            )
        results: Any = item
        query_id = key
        if isinstance(item, dict) and (key is None or not _is_flat(item)):
            if key is None and (row := self._row_of(item)):
                self.rows.append((line, row))
                return
            results = self._results_of(item)
            if results is None:
                where = f"on line {line}" if key is None else f"in query {key!r}"
                raise UnknownFormError(
                    f"no query id and documents in the fields {where} ({_shown(item)})",
                    remedy=_SPLIT,
                )
            query_id = key or _query_of(item)
        self.n_queries += 1
        pairs = [list(pair) for pair in results.items()] if isinstance(results, dict) else results
        for position, result in enumerate(pairs, 1):
            self._add_result(line, query_id, result, position)

    def _row_of(self, item: dict[str, Any]) -> dict[str, str] | None:
        """Return the texts of a row, without ranks if there are scores; ``None`` for others.

        A row has one value in each of its fields.
        """
        names = tuple(item)
        places = self.find_row(names)
        is_row = not any(isinstance(item[names[at]], list | dict) for at in places.values())
        if not (is_row and self.kind.is_complete(places)):
            return None
        rank = names[places["rank"]] if "rank" in places and self.value in places else None
        return {
            name: _text(value)
            for name, value in item.items()
            if name != rank and not isinstance(value, list | dict)
        }

    def _results_of(self, item: dict[str, Any]) -> list[Any] | dict[str, Any] | None:
        """Return the results in an object, or in the response inside of it."""
        names, shards = _by_name(item), item.get("_shards")
        if item.get("timed_out") or (isinstance(shards, dict) and shards.get("failed")):
            raise UnknownFormError(
                "an incomplete response (timed_out, or failed shards)", remedy="search again"
            )
        for form in FORMS:
            key = normalize(form.qrels if self.value == "relevance" else form.run)
            results = names.get(key) if key else None
            if isinstance(results, dict) and not _is_flat(results):
                return self._results_of(results)
            if not isinstance(results, list | dict):
                continue
            if values := _VALUE_LISTS & names.keys() | _lists_beside(names, key, self.value):
                raise UnknownFormError(
                    f"{key} and {listed(sorted(values))} are separate lists", remedy=_SPLIT
                )
            self.label = form.label if form.label != "JSON" else self.label
            return results
        return None

    def _add_result(self, line: int, query_id: str | None, item: Any, position: int) -> None:
        """Add a document with a value, or one that is listed: it has a rank, and is relevant."""
        values = self._values_of(item, query_id)
        self.has_own_ids.add("query_id" in values)
        if query_id is None and "query_id" not in values:
            raise UnknownFormError(
                f"results without a query id on line {line}, as of Elasticsearch's _search",
                remedy="write {query_id: response} for the response of each query, or fetch the "
                "run: trectools-plus runs fetch --engine elasticsearch",
            )
        if values.get(self.value) == "" and self.value == "relevance":
            self.n_unjudged += 1
            return
        if self.value in values:
            values.pop("rank", None)
        elif "rank" not in values:
            self.is_listed = True
            values |= {"rank": str(position)} if "rank" in self.kind.fields else {self.value: "1"}
        values = {"query_id": query_id or "", **values}
        self.rows.append((line, {self.names.get(name, name): values[name] for name in values}))

    def _values_of(self, item: Any, query_id: str | None) -> dict[str, str]:
        """Return the fields of a result."""
        if isinstance(item, list) and len(item) == 2:
            return {"doc_id": _text(item[0]), self.value: _text(item[1])}
        if not isinstance(item, dict):
            return {"doc_id": _text(item)}
        if isinstance(hit := item.get("hit"), dict):
            item = item | hit
        names = tuple(item)
        values = {name: _text(item[names[at]]) for name, at in self.find_result(names).items()}
        if query_id != item.get("query", query_id) and "query_id" not in values:
            raise UnknownFormError(f"results of other queries in {query_id!r}", remedy=_NAME_KEYS)
        if not self.kind.is_complete({"query_id", *values}):
            raise UnknownFormError(
                f"a result has no document id or no {self.value} (fields: {_shown(item)})",
                remedy=_NAME_KEYS,
            )
        return values

    def table(self, text: str) -> HeadedTable:
        """Return the rows, with the lines of a dictionary of which each row has its own pair."""
        names = list(dict.fromkeys(name for _, row in self.rows for name in row))
        if self.n_queries and not self.rows:  # queries without results
            names = ["query_id", "doc_id", self.value]
        places = find_fields(names, self.kind.fields, self.user_columns)
        if not self.kind.is_complete(places):
            raise UnknownFormError("the document is empty: it has no rows", remedy=_NAME_KEYS)
        lines = np.array([line for line, _ in self.rows])
        has_lines = "\n" not in text.strip()
        if not has_lines:
            ends = [match.start() for match in re.finditer("\n", text)]
            starts = np.array([match.start() for match in _PAIR.finditer(text)], np.int64)
            has_lines = len(starts) == len(lines)
            lines = np.searchsorted(ends, starts) + 1 if has_lines else lines
        notes = [LISTED] if self.is_listed and self.value == "relevance" else []
        notes += [unjudged(self.n_unjudged)] if self.n_unjudged else []
        columns = (
            pl.Series(name, [row.get(name, "") for _, row in self.rows], pl.String)
            for name in names
        )
        return headed(
            lines, columns, self.label, has_lines=has_lines, places=places, notes=tuple(notes)
        )


def _lists_beside(names: dict[str, Any], key: str, value: str) -> set[str]:
    """Return the keys of lists beside listed ids: with the values of these ids, or more ids.

    Args:
        names: The values in an object, by normalized key.
        key: The key of the listed ids.
        value: The field of a result or judgment that is not an id.
    """
    if not all(isinstance(result, str | int) for result in names[key]):
        return set()
    ids, others = _ID_LISTS[value], _ID_LISTS["score"] | _ID_LISTS["relevance"]
    return {
        name
        for name, items in names.items()
        if name != key
        and items
        and isinstance(items, list | dict)
        and (name in ids or (len(items) == len(names[key]) and name not in others))
        and all(isinstance(item, str | int if name in ids else int | float) for item in items)
    }


def _is_flat(item: dict[str, Any]) -> bool:
    return not any(isinstance(value, list | dict) for value in item.values())


def _query_of(item: dict[str, Any]) -> str | None:
    """Return the query id of an object, which may be inside ``query`` or ``metadata``."""
    names = _by_name(item)
    nested = map(names.get, ("metadata", "query", "topic"))
    inner = [_by_name(value) for value in nested if isinstance(value, dict)]
    ids = [values.get(name) for values in (names, *inner) for name in _IDS]
    texts = [*ids, *map(names.get, _TEXTS)]
    return next((str(text) for text in texts if isinstance(text, str | int)), None)


def _text(value: Any) -> str:
    """Return the text of a value; "" for null."""
    if isinstance(value, list | dict):
        raise UnknownFormError("expected a number or a text but got one more level", remedy=_SPLIT)
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)
