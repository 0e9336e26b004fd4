"""Convert test sets to topics and qrels, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from pydantic import ValidationError

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels, Topics
from trectools_plus.formats.topic_records.schema import NOTE_KEYS, NOTE_WORDS
from trectools_plus.testsets.model import TestSet, format_error

QUERY_FIELDS = NOTE_KEYS
"""The fields of queries other than id, text and judgments; they become columns of topics."""


def topics_of(test_set: TestSet, path: str | None = None) -> Topics:
    """Return the queries as topics, with those of :data:`QUERY_FIELDS` that any query has.

    The cell of a query without such a field is empty.

    Args:
        test_set: The set.
        path: The name of the set in error messages.
    """
    queries = test_set.queries
    further = {
        name: [getattr(query, name) or "" for query in queries]
        for name in QUERY_FIELDS
        if any(getattr(query, name) for query in queries)
    }
    if language := test_set.metadata.language:
        further["language"] = [query.language or language for query in queries]
    columns = {
        "query_id": [query.query_id for query in queries],
        "text": [query.text for query in queries],
        **further,
    }
    return Topics(pl.DataFrame(columns), path=path)


def qrels_of(test_set: TestSet, path: str | None = None) -> Qrels:
    """Return the judgments as qrels, in the order of the set.

    Args:
        test_set: The set.
        path: The name of the set in error messages.
    """
    rows = [
        (query.query_id, "0", term.doc_id, term.grade)
        for query in test_set.queries
        for term in query.relevant
    ]
    return Qrels(pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row"), path=path)


def from_tables(
    topics: Topics,
    qrels: Qrels,
    metadata: Mapping[str, Any],
    where: str = "test set",
    spans: Mapping[str, Mapping[str, Any]] | None = None,
) -> TestSet:
    """Combine topics and judgments into a test set.

    Further columns of the topics are used if they are among :data:`QUERY_FIELDS`. Unknown values of
    fields with fixed values, for example ``category``, are dropped.

    Args:
        topics: The queries, in the order of the set.
        qrels: The judgments, in the order of each query.
        metadata: The metadata, with at least ``dataset_id``.
        where: The name of the set in error messages.
        spans: By query and document, the words of the text that name the document.

    Raises:
        InputError: If a judged query is not among the topics.
        FormatError: If a document is judged twice, or no document is relevant.
    """
    unknown = set(qrels.query_ids) - set(topics.query_ids)
    if unknown:
        raise InputError(
            f"{len(unknown)} judged queries are not in the topics: "
            f"{', '.join(sorted(unknown)[:3])}",
            where=qrels.path or where,
            remedy="give the topics of these judgments",
        )
    relevant: dict[str, list[dict[str, Any]]] = {}
    for query_id, doc_id, grade in qrels.frame.select(
        "query_id", "doc_id", "relevance"
    ).iter_rows():
        span = (spans or {}).get(query_id, {}).get(doc_id)
        term = {"doc_id": doc_id, "grade": grade, "span": span}
        relevant.setdefault(query_id, []).append(term)
    queries = [
        {
            **_fields(row),
            "query_id": row["query_id"],
            "text": row["text"],
            "relevant": relevant.get(row["query_id"], []),
        }
        for row in topics.frame.iter_rows(named=True)
    ]
    content = {"metadata": dict(metadata), "queries": queries}
    try:
        return TestSet.model_validate(content)
    except ValidationError as error:
        raise format_error(error, where) from None


def _fields(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: row[name]
        for name in QUERY_FIELDS
        if row.get(name) and (name not in NOTE_WORDS or row[name] in NOTE_WORDS[name])
    }
