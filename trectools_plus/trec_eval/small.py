"""Scores of small clean files with pytrec_eval alone, without NumPy and Polars.

Importing these takes several times as long as scoring a small file. The result is the same as that
of :func:`~trectools_plus.trec_eval.files.score_files`.
"""

from __future__ import annotations

from itertools import islice

from trectools_plus.measures.providers import pytrec_eval
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.output import Scores
from trectools_plus.validation.limits import DEFAULT_MAX_DEPTH
from trectools_plus.validation.views.small import (
    can_be_compared,
    read_small_qrels,
    read_small_run,
)


def score_small_files(arguments: Arguments) -> Scores | None:
    """Score small clean files as version 9 does.

    Args:
        arguments: The command line.

    Returns:
        The values to print; ``None`` if a file is larger, cannot be read, or may have a finding
        with severity error or warning, or if pytrec_eval alone cannot compute the measures.
    """
    requested = [one for one in arguments.requested if one.measure.name != "runid"]
    if arguments.version != 9 or arguments.collection_size or not requested:
        return None
    if any(one.measure.average == "text" or _has_equal_names(one.names) for one in requested):
        return None
    qrels, run = read_small_qrels(arguments.files[0]), read_small_run(arguments.files[1])
    if qrels is None or run is None or not can_be_compared(run, qrels):
        return None
    if arguments.strict_input and run.deepest > DEFAULT_MAX_DEPTH:
        return None
    rankings = run.rankings
    if arguments.only_query is not None:
        rankings = {one: rankings[one] for one in (arguments.only_query,) if one in rankings}
    if not rankings:
        return None
    if arguments.max_retrieved is not None:
        depth = arguments.max_retrieved
        rankings = {
            query_id: dict(islice(ranking.items(), depth)) for query_id, ranking in rankings.items()
        }
    found = pytrec_eval.call_pytrec_eval(
        [one.request() for one in requested],
        qrels.judgments,
        rankings,
        level=arguments.level,
        judged_only=arguments.judged_only,
    )
    query_ids = sorted(rankings)
    values = {
        one.measure.name: [[found[query_id][key] for key in one.keys] for query_id in query_ids]
        for one in requested
    }
    n_relevant = sum(grade > 0 for grades in qrels.judgments.values() for grade in grades.values())
    return Scores(
        arguments.requested, query_ids, values, [], run.name, len(qrels.judgments), n_relevant
    )


def _has_equal_names(names: tuple[str, ...]) -> bool:
    """Return whether lines have the same name, so that pytrec_eval returns one value for all."""
    return len({*names}) < len(names)
