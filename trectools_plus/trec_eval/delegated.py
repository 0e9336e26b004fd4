"""What pytrec_eval computes: nearly everything.

Its extension module is asked directly, because the Python layer around it takes no parameters
such as ``ndcg.1=3,2=9`` or ``utility.1,-1,0,0``. Documents are renamed to their ranks, as
everywhere in this package, so that no dictionary of the whole file is ever built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from trectools_plus.measures.base import FloatArray
from trectools_plus.measures.delegation import rename_documents
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.trec_eval.judging import Judging
from trectools_plus.trec_eval.parameters import Asked


@dataclass(frozen=True)
class _Part:
    """A request for some lines of one measure."""

    asked: Asked
    request: str
    names: tuple[str, ...]
    lines: tuple[int, ...]


def score_by_pytrec_eval(
    measures: Sequence[Asked], judging: Judging, level: int, judged_only: bool
) -> dict[str, FloatArray]:
    """Score the queries that are evaluated.

    Args:
        measures: The measures.
        judging: The rankings.
        level: The lowest grade that is relevant.
        judged_only: Whether unjudged documents are taken out first.

    Returns:
        By measure name: values of shape (evaluated queries, lines).
    """
    size = len(judging.evaluated)
    values = {asked.measure.name: np.zeros((size, len(asked.names))) for asked in measures}
    run = _without_empty_qrels(judging.run)
    depth = _depths(measures, run, judged_only)
    chosen = np.zeros_like(depth)
    chosen[judging.evaluated] = depth[judging.evaluated]
    qrels, rankings = rename_documents(run, run.grade, chosen)
    for parts in _rounds(measures):
        answers = _call([part.request for part in parts], qrels, rankings, level, judged_only)
        for part in parts:
            keys = part.names if part.asked.measure.takes in ("cutoffs", "points") else None
            columns = _columns(answers, keys or (part.asked.measure.name,))
            values[part.asked.measure.name][:, part.lines] = columns
    return values


def _call(
    requests: Sequence[str],
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Mapping[str, float]],
    level: int,
    judged_only: bool,
) -> Mapping[str, Mapping[str, float]]:
    import pytrec_eval_ext

    evaluator: Any = pytrec_eval_ext.RelevanceEvaluator(
        query_relevance=qrels,
        measures={*requests},
        relevance_level=level,
        judged_docs_only_flag=judged_only,
    )
    answers: dict[str, dict[str, float]] = evaluator.evaluate(rankings) if rankings else {}
    return answers


def _columns(answers: Mapping[str, Mapping[str, float]], keys: Sequence[str]) -> FloatArray:
    pick = itemgetter(*keys)
    rows = [pick(answer) for answer in answers.values()]
    return np.array(rows, np.float64).reshape(len(rows), len(keys))


def _rounds(measures: Sequence[Asked]) -> list[list[_Part]]:
    """Spread requests over as few calls as can be: one mostly.

    A call answers by name, and ``iprec_at_recall.0.101,0.102`` has two lines of one name.
    """
    rounds: list[list[_Part]] = []
    for asked in measures:
        parts = _parts(asked)
        rounds += [[] for _ in range(len(parts) - len(rounds))]
        for number, part in enumerate(parts):
            rounds[number].append(part)
    return rounds


def _parts(asked: Asked) -> list[_Part]:
    lines = tuple(range(len(asked.names)))
    if len({*asked.names}) == len(lines):
        return [_Part(asked, asked.request(), asked.names, lines)]
    return [
        _Part(asked, asked.request([asked.numbers[line]]), (asked.names[line],), (line,))
        for line in lines
    ]


def _without_empty_qrels(run: JudgedRun) -> JudgedRun:
    """Give queries without a grade from 0 a document of grade 0 that nobody retrieved.

    No measure sees it, and trec_eval does not read beyond its counters then.
    """
    highest = np.full(len(run.retrieved), -1)
    np.maximum.at(highest, run.query, run.grade)
    empty = np.flatnonzero(highest < 0)
    nothing = np.zeros(len(empty), np.int64)
    return run.with_judgments(empty, nothing, nothing) if len(empty) else run


def _depths(measures: Sequence[Asked], run: JudgedRun, judged_only: bool) -> IntArray:
    """How many documents of each query these measures can tell apart from fewer."""
    if any(asked.measure.sees_tail for asked in measures):
        return run.retrieved
    deepest = np.zeros_like(run.retrieved)
    np.maximum.at(deepest, run.query, run.rank)
    if not judged_only and all(asked.measure.takes == "cutoffs" for asked in measures):
        deepest = np.minimum(
            deepest, int(max((asked.numbers[-1] for asked in measures), default=1))
        )
    return np.minimum(np.maximum(deepest, 1), run.retrieved)
