"""Scores of the files of a command line: in chunks and several processes where possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trectools_plus.measures.judged import IntArray
from trectools_plus.measures.scoring.chunks import (
    ChunkSummary,
    JudgedChunk,
    NotInChunksError,
    check_chunks,
    join_findings,
    map_clean_chunks,
)
from trectools_plus.measures.scoring.files import has_errors
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.output import Scores, notes_on_files
from trectools_plus.trec_eval.reading import (
    as_judgments,
    has_other_bytes,
    read_qrels,
    read_run,
)
from trectools_plus.trec_eval.scoring import (
    QueryScores,
    score,
    score_queries,
    summarise_queries,
)
from trectools_plus.validation.findings import Finding


def score_files(arguments: Arguments) -> tuple[Scores, list[str]]:
    """Score a run file.

    Args:
        arguments: The command line.

    Returns:
        The values to print; and notes, see
        :func:`~trectools_plus.trec_eval.output.notes_on_files`.

    Raises:
        FindingsError: If a file has errors at which trec_eval stops or that it misreads.
        CheckFailedError: If no query has both results and judgments, as in trec_eval.
        InputError: If a file cannot be read.
    """
    qrels, of_qrels = read_qrels(arguments)
    if not has_other_bytes(qrels):
        scored = _score_in_chunks(arguments, as_judgments(qrels), of_qrels)
        if scored is not None:
            return scored
    data = read_run(arguments, qrels, of_qrels)
    return score(data, arguments), data.notes


def _score_in_chunks(
    arguments: Arguments, qrels: Judgments, of_qrels: Sequence[Finding]
) -> tuple[Scores, list[str]] | None:
    """Score a run in chunks; return ``None`` if it must be read as a whole."""

    def score_chunk(chunk: JudgedChunk) -> tuple[ChunkSummary, QueryScores]:
        numbers, judged_run = chunk.judged_run(qrels, np.flatnonzero(chunk.number >= 0))
        return chunk.summary, score_queries(ids_of(numbers), judged_run, arguments)

    def ids_of(numbers: IntArray) -> list[str]:
        return [qrels.query_ids[number] for number in numbers.tolist()]

    run = str(arguments.files[1])
    chunks = map_clean_chunks(run, qrels, score_chunk, precision=arguments.precision)
    if chunks is None:
        return None
    summaries = [summary for summary, _ in chunks]
    try:
        check_chunks(summaries, qrels)
    except NotInChunksError:
        return None
    findings = join_findings(run, summaries, qrels)
    if arguments.strict_input and has_errors(findings):
        return None
    parts = [scores for _, scores in chunks]
    if arguments.complete:
        in_run = {query_id for one in summaries for query_id in one.query_ids}
        missing = [at for at, one in enumerate(qrels.query_ids) if one not in in_run]
        numbers, none = np.array(missing, np.int64), np.zeros(0, np.int64)
        run_without = qrels.judged_run(numbers, np.zeros_like(numbers), none, none)
        parts.append(score_queries(ids_of(numbers), run_without, arguments))
    counts = len(qrels.query_ids), int((qrels.relevance > 0).sum())
    scores = summarise_queries(parts, arguments, summaries[-1].tags[-1], counts)
    return scores, notes_on_files(findings, of_qrels)
