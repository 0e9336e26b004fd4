"""Qrels and run files for scoring, each read in the way that costs least."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.base import Measure
from trectools_plus.measures.judgments import Judgments
from trectools_plus.measures.low_memory import score_large_file
from trectools_plus.measures.scoring import see_grades_only
from trectools_plus.measures.streaming import ScoredFile, score_file
from trectools_plus.validation.loading import load_qrels, load_run


def open_files(
    qrels: str, runs: Sequence[str], measures: Sequence[Measure], *, low_memory: bool = False
) -> tuple[Qrels, list[Run | ScoredFile]]:
    """Read qrels and run files, and refuse those that may not be scored.

    Args:
        qrels: The judgments; ``-`` is standard input.
        runs: The run files; ``-`` is standard input.
        measures: The measures they are to be scored with, none twice.
        low_memory: Never hold a run as a whole.

    Returns:
        What :func:`~trectools_plus.measures.evaluator.score_runs` needs.

    Raises:
        FindingsError: If a file holds an error.
        InputError: If a file cannot be read at all.
        UsageError: If a measure cannot take this input.
    """
    with ThreadPoolExecutor(1) as pool:
        # The first run's lines are looked at meanwhile.
        table = pool.submit(load_qrels, qrels)
        judgments = pool.submit(lambda: Judgments.of(table.result()))
        if low_memory:
            _refuse_document_measures(measures)
            return table.result(), [score_large_file(path, judgments, measures) for path in runs]
        if not see_grades_only(measures):
            return table.result(), [load_run(path, qrels=table.result()) for path in runs]
        opened = [
            score_file(path, judgments, measures) or load_run(path, qrels=table.result())
            for path in runs
        ]
        return table.result(), opened


def _refuse_document_measures(measures: Sequence[Measure]) -> None:
    for measure in measures:
        if not see_grades_only([measure]):
            raise UsageError(
                f"{measure.name} looks at documents and needs the whole run in memory",
                where="--low-memory",
                remedy="leave one of them out",
            )
