"""Turn a source's hits into a ranking of documents: collapse chunks, drop the query's document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trectools_plus.formats.writing import UNWRITABLE
from trectools_plus.retrieval.source import (
    Collapse,
    Failure,
    FetchOptions,
    Hits,
    Query,
    Ranking,
    Source,
    rank_scores,
)


def collapse_chunks(
    ids: Sequence[str], scores: Sequence[float], collapse: Collapse
) -> dict[str, float]:
    """Return scores by document, in the order of each document's first chunk.

    Args:
        ids: Ids of chunks, in the order of the service.
        scores: One per id.
        collapse: Method and separator.
    """
    collapsed: dict[str, float] = {}
    for chunk_id, score in zip(ids, scores, strict=True):
        # An id without the separator is a document id.
        separator = collapse.separator
        before, found, _ = chunk_id.rpartition(separator) if separator else ("", "", "")
        doc_id = before if found else chunk_id
        if doc_id not in collapsed:
            collapsed[doc_id] = score
        elif collapse.method == "max":
            collapsed[doc_id] = max(collapsed[doc_id], score)
        elif collapse.method == "sum":
            collapsed[doc_id] += score
    return collapsed


_UNWRITABLE = re.compile(rf"{UNWRITABLE}|[\ud800-\udfff]")
_LARGEST_SCORE = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A query's documents.

    Attributes:
        query_id: The query.
        ranking: At most ``depth`` documents, in canonical order.
        latency_ms: Milliseconds of all requests for this answer; see :func:`answer_batch`. NaN if
            the query is not in the sample whose latency is measured.
        attempts: Number of times the query was sent.
        asked: Number of results requested in the last round.
        cut_short: Whether there are fewer than ``depth`` documents although the source found more
            results: it returned fewer than requested, or ``max_chunks`` was reached.
        may_have_more: Whether more chunks might add documents.
    """

    query_id: str
    ranking: Ranking
    latency_ms: float
    attempts: int = 1
    asked: int = 0
    cut_short: bool = False
    may_have_more: bool = False


class MemoryAnswers(dict[str, Answer]):
    """Answers in memory, by query id."""

    def add(self, outcomes: Mapping[str, Answer | Failure]) -> None:
        """Store the answers and ignore the failures, which the caller records."""
        self.update({key: one for key, one in outcomes.items() if isinstance(one, Answer)})


def answer_batch(
    source: Source, queries: Sequence[Query], options: FetchOptions
) -> dict[str, Answer | Failure]:
    """Send queries to a source, and rank its results.

    A query is sent in rounds. Each round requests twice as many results as the previous one, until
    there are ``depth`` documents, the source has no more results, or ``collapse.chunk_limit`` is
    reached.

    Returns:
        The outcome of each query by its id, in their order.
    """
    outcomes: dict[str, Answer | Failure] = {}
    pending, asked = list(queries), options.depth + options.exclude_self
    limit = asked if options.collapse is None else options.collapse.chunk_limit(asked)
    while pending:
        unfinished = []
        for query, reply in zip(pending, source.ask(pending, asked), strict=True):
            before = outcomes.get(query.query_id)
            outcome = reply if isinstance(reply, Failure) else _rank(query, reply, asked, options)
            attempts = reply.attempts + (0 if before is None else before.attempts)
            outcome = replace(outcome, attempts=attempts)
            if isinstance(before, Answer) and isinstance(outcome, Answer):
                outcome = replace(outcome, latency_ms=before.latency_ms + outcome.latency_ms)
            outcomes[query.query_id] = outcome
            if isinstance(outcome, Answer) and outcome.may_have_more and asked < limit:
                unfinished.append(query)
        pending, asked = unfinished, min(2 * asked, limit)
    return outcomes


def _rank(query: Query, hits: Hits, asked: int, options: FetchOptions) -> Answer | Failure:
    """Return the outcome of one round."""
    try:
        scores = score_documents(hits, options.collapse)
    except ValueError as error:
        return Failure(str(error))
    if options.exclude_self:
        scores.pop(query.query_id, None)
    values = np.array(list(scores.values()), dtype=np.float64)
    ranking = rank_scores(list(scores), values, options.depth)
    is_short, returned = len(ranking) < options.depth, len(hits.ids)
    more = options.collapse is not None and is_short and returned >= asked
    is_cut = is_short and returned < asked and (hits.total or 0) > returned
    cut_short = more or is_cut
    return Answer(query.query_id, ranking, hits.latency_ms, 1, asked, cut_short, more)


def score_documents(hits: Hits, collapse: Collapse | None) -> dict[str, float]:
    """Return scores by document id after checking that a run can store them.

    Hits without scores get the score 1/rank, which does not depend on the depth.

    Raises:
        ValueError: If an id is empty or contains white space, a document is repeated without
            ``collapse``, or a score is not a finite 32-bit number.
    """
    scores = hits.scores
    if scores is None:
        if collapse is not None and collapse.method == "sum":
            raise ValueError("there are no scores to sum; collapse by max or first")
        scores = [1 / rank for rank in range(1, len(hits.ids) + 1)]
    if collapse is None:
        found = dict(zip(hits.ids, map(float, scores), strict=True))
    else:
        found = collapse_chunks(hits.ids, [*map(float, scores)], collapse)
    for score in (*scores, *found.values()):
        if not abs(score) <= _LARGEST_SCORE:
            raise ValueError(f"score {score:g} is no number that a run can hold")
    if collapse is None and len(found) < len(hits.ids):
        repeated = next(one for row, one in enumerate(hits.ids) if one in hits.ids[:row])
        raise ValueError(f"document id '{repeated}' comes twice; collapse chunks to documents")
    for doc_id in found:
        if not doc_id or _UNWRITABLE.search(doc_id):
            raise ValueError(f"document id {doc_id[:60]!r} cannot be written to a run")
    return found
