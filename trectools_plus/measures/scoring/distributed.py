"""Scores of run files computed on a scheduler's workers, file by file, large files in chunks.

Judgments and measures are sent to each worker once. Workers read the run files, so they must have
access to them under the same path or URL. The caller scores the remaining files and reports their
errors, as without workers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trectools_plus.distributed import Place, check_seen, place_of
from trectools_plus.errors import CheckFailedError, InputError, MissingExtraError
from trectools_plus.formats.files.opening import file_size, is_plain_file
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.formats.tables import Qrels
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring.scores import (
    SETTINGS,
    PartJudge,
    RunOpener,
    ScoredFile,
    ScoredPart,
    depend_on_grades_only,
    judge_for,
)
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.parts import NotInPartsError, ReadPart, join_parts, read_part

if TYPE_CHECKING:
    from trectools_plus.distributed.cluster import Cluster
    from trectools_plus.measures.scoring.scores import OpenedRun

_Read = ReadPart[ScoredPart | None]

SPLIT_BYTES = 64 << 20
"""Run files larger than this are scored in chunks."""

CHUNK_BYTES = 16 << 20


@dataclass(frozen=True)
class Part:
    """A run file, or a chunk of one, for one worker.

    Attributes:
        path: The file as the user named it.
        place: The file as workers find it.
        chunk: The chunk to read; ``None`` for the whole file.
        is_first: Whether the file begins with it.
    """

    path: str
    place: Place
    chunk: Chunk | None = None
    is_first: bool = True


@dataclass(frozen=True)
class PartScorer:
    """Scores parts on a worker.

    Attributes:
        qrels: The judgments.
        opener: Opens a whole file.
    """

    qrels: Qrels
    opener: RunOpener

    @cached_property
    def judgments(self) -> JudgedQueries:
        """The judgments with their hash table."""
        return JudgedQueries.from_qrels(self.qrels)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for another process, without what was computed from them."""
        return {"qrels": self.qrels, "opener": self.opener}

    @cached_property
    def judge(self) -> PartJudge[ScoredPart]:
        """Scores the views of chunks."""
        return judge_for(self.judgments, self.opener.measures)

    def __call__(self, part: Part) -> list[OpenedRun] | _Read | None:
        """Score a part; return ``None`` if the caller has to score the file.

        Raises:
            UsageError: If the file is missing here, is a different file, or cannot be read here.
        """
        check_seen(part.path, part.place)
        try:
            if part.chunk is not None:
                return read_part(
                    part.place.path, part.chunk, SETTINGS, self.judge, is_first=part.is_first
                )
            opened = self.opener.open(part.place.path, self.judgments)
            return [
                (
                    replace(run, path=part.path),
                    tuple(replace(finding, path=part.path) for finding in findings),
                )
                for run, findings in opened
            ]
        except (NotInPartsError, CheckFailedError, InputError, MissingExtraError):
            return None


def score_on_workers(
    workers: Cluster,
    paths: Sequence[str],
    qrels: Qrels,
    opener: RunOpener,
    progress: Progress = no_progress,
) -> dict[str, list[OpenedRun]]:
    """Score the run files that workers can read and that have no errors.

    Args:
        workers: The workers.
        paths: The run files, as the user named them.
        qrels: The judgments.
        opener: Scores or reads a whole file.
        progress: Receives the number of finished files, for the step ``scoring``.

    Returns:
        The results of ``opener`` by path. The caller has to open the files that are missing
        here: pipes, files with errors, and large files that are not clean.

    Raises:
        UsageError: If workers cannot find or read a file, or a measure cannot score this input.
        InputError: If the workers or the scheduler are lost.
    """
    scorer = PartScorer(qrels, opener)
    parts = [part for path in dict.fromkeys(paths) for part in _parts(path, opener.measures)]
    last_part = {part.path: number for number, part in enumerate(parts, 1)}
    ends = sorted(last_part.values())

    def report(n_parts: int) -> None:
        """Report the number of files completed with the first ``n_parts`` parts."""
        progress("scoring", bisect_right(ends, n_parts), len(ends))

    found: dict[str, list[list[OpenedRun] | _Read | None]] = {}
    for part, result in zip(parts, workers.map(scorer, parts, report), strict=True):
        found.setdefault(part.path, []).append(result)
    opened: dict[str, list[OpenedRun]] = {}
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
        for number, chunk in enumerate(iter_query_chunks(place.path, CHUNK_BYTES)):
            yield Part(path, place, chunk, is_first=number == 0)
    else:
        yield Part(path, place)


def _join_parts(
    path: str, results: Sequence[list[OpenedRun] | _Read | None], scorer: PartScorer
) -> OpenedRun | None:
    """Join the chunks of a file; ``None`` if one could not be scored."""
    read = [result for result in results if isinstance(result, ReadPart)]
    if len(read) < len(results):
        return None
    try:
        run = join_parts(read, SETTINGS)
        run.path = path
        findings, scored = scorer.judge.join(run, [one.result for one in read])
    except NotInPartsError:
        return None
    if not scored:
        return None
    joined = ScoredFile.of_parts(run, run.tag, scored, scorer.judgments, scorer.opener.measures)
    return joined, tuple(findings)
