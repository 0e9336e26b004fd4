"""How far raters agree, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    FloatArray,
    IntArray,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.resamples import draw_counts, map_chunks


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


WEIGHTS = ("none", "linear", "quadratic")


def cohens_kappa(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    weights: str = "none",
    categories: Sequence[Any] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    confidence: float = 0.95,
) -> Agreement:
    """Cohen's kappa of two raters' labels of the same items.

    κ = 1 − Σ w·observed / Σ w·expected over pairs of categories, where w is how much a
    disagreement counts: 1 (``none``; Cohen 1960), or the distance of the categories' places in
    their order, plain (``linear``) or squared (``quadratic``; Cohen 1968). The interval resamples
    items.

    Args:
        first: One rater's labels, shape (items,).
        second: The other's, in the same order.
        weights: ``none``, ``linear`` or ``quadratic``.
        categories: All categories in their order; by default those that occur, sorted. Name them
            for weighted kappa when one in between may be unused.
        resamples: How many resamples, at least 1.
        seed: Of the resamples.
        confidence: The interval's level, between 0 and 1.

    Returns:
        Kappa with its interval. The order of the items changes neither.

    Raises:
        UsageError: If the labels differ in number, there are none, one is NaN or not in
            ``categories``, or an option is unknown.
    """
    check_choice(weights, WEIGHTS, "weighting")
    check_resamples(resamples, "kappa")
    check_level(confidence, "kappa")
    codes, n_categories = _codes(np.asarray(first), np.asarray(second), categories)
    cells, counts = np.unique(codes, axis=0, return_counts=True)
    costs = _costs(n_categories, weights)
    items = len(codes)
    value = float(_kappas(counts[None].astype(np.float64), cells, costs)[0])

    def drawn(size: int, generator: np.random.Generator) -> FloatArray:
        # Items alike in both labels are exchangeable: drawing items is drawing cell counts.
        sample = generator.multinomial(items, counts / items, size=size)
        return _kappas(sample.astype(np.float64), cells, costs)

    found = np.concatenate(map_chunks(drawn, max(len(cells), n_categories), resamples, seed))
    low, high = interval_of_resamples(found, value, items, confidence)
    return Agreement(value, low, high, items, confidence, resamples, seed)


def _codes(
    first: npt.NDArray[Any], second: npt.NDArray[Any], categories: Sequence[Any] | None
) -> tuple[IntArray, int]:
    """Each item's two category numbers, shape (items, 2), and how many categories there are."""
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise UsageError(
            f"expected two equally long rows of labels but got shapes {first.shape} and "
            f"{second.shape}",
            where="kappa",
            remedy="keep the items that both have rated",
        )
    labels = [*first.tolist(), *second.tolist()]
    if any(label is None or label != label for label in labels):
        raise UsageError(
            "expected labels but got a missing one",
            where="kappa",
            remedy="keep the items that both have rated",
        )
    order = list(categories) if categories is not None else sorted(set(labels))
    place = {label: number for number, label in enumerate(order)}
    unknown = next((label for label in labels if label not in place), None)
    if unknown is not None:
        raise UsageError(f"label {unknown!r} is none of the categories", where="kappa")
    codes = np.array([place[label] for label in labels], dtype=np.int64)
    return codes.reshape(2, -1).T, len(order)


def _costs(n_categories: int, weights: str) -> FloatArray:
    places = np.arange(n_categories, dtype=np.float64)
    distance = np.abs(places[:, None] - places[None, :])
    if weights == "none":
        return (distance > 0).astype(np.float64)
    return distance if weights == "linear" else distance**2


def _kappas(counts: FloatArray, cells: IntArray, costs: FloatArray) -> FloatArray:
    """Kappa of each row of cell counts, shape (resamples, cells)."""
    eye = np.eye(len(costs))
    observed = counts @ costs[cells[:, 0], cells[:, 1]]
    first, second = counts @ eye[cells[:, 0]], counts @ eye[cells[:, 1]]
    expected = ((first @ costs) * second).sum(axis=1) / counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1.0 - observed / expected, np.nan))


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
