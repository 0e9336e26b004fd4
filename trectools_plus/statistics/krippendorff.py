"""Krippendorff's alpha: agreement of any number of raters, who need not rate everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.agreement import Agreement, interval_of_resamples
from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    FloatArray,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.resamples import draw_counts, map_chunks

Alphas = Callable[[FloatArray], FloatArray]
"""From how often each item counts, shape (resamples, items), to one alpha per resample."""


def krippendorffs_alpha(
    ratings: npt.ArrayLike,
    *,
    metric: str = "nominal",
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    confidence: float = 0.95,
) -> Agreement:
    """Krippendorff's alpha of raters' values of the same items.

    α = 1 − observed / expected disagreement, over all pairs of values within an item and over all
    pairs of values at large (Krippendorff, Content Analysis, 3rd edition, 2013, 12.3). Items with
    fewer than two values count for nothing. The interval resamples items; it is not Krippendorff's
    own, which resamples pairs of values.

    Args:
        ratings: Shape (items, raters); ``nan`` or ``None`` where a rater has not rated.
        metric: How far two values are apart: ``nominal`` (equal or not; values of any type),
            ``ordinal`` (how many values lie between them) or ``interval`` (their difference).
        resamples: How many resamples, at least 1.
        seed: Of the resamples.
        confidence: The interval's level, between 0 and 1.

    Returns:
        Alpha with its interval. Neither the order of items nor that of raters changes them.

    Raises:
        UsageError: If no item has two values, a value is no number where the metric needs one, or
            an option is unknown.
    """
    check_choice(metric, METRICS, "metric")
    check_resamples(resamples, "alpha")
    check_level(confidence, "alpha")
    values, counts = _count(np.asarray(ratings, dtype=object), metric)
    alphas = METRICS[metric](values, counts)
    items = len(counts)
    value = float(alphas(np.ones((1, items)))[0])

    def drawn(size: int, generator: np.random.Generator) -> FloatArray:
        return alphas(draw_counts(items, size, generator))

    found = np.concatenate(map_chunks(drawn, max(counts.size, items), resamples, seed))
    low, high = interval_of_resamples(found, value, items, confidence)
    return Agreement(value, low, high, items, confidence, resamples, seed)


def _count(table: npt.NDArray[Any], metric: str) -> tuple[list[Any], FloatArray]:
    """The values that occur, in order, and how often each does in each item that has two."""
    if table.ndim != 2:
        raise UsageError(
            f"expected ratings of shape (items, raters) but got shape {table.shape}", where="alpha"
        )
    rows = [[value for value in row if value is not None and value == value] for row in table]
    rows = [row for row in rows if len(row) > 1]
    if not rows:
        raise UsageError("expected an item with two ratings but got none", where="alpha")
    values = sorted({value for row in rows for value in row})
    if metric != "nominal" and not all(
        isinstance(value, int | float | np.number) for value in values
    ):
        raise UsageError(
            f"expected numbers for the {metric} metric but got {values[0]!r}",
            where="alpha",
            remedy="number the categories in their order",
        )
    place = {value: number for number, value in enumerate(values)}
    counts = np.zeros((len(rows), len(values)))
    for row, cells in zip(rows, counts, strict=True):
        for value in row:
            cells[place[value]] += 1
    # Items of equal counts are alike; a canonical order makes the resamples independent of it.
    return values, counts[np.lexsort(counts.T[::-1])]


def _alpha(observed: FloatArray, expected: FloatArray, n: FloatArray) -> FloatArray:
    """1 − observed / (expected / (n − 1)); ``nan`` where all values are the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 1.0 - observed * (n - 1.0) / expected
    return np.asarray(np.where(expected > 1e-9, value, np.nan))


def _nominal(_values: list[Any], counts: FloatArray) -> Alphas:
    rated = counts.sum(axis=1)
    within = (rated**2 - (counts**2).sum(axis=1)) / (rated - 1.0)

    def alphas(weights: FloatArray) -> FloatArray:
        totals = weights @ counts
        n = totals.sum(axis=1)
        return _alpha(weights @ within, n**2 - (totals**2).sum(axis=1), n)

    return alphas


def _interval(values: list[Any], counts: FloatArray) -> Alphas:
    places = np.array(values, dtype=np.float64)
    span = places[-1] - places[0]
    # Alpha has no unit: measured from the middle in spans, sums of squares keep their digits.
    places = (places - places.mean()) / (span if span > 0 else 1.0)
    rated = counts.sum(axis=1)
    sums, squares = counts @ places, counts @ places**2
    within = 2.0 * np.maximum(rated * squares - sums**2, 0.0) / (rated - 1.0)
    moments = np.column_stack([rated, sums, squares])

    def alphas(weights: FloatArray) -> FloatArray:
        n, total, square = (weights @ moments).T
        return _alpha(weights @ within, 2.0 * (n * square - total**2), n)

    return alphas


def _ordinal(_values: list[Any], counts: FloatArray) -> Alphas:
    rated = counts.sum(axis=1)
    kinds = counts.shape[1]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(kinds)
    pairs = (pairs / (rated - 1.0)[:, None, None]).reshape(len(counts), kinds * kinds)

    def alphas(weights: FloatArray) -> FloatArray:
        totals = weights @ counts
        n = totals.sum(axis=1)
        # The count of values between two, half of each of the two included, is a difference of
        # mean ranks; in shares, so that alpha's denominator has the size of the interval one's.
        ranks = (np.cumsum(totals, axis=1) - totals / 2.0) / n[:, None]
        distance = (ranks[:, :, None] - ranks[:, None, :]) ** 2
        observed = ((weights @ pairs).reshape(-1, kinds, kinds) * distance).sum(axis=(1, 2))
        expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2))
        return _alpha(observed, expected, n)

    return alphas


METRICS: dict[str, Callable[[list[Any], FloatArray], Alphas]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
