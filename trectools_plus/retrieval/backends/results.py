"""Ids and scores in the results of a retriever, as libraries and users write them.

Fields are found by name in dictionaries and objects alike, so the documents of LangChain, the nodes
of LlamaIndex, the documents of Haystack, and the hits of search engines need no code of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trectools_plus.formats.interchange.frames import is_frame
from trectools_plus.formats.interchange.names import DOC_IDS, SCORES
from trectools_plus.retrieval.source import Ranking

_PARTS = ("node", "document", "metadata", "meta")
"""Members that may have the id: the node in LlamaIndex, metadata in LangChain and Haystack."""
_ID_NAMES = (
    (*(name for name in DOC_IDS if name.endswith(("id", "no"))), "docid"),
    ("_id", "id", "node_id"),
)
"""Names of ids: those of documents count before others, which can number results."""
_SCORE_NAMES = (*SCORES, "_score")
_LISTS = (("hits", "hits"), ("documents",), ("source_nodes",), ("result", "points"), ("matches",))
"""Members that lead to the list of results in an answer of Elasticsearch, Haystack and others."""
_ACCEPTED = (
    "ids, pairs of id and score, {id: score}, results with doc_id and score, or a data frame"
)

Results = Any
"""A retriever's results for one query: ids, best first; pairs of id and score; a dictionary or a
pandas Series of scores; dictionaries or objects with an id and a score; a data frame; an answer of
a search engine; the arrays of FAISS; or a :class:`~trectools_plus.retrieval.source.Ranking`."""


def read_results(results: Results) -> tuple[list[str], list[float] | None]:
    """Return the ids and scores in a retriever's results; no scores if it returned only ids.

    Raises:
        TypeError: If the results have an unsupported type.
    """
    if isinstance(results, Ranking):
        return results.doc_ids, [float(score) for score in results.scores]
    if isinstance(results, Mapping):
        results = _list_in(results)
    if isinstance(results, tuple) and [getattr(part, "ndim", 0) for part in results] == [2, 2]:
        return [str(number) for number in results[1][0].tolist() if number >= 0], None  # FAISS
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
    found = (_member(part, names) for names in _ID_NAMES for part in parts)
    value = next((value for value in found if value is not None), item)
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
