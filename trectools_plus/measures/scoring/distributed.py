"""Scoring run files on the workers of a scheduler: a file at a time, a large one in chunks.

The judgments and the measures are sent to each worker once; run files are read where they are
scored, so the workers must see them under the same path, or behind an address. What cannot be
scored there is left to the caller, whose messages are those of a single machine.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from trectools_plus.distributed.files import Place, check_read, check_seen, place_of
from trectools_plus.distributed.workers import Workers
from trectools_plus.errors import CheckFailedError, InputError, MissingExtraError
from trectools_plus.formats.files.opening import file_size, is_plain_file
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import Judgments
from trectools_plus.measures.scoring.chunks import (
    NotInChunksError,
    ScoredChunk,
    ScoredFile,
    join_chunks,
    judge_chunks,
    score_chunk,
    view_clean_chunk,
)
from trectools_plus.measures.scoring.processes import Scorer
from trectools_plus.measures.scoring.ranking import depth_seen, see_grades_only
from trectools_plus.progress import Progress, no_progress

SPLIT_BYTES = 64 << 20
"""Run files larger than this are scored in chunks."""

CHUNK_BYTES = 16 << 20

_T = TypeVar("_T")

OpenRun = Callable[[str, "Future[Qrels]", "Future[Judgments]", Sequence[Measure]], Run | ScoredFile]


@dataclass(frozen=True)
class Part:
    """Something for one worker: a run file, or a chunk of one.

    Attributes:
        path: The file as the user named it.
        place: Where a worker finds it.
        chunk: What to read of it; ``None`` for all.
    """

    path: str
    place: Place
    chunk: Chunk | None = None


@dataclass(frozen=True)
class PartScorer:
    """Scores parts, wherever it is.

    Attributes:
        qrels: The judgments.
        measures: The measures.
        open_run: Opens a whole file.
    """

    qrels: Qrels
    measures: Sequence[Measure]
    open_run: OpenRun

    @cached_property
    def judgments(self) -> Future[Judgments]:
        """The judgments, ready."""
        return _ready(Judgments.of(self.qrels))

    def __call__(self, part: Part) -> Run | ScoredFile | ScoredChunk | None:
        """Score a part; ``None`` if it cannot be scored, or not like this.

        Raises:
            UsageError: If the file is not here, is another one, or cannot be read from here.
        """
        check_seen(part.path, part.place)
        try:
            if part.chunk is not None:
                return self._score_chunk(part.place.path, part.chunk)
            qrels = _ready(self.qrels)
            opened = self.open_run(part.place.path, qrels, self.judgments, self.measures)
            return replace(opened, path=part.path)
        except NotInChunksError:
            return None
        except (CheckFailedError, InputError, MissingExtraError) as error:
            check_read(part.path, part.place, error)
            return None

    def _score_chunk(self, path: str, chunk: Chunk) -> ScoredChunk:
        depth = depth_seen(self.measures)
        chunks = judge_chunks(path, [chunk], self.judgments, view_clean_chunk, depth=depth)
        with closing(chunks):
            (judged,) = chunks
        numbers, scores = score_chunk(judged, self.judgments.result(), Scorer(self.measures))
        return ScoredChunk(judged, numbers, scores())


def score_on_workers(
    workers: Workers,
    paths: Sequence[str],
    qrels: Qrels,
    measures: Sequence[Measure],
    open_run: OpenRun,
    progress: Progress = no_progress,
) -> dict[str, Run | ScoredFile]:
    """Score the run files that workers can read and that hold no error.

    Args:
        workers: Where.
        paths: The run files, as the user named them.
        qrels: The judgments.
        measures: The measures, none twice.
        open_run: Scores or reads a whole file; a function that can be pickled.
        progress: Gets the number of files done, as ``scoring``.

    Returns:
        By path, as if ``open_run`` had been called here. A file that is missing in it has to be
        opened here: it is a pipe, or holds an error, or is not clean and large.

    Raises:
        UsageError: If workers do not see or reach a file, or a measure cannot take this input.
        InputError: If the workers or the scheduler are lost.
    """
    scorer = PartScorer(qrels, measures, open_run)
    parts = [part for path in dict.fromkeys(paths) for part in _parts(path, measures)]
    last = {part.path: number for number, part in enumerate(parts, 1)}
    ends = sorted(last.values())

    def note(n_parts: int) -> None:
        """Note as many files as so many parts would make in their order."""
        progress("scoring", bisect_right(ends, n_parts), len(ends))

    found: dict[str, list[Run | ScoredFile | ScoredChunk | None]] = {}
    for part, result in zip(parts, workers.map(scorer, parts, note), strict=True):
        found.setdefault(part.path, []).append(result)
    opened = {path: _whole(path, results, scorer) for path, results in found.items()}
    return {path: one for path, one in opened.items() if one is not None}


def _parts(path: str, measures: Sequence[Measure]) -> Iterator[Part]:
    """Yield the parts of a file: none where only this process can read it."""
    place = place_of(path)
    if place is None:
        return
    if file_size(path) > SPLIT_BYTES and see_grades_only(measures) and is_plain_file(path):
        for chunk in iter_query_chunks(place.path, CHUNK_BYTES):
            yield Part(path, place, chunk)
    else:
        yield Part(path, place)


def _whole(
    path: str, results: Sequence[Run | ScoredFile | ScoredChunk | None], scorer: PartScorer
) -> Run | ScoredFile | None:
    first = results[0]
    if not isinstance(first, ScoredChunk):
        return first if len(results) == 1 else None
    scored = [result for result in results if isinstance(result, ScoredChunk)]
    if len(scored) < len(results):
        return None
    try:
        return join_chunks(path, scored, scorer.judgments, scorer.measures)
    except NotInChunksError:
        return None


def _ready(value: _T) -> Future[_T]:
    future: Future[_T] = Future()
    future.set_result(value)
    return future
