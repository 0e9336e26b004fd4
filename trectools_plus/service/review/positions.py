"""Positions of the results that the annotators would actually choose, by mode."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Averaging, score_runs
from trectools_plus.measures.parser import parse_measures
from trectools_plus.service.review.store import Store

CHOSEN_GRADE = 3
"""The grade of a result that the annotator would actually choose."""
_TOP = 3


@dataclass(frozen=True, slots=True)
class ModePositions:
    """The positions of chosen results in a mode's results.

    Attributes:
        average: Mean over the queries of the mean rank of the chosen results that the mode found;
            ``None`` if it found none. Ranks count from 1.
        minimum: Mean over the same queries of the rank of the first of them.
        found: Number of queries with a chosen result among the mode's results.
        in_top_3: Number of chosen results among the mode's first three, over all queries.
        chosen: Number of chosen results of all modes, over all queries.
    """

    average: float | None
    minimum: float | None
    found: int
    in_top_3: int
    chosen: int


def find_positions(
    store: Store, labels: Qrels, grade: int = CHOSEN_GRADE
) -> dict[str, ModePositions]:
    """Return the positions of the results with a grade, by mode; empty if there are none.

    Args:
        store: The review database.
        labels: One grade for each query and document.
        grade: The highest grade in ``labels``: that of the results whose positions are computed.
    """
    chosen = labels.frame.filter(relevance=grade).height
    if not chosen:
        return {}
    runs: dict[str, dict[str, dict[str, float]]] = {mode: {} for mode in store.study.modes}
    for query_id, mode, doc_id, rank in store.rows(
        "SELECT query_id, mode, doc_id, rank FROM shown"
    ):
        runs[mode].setdefault(query_id, {})[doc_id] = -float(rank)
    level = f"rel={grade}"
    names = f"MeanRank({level})", f"MinRank({level})", f"RelRet({level})@{_TOP}"
    tables = {mode: Run.from_dict(found, mode) for mode, found in runs.items() if found}
    scores = score_runs(labels, tables, parse_measures(names), Averaging())
    return {
        mode: ModePositions(
            average=_or_none(scores.mean(mode, names[0])),
            minimum=_or_none(scores.mean(mode, names[1])),
            found=scores.n(mode, names[1]),
            in_top_3=round(float(scores.values(mode, names[2]).sum())),
            chosen=chosen,
        )
        for mode in tables
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
