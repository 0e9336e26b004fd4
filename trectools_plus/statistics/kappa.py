"""Cohen's kappa: agreement of two raters beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.agreement import Agreement, interval_of_resamples
from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    FloatArray,
    IntArray,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.resamples import map_chunks

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
