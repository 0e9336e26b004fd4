"""Scoring a run file piece by piece, without ever holding a table of its rows.

A clean run whose queries stand together is read in pieces of whole queries, several at a time.
Of each piece only the places of the judged documents are kept, and those until it is scored, so
that memory hardly grows with the run. Whatever is not clean is left to the plain way, which knows
how to say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.opening import can_be_read_twice, file_size
from trectools_plus.formats.query_chunks import iter_query_chunks
from trectools_plus.measures.base import FloatArray, Measure
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.measures.judgments import Judgments
from trectools_plus.measures.pieces import NotInPiecesError, Piece, checked, read_pieces
from trectools_plus.measures.processes import Scorer, Scores, open_scorer
from trectools_plus.measures.scoring import depth_seen
from trectools_plus.ranking import ScorePrecision
from trectools_plus.validation.chunks import open_chunk
from trectools_plus.validation.views.runs import RunView

_T = TypeVar("_T")


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
class ScoredPiece:
    """A piece of a run file that has been scored.

    Attributes:
        piece: What is kept of it.
        numbers: Those of its queries that count, as numbers of the qrels.
        values: Their values, shape (queries, measures).
    """

    piece: Piece
    numbers: IntArray
    values: FloatArray


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
    return _collect(
        path,
        judgments,
        lambda found: score_pieces(str(path), found, judgments, measures),
        depth=depth_seen(measures),
    )


def _collect(
    path: str | Path,
    judgments: Future[Judgments],
    use: Callable[[Iterable[Piece]], _T],
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> _T | None:
    """Do something with the pieces of a clean run; ``None`` if it is none."""
    if not can_be_read_twice(path):
        return None
    try:
        chunks = iter_query_chunks(path)
        pieces = read_pieces(str(path), chunks, judgments, clean_piece_view, precision, depth)
        with closing(pieces):
            return use(pieces)
    except (NotInPiecesError, InputError, FormatError):
        judgments.result()  # what is wrong with the qrels comes first
        return None


def clean_piece_view(path: str, data: bytes) -> RunView:
    """A view of a piece of a run.

    Raises:
        NotInPiecesError: If it is not clean.
    """
    view = open_chunk(path, data, "clean")
    if view is None:
        raise NotInPiecesError
    return view


def score_pieces(
    path: str,
    pieces: Iterable[Piece],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
) -> ScoredFile:
    """Score pieces as they come.

    Raises:
        NotInPiecesError: As :func:`checked` does.
    """
    tags: list[str] = []
    query_ids: list[str] = []
    tables: list[tuple[IntArray, Scores]] = []
    with open_scorer(measures, file_size(path)) as scorer:
        for piece in checked(pieces, judgments):
            tags += piece.tags
            query_ids += piece.query_ids
            tables.append(score_piece(piece, judgments.result(), scorer))
        table = _table(tables, judgments.result(), measures)
    return ScoredFile(tags[0], path, query_ids, table)


def join_scored(
    path: str,
    scored: Sequence[ScoredPiece],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
) -> ScoredFile:
    """Put pieces together that were scored elsewhere.

    Args:
        path: The run, as the user named it.
        scored: Its pieces, in their order.
        judgments: The qrels.
        measures: The measures that the pieces were scored with.

    Raises:
        NotInPiecesError: As :func:`checked` does.
    """
    pieces = list(checked((one.piece for one in scored), judgments))
    tables = [(one.numbers, partial(np.asarray, one.values)) for one in scored]
    return ScoredFile(
        next(tag for piece in pieces for tag in piece.tags),
        path,
        [query_id for piece in pieces for query_id in piece.query_ids],
        _table(tables, judgments.result(), measures),
    )


def judge_file(
    path: str | Path, judgments: Future[Judgments], precision: ScorePrecision
) -> tuple[JudgedRun, str] | None:
    """Find where a run ranks each judged document, if that can be done piece by piece.

    Args:
        path: The run, compressed or not.
        judgments: The qrels, which need not be there yet.
        precision: In how many bits scores are compared.

    Returns:
        The run as measures see it, its queries by their numbers in the qrels, and the tag of its
        last row; ``None`` where :func:`score_file` gives that.
    """
    pieces = _collect(path, judgments, lambda found: list(checked(found, judgments)), precision)
    if pieces is None:
        return None
    qrels = judgments.result()
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    rank = np.zeros(len(qrels.query), np.int64)
    for piece in pieces:
        known = piece.number >= 0
        retrieved[piece.number[known]] = piece.lengths[known]
        rank[piece.judgments] = piece.ranks
    run = JudgedRun.of(retrieved, qrels.query.astype(np.int64), rank, qrels.relevance)
    return run, next(piece.tags[-1] for piece in reversed(pieces) if piece.tags)


def score_piece(piece: Piece, qrels: Judgments, scorer: Scorer) -> tuple[IntArray, Scores]:
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
    return numbers, scorer.score(ids, run)


def _table(
    tables: Sequence[tuple[IntArray, Scores]], qrels: Judgments, measures: Sequence[Measure]
) -> FloatArray:
    """Values of all queries that count; those without results have each measure's own value."""
    table = np.empty((len(qrels.query_ids), len(measures)))
    table[:] = [measure.value_without_results for measure in measures]
    for numbers, scores in tables:
        table[numbers] = scores()
    return table[qrels.counts]
