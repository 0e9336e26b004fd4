"""Runs and qrels in JSON or JSON Lines.

The forms are::

    {query_id: {doc_id: value}}                       pytrec_eval, ir_measures, ranx
    {query_id: [doc_id, …]}                           in rank order; relevant documents in qrels
    {query_id: [[doc_id, value], …]}
    [{"query_id": …, "doc_id": …, "score": …}, …]     or one object per line
    {"topic_id": …, "references": [doc_id, …]}        answers of TREC RAG, one per line
    {"query": {"qid": …}, "candidates": [{"docid": …, "score": …}]}     retrieval for TREC RAG

Names of fields are those of :mod:`trectools_plus.formats.interchange.names`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from trectools_plus.formats.interchange.names import (
    QRELS_FIELDS,
    QUERY_IDS,
    RUN_FIELDS,
    Fields,
    find_fields,
    normalize,
)

Form = Literal["dictionary", "lists", "records", "results"]
Value: TypeAlias = "str | _Object | list[Value] | bool | None"

_RESULTS = tuple(
    map(
        normalize,
        ("candidates", "references", "results", "hits", "ranking", "retrieved", "documents"),
    )
)
_NESTED = ("metadata", "query", "topic")
_NESTED_IDS = (*map(normalize, QUERY_IDS[:12]), "narrativeid", "id")
_PAIR = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*(?:-?[0-9][0-9.eE+-]*|NaN|-?Infinity|")')


class _Object(tuple[tuple[str, "Value"], ...]):
    """A JSON object as pairs, so that repeated keys are kept."""

    __slots__ = ()

    @property
    def values(self) -> list[Value]:
        return [value for _, value in self]


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class UnknownFormError(ValueError):
    """A document is JSON, but no run and no qrels in a known form."""


@dataclass
class JsonRows:
    """The rows of a document.

    Attributes:
        form: The form of the document.
        rows: Texts by field: ``query_id``, ``doc_id``, ``value``, ``rank``, ``tag``, and the line
            of the record; "" for what is missing.
        frame: The rows as a table, with ``line``.
        has_lines: False if the lines of the rows are unknown.
    """

    form: Form
    rows: list[tuple[str, str, str, str, str, int]] = field(default_factory=list)
    has_lines: bool = True

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a table: ``query_id, doc_id, value, rank, tag`` and ``line``."""
        names = ("query_id", "doc_id", "value", "rank", "tag")
        schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String)
        return pl.DataFrame(self.rows, schema={**schema, "line": pl.UInt32}, orient="row")


def read_json_rows(text: str, kind: Literal["run", "qrels"]) -> JsonRows:
    """Read a run or qrels.

    Args:
        text: The document, or objects of which each is on one line.
        kind: The kind of file, which decides the names of fields.

    Raises:
        UnknownFormError: If it is not JSON, or has another form; with the reason.
    """
    fields = RUN_FIELDS if kind == "run" else QRELS_FIELDS
    try:
        root = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        return _read_lines(text, fields, error)
    if isinstance(root, _Object):
        if _is_record(root, fields):
            return _read_records([(1, root)], fields)
        return _read_dictionary(root, text, fields)
    if isinstance(root, list):
        return _with_lines(_read_records([(1, one) for one in root], fields), text)
    raise UnknownFormError("expected an object or a list")


def _read_lines(text: str, fields: Fields, error: Exception) -> JsonRows:
    """Read JSON Lines."""
    records: list[tuple[int, Value]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append((number, _DECODER.decode(line)))
            except (ValueError, RecursionError):
                what = f"line {number} is not JSON" if len(records) else f"not JSON: {error}"
                raise UnknownFormError(what) from None
    return _read_records(records, fields)


def _is_record(item: Value, fields: Fields) -> bool:
    """Return whether an object is one record, not a dictionary of queries."""
    if not isinstance(item, _Object):
        return False
    names = [normalize(key) for key, _ in item]
    has_results = any(name in _RESULTS for name in names)
    found = find_fields((key for key, _ in item), fields)
    flat = {"query_id", "doc_id"} <= found.keys() and not any(
        isinstance(value, list) for value in item.values
    )
    return flat or (has_results and _query_of(item) is not None)


def _query_of(item: _Object) -> str | None:
    """Return the query id of a record, which may be inside ``query`` or ``metadata``."""
    for spelling in map(normalize, QUERY_IDS):
        for key, value in item:
            if normalize(key) == spelling and isinstance(value, str):
                return value
    for key, value in item:
        if normalize(key) in _NESTED and isinstance(value, _Object):
            inner = {normalize(name): one for name, one in value}
            found = next((inner[name] for name in _NESTED_IDS if name in inner), None)
            if isinstance(found, str):
                return found
    return None


def _read_records(records: Iterable[tuple[int, Value]], fields: Fields) -> JsonRows:
    """Read objects: a row each, or the results of a query each."""
    rows: JsonRows | None = None
    for line, item in records:
        if not isinstance(item, _Object):
            raise UnknownFormError(f"expected an object on line {line}")
        names = [key for key, _ in item]
        found = find_fields(names, fields)
        value_field = "relevance" if "relevance" in fields else "score"
        is_flat = {"query_id", "doc_id"} <= found.keys() and bool(
            {value_field, "rank"} & found.keys()
        )
        form: Form = "records" if is_flat else "results"
        rows = rows or JsonRows(form)
        if rows.form != form:
            raise UnknownFormError(f"the object on line {line} has other fields than the first")
        if is_flat:
            values = {name: _text(item[place][1]) for name, place in found.items()}
            rows.rows.append(
                (
                    values["query_id"],
                    values["doc_id"],
                    values.get(value_field, ""),
                    values.get("rank", ""),
                    values.get("tag", ""),
                    line,
                )
            )
            continue
        query_id = _query_of(item)
        results = next((value for key, value in item if normalize(key) in _RESULTS), None)
        if query_id is None or results is None:
            shown = ", ".join(names[:8])
            raise UnknownFormError(
                f"no query id and documents in the fields of line {line} ({shown})"
            )
        tag = _tag_of(item)
        rows.rows += [(query_id, *row, tag, line) for row in _results(results, fields)]
    if rows is None:
        raise UnknownFormError("no objects")
    return rows


def _tag_of(item: _Object) -> str:
    for key, value in item:
        if normalize(key) == "runid" and isinstance(value, str):
            return value
        if normalize(key) == "metadata" and isinstance(value, _Object):
            return _tag_of(value)
    return ""


def _read_dictionary(root: _Object, text: str, fields: Fields) -> JsonRows:
    """Read a dictionary from query ids to documents."""
    if not root:
        raise UnknownFormError("the dictionary is empty")
    kinds = {type(value) for value in root.values}
    if not kinds <= {_Object, list}:
        raise UnknownFormError("expected {query_id: {doc_id: value}}")
    if any(
        isinstance(inner, list | _Object)
        for value in root.values
        if isinstance(value, _Object)
        for inner in value.values
    ):
        names = ", ".join(key for key, _ in root[:5])
        raise UnknownFormError(
            f"expected {{query_id: {{doc_id: value}}}} but got one more level; if these are "
            f"several runs ({names}), write each to a file"
        )
    rows = JsonRows("dictionary" if _Object in kinds else "lists")
    for query_id, documents in root:
        rows.rows += [(query_id, *row, "", 1) for row in _results(documents, fields)]
    return _with_lines(rows, text)


def _results(results: Value, fields: Fields) -> Iterator[tuple[str, str, str]]:
    """Yield document, value and rank of each result of a query."""
    value_field = "relevance" if "relevance" in fields else "score"
    unscored = "1" if value_field == "relevance" else ""
    if isinstance(results, _Object):
        for doc_id, value in results:
            yield doc_id, _text(value), ""
        return
    if not isinstance(results, list):
        raise UnknownFormError("expected a list of documents")
    for rank, item in enumerate(results, 1):
        if isinstance(item, _Object):
            found = find_fields((key for key, _ in item), fields)
            if "doc_id" not in found:
                shown = ", ".join(key for key, _ in item[:8])
                raise UnknownFormError(f"a result has no document id (fields: {shown})")
            values = {name: _text(item[place][1]) for name, place in found.items()}
            yield values["doc_id"], values.get(value_field, unscored), str(rank)
        elif isinstance(item, list):
            if len(item) != 2:
                raise UnknownFormError("expected pairs of document and value")
            yield _text(item[0]), _text(item[1]), str(rank)
        else:
            yield _text(item), unscored, str(rank)


def _text(value: Value) -> str:
    """Return the text of a value; "" for null."""
    if isinstance(value, list | _Object):
        raise UnknownFormError("expected a number or a text but got a list or an object")
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value).lower()


def _with_lines(rows: JsonRows, text: str) -> JsonRows:
    """Add the lines of rows of a dictionary or a list, if each has exactly one pair of its own."""
    if "\n" not in text.strip():
        return rows  # everything is on line 1
    starts = [match.start() for match in _PAIR.finditer(text)] if rows.form == "dictionary" else []
    if len(starts) != len(rows.rows):
        rows.has_lines = False
        return rows
    ends = np.flatnonzero(np.frombuffer(text.encode("utf-32-le", "replace"), "<u4") == ord("\n"))
    lines = np.searchsorted(ends, starts) + 1
    rows.rows = [(*row[:5], int(line)) for row, line in zip(rows.rows, lines, strict=True)]
    return rows


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_Number
)
