"""Precision, recall and F1 over documents, micro, macro and weighted, with bootstrap intervals.

With credit(x) in [0, 1] for every term (1 or 0 where matching is exact):

* precision = credit of the predicted terms / number of predicted terms
* recall = credit of the gold terms / number of gold terms
* F1 = 2 · precision · recall / (precision + recall), 0 where both are 0

``micro`` adds up the documents' credits and numbers first. ``macro`` is the mean of the documents'
own figures, ``weighted`` their mean weighted by the number of gold terms; so their F1 is a mean of
F1, not made of their precision and recall. Where nothing is predicted, or nothing is gold, a
quotient is undefined: every figure is then 1 if both sides are empty (there was nothing to find,
and nothing was claimed), else 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from trectools_plus.extraction.counting import FloatArray
from trectools_plus.statistics.arrays import check_level, check_resamples
from trectools_plus.statistics.resamples import draw_counts, map_chunks

Average = Literal["micro", "macro", "weighted"]
AVERAGES: tuple[Average, ...] = get_args(Average)
FIGURES = ("precision", "recall", "f1")
"""The last axis of every array of figures here."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made.

    Attributes:
        resamples: How many resamples of the documents, at least 1.
        seed: Of the draws.
        confidence: The level, between 0 and 1.
    """

    resamples: int = 10_000
    seed: int = 42
    confidence: float = 0.95


def figures_of(table: FloatArray) -> FloatArray:
    """Precision, recall and F1 of rows of counts.

    Args:
        table: Shape (..., 4): credit of the predicted, predicted, credit of the gold, gold.

    Returns:
        Shape (..., 3), values in [0, 1].
    """
    credit_predicted, predicted, credit_gold, gold = np.moveaxis(table, -1, 0)
    empty = np.array((predicted == 0) & (gold == 0), dtype=np.float64)
    precision = np.divide(credit_predicted, predicted, out=empty.copy(), where=predicted > 0)
    recall = np.divide(credit_gold, gold, out=empty.copy(), where=gold > 0)
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros(np.shape(total)), where=total > 0)
    return np.stack([precision, recall, f1], axis=-1)


def averages_of(table: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The three averages over documents.

    Args:
        table: Counts, shape (n_documents, 4).
        weights: How often every document counts, shape (n_resamples, n_documents); once each when
            not given.

    Returns:
        Shape (n_resamples, 3, 3): averages in the order of ``AVERAGES``, then figures. One resample
        when no weights are given.
    """
    if weights is None:
        weights = np.ones((1, len(table)))
    own = figures_of(table)
    micro = figures_of(weights @ table)
    macro = weights @ own / weights.sum(axis=1, keepdims=True)
    gold = weights @ table[:, 3:]
    weighted = np.divide(weights @ (own * table[:, 3:]), gold, out=micro.copy(), where=gold > 0)
    return np.stack([micro, macro, weighted], axis=1)


def bootstrap_averages(table: FloatArray, resampling: Resampling) -> tuple[FloatArray, FloatArray]:
    """Percentile intervals of the averages, from resamples of the documents.

    Args:
        table: Counts, shape (n_documents, 4).
        resampling: How many, which seed and level.

    Returns:
        Lower and upper ends, both of shape (3, 3).

    Raises:
        UsageError: If the number of resamples or the level is out of range.
    """
    check_resamples(resampling.resamples, "bootstrap")
    check_level(resampling.confidence, "bootstrap")

    def drawn(size: int, generator: np.random.Generator) -> FloatArray:
        return averages_of(table, draw_counts(len(table), size, generator))

    parts = map_chunks(drawn, len(table), resampling.resamples, resampling.seed)
    tail = (1.0 - resampling.confidence) / 2.0
    low, high = np.quantile(np.concatenate(parts), [tail, 1.0 - tail], axis=0)
    return low, high
