"""Scoring run files larger than memory: always piece by piece, whatever that takes."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.columns import scan_columns
from trectools_plus.formats.opening import can_be_read_twice
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.formats.regrouping import regroup_queries
from trectools_plus.formats.run import N_FIELDS
from trectools_plus.formats.source import Source
from trectools_plus.measures.base import Measure
from trectools_plus.measures.judgments import Judgments
from trectools_plus.measures.pieces import (
    EmptyError,
    NotInPiecesError,
    NotMeetingError,
    NotTogetherError,
    Piece,
    read_pieces,
)
from trectools_plus.measures.streaming import ScoredFile, score_pieces
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.findings import FindingsError, refuse_errors
from trectools_plus.validation.rules.run_ties import ONLY_RANKS, is_every_query_tied
from trectools_plus.validation.run_view import RunView

EMPTY = "F101"
ALL_TIED = "R142"
_OF_WHOLE_FILES = (EMPTY, ALL_TIED)
"""Rules that a piece may break where the whole file does not."""


def score_large_file(
    path: str, judgments: Future[Judgments], measures: Sequence[Measure]
) -> ScoredFile:
    """Score a run file in memory that does not grow with it.

    Queries that are in several places are first brought together by way of temporary files.

    Args:
        path: The run, compressed or not.
        judgments: The qrels.
        measures: The measures, none twice, that all ``see_grades_only``.

    Raises:
        FindingsError: If a piece of the run holds an error.
        CheckFailedError: If run and qrels do not meet, or every query has a single score.
        InputError: If it cannot be read.
        UsageError: If it cannot be read twice, or a measure cannot take this input.
    """
    if not can_be_read_twice(path) and (path == "-" or Path(path).exists()):
        raise UsageError(
            "is no regular file, which --low-memory reads more than once",
            where=path,
            remedy="write it into a file first",
        )
    try:
        try:
            return _score(path, iter_query_chunks(path), judgments, measures, known_lines=True)
        except NotTogetherError:
            with tempfile.TemporaryDirectory(prefix="trectools-plus-") as folder:
                chunks = regroup_queries(path, Path(folder))
                return _score(path, chunks, judgments, measures, known_lines=False)
    except EmptyError:
        empty = CATALOGUE[EMPTY]
        raise CheckFailedError(f"{EMPTY} no data rows", where=path, remedy=empty.remedy) from None
    except NotMeetingError:
        raise CheckFailedError(
            "its query or document ids are not those of the qrels, or are spelled in another way",
            where=path,
            remedy=f"see: trectools-plus runs validate {path} --qrels QRELS",
        ) from None
    except NotInPiecesError:
        raise CheckFailedError(
            "cannot be scored piece by piece", where=path, remedy="leave out --low-memory"
        ) from None


def _score(
    path: str,
    chunks: Iterable[Chunk],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
    *,
    known_lines: bool,
) -> ScoredFile:
    tied: list[int] = []
    open_view = partial(_checked_view, tied=tied)
    with closing(read_pieces(path, chunks, judgments, open_view)) as pieces:
        found = _unless_all_tied(_at_their_lines(pieces, known_lines), tied, path)
        return score_pieces(path, found, judgments, measures)


def _checked_view(path: str, data: bytes, tied: list[int]) -> RunView:
    """A view of a piece without errors; how many of its queries have a single score is added."""
    view = RunView.of_file(scan_columns(Source(path, data), N_FIELDS))
    view.is_piece = True
    findings = check_view(view, forbidding_only=True)
    refuse_errors(finding for finding in findings if finding.code not in _OF_WHOLE_FILES)
    tied += [finding.count for finding in findings if finding.code == ALL_TIED]
    return view


def _unless_all_tied(
    pieces: Iterable[Piece], tied: Sequence[int], path: str
) -> Generator[Piece, None, None]:
    """Pass pieces on, and refuse a run that has a single score in every query."""
    n_queries = n_larger = 0
    for piece in pieces:
        yield piece
        n_queries += len(piece.query_ids)
        n_larger += int((piece.lengths >= 2).sum())
    if tied and is_every_query_tied(sum(tied), n_larger, n_queries):
        remedy = CATALOGUE[ALL_TIED].remedy
        raise CheckFailedError(
            f"{ALL_TIED} every query has one score; {ONLY_RANKS}", where=path, remedy=remedy
        )


def _at_their_lines(pieces: Iterable[Piece], known: bool) -> Generator[Piece, None, None]:
    """Give findings in a piece the lines of the file, or none where they are not known."""
    n_lines = 0
    try:
        for piece in pieces:
            yield piece
            n_lines += piece.n_lines
    except FindingsError as error:
        moved = [
            replace(
                finding,
                line=finding.line + n_lines if known and finding.line else None,
                lines=tuple(line + n_lines for line in finding.lines) if known else (),
                column=finding.column if known else None,
            )
            for finding in error.findings
        ]
        raise FindingsError(moved) from None
