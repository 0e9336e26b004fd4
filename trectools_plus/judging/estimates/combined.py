"""Means over queries from few judgments of people and many of a model.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023)
with a tuned weight (Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453), for queries that were
drawn at random from those that the model judged. The intervals hold whatever the model does: a bad
model makes them no narrower than those of people alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    FloatArray,
    as_table,
    check_level,
)
from trectools_plus.statistics.method import EQUAL

Population = Literal["like these", "these"]
"""The queries of a mean: queries like these, of which these are a sample, or only these queries."""

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
        population: What the means are about.
    """

    n: int
    total: int
    weight: float
    correlation: float
    people: MeanInterval
    model: MeanInterval
    combined: MeanInterval | None
    population: Population = "like these"

    @property
    def effective(self) -> float:
        """The number of queries that people alone would need for the width of ``combined``.

        At most ``total``; ``n`` without a combined mean, or if people alone have no width.
        """
        if self.combined is None or not self.people.width > 0.0:
            return float(self.n)
        share = (self.combined.width / self.people.width) ** 2 / self.n
        if self.population == "these":  # a width of 0 needs all of them
            share = self.n * share * (1.0 / self.n - 1.0 / self.total) + 1.0 / self.total
        return 1.0 / max(share, 1.0 / self.total)


@dataclass(frozen=True, slots=True)
class _Residuals:
    """The parts of the variances of combined means; covariances have shape (columns, columns).

    Attributes:
        weights: The weight of the model in each column.
        residual: Covariance of people minus weighted model, over the queries of people.
        model: Covariance of the model, over all queries.
        cross: Covariance of the residuals (rows) and the model, over the queries of people.
    """

    weights: FloatArray
    residual: FloatArray
    model: FloatArray
    cross: FloatArray

    def alone(self, people: FloatArray, scale: float = 1.0) -> _Residuals:
        """Return the parts without the model."""
        residual = _covariance(people, people) * scale
        return replace(self, weights=0.0 * self.weights, residual=residual)

    def covariance(self, n: float, total: int, population: Population) -> FloatArray:
        """Return the covariance of combined means with ``n`` queries of people."""
        if population == "these":
            return (1.0 - n / total) * self.residual / n
        shared = self.cross * self.weights
        model = self.weights[:, None] * self.model * self.weights
        return self.residual / n + (model + shared + shared.T) / total


def combine_judgments(
    people: npt.ArrayLike,
    model: npt.ArrayLike,
    judged: npt.ArrayLike,
    *,
    population: Population = "like these",
    confidence: float = DEFAULT_CONFIDENCE,
    simultaneous: bool = False,
    weight: float | None = None,
) -> list[CombinedMean]:
    """Estimate means over queries from judgments of people and of a model.

    For Y from people and f from the model, n queries of people among N of the model:

        weight   = cov(Y, f) / var(f over N), clipped to [0, 1]
        combined = mean(Y) + weight · (mean of f over N - mean of f over n)
        e        = Y - weight · f
        variance = var(e)/n + weight²·var(f)/N + 2·weight·cov(e, f)/N   for queries like these
                   (1 - n/N)·var(e)/n                                   for these queries

    Because the weight is estimated, var(e) has n - 2 in its denominator, and the squared residual
    of a query is divided by 1 - h, where h is its share of the sum of all (f - mean f)² over the n
    queries, as in the covariance HC2 of a regression; not so if the weight is 0 or fixed. Intervals
    use the t distribution with n - 1 degrees of freedom.

    The queries of people may contain some that they could not judge. The mean is then over queries
    that people can judge, of which the model's values alone say nothing: so the model's values of
    these queries count, and Y is the mean of the others there. If they were dropped, and people
    could not judge what the model finds relevant, the n queries would differ from the N.

    Args:
        people: Values from the judgments of people, shape (n, columns) or (n,): measures, or
            differences between runs; ``nan`` for a query that they could not judge.
        model: Values from the judgments of the model, shape (N, columns) or (N,).
        judged: The row in ``model`` of each row in ``people``, shape (n,). The n queries must be a
            random sample of the N.
        population: What the means are about.
        confidence: The level of the intervals.
        simultaneous: Whether all k intervals hold together: each is at the level 1 - alpha / k
            (Bonferroni). Otherwise each holds for itself.
        weight: A fixed weight instead of the tuned one, 0 to 1.

    Returns:
        One result per column.

    Raises:
        UsageError: If shapes do not fit, a query is judged twice, there are fewer than two queries,
            a value is not finite, or the weight or level is out of range.
    """
    where = "combined judgments"
    check_level(confidence, where)
    y, f = as_table(people, where, undefined=True), as_table(model, where)
    rows = np.asarray(judged, dtype=np.int64)
    complete = y[~np.isnan(y).any(axis=1)]
    drawn, n, total = len(y), len(complete), len(f)
    is_sample = drawn == len(rows) == len(np.unique(rows)) and {*rows.tolist()} <= {*range(total)}
    if not is_sample or n < 2 or y.shape[1] != f.shape[1] or not 0.0 <= (weight or 0.0) <= 1.0:
        raise UsageError(
            "expected values of people for two or more different queries, in the columns of the "
            "model, and a weight from 0 to 1",
            where=where,
            remedy="give the row of each query of people among those of the model",
        )
    at, centre = f[rows], complete.mean(axis=0)
    spread = np.where(np.isnan(y), centre, centre + (y - centre) * (drawn / n))
    parts = _residuals(spread, f, at, weight)
    means = centre + parts.weights * (f.mean(axis=0) - at.mean(axis=0))
    varying = np.ptp(complete, axis=0) > EQUAL
    level = simultaneous_level(confidence, y.shape[1]) if simultaneous else confidence

    def intervals(means: FloatArray, residuals: _Residuals) -> list[MeanInterval]:
        variances = np.diag(residuals.covariance(drawn, total, population))
        half = _quantile(n - 1, level) * np.sqrt(np.maximum(variances, 0.0))
        return _around(means, np.where(varying, half, np.nan))

    by_people, by_both = (
        intervals(centre, parts.alone(complete, drawn / n)),
        intervals(means, parts),
    )
    errors = np.sqrt(np.diag(parts.model) / total) if population == "like these" else 0.0 * means
    by_model = _around(f.mean(axis=0), _quantile(total - 1, confidence) * errors)
    uses_model = (n >= MIN_PEOPLE) & varying
    return [
        CombinedMean(
            n=n,
            total=total - (drawn - n),
            weight=float(parts.weights[column]) if uses_model[column] else np.nan,
            correlation=_correlation(y[:, column], at[:, column]),
            people=by_people[column],
            model=by_model[column],
            combined=by_both[column] if uses_model[column] else None,
            population=population,
        )
        for column in range(y.shape[1])
    ]


def simultaneous_level(confidence: float, intervals: int) -> float:
    """Return the level of each of several intervals that hold together (Bonferroni)."""
    return 1.0 - (1.0 - confidence) / max(1, intervals)


def people_needed(
    people: npt.ArrayLike,
    model: npt.ArrayLike,
    judged: npt.ArrayLike,
    width: float,
    *,
    population: Population = "like these",
    confidence: float = DEFAULT_CONFIDENCE,
) -> tuple[int | None, int | None]:
    """Return how many queries people must judge for an interval of some width, from a pilot.

    Args:
        people: Values of the pilot, shape (n,).
        model: Values of the model, shape (N,).
        judged: The row in ``model`` of each value of the pilot.
        width: The wished difference between the ends of the interval.
        population: As in :func:`combine_judgments`.
        confidence: As in :func:`combine_judgments`.

    Returns:
        The number with the model and the number without; ``None`` if all N queries are too few.

    Raises:
        UsageError: As :func:`combine_judgments`.
    """
    check_level(confidence, "needed queries")
    y, f = as_table(people, "needed queries"), as_table(model, "needed queries")
    parts = _residuals(y, f, f[np.asarray(judged, dtype=np.int64)], None)

    def first(residuals: _Residuals, least: int) -> int | None:
        for n in range(least, len(f) + 1):
            variance = max(0.0, float(residuals.covariance(n, len(f), population)[0, 0]))
            if 2.0 * _quantile(n - 1, confidence) * np.sqrt(variance) <= width:
                return n
        return None

    return first(parts, MIN_PEOPLE), first(parts.alone(y), 2)


def _residuals(y: FloatArray, f: FloatArray, at: FloatArray, weight: float | None) -> _Residuals:
    n = len(y)
    of_model = _covariance(f, f)
    variance, shared = np.diag(of_model), np.diag(_covariance(y, at))
    weights = np.clip(shared / np.where(variance > EQUAL, variance, np.inf), 0.0, 1.0)
    if weight is not None:
        weights = np.full(y.shape[1], weight)
    e = y - weights * at
    e -= e.mean(axis=0)
    cross = _covariance(e, at)
    if weight is None and n > 2:
        e = np.where(weights > 0.0, _with_leverage(e, at), e)
    return _Residuals(weights, e.T @ e / (n - 1), of_model, cross)


def _with_leverage(e: FloatArray, at: FloatArray) -> FloatArray:
    """Make centred residuals larger, because the weight was estimated from the same queries.

    A query whose value of the model is far from the others pulls the weight towards itself, so its
    residual is too small.
    """
    n = len(e)
    deviations = (at - at.mean(axis=0)) ** 2
    sums = deviations.sum(axis=0)
    leverage = deviations / np.where(sums > EQUAL, sums, np.inf)
    scale = (n - 1) / (n - 2) / (1.0 - np.minimum(leverage, _MOST_LEVERAGE))
    return np.asarray(e * np.sqrt(scale))


def _around(centre: FloatArray, half: FloatArray) -> list[MeanInterval]:
    ends = zip(centre.tolist(), (centre - half).tolist(), (centre + half).tolist(), strict=True)
    return [MeanInterval(*one) for one in ends]


def _covariance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the sample covariance of each column of one table with each of another."""
    centred = first - first.mean(axis=0)
    return np.asarray(centred.T @ (second - second.mean(axis=0)) / (len(first) - 1))


def _quantile(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1.0 + confidence) / 2.0))


def _correlation(people: FloatArray, model: FloatArray) -> float:
    first, second = people[~np.isnan(people)], model[~np.isnan(people)]
    spread = float(first.std() * second.std())
    if spread <= EQUAL:
        return np.nan
    return float(((first - first.mean()) * (second - second.mean())).mean() / spread)
