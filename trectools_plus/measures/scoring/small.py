"""Evaluation of small clean files with pytrec_eval alone, without NumPy and Polars.

Importing these takes several times as long as scoring a small file. The result is the same as that
of :func:`~trectools_plus.measures.scoring.files.open_files` and
:func:`~trectools_plus.measures.evaluation.score_runs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trectools_plus.choices import Averaging
from trectools_plus.formats.run_names import name_runs
from trectools_plus.measures.definitions.base import Measure, ScoredQueries
from trectools_plus.measures.evaluation import (
    Counts,
    Evaluation,
    PlainTables,
    choose_queries,
)
from trectools_plus.measures.providers import pytrec_eval
from trectools_plus.measures.providers.pytrec_eval import (
    MAX_GAIN,
    TrecEvalMeasure,
    group_by_call,
    join_requests,
)
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.limits import DEFAULT_MAX_DEPTH
from trectools_plus.validation.views.small import (
    SmallQrels,
    SmallRun,
    can_be_compared,
    read_small_qrels,
    read_small_run,
)

Judgments = dict[str, dict[str, int]]


class SmallEvaluation(NamedTuple):
    """Small files and their scores.

    Attributes:
        qrels: The judgments.
        runs: The runs by name.
        evaluation: Their scores.
    """

    qrels: SmallQrels
    runs: dict[str, SmallRun]
    evaluation: Evaluation

    def count_relevant(self, level: int) -> dict[str, int]:
        """Return the number of documents with a grade of ``level`` or more of each query."""
        return {
            query_id: sum(grade >= level for grade in grades.values())
            for query_id, grades in self.qrels.judgments.items()
        }


def evaluate_small_files(
    qrels: str,
    runs: Sequence[str],
    measures: Sequence[Measure],
    averaging: Averaging,
    progress: Progress = no_progress,
    given: Sequence[str | None] = (),
) -> SmallEvaluation | None:
    """Read and score small clean files.

    Args:
        qrels: The file of the judgments.
        runs: The files of the runs.
        measures: The measures, each once.
        averaging: The treatment of queries without results.
        progress: Receives the number of finished runs, for the step ``scoring``.
        given: The name that the user gave to each run, or ``None``; by default no names.

    Returns:
        The files with their scores; ``None`` if a file is larger, cannot be read, or may
        have a finding with severity error or warning, or if pytrec_eval alone cannot compute the
        measures.

    Raises:
        UsageError: If a run is given twice.
    """
    standard = [one for one in measures if isinstance(one, TrecEvalMeasure)]
    if len(standard) < len(measures) or (judged := read_small_qrels(qrels)) is None:
        return None
    opened = []
    for path in runs:
        run = read_small_run(path)
        if run is None or run.deepest > DEFAULT_MAX_DEPTH or not can_be_compared(run, judged):
            return None
        opened.append(run)
    named = name_runs(opened, given)
    query_ids = list(judged.judgments)
    averaged: dict[str, list[str]] = {}
    counts: dict[str, Counts] = {}
    rows: dict[str, list[list[float]]] = {}
    for name, run in named.items():
        values = _score(run, judged, standard)
        if values is None:
            return None
        kept, counts[name] = choose_queries(query_ids, [], run.rankings, averaging.missing)
        rows[name] = [values[position] for position in kept]
        averaged[name] = [query_ids[position] for position in kept]
    highest = [max(grades.values()) for grades in judged.judgments.values()]
    queries = ScoredQueries(query_ids, [], highest)
    notes = [
        f"{one.requested_name}: {note}"
        for one in standard
        for note in (*one.notes_on_names, *one.notes_on_qrels(queries))
    ]
    evaluation = Evaluation([*standard], averaging, averaged, counts, [], PlainTables(rows), notes)
    for done in range(len(runs) + 1):
        progress("scoring", done, len(runs))
    return SmallEvaluation(judged, named, evaluation)


def _score(
    run: SmallRun, qrels: SmallQrels, measures: Sequence[TrecEvalMeasure]
) -> list[list[float]] | None:
    """Return the values of each query of the qrels; ``None`` if a gain is out of range."""
    columns: dict[TrecEvalMeasure, list[float]] = {}
    for (level, _, judged_only, _), group in group_by_call(measures).items():
        judgments = _gains(qrels.judgments, group[0])
        if judgments is None:
            return None
        found = pytrec_eval.call_pytrec_eval(
            join_requests(group), judgments, run.rankings, level=level, judged_only=judged_only
        )
        for measure in group:
            key = measure.trec_result
            columns[measure] = [
                measure.cut_value(found[query_id][key]) for query_id in qrels.judgments
            ]
    return [list(row) for row in zip(*(columns[one] for one in measures), strict=True)]


def _gains(judgments: Judgments, measure: TrecEvalMeasure) -> Judgments | None:
    """Return the grades for trec_eval; ``None`` if it cannot use them."""
    gain_of = measure.gain_of
    if gain_of is None:
        return judgments
    gains = {
        query_id: {doc_id: gain_of(grade) for doc_id, grade in grades.items()}
        for query_id, grades in judgments.items()
    }
    highest = [max(one.values()) for one in gains.values()]
    return gains if min(highest) >= 0 and max(highest) <= MAX_GAIN else None
