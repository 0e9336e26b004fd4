"""How far raters agree, with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trectools_plus.statistics.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """An agreement with its percentile-bootstrap interval.

    Attributes:
        value: At most 1; 0 is what chance gives; ``nan`` where only one category occurs, so that
            there is nothing to agree on.
        low: Lower end of the interval; ``nan`` where the value is.
        high: Upper end.
        n: How many items were rated at least twice.
        level: The interval's confidence level, between 0 and 1.
        resamples: How many resamples of the items were drawn; those in which only one category
            occurs are left out.
        seed: The seed they were drawn with.
    """

    value: float
    low: float
    high: float
    n: int
    level: float
    resamples: int
    seed: int


def interval_of_resamples(
    resampled: FloatArray, value: float, items: int, confidence: float
) -> tuple[float, float]:
    """Percentiles of the defined ones; ``nan`` where the value is undefined or of one item."""
    defined = resampled[~np.isnan(resampled)]
    if np.isnan(value) or items < 2 or not len(defined):
        return np.nan, np.nan
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    return float(low), float(high)
