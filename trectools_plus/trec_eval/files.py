"""Scores of the files of a command line: of clean files without Polars, in several processes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trectools_plus.measures.judged import IntArray
from trectools_plus.measures.scoring.chunks import (
    ChunkSummary,
    JudgedChunk,
    NotInChunksError,
    check_chunks,
    join_findings,
)
from trectools_plus.measures.scoring.clean import load_clean_qrels, map_clean_chunks
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.output import Scores
from trectools_plus.trec_eval.scoring import (
    QueryScores,
    score,
    score_queries,
    summarise_queries,
)
from trectools_plus.validation.findings import Finding, Severity


def score_files(arguments: Arguments) -> tuple[Scores, list[str]]:
    """Score a run file.

    Args:
        arguments: The command line.

    Returns:
        The values to print; and notes, see :func:`notes_on_files`.

    Raises:
        FindingsError: If a file has errors at which trec_eval stops or that it misreads.
        CheckFailedError: If no query has both results and judgments, as in trec_eval.
        InputError: If a file cannot be read.
    """
    scored = _score_clean_files(arguments)
    if scored is not None:
        return scored
    from trectools_plus.trec_eval.reading import read_input

    data = read_input(arguments)
    return score(data, arguments), data.notes


def _score_clean_files(arguments: Arguments) -> tuple[Scores, list[str]] | None:
    """Score clean files; return ``None`` for others."""
    qrels, run = arguments.files
    judged = load_clean_qrels(qrels)
    if judged is None:
        return None
    grades = judged.grades

    def score_chunk(chunk: JudgedChunk) -> tuple[ChunkSummary, QueryScores]:
        numbers, judged_run = chunk.judged_run(grades, np.flatnonzero(chunk.number >= 0))
        return chunk.summary, score_queries(ids_of(numbers), judged_run, arguments)

    def ids_of(numbers: IntArray) -> list[str]:
        return [grades.query_ids[number] for number in numbers.tolist()]

    chunks = map_clean_chunks(run, judged, score_chunk, precision=arguments.precision)
    if chunks is None:
        return None
    summaries = [summary for summary, _ in chunks]
    try:
        check_chunks(summaries, grades)
    except NotInChunksError:
        return None
    findings = join_findings(str(run), summaries, grades)
    if arguments.strict_input and any(one.severity is Severity.ERROR for one in findings):
        return None
    parts = [scores for _, scores in chunks]
    if arguments.complete:
        in_run = {query_id for one in summaries for query_id in one.query_ids}
        missing = [at for at, one in enumerate(grades.query_ids) if one not in in_run]
        numbers, none = np.array(missing, np.int64), np.zeros(0, np.int64)
        run_without = grades.judged_run(numbers, np.zeros_like(numbers), none, none)
        parts.append(score_queries(ids_of(numbers), run_without, arguments))
    counts = len(grades.query_ids), int((grades.relevance > 0).sum())
    scores = summarise_queries(parts, arguments, summaries[-1].tags[-1], counts)
    return scores, notes_on_files(findings, judged.findings)


def notes_on_files(of_run: Iterable[Finding], of_qrels: Iterable[Finding]) -> list[str]:
    """Return a note for each finding with which other commands or C trec_eval differ.

    Scripts that call trec_eval expect an empty stderr, so other findings are not reported.
    """
    notes = []
    for finding in (*of_qrels, *of_run):
        if finding.blocks_scoring or (finding.note and finding.drop_in == "scores"):
            notes.append(finding.with_note("scored as C trec_eval does"))
        elif finding.note:
            notes.append(finding.with_note(finding.note))
    return notes
