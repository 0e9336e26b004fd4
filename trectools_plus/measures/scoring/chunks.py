"""Scores of a run file that is read in chunks of whole queries, or as a whole.

Only the ranks of judged documents of a chunk are in memory until it is scored, so memory hardly
grows with the run. Runs that cannot be scored in chunks are read as a whole, which reports their
errors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.opening import (
    can_be_read_twice,
    compression_of,
    file_size,
    is_plain_file,
)
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.measures.judged import Grades, IntArray, JudgedRun
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.ranking import deepest_rank_needed, score_judged
from trectools_plus.processes import map_in_processes
from trectools_plus.validation.catalogue import RULES
from trectools_plus.validation.chunks import ChunkFindings, join_chunk_findings, open_chunk
from trectools_plus.validation.engine import IdFacts, check_ids
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.id_matching import near_matches
from trectools_plus.validation.limits import JUDGED_CUTOFF
from trectools_plus.validation.rules.file.compression import check_name
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import FloatArray, Measure
    from trectools_plus.ranking import ScorePrecision

OpenView = Callable[[str, bytes], tuple[RunView, list[Finding]]]
"""Makes a view of a chunk, and returns its findings; or raises ``NotInChunksError``."""

_CHUNK_BYTES = 2 << 20
"""The approximate size of a chunk, which fits the CPU caches."""
_BYTES_PER_PROCESS = 4 << 20
"""The smallest share of a file for which starting a process saves time."""

_T = TypeVar("_T")


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
        found: The findings that do not block scoring.
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

    found: ChunkFindings
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
        found: The findings that do not block scoring.
        tags: The tags of the first and the last row; empty without rows.
        query_ids: The queries.
        number: For each query, its number in the qrels; -1 if it is not judged.
        lengths: For each query, its number of documents.
        judgments: The judgments of retrieved documents.
        ranks: The rank of each of these documents.
        n_other_spellings: The number of unjudged documents that are judged in another spelling.
        has_common_documents: As in :class:`ChunkSummary`.
    """

    found: ChunkFindings
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
    table = _table_of(scored, qrels, measures)
    query_ids = [query_id for one in summaries for query_id in one.query_ids]
    tag = next(tag for one in summaries for tag in one.tags)
    findings = tuple(join_findings(path, summaries, qrels))
    return ScoredFile(tag, path, query_ids, qrels.query_ids, table, findings)


def _table_of(
    scored: Sequence[ScoredChunk], qrels: Grades, measures: Sequence[Measure]
) -> FloatArray:
    """Return the values of all queries of the qrels; see :class:`ScoredFile`."""
    table = np.empty((len(qrels.query_ids), len(measures)))
    for column, measure in enumerate(measures):
        table[:, column] = measure.values_without_results(qrels.query, qrels.relevance, len(table))
    for one in scored:
        table[one.numbers] = one.values
    return table


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
    named = check_name(path, compression_of(path))
    found = [] if named is None else [RULES["F112"].finding(named, path)]
    found += join_chunk_findings(path, [one.found for one in summaries])
    return found + check_ids(path, ids)


def map_chunks(
    path: str,
    chunks: Iterable[Chunk],
    qrels: Judgments,
    use: Callable[[JudgedChunk], _T],
    *,
    open_view: OpenView | None = None,
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> list[_T]:
    """Call a function with each chunk of a run, in this process or in copies of it.

    Args:
        path: The run.
        chunks: Its chunks, in order.
        qrels: The judgments.
        use: Called with the ranks of judged documents; its results must be picklable.
        open_view: Makes the views of the chunks; by default, each must be clean.
        precision: The number of bits in which scores are compared.
        depth: The deepest rank down to which judged documents are needed; ``None`` for all.

    Raises:
        NotInChunksError: If a chunk cannot be scored separately.
    """

    def work(chunk: Chunk) -> _T:
        view, findings = (open_view or view_valid_chunk)(path, chunk())
        return use(judge_view(view, findings, qrels, precision=precision, depth=depth))

    if not is_plain_file(path):
        return [work(chunk) for chunk in chunks]
    n_processes = max(1, file_size(path) // _BYTES_PER_PROCESS)
    return map_in_processes(work, list(chunks), max_processes=n_processes)


def map_clean_chunks(
    path: str | Path,
    qrels: Judgments,
    use: Callable[[JudgedChunk], _T],
    *,
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> list[_T] | None:
    """Call a function with each chunk of a run; see :func:`map_chunks`.

    Returns:
        ``None`` if the run must be read as a whole, because a chunk has lines that are not rows or
        findings that block scoring, or if there was an error, which reading it as a whole reports.
    """
    if not can_be_read_twice(path):
        return None
    try:
        chunks = iter_query_chunks(path, _CHUNK_BYTES)
        return map_chunks(str(path), chunks, qrels, use, precision=precision, depth=depth)
    except (NotInChunksError, TrectoolsPlusError):
        return None


def score_clean_file(
    path: str | Path, qrels: Judgments, measures: Sequence[Measure]
) -> ScoredFile | None:
    """Score a run file in chunks, if that is possible.

    Args:
        path: The run, compressed or not.
        qrels: The judgments.
        measures: The measures, each once, that all ``depend_on_grades_only``.

    Returns:
        The scores, equal to those of the whole run bit for bit; ``None`` if the run must be read as
        a whole.
    """

    def score(chunk: JudgedChunk) -> ScoredChunk:
        return score_chunk(chunk, qrels, measures)

    scored = map_clean_chunks(path, qrels, score, depth=deepest_rank_to_judge(measures))
    if scored is None:
        return None
    try:
        return join_chunks(str(path), scored, qrels, measures)
    except NotInChunksError:
        return None


def score_view(
    view: RunView,
    name: str,
    findings: Sequence[Finding],
    qrels: Judgments,
    measures: Sequence[Measure],
) -> ScoredFile:
    """Score a run that has been read as a whole, and has no error.

    Args:
        view: The run.
        name: Its name.
        findings: Its findings.
        qrels: The judgments.
        measures: The measures, each once, that all ``depend_on_grades_only``.
    """
    judged = judge_view(view, [], qrels, depth=deepest_rank_to_judge(measures))
    scored = score_chunk(judged, qrels, measures)
    table = _table_of([scored], qrels, measures)
    return ScoredFile(name, view.path, view.query_ids, qrels.query_ids, table, tuple(findings))


def view_valid_chunk(path: str, data: bytes) -> tuple[RunView, list[Finding]]:
    """Return a view of a chunk of a run, and its findings.

    Raises:
        NotInChunksError: If it has findings that block scoring.
    """
    opened = open_chunk(path, data, "valid")
    if opened is None:
        raise NotInChunksError
    return opened


def judge_view(
    view: RunView,
    findings: Iterable[Finding],
    qrels: Judgments,
    *,
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> JudgedChunk:
    """Look up the judged documents of a run, or of a chunk of one.

    Args:
        view: The run, or the chunk.
        findings: Its findings.
        qrels: The judgments.
        precision: The number of bits in which scores are compared.
        depth: The deepest rank down to which judged documents are needed; ``None`` for all.
    """
    number = qrels.numbers(view.query_ids)
    rows = _rows_to_look_up(view, qrels, number, depth)
    is_whole = len(rows) == view.n_rows
    query = number[view.blocks.query if is_whole else view.blocks.query[rows]]
    doc_ids = view.doc_ids if is_whole else view.doc_ids.take(rows)
    places, judgments = qrels.find(query, doc_ids)
    has_common = bool(len(judgments)) or (depth is None and qrels.has_any(view.doc_ids))
    found = ChunkFindings.of(view, findings)
    return JudgedChunk(
        found=found,
        tags=found.tags,
        query_ids=view.query_ids,
        number=number,
        lengths=view.blocks.sizes,
        judgments=judgments,
        ranks=view.evaluated_ranks(rows[places], precision),
        n_other_spellings=qrels.count_other_spellings(query, doc_ids, places),
        has_common_documents=has_common,
    )


def _rows_to_look_up(
    view: RunView, qrels: Judgments, number: IntArray, depth: int | None
) -> IntArray:
    """Return the rows of judged queries, only down to ``depth`` if the result is the same."""
    grouped = view.grouped
    is_ranked = depth is not None and grouped.row is None and grouped.scores_fall
    if depth is not None and is_ranked and qrels.has_no_other_spelling(view.doc_ids):
        rows = grouped.first_places(depth)
    else:
        rows = np.arange(view.n_rows)
    if (number < 0).any():
        rows = rows[number[view.blocks.query[rows]] >= 0]
    return rows
