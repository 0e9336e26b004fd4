"""From hits to a ranking of documents: deep enough, collapsed, without the query itself."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.retrieval.backends.base import Failure, Hits, Query, Source
from trectools_plus.retrieval.source import Ranking, rank_scores
from trectools_plus.retrieval.values import WholeNumber

CollapseMethod = Literal["max", "first", "sum"]
DEEPEST = 16
"""How many times the depth is asked for at most, where ``max_chunks`` does not say."""


class Collapse(BaseModel):
    """How chunks become documents."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    method: CollapseMethod = "max"
    """The document's score: ``max`` of its chunks' scores, that of the ``first`` chunk in the order
    of the service, or their ``sum`` (over the chunks that were fetched)."""
    separator: str | None = Field(default=None, min_length=1)
    """What stands between the document's id and the chunk's own part, as ``#`` in ``d12#3``; the
    last one counts. Without it the ids are those of documents already, and one that comes several
    times is collapsed."""
    max_chunks: WholeNumber | None = Field(default=None, ge=1)
    """The most chunks asked for one query; 16 times the depth by default."""

    def most(self, depth: int) -> int:
        """How many chunks may be asked for a result of ``depth`` documents."""
        return max(depth, DEEPEST * depth if self.max_chunks is None else self.max_chunks)


def document_id(chunk_id: str, separator: str | None) -> str:
    """The id of the document that a chunk is of; one without a separator is a document."""
    if separator is None:
        return chunk_id
    before, found, _ = chunk_id.rpartition(separator)
    return before if found else chunk_id


def collapse_chunks(
    ids: Sequence[str], scores: Sequence[float], collapse: Collapse
) -> dict[str, float]:
    """Scores by document, in the order in which the documents first come.

    Args:
        ids: Of chunks, in the order of the service.
        scores: One per id.
        collapse: How.
    """
    collapsed: dict[str, float] = {}
    for chunk_id, score in zip(ids, scores, strict=True):
        doc_id = document_id(chunk_id, collapse.separator)
        if doc_id not in collapsed:
            collapsed[doc_id] = score
        elif collapse.method == "max":
            collapsed[doc_id] = max(collapsed[doc_id], score)
        elif collapse.method == "sum":
            collapsed[doc_id] += score
    return collapsed


_UNWRITABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of every query.

    Attributes:
        depth: Documents, at most.
        exclude_self: Drop a document whose id is the query's, before the cutoff.
        collapse: How chunks become documents; ``None`` where ids are those of documents.
    """

    depth: int
    exclude_self: bool = False
    collapse: Collapse | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A query's documents.

    Attributes:
        query_id: The query.
        ranking: At most ``depth`` documents, in canonical order.
        latency_ms: Milliseconds that the answering took, over all rounds of going deeper.
        attempts: How often the query was sent.
        asked: Results asked for in the last round.
        cut_short: Whether there were fewer documents than wanted although more chunks could be
            had: ``max_chunks`` was reached.
        diagnostics: What the source says of its last answer, as JSON.
    """

    query_id: str
    ranking: Ranking
    latency_ms: float
    attempts: int = 1
    asked: int = 0
    cut_short: bool = False
    diagnostics: Any = None


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """A query without an answer, and why."""

    query_id: str
    failure: Failure


class _UnusableError(ValueError):
    """An answer that cannot be a ranking."""


def answer_batch(
    source: Source, queries: Sequence[Query], wanted: Wanted
) -> list[Answer | FailedQuery]:
    """Ask a source, deeper where its chunks are of too few documents, and rank what it finds.

    Each round asks for twice as many results as the one before, until there are ``depth``
    documents, the source has no more, or ``collapse.most(depth)`` is reached.

    Returns:
        One entry per query, in their order.
    """
    outcomes: dict[str, Answer | FailedQuery] = {}
    spent = dict.fromkeys((query.query_id for query in queries), (0.0, 0))
    pending, asked = list(queries), wanted.depth + wanted.exclude_self
    most = asked if wanted.collapse is None else wanted.collapse.most(asked)
    while pending:
        deeper = []
        for query, reply in zip(pending, source.ask(pending, asked), strict=True):
            if isinstance(reply, Failure):
                sent = spent[query.query_id][1] + reply.attempts
                outcomes[query.query_id] = FailedQuery(
                    query.query_id, replace(reply, attempts=sent)
                )
                continue
            ms, attempts = spent[query.query_id]
            spent[query.query_id] = ms + reply.latency_ms, attempts + reply.attempts
            outcome, more = _settle(query, reply, asked, wanted, spent[query.query_id])
            if more and asked < most:
                deeper.append(query)
            else:
                outcomes[query.query_id] = outcome
        pending, asked = deeper, min(2 * asked, most)
    return [outcomes[query.query_id] for query in queries]


def _settle(
    query: Query, hits: Hits, asked: int, wanted: Wanted, spent: tuple[float, int]
) -> tuple[Answer | FailedQuery, bool]:
    """The outcome of one round, and whether a deeper one might find more documents."""
    try:
        scores = documents_of(hits, wanted.collapse)
    except _UnusableError as error:
        return FailedQuery(query.query_id, Failure(str(error), attempts=spent[1])), False
    if wanted.exclude_self:
        scores.pop(query.query_id, None)
    values = np.array(list(scores.values()), dtype=np.float64)
    ranking = rank_scores(list(scores), values, wanted.depth)
    more = wanted.collapse is not None and len(ranking) < wanted.depth and len(hits.ids) >= asked
    answer = Answer(
        query.query_id,
        ranking,
        latency_ms=spent[0],
        attempts=spent[1],
        asked=asked,
        cut_short=more,
        diagnostics=hits.diagnostics,
    )
    return answer, more


def documents_of(hits: Hits, collapse: Collapse | None) -> dict[str, float]:
    """Scores by document id, checked: a run must be able to hold them.

    Hits without scores get 1/rank: strictly falling, whatever the depth.

    Raises:
        ValueError: If an id is empty or holds white space, a document comes twice and is not to
            be collapsed, or a score is no number that 32 bits can hold.
    """
    scores = hits.scores
    if scores is None:
        if collapse is not None and collapse.method == "sum":
            raise _UnusableError("there are no scores to sum; collapse by max or first")
        scores = [1 / rank for rank in range(1, len(hits.ids) + 1)]
    for score in scores:
        if not math.isfinite(score) or abs(score) > _LARGEST:
            raise _UnusableError(f"score {score:g} is no number that a run can hold")
    found = (
        dict(zip(hits.ids, scores, strict=True))
        if collapse is None
        else collapse_chunks(hits.ids, scores, collapse)
    )
    if collapse is None and len(found) < len(hits.ids):
        twice = next(one for place, one in enumerate(hits.ids) if one in hits.ids[:place])
        raise _UnusableError(f"document id '{twice}' comes twice; collapse chunks to documents")
    bad = [doc_id for doc_id in found if not doc_id or _UNWRITABLE.search(doc_id)]
    if bad:
        raise _UnusableError(f"document id {bad[0][:60]!r} cannot be written to a run")
    if collapse is not None and any(abs(score) > _LARGEST for score in found.values()):
        raise _UnusableError("a sum of scores is no number that a run can hold")
    return found
