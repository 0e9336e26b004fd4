"""Intervals of paired differences whose worse end rarely hides a loss."""

from __future__ import annotations

import math

import numpy as np

from trectools_plus.statistics.arrays import FloatArray
from trectools_plus.statistics.method import EQUAL, FEW

EXTRA_LOSSES = 2
"""The number of queries that are added to the worse end of an interval."""
_HALVINGS = 60


def non_inferiority_interval(
    contrast: FloatArray, baseline: FloatArray, confidence: float
) -> tuple[float, float, str] | None:
    """Return the interval of the mean difference, contrast minus baseline; larger is better.

    If all scores are 0 or 1, it is Tango's score interval for paired proportions. Otherwise its
    upper end is Student's, and its lower end is Student's with two more queries that lose as much
    as the query that changes most: few queries do not show how much a rare loss costs.

    Args:
        contrast: Shape (queries,), all defined.
        baseline: The scores of the same queries.
        confidence: The level, between 0 and 1.

    Returns:
        The ends and the method, a key of ``METHOD_NAMES``; ``None`` for fewer than two queries, and
        for scores other than 0 and 1 if fewer than ten queries differ.
    """
    from scipy.special import stdtrit

    differences = np.sort(contrast - baseline)
    n = len(differences)
    changed = int((np.abs(differences) > EQUAL).sum())
    if n < 2:
        return None
    if np.isin(np.abs([contrast, baseline]), (0.0, 1.0)).all():
        gains, losses = int((differences > 0).sum()), int((differences < 0).sum())
        low = _lowest_difference(gains, losses, n, confidence)
        return low, -_lowest_difference(losses, gains, n, confidence), "tango"
    if changed < FEW:
        return None

    def end(values: FloatArray, tail: float) -> float:
        half = stdtrit(len(values) - 1, tail) * values.std(ddof=1) / math.sqrt(len(values))
        return float(values.mean() + half)

    losses_added = np.append(differences, [-np.abs(differences).max()] * EXTRA_LOSSES)
    tail = (1.0 - confidence) / 2.0
    return end(losses_added, tail), end(differences, 1.0 - tail), "t_extra_losses"


def _lowest_difference(gains: int, losses: int, n: int, confidence: float) -> float:
    """Return the lower end of Tango's interval (Statistics in Medicine 17, 1998)."""
    from scipy.special import ndtri

    quantile = float(ndtri((1.0 + confidence) / 2.0))

    def is_rejected(difference: float) -> bool:
        # The most likely share of losses under this difference is a root of a x² + b x + c.
        a = 2.0 * n
        b = -gains - losses + (2.0 * n - gains + losses) * difference
        c = -losses * difference * (1.0 - difference)
        share = (math.sqrt(max(0.0, b * b - 4.0 * a * c)) - b) / (2.0 * a)
        variance = n * max(0.0, 2.0 * share + difference * (1.0 - difference))
        return gains - losses - n * difference > quantile * math.sqrt(variance)

    low, high = -1.0, (gains - losses) / n
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_rejected(middle) else (low, middle)
    return high
