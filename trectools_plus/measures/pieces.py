"""The pieces of a run file: of each, where it ranks its judged documents."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import BoundedSemaphore

import numpy as np

from trectools_plus.formats.query_chunks import Chunk
from trectools_plus.measures.judged import IntArray
from trectools_plus.measures.judgments import Judgments
from trectools_plus.ranking import ScorePrecision, rank_documents
from trectools_plus.validation.matching import near_matches
from trectools_plus.validation.views.order import Rows
from trectools_plus.validation.views.runs import RunView

OpenView = Callable[[str, bytes], RunView]

_AHEAD = 8
"""How many pieces may be under way; more than there are processors while the qrels are read."""


class NotInPiecesError(Exception):
    """A run cannot be scored piece by piece."""


class EmptyError(NotInPiecesError):
    """A run has no rows."""


class NotTogetherError(NotInPiecesError):
    """A query of the run is in several places."""


class NotMeetingError(NotInPiecesError):
    """Ids of run and qrels do not meet, or are spelled in two ways."""


@dataclass(frozen=True, eq=False)
class Piece:
    """What is kept of a piece of a run.

    Attributes:
        n_lines: How many lines it has.
        tags: The tags of its first and its last row; none if it has no rows.
        query_ids: Its queries.
        number: For each of them, its number in the qrels, or -1.
        lengths: For each of them, how many documents it has.
        judgments: The judgments of retrieved documents.
        ranks: The rank of each of these.
        n_near: Documents that are not judged, but are in another spelling.
    """

    n_lines: int
    tags: tuple[str, ...]
    query_ids: list[str]
    number: IntArray
    lengths: IntArray
    judgments: IntArray
    ranks: IntArray
    n_near: int


def read_pieces(
    path: str,
    chunks: Iterable[Chunk],
    judgments: Future[Judgments],
    open_view: OpenView,
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> Generator[Piece, None, None]:
    """Read pieces in threads, and yield them in their order.

    Args:
        path: The run.
        chunks: Its lines, whole queries each.
        judgments: The qrels, which need not be there yet.
        open_view: Makes a view of a piece, or raises.
        precision: In how many bits scores are compared.
        depth: Judged documents behind that rank need not be found; ``None`` to find all.
    """
    # One more than there are processors: while one holds Python's lock, the others compute.
    n_hands = (os.cpu_count() or 1) + 1
    hands = BoundedSemaphore(n_hands)

    def read(chunk: Chunk) -> Piece:
        with hands:
            view = open_view(path, chunk())
        qrels = judgments.result()
        with hands:
            return _judge(view, qrels, precision, depth)

    waiting: deque[Future[Piece]] = deque()
    with ThreadPoolExecutor(_AHEAD) as pool:
        try:
            for chunk in chunks:
                waiting.append(pool.submit(read, chunk))
                # Pieces under way are what takes memory.
                if len(waiting) >= (n_hands if judgments.done() else _AHEAD):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def checked(pieces: Iterable[Piece], judgments: Future[Judgments]) -> Iterator[Piece]:
    """Pass pieces on, and see whether they make a run that can be scored.

    Raises:
        EmptyError: If no piece has a row.
        NotTogetherError: If a query is in two pieces.
        NotMeetingError: If run and qrels do not meet as they should.
    """
    query_ids: set[str] = set()
    n_judged = n_near = 0
    for piece in pieces:
        if not query_ids.isdisjoint(piece.query_ids):
            raise NotTogetherError
        query_ids.update(piece.query_ids)
        n_judged, n_near = n_judged + len(piece.judgments), n_near + piece.n_near
        yield piece
    if not query_ids:
        raise EmptyError
    qrels = judgments.result()
    if not n_judged or n_near > n_judged:
        raise NotMeetingError
    if near_matches(query_ids, qrels.query_ids):
        raise NotMeetingError
    if not qrels.can_be_found:
        raise NotInPiecesError


def _judge(view: RunView, qrels: Judgments, precision: ScorePrecision, depth: int | None) -> Piece:
    """Look up the judged documents of a piece."""
    query_ids: list[str] = view.blocks.query_ids.to_list()
    number = qrels.numbers(query_ids)
    asked = _rows_to_look_up(view, qrels, number, depth)
    whole = len(asked) == view.n_rows
    query = number[view.blocks.query if whole else view.blocks.query[asked]].astype(np.uint32)
    doc_ids = view.frame["doc_id"] if whole else view.frame["doc_id"].gather(asked)
    found, judgments = qrels.find(query, doc_ids)
    return Piece(
        n_lines=0 if view.columns is None else view.columns.facts.n_lines,
        tags=tuple(view.frame["tag"][[0, -1]]) if view.n_rows else (),
        query_ids=query_ids,
        number=number,
        lengths=view.blocks.sizes,
        judgments=judgments,
        ranks=_ranks(view, asked[found], precision),
        n_near=qrels.count_near(query, doc_ids, found),
    )


def _rows_to_look_up(view: RunView, qrels: Judgments, number: IntArray, depth: int | None) -> Rows:
    """Rows of judged queries, not behind ``depth`` where that is sure to change nothing."""
    if depth is not None and _is_ranked(view) and qrels.can_only_be_equal(view.frame["doc_id"]):
        rows = view.grouped.firsts(depth)
    else:
        rows = np.arange(view.n_rows)
    if (number < 0).any():
        rows = rows[number[view.blocks.query[rows]] >= 0]
    return rows


def _is_ranked(view: RunView) -> bool:
    """Whether each query stands together, by falling scores."""
    return not view.blocks.interleaved and view.grouped.falls


def _ranks(view: RunView, rows: Rows, precision: ScorePrecision) -> IntArray:
    """Ranks of some rows in the canonical ranking."""
    if _is_ranked(view):
        return rows - view.blocks.starts[view.blocks.query[rows]] + 1
    frame = view.frame.select("query_id", "doc_id", "score").with_row_index("row")
    ranked = rank_documents(frame, precision)
    rank = np.empty(view.n_rows, np.int64)
    rank[ranked["row"].to_numpy()] = ranked["rank"].to_numpy()
    return rank[rows]
