"""Qrels and run files for scoring, each read in the way that costs least."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.base import Measure
from trectools_plus.measures.judgments import Judgments
from trectools_plus.measures.scoring import see_grades_only
from trectools_plus.measures.streaming import ScoredFile, score_file
from trectools_plus.validation.loading import load_qrels, load_run


def open_files(
    qrels: str, runs: Sequence[str], measures: Sequence[Measure]
) -> tuple[Qrels, list[Run | ScoredFile]]:
    """Read qrels and run files, and refuse those that may not be scored.

    Args:
        qrels: The judgments; ``-`` is standard input.
        runs: The run files; ``-`` is standard input.
        measures: The measures they are to be scored with, none twice.

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
        if not see_grades_only(measures):
            return table.result(), [load_run(path, qrels=table.result()) for path in runs]
        judgments = pool.submit(lambda: Judgments.of(table.result()))
        opened = [
            score_file(path, judgments, measures) or load_run(path, qrels=table.result())
            for path in runs
        ]
        return table.result(), opened
