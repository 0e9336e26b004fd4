"""Ids and scores in the results of a retriever, as libraries and users write them.

Fields are found by name in dictionaries and objects alike, so the documents of LangChain, the nodes
of LlamaIndex, the documents of Haystack, and the hits of search engines need no code of their own.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trectools_plus.formats.interchange.names import (
    DOC_IDS,
    RANKS,
    SCORES,
    Fields,
    find_fields,
    normalize,
)
from trectools_plus.retrieval.source import Ranking

_FIELDS: Fields = {"doc_id": DOC_IDS, "id": ("id", "_id"), "score": SCORES, "rank": RANKS}
_INNER: Fields = {
    **_FIELDS,
    "doc_id": [name for name in DOC_IDS if re.search("(id|no)$", name)],
    "id": ("id", "_id", "node_id"),
}
"""The fields in a member of a result, which may have a text with the name of a document too."""
_MEMBERS = ("node", "document", "metadata", "meta")
"""Members that may have the id: the node in LlamaIndex, metadata in LangChain and Haystack."""
_LISTS = (("hits", "hits"), ("documents",), ("source_nodes",), ("result", "points"), ("matches",))
"""Members that lead to the list of results in an answer of Elasticsearch, Haystack and others."""
_NAMES = {normalize(name) for names in _FIELDS.values() for name in names} | {"nodeid", *_MEMBERS}
_ACCEPTED = (
    "ids, pairs of id and score, {id: score}, results with doc_id and score, or a data frame"
)

Results = Any
"""A retriever's results for one query: ids, best first; pairs of id and score; a dictionary or a
pandas Series of scores; dictionaries or objects with an id and a score; a data frame; an answer of
a search engine; the arrays of FAISS; or a :class:`~trectools_plus.retrieval.source.Ranking`."""
Row = dict[str, Any]


def read_results(results: Results) -> tuple[list[str], list[float] | None]:
    """Return the ids and scores in a retriever's results; no scores if it returned only ids.

    Raises:
        TypeError: If the results have an unsupported type.
    """
    if isinstance(results, Ranking):
        return results.doc_ids, [float(score) for score in results.scores]
    if isinstance(results, Mapping):
        results = _list_in(results)
    if isinstance(results, Mapping) or _is_series(results):
        rows = [{"doc_id": key, "score": _read_score(value)} for key, value in results.items()]
        return _columns(sorted(rows, key=lambda row: -row["score"]))
    if hasattr(type(results), "columns"):
        return _columns(_rows_of_table(results))
    if isinstance(results, tuple) and len(results) == 2 and all(map(_is_matrix, results)):
        return [str(number) for number in results[1][0].tolist() if number >= 0], None  # FAISS
    is_ordered = isinstance(results, Sequence) or not hasattr(results, "isdisjoint")
    is_ordered |= type(results) is type({}.keys())
    if isinstance(results, str | bytes) or not isinstance(results, Iterable) or not is_ordered:
        raise TypeError(f"expected {_ACCEPTED} but got {_kind(results)}")
    return _columns([_row(item) for item in results])


def _list_in(answer: Mapping[str, Any]) -> Any:
    """Return the list of results in the answer of a search engine; other values unchanged."""
    if isinstance(answer.get("ids"), list):  # Chroma
        ids, distances = answer["ids"], answer.get("distances")
        first = ids[0] if ids and isinstance(ids[0], list) else ids
        return list(zip(first, (-x for x in distances[0]), strict=True)) if distances else first
    for path in _LISTS:
        found: Any = answer
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, list):
            return found
    return answer


def _is_series(results: Any) -> bool:
    return hasattr(results, "iloc") and not hasattr(results, "columns")


def _is_matrix(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 2


def _rows_of_table(table: Any) -> list[Row]:
    from trectools_plus.formats.interchange.frames import is_frame

    if not is_frame(table):
        raise TypeError(f"expected {_ACCEPTED} but got a {type(table).__name__}")
    table = table.collect() if hasattr(table, "collect") else table
    is_pandas = hasattr(table, "iloc")
    columns = table.to_dict("list") if is_pandas else table.to_dict(as_series=False)
    found = find_fields(map(str, columns), _FIELDS)
    if not found.keys() & {"doc_id", "id"}:
        shown = ", ".join(map(str, columns)) or "none"
        raise TypeError(f"expected a table with the columns doc_id and score but got {shown}")
    values = list(columns.values())
    return [
        dict(zip(found, row, strict=True))
        for row in zip(*(values[place] for place in found.values()), strict=True)
    ]


def _row(item: Any) -> Row:
    """Return the fields of a result."""
    if isinstance(item, tuple | list) and not hasattr(item, "_fields"):
        if len(item) != 2:
            raise TypeError(f"expected a pair of id and score but got {_kind(item)}")
        return {**_row(item[0]), "score": _read_score(item[1])}
    row = {} if isinstance(item, str | bytes | int | float) else _find(item, _FIELDS)
    return row or {"doc_id": item}


def _find(item: Any, fields: Fields) -> Row:
    """Return the fields of a dictionary or object, and those of its members."""
    if isinstance(item, Mapping):
        named = {str(name): value for name, value in item.items()}
    else:
        names = [name for name in dir(item) if name[:2] != "__" and normalize(name) in _NAMES]
        named = {name: getattr(item, name) for name in names}
    named = {name: value for name, value in named.items() if not callable(value)}
    values, found = list(named.values()), find_fields(named, fields)
    row = {field: values[place] for field, place in found.items() if values[place] is not None}
    for name in _MEMBERS:
        member = named.get(name)
        if member is not None and not isinstance(member, str | int):
            row = _find(member, _INNER) | {
                key: one for key, one in row.items() if one is not member
            }
    return row


def _columns(rows: Sequence[Row]) -> tuple[list[str], list[float] | None]:
    """Return ids and scores; without scores, in the order of the ranks, if there are any."""
    for field in ("score", "rank"):
        count = sum(field in row for row in rows)
        if 0 < count < len(rows):
            raise TypeError(f"expected a {field} in every result, but some have none")
        if count and field == "rank":
            rows = sorted(rows, key=lambda row: _read_score(row["rank"]))
        if count:
            break
    ids = [_read_id(row.get("doc_id", row.get("id"))) for row in rows]
    has_scores = bool(rows) and "score" in rows[0]
    return ids, [_read_score(row["score"]) for row in rows] if has_scores else None


def _read_id(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    try:
        if isinstance(value, bool):
            raise TypeError
        return str(operator.index(value))  # whole numbers of any library
    except TypeError:
        raise TypeError(f"expected an id but got {_kind(value)} — return {_ACCEPTED}") from None


def _read_score(value: Any) -> float:
    if isinstance(value, str | bytes | bool):
        raise TypeError(f"expected a score but got {_kind(value)}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"expected a score but got {_kind(value)}") from None


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {repr(value)[:40]}"
