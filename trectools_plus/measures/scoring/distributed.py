"""Scores of run files computed on a scheduler's workers, file by file, large files in chunks.

Judgments and measures are sent to each worker once. Workers read the run files, so they must have
access to them under the same path or URL. The caller scores the remaining files and reports their
errors, as without workers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from trectools_plus.distributed import Workers
from trectools_plus.distributed.files import Place, check_read, check_seen, place_of
from trectools_plus.errors import CheckFailedError, InputError, MissingExtraError
from trectools_plus.formats.files.opening import file_size, is_plain_file
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.formats.tables import Qrels
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.scoring.chunks import (
    NotInChunksError,
    ScoredChunk,
    deepest_rank_to_judge,
    join_chunks,
    score_chunk,
)
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.ranking import depend_on_grades_only
from trectools_plus.measures.scoring.views import (
    LoadedQrels,
    Opened,
    OpenRuns,
    judge_chunks,
    view_clean_chunk,
)
from trectools_plus.progress import Progress, no_progress

SPLIT_BYTES = 64 << 20
"""Run files larger than this are scored in chunks."""

CHUNK_BYTES = 16 << 20

_T = TypeVar("_T")


@dataclass(frozen=True)
class Part:
    """A run file, or a chunk of one, for one worker.

    Attributes:
        path: The file as the user named it.
        place: The file as workers find it.
        chunk: The chunk to read; ``None`` for the whole file.
    """

    path: str
    place: Place
    chunk: Chunk | None = None


@dataclass(frozen=True)
class PartScorer:
    """Scores parts on a worker.

    Attributes:
        qrels: The judgments.
        measures: The measures.
        open_runs: Opens a whole file.
    """

    qrels: Qrels
    measures: Sequence[Measure]
    open_runs: OpenRuns

    @cached_property
    def judgments(self) -> Future[Judgments]:
        """The judgments as a completed future."""
        return _completed(Judgments.of(self.qrels))

    def __call__(self, part: Part) -> list[Opened] | ScoredChunk | None:
        """Score a part; return ``None`` if the caller has to score the file.

        Raises:
            UsageError: If the file is missing here, is a different file, or cannot be read here.
        """
        check_seen(part.path, part.place)
        try:
            if part.chunk is not None:
                return self._score_chunk(part.place.path, part.chunk)
            qrels: Future[LoadedQrels] = _completed((self.qrels, ()))
            opened = self.open_runs(part.place.path, qrels, self.judgments, self.measures)
            return [
                (
                    replace(run, path=part.path),
                    tuple(replace(finding, path=part.path) for finding in findings),
                )
                for run, findings in opened
            ]
        except NotInChunksError:
            return None
        except (CheckFailedError, InputError, MissingExtraError) as error:
            check_read(part.path, part.place, error)
            return None

    def _score_chunk(self, path: str, chunk: Chunk) -> ScoredChunk:
        depth = deepest_rank_to_judge(self.measures)
        chunks = judge_chunks(path, [chunk], self.judgments, view_clean_chunk, depth=depth)
        with closing(chunks):
            (judged,) = chunks
        return score_chunk(judged, self.judgments.result(), self.measures)


def score_on_workers(
    workers: Workers,
    paths: Sequence[str],
    qrels: Qrels,
    measures: Sequence[Measure],
    open_runs: OpenRuns,
    progress: Progress = no_progress,
) -> dict[str, list[Opened]]:
    """Score the run files that workers can read and that have no errors.

    Args:
        workers: The workers.
        paths: The run files, as the user named them.
        qrels: The judgments.
        measures: The measures, each once.
        open_runs: Scores or reads a whole file; a function that can be pickled.
        progress: Receives the number of finished files, for the step ``scoring``.

    Returns:
        The results of ``open_runs`` by path. The caller has to open the files that are missing
        here: pipes, files with errors, and large files that are not clean.

    Raises:
        UsageError: If workers cannot find or read a file, or a measure cannot score this input.
        InputError: If the workers or the scheduler are lost.
    """
    scorer = PartScorer(qrels, measures, open_runs)
    parts = [part for path in dict.fromkeys(paths) for part in _parts(path, measures)]
    last_part = {part.path: number for number, part in enumerate(parts, 1)}
    ends = sorted(last_part.values())

    def report(n_parts: int) -> None:
        """Report the number of files completed with the first ``n_parts`` parts."""
        progress("scoring", bisect_right(ends, n_parts), len(ends))

    found: dict[str, list[list[Opened] | ScoredChunk | None]] = {}
    for part, result in zip(parts, workers.map(scorer, parts, report), strict=True):
        found.setdefault(part.path, []).append(result)
    opened: dict[str, list[Opened]] = {}
    for path, results in found.items():
        if isinstance(results[0], list):
            opened[path] = results[0]
        elif (joined := _join_parts(path, results, scorer)) is not None:
            opened[path] = [joined]
    return opened


def _parts(path: str, measures: Sequence[Measure]) -> Iterator[Part]:
    """Yield the parts of a file; none if only this process can read it."""
    place = place_of(path)
    if place is None:
        return
    if file_size(path) > SPLIT_BYTES and depend_on_grades_only(measures) and is_plain_file(path):
        for chunk in iter_query_chunks(place.path, CHUNK_BYTES):
            yield Part(path, place, chunk)
    else:
        yield Part(path, place)


def _join_parts(
    path: str, results: Sequence[list[Opened] | ScoredChunk | None], scorer: PartScorer
) -> Opened | None:
    """Join the chunks of a file; ``None`` if one could not be scored."""
    scored = [result for result in results if isinstance(result, ScoredChunk)]
    if len(scored) < len(results):
        return None
    try:
        run = join_chunks(path, scored, scorer.judgments.result(), scorer.measures)
    except NotInChunksError:
        return None
    return run, run.findings


def _completed(value: _T) -> Future[_T]:
    future: Future[_T] = Future()
    future.set_result(value)
    return future
