"""Scores of a run file that is read in chunks of whole queries, without a table of all its rows.

Only the ranks of judged documents of a chunk are in memory until it is scored, so memory hardly
grows with the run. :mod:`~trectools_plus.measures.scoring.clean` reads clean chunks with NumPy, and
:mod:`~trectools_plus.measures.scoring.views` others with Polars. Runs that cannot be scored in
chunks are read as a whole, which reports their errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.files.opening import compression_of
from trectools_plus.measures.judged import Grades, IntArray, JudgedRun
from trectools_plus.measures.scoring.ranking import deepest_rank_needed, score_judged
from trectools_plus.validation.clean import IdFacts, RunFacts, id_findings, name_findings
from trectools_plus.validation.id_matching import near_matches
from trectools_plus.validation.limits import JUDGED_CUTOFF

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import FloatArray, Measure
    from trectools_plus.validation.chunks import ChunkFindings
    from trectools_plus.validation.findings import Finding


class NotInChunksError(Exception):
    """A run cannot be scored in chunks."""


class EmptyRunError(NotInChunksError):
    """A run has no rows."""


class UnsortedError(NotInChunksError):
    """The rows of a query are not contiguous."""


class IdMismatchError(NotInChunksError):
    """Run and qrels share too few ids, or spell them differently."""


@dataclass(frozen=True, eq=False)
class ChunkSummary:
    """Facts about a chunk of a run that decide whether, and with which notes, the run is scored.

    Attributes:
        found: The findings that do not block scoring, or facts that determine them.
        tags: The tags of the first and the last row; empty without rows.
        query_ids: The queries.
        n_documents: The number of documents of judged queries.
        n_judged: The number of judged documents, down to the depth that is needed.
        n_shown: The number of documents of judged queries in the first ``JUDGED_CUTOFF``.
        n_judged_shown: The number of judged documents among these.
        n_other_spellings: The number of unjudged documents that are judged in another spelling.
        has_common_documents: Whether a document is judged for any query; of a ranking that is not
            complete, for its own query.
    """

    found: ChunkFindings | RunFacts
    tags: tuple[str, ...]
    query_ids: list[str]
    n_documents: int
    n_judged: int
    n_shown: int
    n_judged_shown: int
    n_other_spellings: int
    has_common_documents: bool


@dataclass(frozen=True, eq=False)
class JudgedChunk:
    """The ranks of judged documents in a chunk of a run.

    Attributes:
        found: The findings that do not block scoring, or facts that determine them.
        tags: The tags of the first and the last row; empty without rows.
        query_ids: The queries.
        number: For each query, its number in the qrels; -1 if it is not judged.
        lengths: For each query, its number of documents.
        judgments: The judgments of retrieved documents.
        ranks: The rank of each of these documents.
        n_other_spellings: The number of unjudged documents that are judged in another spelling.
        has_common_documents: As in :class:`ChunkSummary`.
    """

    found: ChunkFindings | RunFacts
    tags: tuple[str, ...]
    query_ids: list[str]
    number: IntArray
    lengths: IntArray
    judgments: IntArray
    ranks: IntArray
    n_other_spellings: int
    has_common_documents: bool

    @property
    def summary(self) -> ChunkSummary:
        """The facts that decide whether the run is scored."""
        lengths = self.lengths[self.number >= 0]
        return ChunkSummary(
            self.found,
            self.tags,
            self.query_ids,
            n_documents=int(lengths.sum()),
            n_judged=len(self.judgments),
            n_shown=int(np.minimum(lengths, JUDGED_CUTOFF).sum()),
            n_judged_shown=int(np.count_nonzero(self.ranks <= JUDGED_CUTOFF)),
            n_other_spellings=self.n_other_spellings,
            has_common_documents=self.has_common_documents,
        )

    def judged_run(self, qrels: Grades, known: IntArray) -> tuple[IntArray, JudgedRun]:
        """Return the numbers of some judged queries, and the ranks of their judged documents.

        Args:
            qrels: The judgments.
            known: The queries, as positions in ``query_ids``.
        """
        numbers = self.number[known]
        return numbers, qrels.judged_run(numbers, self.lengths[known], self.judgments, self.ranks)


@dataclass(frozen=True, eq=False)
class ScoredChunk:
    """A chunk of a run file that has been scored.

    Attributes:
        summary: The facts that decide whether the run is scored.
        numbers: The scored queries, as numbers of the qrels.
        values: Their values, shape (queries, measures).
    """

    summary: ChunkSummary
    numbers: IntArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A run file that has been scored.

    Attributes:
        name: The run's tag.
        path: The file, as the user named it.
        query_ids: Its queries, in file order.
        judged_ids: The queries of the qrels, in their order.
        table: Values of shape (queries of the qrels, measures); ``nan`` is undefined.
        findings: The findings that do not block scoring.
    """

    name: str
    path: str
    query_ids: list[str]
    judged_ids: list[str]
    table: FloatArray
    findings: tuple[Finding, ...] = ()

    def values(self, query_ids: Collection[str]) -> FloatArray:
        """Return the rows of some queries of the qrels, in the order of the qrels."""
        if len(query_ids) == len(self.judged_ids):
            return self.table
        wanted = {*query_ids}
        return self.table[[query_id in wanted for query_id in self.judged_ids]]


def deepest_rank_to_judge(measures: Sequence[Measure]) -> int | None:
    """Return the deepest rank that the measures and the findings need; ``None`` for all."""
    depth = deepest_rank_needed(measures)
    return None if depth is None else max(depth, JUDGED_CUTOFF)


def score_chunk(chunk: JudgedChunk, qrels: Grades, measures: Sequence[Measure]) -> ScoredChunk:
    """Score the judged queries of a chunk.

    Args:
        chunk: The ranks of judged documents.
        qrels: The judgments.
        measures: The measures, each once, that all ``depend_on_grades_only``.
    """
    known = np.flatnonzero(chunk.number >= 0)
    numbers, run = chunk.judged_run(qrels, known)
    ids = [qrels.query_ids[number] for number in numbers.tolist()]
    return ScoredChunk(chunk.summary, numbers, score_judged(measures, ids, run))


def join_chunks(
    path: str, scored: Sequence[ScoredChunk], qrels: Grades, measures: Sequence[Measure]
) -> ScoredFile:
    """Join the scored chunks of a run.

    Args:
        path: The run, as the user named it.
        scored: Its chunks, in order.
        qrels: The judgments.
        measures: The measures that the chunks were scored with.

    Raises:
        NotInChunksError: As :func:`check_chunks` does.
    """
    summaries = [one.summary for one in scored]
    check_chunks(summaries, qrels)
    table = np.empty((len(qrels.query_ids), len(measures)))
    for column, measure in enumerate(measures):
        table[:, column] = measure.values_without_results(qrels.query, qrels.relevance, len(table))
    for one in scored:
        table[one.numbers] = one.values
    query_ids = [query_id for one in summaries for query_id in one.query_ids]
    tag = next(tag for one in summaries for tag in one.tags)
    findings = tuple(join_findings(path, summaries, qrels))
    return ScoredFile(tag, path, query_ids, qrels.query_ids, table, findings)


def refuse_split_queries(chunks: Iterable[JudgedChunk]) -> Iterator[JudgedChunk]:
    """Yield chunks until one has a query of an earlier one.

    Raises:
        UnsortedError: If a query is in two chunks.
    """
    query_ids: set[str] = set()
    for chunk in chunks:
        if not query_ids.isdisjoint(chunk.query_ids):
            raise UnsortedError
        query_ids.update(chunk.query_ids)
        yield chunk


def check_chunks(summaries: Iterable[ChunkSummary], qrels: Grades) -> None:
    """Check that chunks together are a run that can be scored.

    Raises:
        EmptyRunError: If no chunk has a row.
        UnsortedError: If a query is in two chunks.
        IdMismatchError: If run and qrels share too few ids.
    """
    query_ids: set[str] = set()
    n_judged = n_other_spellings = 0
    has_common_documents = False
    for one in summaries:
        if not query_ids.isdisjoint(one.query_ids):
            raise UnsortedError
        query_ids.update(one.query_ids)
        n_judged += one.n_judged
        n_other_spellings += one.n_other_spellings
        has_common_documents |= one.has_common_documents
    if not query_ids:
        raise EmptyRunError
    if not has_common_documents or n_other_spellings > n_judged:
        raise IdMismatchError
    if query_ids.isdisjoint(qrels.query_ids) or near_matches(query_ids, qrels.query_ids):
        raise IdMismatchError


def join_findings(path: str, summaries: Sequence[ChunkSummary], qrels: Grades) -> list[Finding]:
    """Return the findings on a run and its ids that do not block scoring.

    Args:
        path: The run, as the user named it.
        summaries: Its chunks, which :func:`check_chunks` has checked.
        qrels: The judgments.
    """
    n_judged, shown, judged_shown = (
        sum(one.n_judged for one in summaries),
        sum(one.n_shown for one in summaries),
        sum(one.n_judged_shown for one in summaries),
    )
    ids = IdFacts(
        [query_id for one in summaries for query_id in one.query_ids],
        qrels.query_ids,
        n_documents=sum(one.n_documents for one in summaries),
        judged=judged_shown / shown if n_judged and shown else None,
        n_other_spellings=sum(one.n_other_spellings for one in summaries),
    )
    named = name_findings(path, compression_of(path))
    facts = [one.found for one in summaries if isinstance(one.found, RunFacts)]
    if facts:
        return named + RunFacts.joined(facts).findings(path) + id_findings(path, ids)
    from trectools_plus.validation.chunks import join_findings as join_chunk_findings
    from trectools_plus.validation.engine import check_ids

    found = [one.found for one in summaries if not isinstance(one.found, RunFacts)]
    return named + join_chunk_findings(path, found) + check_ids(path, ids)
