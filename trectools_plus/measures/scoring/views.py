"""Chunks of a run that Polars reads: several at a time, in threads.

They may contain everything that the rules accept, for example other characters than ASCII, unsorted
rows and unusual scores.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import BoundedSemaphore

import numpy as np

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.opening import can_be_read_twice
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.measures.scoring.chunks import (
    JudgedChunk,
    NotInChunksError,
    ScoredFile,
    check_chunks,
    deepest_rank_to_judge,
    join_chunks,
    join_findings,
    refuse_split_queries,
    score_chunk,
)
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.ranking import ScorePrecision, rank_documents
from trectools_plus.validation.chunks import ChunkFindings, open_chunk
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.views.order import Rows
from trectools_plus.validation.views.runs import RunView

OpenView = Callable[[str, bytes], tuple[RunView, list[Finding]]]

LoadedQrels = tuple[Qrels, tuple[Finding, ...]]
"""Qrels, and their findings that do not block scoring."""

Opened = tuple[Run | ScoredFile, tuple[Finding, ...]]
"""A run that was read or scored, and its findings that do not block scoring."""

OpenRuns = Callable[
    [str, "Future[LoadedQrels]", "Future[Judgments]", Sequence[Measure]], list[Opened]
]
"""Opens the runs of a file: one, or those of a table of several systems."""

_MAX_CHUNKS_IN_PROGRESS = 8
"""The maximum number of chunks in progress, used while the qrels are read."""


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
    if not can_be_read_twice(path):
        return None
    try:
        chunks = _read_chunks(path, judgments, depth=deepest_rank_to_judge(measures))
        with closing(chunks):
            return score_chunks(str(path), chunks, judgments, measures)
    except (NotInChunksError, InputError, FormatError):
        judgments.result()  # raises errors of the qrels first
        return None


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
    if not can_be_read_twice(path):
        return None
    try:
        with closing(_read_chunks(path, judgments, precision)) as read:
            chunks = list(refuse_split_queries(read))
        qrels = judgments.result()
        summaries = [chunk.summary for chunk in chunks]
        check_chunks(summaries, qrels)
        _require_keys(qrels)
    except (NotInChunksError, InputError, FormatError):
        judgments.result()  # raises errors of the qrels first
        return None
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    rank = np.zeros(len(qrels.query), np.int64)
    for chunk in chunks:
        known = chunk.number >= 0
        retrieved[chunk.number[known]] = chunk.lengths[known]
        rank[chunk.judgments] = chunk.ranks
    run = JudgedRun.of(retrieved, qrels.query, rank, qrels.relevance)
    tags = [tag for one in summaries for tag in one.tags]
    return run, tags[-1], join_findings(str(path), summaries, qrels)


def score_chunks(
    path: str,
    chunks: Iterable[JudgedChunk],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
) -> ScoredFile:
    """Score the chunks of a run as they are read.

    Raises:
        NotInChunksError: If they cannot be scored separately.
    """
    scored = [
        score_chunk(chunk, judgments.result(), measures) for chunk in refuse_split_queries(chunks)
    ]
    file = join_chunks(path, scored, judgments.result(), measures)
    _require_keys(judgments.result())
    return file


def view_clean_chunk(path: str, data: bytes) -> tuple[RunView, list[Finding]]:
    """Return a view of a chunk of a run, and its findings.

    Raises:
        NotInChunksError: If it is not clean.
    """
    opened = open_chunk(path, data, "clean")
    if opened is None:
        raise NotInChunksError
    return opened


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


def _read_chunks(
    path: str | Path,
    judgments: Future[Judgments],
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> Generator[JudgedChunk, None, None]:
    read = iter_query_chunks(path)
    return judge_chunks(str(path), read, judgments, view_clean_chunk, precision, depth)


def _require_keys(qrels: Judgments) -> None:
    """Refuse qrels whose hash table may miss a judgment."""
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
        tags=found.tags,
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
