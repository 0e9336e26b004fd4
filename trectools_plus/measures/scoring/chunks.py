"""Scores of a run file that is read in chunks, without a table of all its rows.

A clean run whose rows are grouped by query is read in chunks of whole queries, several at a time.
Only the ranks of judged documents stay in memory until a chunk is scored, so memory hardly grows
with the run. Other runs are read as a whole, which reports their errors.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore
from typing import TypeVar

import numpy as np

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.opening import can_be_read_twice, file_size
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.processes import Scorer, Scores, open_scorer
from trectools_plus.measures.scoring.ranking import deepest_rank_needed
from trectools_plus.ranking import ScorePrecision, rank_documents
from trectools_plus.validation.chunks import ChunkFindings, join_findings, open_chunk
from trectools_plus.validation.engine import check_ids
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.id_matching import near_matches
from trectools_plus.validation.views.order import Rows
from trectools_plus.validation.views.pairs import JUDGED_CUTOFF
from trectools_plus.validation.views.runs import RunView

OpenView = Callable[[str, bytes], tuple[RunView, list[Finding]]]

_T = TypeVar("_T")

_MAX_CHUNKS_IN_PROGRESS = 8
"""The maximum number of chunks in progress, used while the qrels are read."""


class NotInChunksError(Exception):
    """A run cannot be scored in chunks."""


class EmptyRunError(NotInChunksError):
    """A run has no rows."""


class UnsortedError(NotInChunksError):
    """The rows of a query are not contiguous."""


class IdMismatchError(NotInChunksError):
    """Run and qrels share too few ids, or spell them differently."""


@dataclass(frozen=True, eq=False)
class JudgedChunk:
    """The ranks of judged documents in a chunk of a run.

    Attributes:
        found: The findings that do not block scoring.
        query_ids: The queries.
        number: For each query, its number in the qrels; -1 if it is not judged.
        lengths: For each query, its number of documents.
        judgments: The judgments of retrieved documents.
        ranks: The rank of each of these documents.
        n_other_spellings: The number of unjudged documents that are judged in another spelling.
        has_common_documents: Whether a document is judged for any query; of a ranking that is not
            complete, for its own query.
    """

    found: ChunkFindings
    query_ids: list[str]
    number: IntArray
    lengths: IntArray
    judgments: IntArray
    ranks: IntArray
    n_other_spellings: int
    has_common_documents: bool


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A run file that has been scored.

    Attributes:
        name: The run's tag.
        path: The file, as the user named it.
        query_ids: Its queries, in file order.
        table: Values of shape (scored queries, measures); ``nan`` is undefined.
        findings: The findings that do not block scoring.
    """

    name: str
    path: str
    query_ids: list[str]
    table: FloatArray
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class ScoredChunk:
    """A chunk of a run file that has been scored.

    Attributes:
        chunk: The ranks of judged documents.
        numbers: The scored queries, as numbers of the qrels.
        values: Their values, shape (queries, measures).
    """

    chunk: JudgedChunk
    numbers: IntArray
    values: FloatArray


LoadedQrels = tuple[Qrels, tuple[Finding, ...]]
"""Qrels, and their findings that do not block scoring."""

Opened = tuple[Run | ScoredFile, tuple[Finding, ...]]
"""A run that was read or scored, and its findings that do not block scoring."""


def score_file(
    path: str | Path, judgments: Future[Judgments], measures: Sequence[Measure]
) -> ScoredFile | None:
    """Score a run file in chunks, if possible.

    Args:
        path: The run, compressed or not.
        judgments: The qrels, which may still be loading.
        measures: The measures, each once, that all ``depend_on_grades_only``.

    Returns:
        The scores, equal to those of the whole run bit for bit; ``None`` if ``validation.load_run``
        has to read the file, because it may have errors, its rows are not grouped by query, or it
        cannot be read twice.

    Raises:
        TrectoolsPlusError: If the qrels cannot be read or have errors.
        UsageError: If a measure cannot score this input.
    """
    return _collect(
        path,
        judgments,
        lambda found: score_chunks(str(path), found, judgments, measures),
        depth=deepest_rank_to_judge(measures),
    )


def deepest_rank_to_judge(measures: Sequence[Measure]) -> int | None:
    """Return the deepest rank that the measures and the findings need; ``None`` for all."""
    depth = deepest_rank_needed(measures)
    return None if depth is None else max(depth, JUDGED_CUTOFF)


def _collect(
    path: str | Path,
    judgments: Future[Judgments],
    use: Callable[[Iterable[JudgedChunk]], _T],
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> _T | None:
    """Return the result of ``use`` for the chunks of a clean run; ``None`` for another run."""
    if not can_be_read_twice(path):
        return None
    try:
        read = iter_query_chunks(path)
        chunks = judge_chunks(str(path), read, judgments, view_clean_chunk, precision, depth)
        with closing(chunks):
            return use(chunks)
    except (NotInChunksError, InputError, FormatError):
        judgments.result()  # raises errors of the qrels first
        return None


def view_clean_chunk(path: str, data: bytes) -> tuple[RunView, list[Finding]]:
    """Return a view of a chunk of a run, and its findings.

    Raises:
        NotInChunksError: If it is not clean.
    """
    opened = open_chunk(path, data, "clean")
    if opened is None:
        raise NotInChunksError
    return opened


def score_chunks(
    path: str,
    chunks: Iterable[JudgedChunk],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
) -> ScoredFile:
    """Score the chunks of a run as they are read.

    Raises:
        NotInChunksError: As :func:`check_chunks` does.
    """
    summary = _Summary(path)
    tables: list[tuple[IntArray, Scores]] = []
    with open_scorer(measures, file_size(path)) as scorer:
        for chunk in check_chunks(chunks, judgments):
            summary.add(chunk)
            tables.append(score_chunk(chunk, judgments.result(), scorer))
        table = _table(tables, judgments.result(), measures)
    return summary.scored_file(table, judgments.result())


def join_chunks(
    path: str,
    scored: Sequence[ScoredChunk],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
) -> ScoredFile:
    """Join chunks that were scored elsewhere.

    Args:
        path: The run, as the user named it.
        scored: Its chunks, in order.
        judgments: The qrels.
        measures: The measures that the chunks were scored with.

    Raises:
        NotInChunksError: As :func:`check_chunks` does.
    """
    summary = _Summary(path)
    for chunk in check_chunks((one.chunk for one in scored), judgments):
        summary.add(chunk)
    tables = [(one.numbers, partial(np.asarray, one.values)) for one in scored]
    table = _table(tables, judgments.result(), measures)
    return summary.scored_file(table, judgments.result())


class _Summary:
    """Tag, queries and findings of a run, collected from its chunks.

    Args:
        path: The run.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._found: list[ChunkFindings] = []
        self._query_ids: list[str] = []
        self._n_documents = self._n_judged = self._n_other_spellings = 0
        self._at_cutoff = np.zeros(2, np.int64)

    def add(self, chunk: JudgedChunk) -> None:
        """Add a chunk."""
        self._found.append(chunk.found)
        self._query_ids += chunk.query_ids
        self._n_documents += int(chunk.lengths[chunk.number >= 0].sum())
        self._n_judged += len(chunk.judgments)
        self._n_other_spellings += chunk.n_other_spellings
        judged = np.count_nonzero(chunk.ranks <= JUDGED_CUTOFF)
        shown = np.minimum(chunk.lengths[chunk.number >= 0], JUDGED_CUTOFF).sum()
        self._at_cutoff += (judged, shown)

    @property
    def tags(self) -> list[str]:
        """The tags of the first and last row of each chunk."""
        return [tag for found in self._found for tag in found.tags]

    def findings(self, qrels: Judgments) -> list[Finding]:
        """Return the findings that do not block scoring, on the run and on its ids."""
        judged, shown = self._at_cutoff.tolist()
        ids = check_ids(
            self._path,
            self._query_ids,
            qrels.query_ids,
            n_documents=self._n_documents,
            judged=judged / shown if self._n_judged and shown else None,
            n_other_spellings=self._n_other_spellings,
        )
        return join_findings(self._path, self._found) + ids

    def scored_file(self, table: FloatArray, qrels: Judgments) -> ScoredFile:
        """Return the scored run."""
        findings = tuple(self.findings(qrels))
        return ScoredFile(self.tags[0], self._path, self._query_ids, table, findings)


def judge_file(
    path: str | Path, judgments: Future[Judgments], precision: ScorePrecision
) -> tuple[JudgedRun, str, list[Finding]] | None:
    """Find the rank of each judged document in a run file in chunks, if possible.

    Args:
        path: The run, compressed or not.
        judgments: The qrels, which may still be loading.
        precision: The number of bits in which scores are compared.

    Returns:
        The ranks, with queries by their numbers in the qrels, the tag of the last row, and the
        findings that do not block scoring; ``None`` where :func:`score_file` returns ``None``.
    """
    chunks = _collect(
        path, judgments, lambda found: list(check_chunks(found, judgments)), precision
    )
    if chunks is None:
        return None
    qrels = judgments.result()
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    rank = np.zeros(len(qrels.query), np.int64)
    summary = _Summary(str(path))
    for chunk in chunks:
        summary.add(chunk)
        known = chunk.number >= 0
        retrieved[chunk.number[known]] = chunk.lengths[known]
        rank[chunk.judgments] = chunk.ranks
    run = JudgedRun.of(retrieved, qrels.query.astype(np.int64), rank, qrels.relevance)
    return run, summary.tags[-1], summary.findings(qrels)


def score_chunk(chunk: JudgedChunk, qrels: Judgments, scorer: Scorer) -> tuple[IntArray, Scores]:
    """Return the numbers of a chunk's scored queries, and their values."""
    known = np.flatnonzero(chunk.number >= 0)
    known = known[qrels.is_scored[chunk.number[known]]]
    numbers = chunk.number[known]
    judgments = qrels.of_queries(numbers)
    rank = np.zeros(len(qrels.query), np.int64)
    rank[chunk.judgments] = chunk.ranks
    query = np.repeat(np.arange(len(numbers)), np.diff(qrels.starts)[numbers])
    run = JudgedRun.of(chunk.lengths[known], query, rank[judgments], qrels.relevance[judgments])
    ids = [qrels.query_ids[number] for number in numbers]
    return numbers, scorer.score(ids, run)


def _table(
    tables: Sequence[tuple[IntArray, Scores]], qrels: Judgments, measures: Sequence[Measure]
) -> FloatArray:
    """Return the values of all scored queries; without results, ``value_without_results``."""
    table = np.empty((len(qrels.query_ids), len(measures)))
    for column, measure in enumerate(measures):
        table[:, column] = measure.values_without_results(qrels.query, qrels.relevance, len(table))
    for numbers, scores in tables:
        table[numbers] = scores()
    return table[qrels.is_scored]


def judge_chunks(
    path: str,
    chunks: Iterable[Chunk],
    judgments: Future[Judgments],
    open_view: OpenView,
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> Generator[JudgedChunk, None, None]:
    """Read chunks in threads, and yield them in order.

    Args:
        path: The run.
        chunks: Its lines, in chunks of whole queries.
        judgments: The qrels, which may still be loading.
        open_view: Makes a view of a chunk, or raises an error.
        precision: The number of bits in which scores are compared.
        depth: The deepest rank down to which judged documents are needed; ``None`` for all.
    """
    # One more than the number of processors, because one thread usually waits for the GIL.
    n_active = (os.cpu_count() or 1) + 1
    active = BoundedSemaphore(n_active)

    def read(chunk: Chunk) -> JudgedChunk:
        with active:
            view, findings = open_view(path, chunk())
            found = ChunkFindings.of(view, findings)
        qrels = judgments.result()
        with active:
            return _judge(view, found, qrels, precision=precision, depth=depth)

    waiting: deque[Future[JudgedChunk]] = deque()
    with ThreadPoolExecutor(_MAX_CHUNKS_IN_PROGRESS) as pool:
        try:
            for chunk in chunks:
                waiting.append(pool.submit(read, chunk))
                # The chunks in progress determine the memory used.
                if len(waiting) >= (n_active if judgments.done() else _MAX_CHUNKS_IN_PROGRESS):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def check_chunks(
    chunks: Iterable[JudgedChunk], judgments: Future[Judgments]
) -> Iterator[JudgedChunk]:
    """Yield the chunks, and check that together they are a run that can be scored.

    Raises:
        EmptyRunError: If no chunk has a row.
        UnsortedError: If a query is in two chunks.
        IdMismatchError: If run and qrels share too few ids.
    """
    query_ids: set[str] = set()
    n_judged = n_other_spellings = 0
    has_common_documents = False
    for chunk in chunks:
        if not query_ids.isdisjoint(chunk.query_ids):
            raise UnsortedError
        query_ids.update(chunk.query_ids)
        n_judged, n_other_spellings = (
            n_judged + len(chunk.judgments),
            n_other_spellings + chunk.n_other_spellings,
        )
        has_common_documents |= chunk.has_common_documents
        yield chunk
    if not query_ids:
        raise EmptyRunError
    qrels = judgments.result()
    if not has_common_documents or n_other_spellings > n_judged:
        raise IdMismatchError
    if query_ids.isdisjoint(qrels.query_ids) or near_matches(query_ids, qrels.query_ids):
        raise IdMismatchError
    if not qrels.keys_are_unique:
        raise NotInChunksError


def _judge(
    view: RunView,
    found: ChunkFindings,
    qrels: Judgments,
    *,
    precision: ScorePrecision,
    depth: int | None,
) -> JudgedChunk:
    """Look up the judged documents of a chunk."""
    query_ids: list[str] = view.blocks.query_ids.to_list()
    number = qrels.numbers(query_ids)
    rows = _rows_to_look_up(view, qrels, number, depth)
    whole = len(rows) == view.n_rows
    query = number[view.blocks.query if whole else view.blocks.query[rows]].astype(np.uint32)
    doc_ids = view.frame["doc_id"] if whole else view.frame["doc_id"].gather(rows)
    places, judgments = qrels.find(query, doc_ids)
    has_common = bool(len(judgments))
    if not has_common and depth is None:
        has_common = qrels.has_any(view.frame["doc_id"])
    return JudgedChunk(
        found=found,
        query_ids=query_ids,
        number=number,
        lengths=view.blocks.sizes,
        judgments=judgments,
        ranks=_ranks(view, rows[places], precision),
        n_other_spellings=qrels.count_other_spellings(query, doc_ids, places),
        has_common_documents=has_common,
    )


def _rows_to_look_up(view: RunView, qrels: Judgments, number: IntArray, depth: int | None) -> Rows:
    """Return the rows of judged queries, only down to ``depth`` if the result is the same."""
    if depth is not None and _is_ranked(view) and qrels.has_no_other_spelling(view.frame["doc_id"]):
        rows = view.grouped.first_places(depth)
    else:
        rows = np.arange(view.n_rows)
    if (number < 0).any():
        rows = rows[number[view.blocks.query[rows]] >= 0]
    return rows


def _is_ranked(view: RunView) -> bool:
    """Return whether the rows are grouped by query and sorted by descending score."""
    return not view.blocks.interleaved and view.grouped.scores_fall


def _ranks(view: RunView, rows: Rows, precision: ScorePrecision) -> IntArray:
    """Return the ranks of some rows in the canonical ranking."""
    if _is_ranked(view):
        return rows - view.blocks.starts[view.blocks.query[rows]] + 1
    frame = view.frame.select("query_id", "doc_id", "score").with_row_index("row")
    ranked = rank_documents(frame, precision)
    rank = np.empty(view.n_rows, np.int64)
    rank[ranked["row"].to_numpy()] = ranked["rank"].to_numpy()
    return rank[rows]
