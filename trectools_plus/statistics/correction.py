"""p-values adjusted for the number of comparisons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import FloatArray, check_choice


def adjust_p_values(p_values: npt.ArrayLike, method: str = "holm") -> FloatArray:
    """Adjust the p-values of one family of comparisons.

    A comparison is significant in its family if its adjusted p-value is at most the level. With
    ``holm`` and ``bonferroni`` the level limits the probability of one or more false positives;
    with ``benjamini_hochberg`` it limits the expected share of false positives among the
    significant comparisons.

    Args:
        p_values: The family, shape (comparisons,): all comparisons that were made, without a
            baseline against itself. ``nan`` marks a comparison that was not made; it is not counted
            and stays ``nan``.
        method: ``holm`` (Holm 1979: the same guarantee as Bonferroni with more power),
            ``bonferroni``, ``benjamini_hochberg`` (1995, for independent or positively dependent
            tests) or ``none``.

    Returns:
        Adjusted p-values in the same order, each at least its p-value and at most 1.

    Raises:
        UsageError: If the shape is wrong, a p-value is outside [0, 1], or the method is unknown.
    """
    family = np.asarray(p_values, dtype=np.float64)
    check_choice(method, CORRECTIONS, "correction")
    if family.ndim != 1 or ((family < 0) | (family > 1)).any():
        raise UsageError(
            "expected p-values between 0 and 1 in an array of one dimension",
            where="correction",
            remedy="pass one p-value per comparison, shape (comparisons,)",
        )
    made = ~np.isnan(family)
    order = np.argsort(family[made], kind="stable")
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1.0, CORRECTIONS[method](family[made][order]))
    result = np.full(family.shape, np.nan)
    result[made] = adjusted
    return result


def _holm(ascending: FloatArray) -> FloatArray:
    n_remaining = np.arange(len(ascending), 0, -1)
    return np.maximum.accumulate(ascending * n_remaining)


def _bonferroni(ascending: FloatArray) -> FloatArray:
    return ascending * len(ascending)


def _benjamini_hochberg(ascending: FloatArray) -> FloatArray:
    rank = np.arange(1, len(ascending) + 1)
    scaled = ascending * (len(ascending) / rank)
    return np.minimum.accumulate(scaled[::-1])[::-1]


CORRECTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "holm": _holm,
    "bonferroni": _bonferroni,
    "benjamini_hochberg": _benjamini_hochberg,
    "none": lambda ascending: ascending,
}
"""By name, a function that adjusts ascending p-values; its results may exceed 1."""
