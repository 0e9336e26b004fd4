"""Scores of run files larger than memory, which are always read in chunks, even if unsorted.

A run is valid if each of its chunks is valid, so chunks are scored as they are read. If a chunk is
not valid, all chunks are validated together first, and then scored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from trectools_plus.errors import CheckFailedError, FormatError, UsageError
from trectools_plus.formats.files.opening import can_be_read_twice, is_plain_file
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks, regroup_queries
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.scoring.chunks import (
    EmptyRunError,
    IdMismatchError,
    JudgedChunk,
    NotInChunksError,
    OpenView,
    ScoredChunk,
    ScoredFile,
    UnsortedError,
    join_chunks,
    map_chunks,
    score_chunk,
)
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.validation.catalogue import RULES
from trectools_plus.validation.chunks import (
    Chunks,
    FileStart,
    SplitQueryError,
    check_chunks,
    open_chunk,
    read_file_start,
)
from trectools_plus.validation.engine import damaged_report
from trectools_plus.validation.findings import Finding, FindingsError, refuse_errors
from trectools_plus.validation.registry import Hit
from trectools_plus.validation.views.runs import RunView


class InvalidChunkError(NotInChunksError):
    """A chunk may contain an error of the run."""


def score_large_file(path: str, qrels: Judgments, measures: Sequence[Measure]) -> ScoredFile:
    """Score a run file in bounded memory.

    Rows that are not grouped by query are first grouped in temporary files.

    Args:
        path: The run, compressed or not.
        qrels: The judgments.
        measures: The measures, each once, that all ``depend_on_grades_only``.

    Raises:
        FindingsError: If the run has errors.
        CheckFailedError: If run and qrels share too few ids.
        InputError: If it cannot be read.
        UsageError: If it cannot be read twice, or a measure cannot score this input.
    """
    if not can_be_read_twice(path) and (path == "-" or Path(path).exists()):
        raise UsageError(
            "is not a regular file, and --low-memory reads it more than once",
            where=path,
            remedy="write it to a file first",
        )
    try:
        return _score_in_any_order(path, qrels, measures)
    except FormatError as error:
        if is_plain_file(path):
            raise
        raise FindingsError(damaged_report(error, "run").findings) from error
    except IdMismatchError:
        raise CheckFailedError(
            "its query or document ids differ from those of the qrels, perhaps only in spelling",
            where=path,
            remedy=f"see: trectools-plus runs validate {path} --qrels QRELS",
        ) from None
    except NotInChunksError:
        raise CheckFailedError(
            "cannot be scored in chunks", where=path, remedy="leave out --low-memory"
        ) from None


def _score_in_any_order(path: str, qrels: Judgments, measures: Sequence[Measure]) -> ScoredFile:
    """Score a run in the order of its rows, or regrouped if they are not grouped by query."""
    score = partial(_score, path, qrels, measures)

    def in_order() -> ScoredFile:
        file_start = read_file_start(path, iter_query_chunks(path))

        def chunks() -> Iterable[Chunk]:
            return file_start.after_head(iter_query_chunks(path))

        found = _refuse(path, file_start, chunks, qrels, known_lines=True)
        return _with_findings(score(chunks(), _view_checked_chunk), found)

    unsorted = RULES["R127"].finding(Hit("the rows are not grouped by query"), path)

    def regrouped(folder: Path) -> ScoredFile:
        file_start = read_file_start(path, iter_query_chunks(path))
        parts = list(regroup_queries(path, folder, start=file_start.n_skipped_bytes))
        if not file_start.head:
            with suppress(InvalidChunkError, EmptyRunError):
                return _with_findings(score(parts, _view_valid_chunk), [unsorted])
        found = _refuse(path, file_start, lambda: parts, qrels, known_lines=False)
        return _with_findings(score(parts, _view_checked_chunk), [*found, unsorted])

    try:
        with suppress(InvalidChunkError, EmptyRunError):
            return score(iter_query_chunks(path), _view_valid_chunk)
        return in_order()
    except (UnsortedError, SplitQueryError):
        with tempfile.TemporaryDirectory(prefix="trectools-plus-") as folder:
            return regrouped(Path(folder))


def _score(
    path: str,
    qrels: Judgments,
    measures: Sequence[Measure],
    chunks: Iterable[Chunk],
    open_view: OpenView,
) -> ScoredFile:
    def score(chunk: JudgedChunk) -> ScoredChunk:
        return score_chunk(chunk, qrels, measures)

    scored = map_chunks(path, chunks, qrels, score, open_view=open_view)
    return join_chunks(path, scored, qrels, measures)


def _refuse(
    path: str,
    file_start: FileStart,
    chunks: Chunks,
    qrels: Judgments,
    *,
    known_lines: bool,
) -> list[Finding]:
    """Refuse the run if it has errors that block scoring; return the other findings."""
    file_start.view.other_query_ids = frozenset(qrels.query_ids)
    findings = check_chunks(path, file_start, chunks, known_lines=known_lines)
    refuse_errors(findings)
    return findings


def _with_findings(scored: ScoredFile, findings: Sequence[Finding]) -> ScoredFile:
    """Add findings on the whole file, which replace those on its chunks."""
    codes = {finding.code for finding in findings}
    others = (finding for finding in scored.findings if finding.code not in codes)
    return replace(scored, findings=(*findings, *others))


def _view_valid_chunk(path: str, data: bytes) -> tuple[RunView, list[Finding]]:
    """Return a view of a chunk that can be scored, and its findings; it may have no rows."""
    opened = open_chunk(path, data, "valid")
    if opened is None:
        raise InvalidChunkError
    return opened


def _view_checked_chunk(path: str, data: bytes) -> tuple[RunView, list[Finding]]:
    """Return a view of a chunk of a run that was validated."""
    opened = open_chunk(path, data, "checked")
    assert opened is not None
    return opened
