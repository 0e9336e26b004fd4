"""Runs and qrels in JSON or JSON Lines.

The forms are::

    {query_id: {doc_id: value}}                       pytrec_eval, ir_measures, ranx
    {query_id: [doc_id, …]}                           in rank order; relevant documents in qrels
    {query_id: [[doc_id, value], …]}
    [{"query_id": …, "doc_id": …, "score": …}, …]     or one object per line
    {"topic_id": …, "references": [doc_id, …]}        answers of TREC RAG, one per line
    {"query": {"qid": …}, "candidates": [{"docid": …, "score": …}]}     retrieval for TREC RAG
    {query_id: {"hits": {"hits": [{"_id": …}]}}}      answers of Elasticsearch
    {"run_name": …, "turns": [{"turn_id": …}]}        runs of CAsT and iKAT

Names of fields are those of :mod:`trectools_plus.formats.interchange.names`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from trectools_plus.formats.interchange.names import (
    QUERY_IDS,
    ColumnNames,
    Kind,
    find_fields,
    normalize,
)
from trectools_plus.formats.interchange.table_files import HeadedTable, Header

Form = Literal["dictionary", "lists", "records", "results", "turns"]
Value: TypeAlias = "str | _Object | list[Value] | bool | None"

_RESULTS = tuple(
    map(
        normalize,
        ("candidates", "references", "results", "hits", "ranking", "retrieved", "documents"),
    )
)
_ENVELOPES = ("hits", "response", "body", "docs", "results", "documents")
"""The keys under which search engines put the list of results, outermost first."""
_NO_QUERY = (
    "write {query_id: response} for the response of each query, or fetch the run: "
    "trectools-plus runs fetch --engine elasticsearch"
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
    """A document is JSON, but no run and no qrels in a known form.

    Args:
        what: The reason.
        remedy: What the user can do, if it is known.
    """

    def __init__(self, what: str, remedy: str | None = None) -> None:
        self.remedy = remedy
        super().__init__(what)


Row: TypeAlias = tuple[str, str, str, str, str, int]
"""Query, document, value, rank, tag and the line of a record; "" for what is missing."""


@dataclass
class JsonRows:
    """The rows of a document.

    Attributes:
        form: The form of the document.
        rows: The rows.
        has_lines: False if the lines of the rows are unknown.
        further: For records: the other texts and numbers of each row, by name.
        tag_name: The key of the tags.
        n_repeated: The number of results that were left out because they occur before.
    """

    form: Form
    rows: list[Row] = field(default_factory=list)
    has_lines: bool = True
    further: list[dict[str, str]] = field(default_factory=list)
    tag_name: str = "tag"
    n_repeated: int = 0

    def as_table(self, kind: Kind) -> tuple[HeadedTable, dict[str, int]]:
        """Return the rows as a table, and the column of each field, from 0.

        A run without any score, but with all ranks, has a column of ranks instead of scores.
        """
        columns = ("c1", "c2", "c3", "rank", "c4")
        schema: dict[str, type[pl.DataType]] = {
            **dict.fromkeys(columns, pl.String),
            "line": pl.UInt32,
        }
        frame = pl.DataFrame(self.rows, schema=schema, orient="row")
        value = kind.required[-1]
        if "rank" in kind.fields and (frame["c3"] == "").all() and (frame["rank"] != "").all():
            value = "rank"
            frame = frame.with_columns(c3=pl.col("rank"))
        names = list(dict.fromkeys(name for one in self.further for name in one))
        frame = frame.select("line", "c1", "c2", "c3", "c4").with_columns(
            pl.Series(f"c{at}", [one.get(name, "") for one in self.further], dtype=pl.String)
            for at, name in enumerate(names, 5)
        )
        label = {"results": "TREC RAG JSON Lines", "turns": "CAsT JSON"}.get(self.form, "JSON")
        header = Header(0, "", ("query_id", "doc_id", value, self.tag_name, *names), "", label)
        places = {"query_id": 0, "doc_id": 1, value: 2, "tag": 3}
        return HeadedTable(header, frame, has_lines=self.has_lines), places


def read_json_rows(text: str, kind: Kind, columns: ColumnNames | None = None) -> JsonRows:
    """Read a run or qrels.

    Args:
        text: The document, or objects of which each is on one line.
        kind: The kind of file, which decides the names of fields.
        columns: The keys of some fields; the document must then be a list of objects.

    Raises:
        UnknownFormError: If it is not JSON, or has another form; with the reason.
    """
    if columns is not None:  # only these keys stand for the field
        given = {
            name: (key.removeprefix("-"),) for name, key in columns.items() if name in kind.fields
        }
        kind = replace(kind, fields={**kind.fields, **given})
    try:
        root = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        return _read_lines(text, kind, error)
    if isinstance(root, _Object):
        _refuse_response(root)
        turns = _member(root, "turns")
        if isinstance(turns, list) and kind.name == "run":
            return _read_turns(root, turns)
        if _is_record(root, kind) or columns is not None:
            return _read_records([(1, root)], kind)
        return _read_dictionary(root, text, kind)
    if isinstance(root, list):
        return _with_lines(_read_records([(1, one) for one in root], kind), text)
    raise UnknownFormError("expected an object or a list")


def _member(item: Value, name: str) -> Value:
    """Return the value of a key of an object; ``None`` if there is none."""
    if not isinstance(item, _Object):
        return None
    return next((value for key, value in item if key == name), None)


def _is_response(item: Value) -> bool:
    """Return whether an object is a response of Elasticsearch or OpenSearch."""
    return isinstance(_member(_member(item, "hits"), "hits"), list)


def _refuse_response(root: _Object) -> None:
    """Refuse responses of a search engine that do not say for which query they are."""
    responses = _member(root, "responses")
    if isinstance(responses, list) and responses and all(map(_is_response, responses)):
        raise UnknownFormError(
            f"these are {len(responses):,} responses of Elasticsearch's _msearch, without query "
            "ids",
            _NO_QUERY,
        )
    if _is_response(root) and _query_of(root) is None:
        raise UnknownFormError(
            "this is a response of Elasticsearch's _search, without a query id", _NO_QUERY
        )


def _read_turns(root: _Object, turns: list[Value]) -> JsonRows:
    """Read a run of CAsT or iKAT: the passages of the responses to each turn, in their order."""
    rows = JsonRows("turns", has_lines=False)
    tag = _member(root, "run_name")
    for turn in turns:
        turn_id, responses = _member(turn, "turn_id"), _member(turn, "responses")
        if not isinstance(turn_id, str) or not isinstance(responses, list):
            raise UnknownFormError("expected turn_id and responses in each of the turns")
        seen: dict[str, None] = {}
        for response in sorted(responses, key=_rank_of):
            passages = _member(response, "passage_provenance") or _member(response, "provenance")
            for passage in passages if isinstance(passages, list) else ():
                doc_id = _member(passage, "id") if isinstance(passage, _Object) else passage
                rows.n_repeated += isinstance(doc_id, str) and doc_id in seen
                seen[_text(doc_id)] = None
        name = tag if isinstance(tag, str) else ""
        rows.rows += [(turn_id, one, "", str(at), name, 1) for at, one in enumerate(seen, 1)]
    return rows


def _rank_of(response: Value) -> float:
    rank = _member(response, "rank")
    try:
        return float(rank) if isinstance(rank, str) else 0.0
    except ValueError:
        return 0.0


def _unwrap(results: Value) -> Value:
    """Return the list of results inside the response of a search engine."""
    while isinstance(results, _Object):
        inner = (_member(results, name) for name in _ENVELOPES)
        found = next((one for one in inner if isinstance(one, list | _Object)), None)
        if found is None:
            return results
        results = found
    return results


def _read_lines(text: str, kind: Kind, error: Exception) -> JsonRows:
    """Read JSON Lines."""
    records: list[tuple[int, Value]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append((number, _DECODER.decode(line)))
            except (ValueError, RecursionError):
                what = f"line {number} is not JSON" if len(records) else f"not JSON: {error}"
                raise UnknownFormError(what) from None
    return _read_records(records, kind)


def _is_record(item: _Object, kind: Kind) -> bool:
    """Return whether an object is one record, not a dictionary of queries."""
    found = find_fields((key for key, _ in item), kind.fields)
    has_lists = any(isinstance(value, list) for value in item.values)
    if {"query_id", "doc_id"} <= found.keys() and not has_lists:
        return True
    return _results_of(item) is not None and _query_of(item) is not None


def _results_of(item: _Object) -> Value:
    """Return the results of a record, which may be inside the response of a search engine."""
    for key, value in item:
        if normalize(key) in _RESULTS or (key in _ENVELOPES and isinstance(_unwrap(value), list)):
            return value
    return None


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


def _read_records(records: Iterable[tuple[int, Value]], kind: Kind) -> JsonRows:
    """Read objects: a row each, or the results of a query each."""
    rows: JsonRows | None = None
    for line, item in records:
        if not isinstance(item, _Object):
            raise UnknownFormError(f"expected an object on line {line}")
        found = find_fields((key for key, _ in item), kind.fields)
        is_flat = kind.is_complete(found)
        if not is_flat:
            _refuse_response(item)
        given = None if is_flat else _results_of(item)
        results = _unwrap(given)
        is_response = isinstance(given, _Object) and isinstance(results, list)
        form: Form = "records" if is_flat else "lists" if is_response else "results"
        rows = rows or JsonRows(form)
        if rows.form != form:
            raise UnknownFormError(f"the object on line {line} has other fields than the first")
        if is_flat:
            _add_record(rows, line, item, found, kind)
            continue
        query_id = _query_of(item)
        if query_id is None or results is None:
            shown = ", ".join(key for key, _ in item[:8])
            raise UnknownFormError(
                f"no query id and documents in the fields of line {line} ({shown})"
            )
        tag = _tag_of(item)
        rows.rows += [(query_id, *row, tag, line) for row in _results(results, kind)]
    if rows is None:
        raise UnknownFormError("no objects")
    return rows


def _add_record(
    rows: JsonRows, line: int, item: _Object, found: Mapping[str, int], kind: Kind
) -> None:
    """Add an object that is a row, with the places of its fields."""
    values = {name: _text(item[place][1]) for name, place in found.items()}
    value, rank, tag = (values.get(name, "") for name in (kind.required[-1], "rank", "tag"))
    rows.rows.append((values["query_id"], values["doc_id"], value, rank, tag, line))
    if "tag" in found:
        rows.tag_name = item[found["tag"]][0]
    used = set(found.values())
    rows.further.append(
        {
            name: _text(value)
            for at, (name, value) in enumerate(item)
            if at not in used and not isinstance(value, list | _Object)
        }
    )


def _tag_of(item: _Object) -> str:
    for key, value in item:
        if normalize(key) == "runid" and isinstance(value, str):
            return value
        if normalize(key) == "metadata" and isinstance(value, _Object):
            return _tag_of(value)
    return ""


def _read_dictionary(root: _Object, text: str, kind: Kind) -> JsonRows:
    """Read a dictionary from query ids to documents."""
    if not root:
        raise UnknownFormError("the dictionary is empty")
    kinds = {type(value) for value in root.values}
    if not kinds <= {_Object, list}:
        raise UnknownFormError("expected {query_id: {doc_id: value}}")
    unwrapped = [_unwrap(value) for value in root.values]
    if all(isinstance(value, list) for value in unwrapped):
        root = _Object(zip((key for key, _ in root), unwrapped, strict=True))
        kinds = {list}
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
        rows.rows += [(query_id, *row, "", 1) for row in _results(documents, kind)]
    return _with_lines(rows, text)


def _results(results: Value, kind: Kind) -> Iterator[tuple[str, str, str]]:
    """Yield document, value and rank of each result of a query."""
    value_field = kind.required[-1]
    # Inside a query, an id is that of a document.
    fields = {**kind.fields, "doc_id": (*kind.fields["doc_id"], "id")}
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
