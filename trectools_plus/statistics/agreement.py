"""Agreement of raters beyond chance: Cohen's kappa and Krippendorff's alpha, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    FloatArray,
    IntArray,
    Resampling,
    ResamplingOptions,
    check_choice,
    check_level,
    check_resamples,
    draw_counts,
    map_chunks,
)

WEIGHTS = ("none", "linear", "quadratic")

Alphas = Callable[[FloatArray], FloatArray]
"""A function from weights of items, shape (resamples, items), to the alpha of each resample."""


@dataclass(frozen=True, slots=True, repr=False)
class Agreement(Displayed):
    """An agreement with its percentile-bootstrap interval.

    Attributes:
        value: At most 1; 0 is agreement by chance; ``nan`` if only one category occurs.
        low: Lower end of the interval; ``nan`` if ``value`` is ``nan`` or there is a single item.
        high: Upper end.
        n: The number of items that were rated at least twice.
        level: The interval's confidence level, between 0 and 1.
        resamples: The number of resamples of the items. The interval ignores resamples in which
            only one category occurs.
        seed: The seed of the draws.
    """

    value: float
    low: float
    high: float
    n: int
    level: float
    resamples: int
    seed: int


def cohens_kappa(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    weights: str = "none",
    categories: Sequence[Any] | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[ResamplingOptions],
) -> Agreement:
    """Return Cohen's kappa of two raters' labels of the same items.

    κ = 1 − Σ w·observed / Σ w·expected over pairs of categories, where w is the weight of a
    disagreement: 1 (``none``; Cohen 1960), or the distance between the categories' positions in
    their order (``linear``) or its square (``quadratic``; Cohen 1968). For the interval, items are
    resampled, or whole clusters of items, which need not be independent of each other.

    Args:
        first: One rater's labels, shape (items,).
        second: The other rater's labels, in the same order.
        weights: ``none``, ``linear`` or ``quadratic``.
        categories: All categories in their order; by default those that occur, sorted. Pass them
            for weighted kappa if some category may not occur.
        clusters: The cluster of each item, for example its query; by default each item is one.
        resampling: ``confidence``, ``resamples`` and ``seed``; see :class:`ResamplingOptions`.

    Returns:
        Kappa with its interval. They do not depend on the order of the items.

    Raises:
        UsageError: If the numbers of labels differ, there is no label, a label is missing
            (``None`` or NaN) or not in ``categories``, or an option is out of range.
    """
    check_choice(weights, WEIGHTS, "weighting")
    codes, n_categories = _codes(np.asarray(first), np.asarray(second), categories)
    cells, numbers, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    costs = _costs(n_categories, weights)
    items = len(codes)
    value = float(_kappas(counts[None].astype(np.float64), cells, costs)[0])
    if clusters is None:

        def resample(size: int, generator: np.random.Generator) -> FloatArray:
            # Items with the same two labels are exchangeable, so it is enough to draw their counts.
            sample = generator.multinomial(items, counts / items, size=size)
            return _kappas(sample.astype(np.float64), cells, costs)

        return _with_interval(value, items, resample, max(len(cells), n_categories), **resampling)
    members = _members(clusters, items)
    of_clusters = np.zeros((members.max() + 1, len(cells)))
    np.add.at(of_clusters, (members, numbers.ravel()), 1.0)

    def resample_clusters(size: int, generator: np.random.Generator) -> FloatArray:
        return _kappas(draw_counts(len(of_clusters), size, generator) @ of_clusters, cells, costs)

    return _with_interval(
        value,
        items,
        resample_clusters,
        max(of_clusters.shape[0], len(cells), n_categories),
        varies=len(of_clusters) > 1,
        **resampling,
    )


def krippendorffs_alpha(
    ratings: npt.ArrayLike,
    *,
    metric: str = "nominal",
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[ResamplingOptions],
) -> Agreement:
    """Return Krippendorff's alpha of any number of raters, who need not rate every item.

    α = 1 − observed / expected disagreement, over all pairs of values within an item and over all
    pairs of values (Krippendorff, Content Analysis, 3rd edition, 2013, 12.3). Items with fewer than
    two values do not count. For the interval, items or clusters of items are resampled;
    Krippendorff resamples pairs of values.

    Args:
        ratings: Shape (items, raters); ``nan`` or ``None`` where a rating is missing.
        metric: The distance between two values: ``nominal`` (equal or not; values of any type),
            ``ordinal`` (the number of values between them) or ``interval`` (their difference).
        clusters: The cluster of each item, for example its query; by default each item is one.
        resampling: ``confidence``, ``resamples`` and ``seed``; see :class:`ResamplingOptions`.

    Returns:
        Alpha with its interval. They do not depend on the order of items and raters.

    Raises:
        UsageError: If no item has two values, a value is not a number although the metric needs
            numbers, or an option is out of range.
    """
    check_choice(metric, METRICS, "metric")
    table = np.asarray(ratings, dtype=object)
    rows = table.shape[0] if table.ndim else 0
    members = np.arange(rows) if clusters is None else _members(clusters, rows)
    values, counts, members = _count_values(table, metric, members)
    alphas = METRICS[metric](values, counts)
    items = len(counts)
    value = float(alphas(np.ones((1, items)))[0])
    if clusters is None:
        members = np.arange(items)
    else:
        members = np.unique(members, return_inverse=True)[1].ravel()
    n_clusters = int(members.max()) + 1

    def resample(size: int, generator: np.random.Generator) -> FloatArray:
        return alphas(draw_counts(n_clusters, size, generator)[:, members])

    return _with_interval(
        value, items, resample, max(counts.size, items), varies=n_clusters > 1, **resampling
    )


def _with_interval(
    value: float,
    items: int,
    resample: Callable[[int, np.random.Generator], FloatArray],
    cells: int,
    *,
    varies: bool = True,
    **resampling: Unpack[ResamplingOptions],
) -> Agreement:
    """Return the value with its interval: percentiles of the defined resampled values.

    ``varies`` is false if all resamples are equal, so that there is no interval.
    """
    options = Resampling(**resampling)
    check_resamples(options.resamples, "agreement")
    check_level(options.confidence, "agreement")
    resampled = np.concatenate(map_chunks(resample, cells, options.resamples, options.seed))
    defined = resampled[~np.isnan(resampled)]
    low = high = np.nan
    if not np.isnan(value) and items > 1 and varies and len(defined):
        tail = (1.0 - options.confidence) / 2.0
        low, high = np.quantile(defined, [tail, 1.0 - tail]).tolist()
    return Agreement(value, low, high, items, options.confidence, options.resamples, options.seed)


def _codes(
    first: npt.NDArray[Any], second: npt.NDArray[Any], categories: Sequence[Any] | None
) -> tuple[IntArray, int]:
    """Return each item's two category numbers, shape (items, 2), and the number of categories."""
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise UsageError(
            f"expected two arrays of labels of shape (n,) but got shapes {first.shape} and "
            f"{second.shape}",
            where="kappa",
            remedy="pass only items that both raters labelled",
        )
    labels = [*first.tolist(), *second.tolist()]
    if any(label is None or label != label for label in labels):
        raise UsageError(
            "expected labels but one is missing",
            where="kappa",
            remedy="pass only items that both raters labelled",
        )
    order = list(categories) if categories is not None else sorted(set(labels))
    position = {label: number for number, label in enumerate(order)}
    unknown = next((label for label in labels if label not in position), None)
    if unknown is not None:
        raise UsageError(
            f"label {unknown!r} is not among the categories",
            where="kappa",
            remedy="add it to the argument categories",
        )
    codes = np.array([position[label] for label in labels], dtype=np.int64)
    return codes.reshape(2, -1).T, len(order)


def _costs(n_categories: int, weights: str) -> FloatArray:
    positions = np.arange(n_categories, dtype=np.float64)
    distance = np.abs(positions[:, None] - positions[None, :])
    if weights == "none":
        return (distance > 0).astype(np.float64)
    return distance if weights == "linear" else distance**2


def _kappas(counts: FloatArray, cells: IntArray, costs: FloatArray) -> FloatArray:
    """Return the kappa of each row of cell counts, shape (resamples, cells)."""
    eye = np.eye(len(costs))
    observed = counts @ costs[cells[:, 0], cells[:, 1]]
    first, second = counts @ eye[cells[:, 0]], counts @ eye[cells[:, 1]]
    expected = ((first @ costs) * second).sum(axis=1) / counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1.0 - observed / expected, np.nan))


def _members(clusters: npt.ArrayLike, items: int) -> IntArray:
    """Return the number of each item's cluster, in the order of their names."""
    names = np.asarray(clusters)
    if names.shape != (items,):
        raise UsageError(
            f"expected the cluster of each of {items} items but got an array of shape "
            f"{names.shape}",
            where="agreement",
        )
    return np.asarray(np.unique(names, return_inverse=True)[1].ravel(), dtype=np.int64)


def _count_values(
    table: npt.NDArray[Any], metric: str, members: IntArray
) -> tuple[list[Any], FloatArray, IntArray]:
    """Return the values that occur, ascending, and their counts per item rated at least twice.

    The last array has the clusters of these items.
    """
    if table.ndim != 2:
        raise UsageError(
            f"expected ratings of shape (items, raters) but got shape {table.shape}",
            where="alpha",
            remedy="pass one row per item and one column per rater",
        )
    rows = [[value for value in row if value is not None and value == value] for row in table]
    members = members[[len(row) > 1 for row in rows]]
    rows = [row for row in rows if len(row) > 1]
    if not rows:
        raise UsageError(
            "expected an item with two ratings but got none",
            where="alpha",
            remedy="pass items that at least two raters rated",
        )
    values = sorted({value for row in rows for value in row})
    if metric != "nominal" and not all(
        isinstance(value, int | float | np.number) for value in values
    ):
        raise UsageError(
            f"expected numbers for the {metric} metric but got {values[0]!r}",
            where="alpha",
            remedy="number the categories in their order",
        )
    position = {value: number for number, value in enumerate(values)}
    counts = np.zeros((len(rows), len(values)))
    for row, cells in zip(rows, counts, strict=True):
        for value in row:
            cells[position[value]] += 1
    # Sorted, so that the resamples do not depend on the order of the items.
    order = np.lexsort(counts.T[::-1])
    return values, counts[order], members[order]


def _alpha(observed: FloatArray, expected: FloatArray, n: FloatArray) -> FloatArray:
    """Return 1 − observed / (expected / (n − 1)); ``nan`` where all values are equal."""
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
    positions = np.array(values, dtype=np.float64)
    span = positions[-1] - positions[0]
    # Alpha does not depend on unit and origin. Centred and scaled, sums of squares are precise.
    positions = (positions - positions.mean()) / (span if span > 0 else 1.0)
    rated = counts.sum(axis=1)
    sums, squares = counts @ positions, counts @ positions**2
    within = 2.0 * np.maximum(rated * squares - sums**2, 0.0) / (rated - 1.0)
    moments = np.column_stack([rated, sums, squares])

    def alphas(weights: FloatArray) -> FloatArray:
        n, total, square = (weights @ moments).T
        return _alpha(weights @ within, 2.0 * (n * square - total**2), n)

    return alphas


def _ordinal(_values: list[Any], counts: FloatArray) -> Alphas:
    rated = counts.sum(axis=1)
    n_values = counts.shape[1]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(n_values)
    pairs = (pairs / (rated - 1.0)[:, None, None]).reshape(len(counts), n_values * n_values)

    def alphas(weights: FloatArray) -> FloatArray:
        totals = weights @ counts
        n = totals.sum(axis=1)
        # The ordinal distance of two values is the number of ratings between them, with half of
        # the ratings of the two values: the difference of their mean ranks. Dividing by n only
        # scales it.
        ranks = (np.cumsum(totals, axis=1) - totals / 2.0) / n[:, None]
        distance = (ranks[:, :, None] - ranks[:, None, :]) ** 2
        observed = ((weights @ pairs).reshape(-1, n_values, n_values) * distance).sum(axis=(1, 2))
        expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2))
        return _alpha(observed, expected, n)

    return alphas


METRICS: dict[str, Callable[[list[Any], FloatArray], Alphas]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
