"""From hits to a ranking of documents: deep enough, collapsed, without the query itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.choices import CollapseMethod
from trectools_plus.retrieval.source import Failure, Hits, Query, Ranking, Source, rank_scores
from trectools_plus.retrieval.values import WholeNumber

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
        """Return how many chunks may be asked for a result of ``depth`` documents."""
        return max(depth, DEEPEST * depth if self.max_chunks is None else self.max_chunks)


def document_id(chunk_id: str, separator: str | None) -> str:
    """Return the id of the document that a chunk is of; one without a separator is a document."""
    if separator is None:
        return chunk_id
    before, found, _ = chunk_id.rpartition(separator)
    return before if found else chunk_id


def collapse_chunks(
    ids: Sequence[str], scores: Sequence[float], collapse: Collapse
) -> dict[str, float]:
    """Return scores by document, in the order in which the documents first come.

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
class FetchOptions:
    """Options of what is fetched for every query.

    Attributes:
        depth: Documents, at most.
        exclude_self: Drop a document whose id is the query's, before the cutoff.
        collapse: How chunks become documents; ``None`` where ids are those of documents.
    """

    depth: int = 100
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
        cut_short: Whether there were fewer documents than wanted although more chunks are
            available: ``max_chunks`` was reached.
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


class Answers(Protocol):
    """Answers that are found by their query."""

    def __len__(self) -> int: ...

    def __contains__(self, query_id: str) -> bool: ...

    def get(self, query_id: str) -> Answer | None:
        """Return the answer to a query; ``None`` if there is none."""


class AnswerStore(Protocol):
    """A place for answers as they come: memory, or a journal."""

    @property
    def answers(self) -> Answers:
        """Those that are there now."""

    def add(self, outcomes: Iterable[Answer | FailedQuery]) -> None:
        """Store the outcomes of some queries."""


class MemoryAnswers(dict[str, Answer]):
    """Answers in memory, by query id."""

    @property
    def answers(self) -> MemoryAnswers:
        """Those that are there now."""
        return self

    def add(self, outcomes: Iterable[Answer | FailedQuery]) -> None:
        """Store the answers; failures are reported to the caller anyhow."""
        self.update({one.query_id: one for one in outcomes if isinstance(one, Answer)})


class _UnusableError(ValueError):
    """An answer that cannot be a ranking."""


def answer_batch(
    source: Source, queries: Sequence[Query], options: FetchOptions
) -> list[Answer | FailedQuery]:
    """Ask a source, deeper where its chunks are of too few documents, and rank what it finds.

    Each round asks for twice as many results as the one before, until there are ``depth``
    documents, the source has no more, or ``collapse.most(depth)`` is reached.

    Returns:
        One entry per query, in their order.
    """
    outcomes: dict[str, Answer | FailedQuery] = {}
    spent = dict.fromkeys((query.query_id for query in queries), (0.0, 0))
    pending, asked = list(queries), options.depth + options.exclude_self
    most = asked if options.collapse is None else options.collapse.most(asked)
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
            outcome, more = _resolve(query, reply, asked, options, spent[query.query_id])
            if more and asked < most:
                deeper.append(query)
            else:
                outcomes[query.query_id] = outcome
        pending, asked = deeper, min(2 * asked, most)
    return [outcomes[query.query_id] for query in queries]


def _resolve(
    query: Query, hits: Hits, asked: int, options: FetchOptions, spent: tuple[float, int]
) -> tuple[Answer | FailedQuery, bool]:
    """Return the outcome of one round, and whether a deeper one might find more documents."""
    if hits.is_ranking and options.collapse is None:
        ranking = Ranking(list(hits.ids), np.asarray(hits.scores, dtype=np.float32))
        if options.exclude_self:
            ranking = ranking.without(query.query_id)
        ms, attempts = spent
        return Answer(query.query_id, ranking.head(options.depth), ms, attempts, asked), False
    try:
        scores = documents_of(hits, options.collapse)
    except _UnusableError as error:
        return FailedQuery(query.query_id, Failure(str(error), attempts=spent[1])), False
    if options.exclude_self:
        scores.pop(query.query_id, None)
    values = np.array(list(scores.values()), dtype=np.float64)
    ranking = rank_scores(list(scores), values, options.depth)
    more = options.collapse is not None and len(ranking) < options.depth and len(hits.ids) >= asked
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
    """Return scores by document id, checked: a run must be able to hold them.

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
    elif not isinstance(scores, Sequence):
        scores = scores.tolist()
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
