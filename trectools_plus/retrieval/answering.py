"""Answers of a source: documents for each query, in memory and in a journal.

Hits become a ranking of documents: chunks are collapsed, and the query's own document is dropped.

The journal of a fetch has the answers so far, so that an interrupted fetch can be resumed. It is a
text file of JSON lines. The first line describes the fetch: the facts and their hash. Each further
line is the answer or the failure of one query. Lines are only appended. Each batch is one write
that is flushed to the disk before the next batch, so a killed process leaves at most one incomplete
line at the end. Resuming the fetch removes it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import AppendedFile
from trectools_plus.formats.hashing import sha256_text
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
    collapsed = dict[str, float]()
    for chunk_id, score in zip(ids, scores, strict=True):
        # An id without the separator is a document id.
        separator = collapse.separator
        before, mark, _ = chunk_id.rpartition(separator) if separator else ("", "", "")
        doc_id = before if mark else chunk_id
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
        cut_short: Whether there are fewer than ``depth`` documents although the source found more
            results: it returned fewer than requested, or ``max_chunks`` was reached.
        may_have_more: Whether more chunks might add documents.
    """

    query_id: str
    ranking: Ranking
    latency_ms: float
    attempts: int = 1
    cut_short: bool = False
    may_have_more: bool = False


class MemoryAnswers(dict[str, Answer]):
    """Answers in memory, by query id."""

    def add(self, outcomes: Mapping[str, Answer | Failure]) -> None:
        """Store the answers and ignore the failures, which the caller records."""
        self.update(
            {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Answer)}
        )


def answer_batch(
    source: Source, queries: Sequence[Query], options: FetchOptions
) -> dict[str, Answer | Failure]:
    """Send queries to a source, and rank its results.

    A query is sent in rounds. Each round requests twice as many results as the previous one, until
    there are ``depth`` documents, the source has no more results, or ``max_chunks`` is reached.

    Returns:
        The outcome of each query by its id, in their order.
    """
    outcomes = dict[str, Answer | Failure]()
    pending, asked = list(queries), options.depth + options.exclude_self
    limit, collapse = asked, options.collapse
    if collapse is not None:
        limit = max(asked, collapse.max_chunks or 16 * asked)
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
    return Answer(query.query_id, ranking, hits.latency_ms, 1, more or is_cut, more)


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
    numbers = [*map(float, scores)]
    documents = dict(zip(hits.ids, numbers, strict=True))
    if collapse is not None:
        documents = collapse_chunks(hits.ids, numbers, collapse)
    for score in (*numbers, *documents.values()):
        if not abs(score) <= _LARGEST_SCORE:
            raise ValueError(f"score {score:g} is no number that a run can hold")
    if collapse is None and len(documents) < len(hits.ids):
        repeated = next(doc_id for row, doc_id in enumerate(hits.ids) if doc_id in hits.ids[:row])
        raise ValueError(f"document id '{repeated}' comes twice; collapse chunks to documents")
    for doc_id in documents:
        if not doc_id or _UNWRITABLE.search(doc_id):
            raise ValueError(f"document id {doc_id[:60]!r} cannot be written to a run")
    return documents


class Journal(MemoryAnswers):
    """The answers of queries, by query id, which are also in a file of one process at a time.

    Args:
        path: The file; created if it is missing.

    Attributes:
        path: The file.
        header: The facts in the first line; ``None`` in a new file.

    Raises:
        InputError: If the file cannot be opened, or another process uses it.
        UsageError: If it is not a journal.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.header: dict[str, Any] | None = None
        self._file = AppendedFile(path, "journal", "fetch")
        try:
            *lines, rest = path.read_bytes().split(b"\n")
            for number, line in enumerate(lines, 1):
                self._read(line, number)
            self._file.truncate(path.stat().st_size - len(rest))
        except BaseException:
            self.close()
            raise

    def _read(self, line: bytes, number: int) -> None:
        try:
            entry = json.loads(line)
            if self.header is None:
                self.header = {"key": entry["key"], "facts": dict(entry["facts"]), **entry}
            elif entry["status"] == "ok":
                self[entry["query_id"]] = _as_answer(entry)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                "not a fetch journal",
                where=f"{self.path}:{number}",
                remedy="remove the file to start again",
            ) from error

    def add(self, outcomes: Mapping[str, Answer | Failure]) -> None:
        """Append the outcomes of some queries and flush them to the disk.

        Raises:
            InputError: If the journal cannot be written.
        """
        lines = (
            json.dumps({"query_id": query_id, **_as_entry(outcome)}, allow_nan=False)
            for query_id, outcome in outcomes.items()
        )
        self._file.append("".join(f"{line}\n" for line in lines).encode())
        super().add(outcomes)

    def start(self, header: Mapping[str, Any]) -> None:
        """Remove all lines, and write a header.

        Raises:
            InputError: If the journal cannot be written.
        """
        self.clear()
        self._file.truncate(0)
        self._file.append(f"{json.dumps(header, ensure_ascii=False)}\n".encode())

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


def open_journal(
    path: str | Path, facts: Mapping[str, Any], queries: int, *, resume: bool
) -> Journal:
    """Start a new journal, or resume an existing one.

    Args:
        path: The file.
        facts: Everything that determines the answers, as JSON: settings, depth, hash of the
            topics.
        queries: The number of queries of the fetch.
        resume: Whether to resume an existing journal; otherwise a finished one is replaced.

    Raises:
        UsageError: If the journal belongs to another fetch, is damaged, or, without ``resume``,
            is unfinished.
        InputError: If it cannot be opened, or another process uses it.
    """
    facts = json.loads(json.dumps(facts))
    journal = Journal(Path(path))
    header, key = journal.header, sha256_text(json.dumps(facts, sort_keys=True, ensure_ascii=False))
    try:
        if header is not None and resume and header["key"] != key:
            earlier = header["facts"]
            names = [name for name in {**earlier, **facts} if earlier.get(name) != facts.get(name)]
            raise UsageError(
                f"the journal belongs to another fetch: {', '.join(names) or 'its key'} differs",
                where=str(path),
                remedy="use the settings of that fetch, or remove the file to start again",
            )
        if header is not None and not resume and 0 < len(journal) < header.get("queries", 0):
            raise UsageError(
                f"this journal has answers to {len(journal):,} of {header['queries']:,} queries of "
                "an unfinished fetch",
                where=str(path),
                remedy="add --resume to resume the fetch, or remove the file to start again",
            )
        if header is None or not resume:
            journal.start({"journal": 1, "key": key, "queries": queries, "facts": facts})
    except BaseException:
        journal.close()
        raise
    return journal


def _as_entry(outcome: Answer | Failure) -> dict[str, Any]:
    """Convert an outcome to the JSON of its line."""
    if isinstance(outcome, Failure):
        return {"status": outcome.kind, "reason": outcome.reason, "attempts": outcome.attempts}
    return {
        "status": "ok",
        "doc_ids": outcome.ranking.doc_ids,
        "scores": outcome.ranking.scores.astype(np.float64).tolist(),
        "latency_ms": None if math.isnan(outcome.latency_ms) else outcome.latency_ms,
        "attempts": outcome.attempts,
        "cut_short": outcome.cut_short,
    }


def _as_answer(entry: dict[str, Any]) -> Answer:
    """Convert the JSON of a line to an answer; scores are restored exactly.

    Raises:
        KeyError, TypeError, ValueError: If a value is missing or has another type.
    """
    return Answer(
        entry["query_id"],
        Ranking([*map(str, entry["doc_ids"])], np.array(entry["scores"], dtype=np.float32)),
        latency_ms=math.nan if entry["latency_ms"] is None else float(entry["latency_ms"]),
        attempts=entry["attempts"],
        cut_short=entry["cut_short"],
    )
