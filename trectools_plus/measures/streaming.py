"""Scoring a run file piece by piece, without ever holding a table of its rows.

A clean run whose queries stand together is read in pieces of whole queries, several at a time.
Of each piece only the places of the judged documents are kept, and those until it is scored, so
that memory hardly grows with the run. Whatever is not clean is left to the plain way, which knows
how to say what is wrong.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore

import numpy as np

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.measures.base import FloatArray, Measure
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.measures.judgments import Judgments
from trectools_plus.measures.scoring import score_judged
from trectools_plus.ranking import rank_documents
from trectools_plus.validation.clean_chunks import clean_view
from trectools_plus.validation.matching import near_matches
from trectools_plus.validation.order import Rows
from trectools_plus.validation.views import RunView

_AHEAD = 8
"""How many pieces may be under way; more than there are processors while the qrels are read."""


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A run file that has been scored.

    Attributes:
        name: The run's tag.
        path: The file, as the user named it.
        query_ids: Its queries, in file order.
        table: Values of shape (queries that count, measures); ``nan`` is undefined.
    """

    name: str
    path: str
    query_ids: list[str]
    table: FloatArray


@dataclass(frozen=True, eq=False)
class _Piece:
    """What is kept of a piece of a run.

    Attributes:
        tag: The tag of its first row.
        query_ids: Its queries.
        number: For each of them, its number in the qrels, or -1.
        lengths: For each of them, how many documents it has.
        judgments: The judgments of retrieved documents.
        ranks: The rank of each of these.
    """

    tag: str
    query_ids: list[str]
    number: IntArray
    lengths: IntArray
    judgments: IntArray
    ranks: IntArray


def score_file(
    path: str | Path, judgments: Future[Judgments], measures: Sequence[Measure]
) -> ScoredFile | None:
    """Score a run file if that can be done piece by piece.

    Args:
        path: The run, compressed or not.
        judgments: The qrels, which need not be there yet.
        measures: The measures, none twice, that all ``see_grades_only``.

    Returns:
        The scores, bit for bit those of the plain way; ``None`` if the file has to be read by
        ``validation.load_run``: it may not be scored, or some query is not in one place, or it
        cannot be read twice.

    Raises:
        TrectoolsPlusError: What reading the qrels raises.
        UsageError: If a measure cannot take this input.
    """
    if not Path(path).is_file():
        return None
    pieces: list[_Piece] = []
    tables: list[tuple[IntArray, FloatArray]] = []
    with closing(_pieces(str(path), judgments)) as found:
        for piece in found:
            if piece is None:
                return None
            pieces.append(piece)
            tables.append(_score(piece, judgments.result(), measures))
    qrels = judgments.result()
    if qrels.has_collisions or not _may_be_scored(pieces, qrels):
        return None
    query_ids = [query_id for piece in pieces for query_id in piece.query_ids]
    return ScoredFile(pieces[0].tag, str(path), query_ids, _table(tables, qrels, measures))


def _pieces(path: str, judgments: Future[Judgments]) -> Generator[_Piece | None, None, None]:
    """Read pieces in threads, and yield them in their order, ``None`` last if one cannot be."""
    n_processors = os.cpu_count() or 1
    hands = BoundedSemaphore(n_processors)

    def read(chunk: Chunk) -> _Piece | None:
        with hands:
            view = clean_view(path, chunk())
        if view is None:
            return None
        qrels = judgments.result()
        with hands:
            return _judge(view, qrels)

    waiting: deque[Future[_Piece | None]] = deque()
    with ThreadPoolExecutor(_AHEAD) as pool:
        try:
            for chunk in iter_query_chunks(path):
                waiting.append(pool.submit(read, chunk))
                # Pieces under way are what takes memory.
                if len(waiting) >= (_AHEAD if not judgments.done() else n_processors + 1):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except (InputError, FormatError):
            yield None
        finally:
            pool.shutdown(cancel_futures=True)


def _judge(view: RunView, qrels: Judgments) -> _Piece | None:
    """Look up the judged documents; ``None`` if others may be judged in another spelling."""
    query_ids: list[str] = view.blocks.query_ids.to_list()
    number = qrels.numbers(query_ids)
    query, doc_ids = number[view.blocks.query], view.frame["doc_id"]
    rows = np.arange(view.n_rows)
    if (number < 0).any():
        rows = np.flatnonzero(query >= 0)
        query, doc_ids = query[rows], doc_ids.gather(rows)
    found, judgments = qrels.find(query.astype(np.uint32), doc_ids)
    if qrels.may_be_near(query.astype(np.uint32), doc_ids, found):
        return None
    ranks = _ranks(view, rows[found])
    tag = str(view.frame["tag"][0])
    return _Piece(tag, query_ids, number, view.blocks.sizes, judgments, ranks)


def _ranks(view: RunView, rows: Rows) -> IntArray:
    """Ranks of some rows in the canonical ranking."""
    if view.grouped.falls:
        return rows - view.blocks.starts[view.blocks.query[rows]] + 1
    frame = view.frame.select("query_id", "doc_id", "score").with_row_index("row")
    ranked = rank_documents(frame)
    rank = np.empty(view.n_rows, np.int64)
    rank[ranked["row"].to_numpy()] = ranked["rank"].to_numpy()
    return rank[rows]


def _score(
    piece: _Piece, qrels: Judgments, measures: Sequence[Measure]
) -> tuple[IntArray, FloatArray]:
    """Numbers of a piece's queries that count, and their values."""
    known = np.flatnonzero(piece.number >= 0)
    known = known[qrels.counts[piece.number[known]]]
    numbers = piece.number[known]
    judgments = qrels.of_queries(numbers)
    rank = np.zeros(len(qrels.query), np.int64)
    rank[piece.judgments] = piece.ranks
    query = np.repeat(np.arange(len(numbers)), np.diff(qrels.starts)[numbers])
    run = JudgedRun.of(piece.lengths[known], query, rank[judgments], qrels.relevance[judgments])
    ids = [qrels.query_ids[number] for number in numbers]
    return numbers, score_judged(measures, ids, run)


def _may_be_scored(pieces: Sequence[_Piece], qrels: Judgments) -> bool:
    """Whether no query is in two pieces, and run and qrels meet as they should."""
    ids = {query_id for piece in pieces for query_id in piece.query_ids}
    if len(ids) < sum(len(piece.query_ids) for piece in pieces):
        return False
    if not any(len(piece.judgments) for piece in pieces):
        return False
    judged = set(qrels.query_ids)
    return not near_matches(ids - judged, judged - ids)


def _table(
    tables: Sequence[tuple[IntArray, FloatArray]], qrels: Judgments, measures: Sequence[Measure]
) -> FloatArray:
    """Values of all queries that count; those without results have each measure's own value."""
    table = np.empty((len(qrels.query_ids), len(measures)))
    table[:] = [measure.value_without_results for measure in measures]
    for numbers, values in tables:
        table[numbers] = values
    return table[qrels.counts]
