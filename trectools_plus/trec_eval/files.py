"""Scores of the files of a command line: in chunks and several processes where possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trectools_plus.measures.judged import IntArray
from trectools_plus.measures.scoring.files import has_errors
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.parts import JudgedPart, PartJudge, judge_file
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
from trectools_plus.validation.parts import NotInPartsError


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
    scores, notes = _score_files(arguments)
    if arguments.zscores is not None:
        from trectools_plus.trec_eval.zscores import standardise

        scores = standardise(scores, arguments.zscores)
    return scores, notes


def _score_files(arguments: Arguments) -> tuple[Scores, list[str]]:
    if arguments.judgments != "qrels":
        from trectools_plus.trec_eval.judges import score_judges

        return score_judges(arguments)
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

    def score_part(judged: JudgedPart) -> QueryScores:
        numbers, judged_run = judged.judged_run(qrels)
        return score_queries(ids_of(numbers), judged_run, arguments)

    def ids_of(numbers: IntArray) -> list[str]:
        return [qrels.query_ids[number] for number in numbers.tolist()]

    judge = PartJudge(qrels, score_part, precision=arguments.precision)
    try:
        run, findings, parts = judge_file(str(arguments.files[1]), judge)
    except NotInPartsError:
        return None
    # trec_eval reads a header like any other line.
    if (
        not parts
        or run.shape.header is not None
        or (arguments.strict_input and has_errors(findings))
    ):
        return None
    if arguments.complete:
        in_run = set(run.query_ids)
        missing = [at for at, one in enumerate(qrels.query_ids) if one not in in_run]
        numbers, none = np.array(missing, np.int64), np.zeros(0, np.int64)
        run_without = qrels.judged_run(numbers, np.zeros_like(numbers), none, none)
        parts.append(score_queries(ids_of(numbers), run_without, arguments))
    counts = len(qrels.query_ids), int((qrels.relevance > 0).sum())
    scores = summarise_queries(parts, arguments, run.last_tag, counts)
    return scores, notes_on_files(findings, of_qrels)
