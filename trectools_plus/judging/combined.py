"""Means over queries from few judgments of people and many of a model.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023)
with a tuned weight (Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453), for queries that were
drawn at random from those that the model judged. The intervals hold whatever the model does: a bad
model makes them no narrower than those of people alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    EQUAL,
    FloatArray,
    as_table,
    check_level,
)

MIN_PEOPLE = 20
"""With fewer queries of people, the model is not used."""
WORTHWHILE = 1.1
"""A model helps if it is worth this many times the queries of people."""
_MOST_LEVERAGE = 0.9


class MeanInterval(NamedTuple):
    """A mean and its interval.

    Attributes:
        mean: The mean over queries.
        low: The lower end; ``nan`` without an interval.
        high: The upper end.
    """

    mean: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The difference between the ends."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, repr=False)
class CombinedMean(Displayed):
    """A mean over queries from the judgments of people, of a model, and of both.

    Attributes:
        n: The number of queries that people judged.
        total: The number of queries of the model, without those that people left out.
        weight: The weight of the model, 0 (ignored) to 1; ``nan`` without a combined mean.
        correlation: Between people and model, over the queries of people; ``nan`` if all values of
            one are equal.
        people: From the queries of people; without an interval if all their values are equal.
        model: From the model's judgments of all queries. No interval covers its error.
        combined: From both; ``None`` with fewer than :data:`MIN_PEOPLE` queries of people, and if
            all their values are equal.
    """

    n: int
    total: int
    weight: float
    correlation: float
    people: MeanInterval
    model: MeanInterval
    combined: MeanInterval | None

    @property
    def effective(self) -> float:
        """The number of queries that people alone would need for the width of ``combined``.

        At most ``total``; ``n`` without a combined mean, or if people alone have no width.
        """
        if self.combined is None or not self.people.width > 0.0:
            return float(self.n)
        share = (self.combined.width / self.people.width) ** 2
        return 1.0 / max(share / self.n, 1.0 / self.total)


@dataclass(frozen=True, slots=True)
class _Variances:
    """The parts of the variance of a combined mean.

    Attributes:
        weight: The weight of the model.
        residual: Variance of people minus weighted model, over the queries of people.
        model: Variance of the model, over all queries.
        cross: Covariance of the residuals and the model, over the queries of people.
    """

    weight: float
    residual: float
    model: float
    cross: float

    def alone(self, people: FloatArray, scale: float = 1.0) -> _Variances:
        """Return the parts without the model."""
        return replace(self, weight=0.0, residual=people.var(ddof=1) * scale)

    def variance(self, n: float, total: int) -> float:
        """Return the variance of the combined mean with ``n`` queries of people."""
        of_model = self.weight * (self.weight * self.model + 2.0 * self.cross)
        return max(0.0, self.residual / n + of_model / total)


def combine_judgments(
    people: npt.ArrayLike,
    model: npt.ArrayLike,
    judged: npt.ArrayLike,
    *,
    confidence: float = DEFAULT_CONFIDENCE,
    together: int = 1,
    weight: float | None = None,
) -> CombinedMean:
    """Estimate a mean over queries from judgments of people and of a model.

    It is a mean over queries like these, of which these are a sample. For Y from people and f from
    the model, n queries of people among N of the model:

        weight   = cov(Y, f) / var(f over N), clipped to [0, 1]
        combined = mean(Y) + weight · (mean of f over N - mean of f over n)
        e        = Y - weight · f
        variance = var(e)/n + weight²·var(f)/N + 2·weight·cov(e, f)/N

    Because the weight is estimated, var(e) has n - 2 in its denominator, and the squared residual
    of a query is divided by 1 - h, where h is its share of the sum of all (f - mean f)² over the n
    queries, as in the covariance HC2 of a regression; not so if the weight is 0 or fixed. Intervals
    use the t distribution with n - 1 degrees of freedom.

    The queries of people may contain some that they could not judge. The mean is then over queries
    that people can judge, of which the model's values alone say nothing: so the model's values of
    these queries count, and Y is the mean of the others there. If they were dropped, and people
    could not judge what the model finds relevant, the n queries would differ from the N.

    Args:
        people: Values from the judgments of people, shape (n,): of a measure, or of a difference
            between runs; ``nan`` for a query that they could not judge.
        model: Values from the judgments of the model, shape (N,).
        judged: The row in ``model`` of each value in ``people``, shape (n,). The n queries must be
            a random sample of the N.
        confidence: The level of the intervals.
        together: The number k of such means whose intervals of people and combined hold together:
            each is at the level 1 - alpha / k (Bonferroni).
        weight: A fixed weight instead of the tuned one, 0 to 1.

    Returns:
        The mean with people only, with the model only, and combined, with their intervals.

    Raises:
        UsageError: If shapes do not fit, a query is judged twice, there are fewer than two queries,
            a value is not finite, or the weight or level is out of range.
    """
    where = "combined judgments"
    check_level(confidence, where)
    y, f = as_table(people, where, undefined=True), as_table(model, where)
    rows, columns = np.asarray(judged, dtype=np.int64), y.shape[1] * f.shape[1]
    y, f, complete = y[:, 0], f[:, 0], y[~np.isnan(y)]
    drawn, n, total = len(y), len(complete), len(f)
    is_sample = drawn == len(rows) == len(np.unique(rows)) and {*rows.tolist()} <= {*range(total)}
    if not is_sample or columns > 1 or n < 2 or not 0.0 <= (weight or 0.0) <= 1.0:
        raise UsageError(
            "expected one value of people for each of two or more different queries of the model, "
            "and a weight from 0 to 1",
            where=where,
            remedy="give the row of each query of people among those of the model",
        )
    at, centre = f[rows], complete.mean()
    parts = _residuals(
        np.where(np.isnan(y), centre, centre + (y - centre) * (drawn / n)), f, at, weight
    )
    level = simultaneous_level(confidence, together)
    varies = np.ptp(complete) > EQUAL

    def around(mean: float, parts: _Variances) -> MeanInterval:
        variance = parts.variance(drawn, total) if varies else np.nan
        return _around(mean, variance, n - 1, level)

    uses_model = n >= MIN_PEOPLE and varies
    combined = around(centre + parts.weight * (f.mean() - at.mean()), parts)
    return CombinedMean(
        n=n,
        total=total - (drawn - n),
        weight=float(parts.weight) if uses_model else np.nan,
        correlation=_correlation(complete, at[~np.isnan(y)]),
        people=around(centre, parts.alone(complete, drawn / n)),
        model=_around(f.mean(), parts.model / total, total - 1, confidence),
        combined=combined if uses_model else None,
    )


def simultaneous_level(confidence: float, intervals: int) -> float:
    """Return the level of each of several intervals that hold together (Bonferroni)."""
    return 1.0 - (1.0 - confidence) / max(1, intervals)


def people_needed(
    people: FloatArray,
    model: FloatArray,
    judged: Sequence[int],
    width: float,
    confidence: float = DEFAULT_CONFIDENCE,
) -> tuple[int | None, int | None]:
    """Return how many queries people must judge for an interval of some width, from a pilot.

    Args:
        people: Values of the pilot, shape (n,).
        model: Values of the model, shape (N,).
        judged: The row in ``model`` of each value of the pilot.
        width: The wished difference between the ends of the interval.
        confidence: As in :func:`combine_judgments`.

    Returns:
        The number with the model and the number without, for queries like these; ``None`` if all N
        queries are too few, or all values of the pilot are equal.
    """
    total = len(model) if np.ptp(people) > EQUAL else 0
    parts = _residuals(people, model, model[judged], None)

    def first(parts: _Variances, least: int) -> int | None:
        for n in range(least, total + 1):
            variance = parts.variance(n, total)
            if _around(0.0, variance, n - 1, confidence).width <= width:
                return n
        return None

    return first(parts, MIN_PEOPLE), first(parts.alone(people), 2)


def _residuals(y: FloatArray, f: FloatArray, at: FloatArray, weight: float | None) -> _Variances:
    n, of_model = len(y), float(f.var(ddof=1))
    tuned = weight is None
    if weight is None:
        weight = (
            min(1.0, max(0.0, float(np.cov(y, at)[0, 1]) / of_model)) if of_model > EQUAL else 0.0
        )
    e = y - weight * at
    e -= e.mean()
    cross = float(np.cov(e, at)[0, 1])
    if tuned and weight > 0.0 and n > 2:
        # A query whose value of the model is far from the others pulls the weight towards itself,
        # so its residual is too small.
        deviations = (at - at.mean()) ** 2
        leverage = deviations / max(deviations.sum(), EQUAL)
        e = e * np.sqrt((n - 1) / (n - 2) / (1.0 - np.minimum(leverage, _MOST_LEVERAGE)))
    return _Variances(weight, float(e @ e) / (n - 1), of_model, cross)


def _around(mean: float, variance: float, freedom: int, confidence: float) -> MeanInterval:
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, (1.0 + confidence) / 2.0) * np.sqrt(variance))
    return MeanInterval(float(mean), float(mean) - half, float(mean) + half)


def _correlation(first: FloatArray, second: FloatArray) -> float:
    varies = min(first.std(), second.std()) > EQUAL
    return float(np.corrcoef(first, second)[0, 1]) if varies else np.nan
