"""The figures over all queries: the lines ``all``.

Sums run query by query from 0.0, as trec_eval adds, so that the last bit is the same.
"""

from __future__ import annotations

import math

import numpy as np

from trectools_plus.measures.base import FloatArray
from trectools_plus.trec_eval.parameters import Asked
from trectools_plus.trec_eval.scoring import Scores

MIN_GEO_MEAN = 0.00001
"""What a 0 counts as in a geometric mean (``trec_eval.h``)."""


def summarise(asked: Asked, scores: Scores, *, complete: bool) -> FloatArray:
    """One figure for each line of a measure.

    Args:
        asked: The measure; not a text.
        scores: The values of all queries.
        complete: Average over all queries of the qrels, those without results as 0.

    Returns:
        Shape (lines,).
    """
    average = asked.measure.average
    n_scored = len(scores.query_ids)
    n_queries = scores.n_qrels if complete else n_scored
    if average == "queries":
        return np.array([float(n_queries)])
    if complete and asked.measure.name == "num_rel":
        # trec_eval counts these anew, from the qrels: grades above 0, whatever -l says.
        return np.array([float(scores.n_relevant)])
    total = _sum(scores.values[asked.measure.name])
    if average == "sum":
        return total
    if average == "geometric":
        lacking = (n_queries - n_scored) * math.log(MIN_GEO_MEAN)
        return np.array([math.exp((value + lacking) / n_queries) for value in total.tolist()])
    return total / n_queries


def _sum(values: FloatArray) -> FloatArray:
    total: FloatArray = np.add.accumulate(np.vstack([np.zeros(values.shape[1]), values]))[-1]
    return total
