"""Run files read on a scheduler's workers.

Judgments and measures are sent to each worker once. Workers read the run files, so they must have
access to them under the same path or URL. The caller reads the remaining files and reports their
errors, as without workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from trectools_plus.distributed import Place, check_seen, place_of
from trectools_plus.errors import CheckFailedError, InputError, MissingExtraError
from trectools_plus.formats.tables import Qrels
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring.scores import RunOpener
from trectools_plus.progress import Progress, no_progress

if TYPE_CHECKING:
    from trectools_plus.distributed.cluster import Cluster
    from trectools_plus.measures.scoring.scores import OpenedRun


@dataclass(frozen=True)
class WorkerOpener:
    """Opens run files on a worker.

    Attributes:
        qrels: The judgments.
        opener: Opens a file.
    """

    qrels: Qrels
    opener: RunOpener

    @cached_property
    def judgments(self) -> JudgedQueries:
        """The judgments with their hash table."""
        return JudgedQueries.from_qrels(self.qrels)

    def __call__(self, file: tuple[str, Place]) -> list[OpenedRun] | None:
        """Open a file; return ``None`` if the caller has to do it.

        Raises:
            UsageError: If the file is missing here, is a different file, or cannot be read here.
        """
        path, place = file
        check_seen(path, place)
        try:
            opened = self.opener.open(place.path, self.judgments)
        except (CheckFailedError, InputError, MissingExtraError):
            return None
        return [
            (
                replace(run, path=path),
                tuple(replace(finding, path=path) for finding in findings),
            )
            for run, findings in opened
        ]


def score_on_workers(
    workers: Cluster,
    paths: Sequence[str],
    qrels: Qrels,
    opener: RunOpener,
    progress: Progress = no_progress,
) -> dict[str, list[OpenedRun]]:
    """Read the run files that workers can read and that have no errors.

    Args:
        workers: The workers.
        paths: The run files, as the user named them.
        qrels: The judgments.
        opener: Opens a file.
        progress: Receives the number of finished files, for the step ``scoring``.

    Returns:
        The results of ``opener`` by path. The caller has to open the files that are missing
        here: pipes, and files with errors.

    Raises:
        UsageError: If workers cannot find or read a file, or a measure cannot score this input.
        InputError: If the workers or the scheduler are lost.
    """
    places = {path: place_of(path) for path in dict.fromkeys(paths)}
    files = [(path, place) for path, place in places.items() if place is not None]

    def report(done: int) -> None:
        progress("scoring", done, len(files))

    results = workers.map(WorkerOpener(qrels, opener), files, report)
    return {
        path: opened for (path, _), opened in zip(files, results, strict=True) if opened is not None
    }
