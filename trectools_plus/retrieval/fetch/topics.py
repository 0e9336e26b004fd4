"""Queries of a fetch: their fields, hash, sample and checks."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.hashing import digest_id, sha256_columns
from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.source import Query, check_ids


def iter_queries(topics: Topics) -> Iterator[Query]:
    """Iterate over the queries."""
    has_language = "language" in topics.frame.columns
    language = pl.col("language").cast(pl.String).fill_null("") if has_language else pl.lit("")
    rows = topics.frame.select("query_id", "text", language=language).iter_rows()
    return (Query(query_id, text, language=declared) for query_id, text, declared in rows)


def sample_queries(topics: Topics, size: int | None) -> frozenset[str] | None:
    """Return the ids of a sample of queries, which depends only on the ids.

    Args:
        topics: The queries.
        size: Maximum number of queries; ``None`` returns ``None``.
    """
    ids = topics.frame["query_id"].to_list()
    return None if size is None else frozenset(nsmallest(size, ids, digest_id))


def hash_topics(topics: Topics) -> str:
    """Return SHA-256 of the query ids and texts in their order."""
    return sha256_columns(topics.frame, ["query_id", "text"])


def check_topics(topics: Topics) -> None:
    """Check that there are queries, and that their ids can be written to a run.

    Raises:
        InputError: If there are no topics, or an id is repeated or cannot be written to a run.
    """
    if not topics.frame.height:
        raise InputError("there are no topics", where=topics.path)
    ids = topics.frame["query_id"]
    if ids.n_unique() < len(ids):
        repeated = ids.filter(ids.is_duplicated())[0]
        raise InputError(
            f"query id '{repeated}' occurs more than once in the topics",
            where=topics.path,
            remedy="give each query its own id",
        )
    check_ids(ids, "query", topics.path)
