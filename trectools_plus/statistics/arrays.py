"""Array types, resampling settings and argument checks shared by the functions of this package."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

DEFAULT_CONFIDENCE = 0.95
DEFAULT_RESAMPLES = 10_000
DEFAULT_SEED = 42


MAX_RESAMPLES = 10_000_000
"""The largest number in a report of a stranger."""


@dataclass(frozen=True)
class Resampling:
    """Settings of intervals and tests.

    Attributes:
        resamples: The number of resamples, at least 1.
        seed: The seed of the draws.
        confidence: The level of the intervals, between 0 and 1.
        interval: The method of intervals of means; see ``intervals.INTERVALS``.
    """

    resamples: int = DEFAULT_RESAMPLES
    seed: int = DEFAULT_SEED
    confidence: float = DEFAULT_CONFIDENCE
    interval: str = "auto"


class ResamplingOptions(TypedDict, total=False):
    """The fields of :class:`Resampling` other than ``interval`` as keyword arguments."""

    resamples: int
    seed: int
    confidence: float


class IntervalOptions(ResamplingOptions, total=False):
    """All fields of :class:`Resampling` as keyword arguments, each optional."""

    interval: str


def as_table(values: npt.ArrayLike, where: str, *, undefined: bool = False) -> FloatArray:
    """Return values as a table with one column per variable.

    Args:
        values: Shape (rows, columns) or (rows,).
        where: The name of the calculation, for error messages.
        undefined: Accept ``nan``, for undefined values.

    Returns:
        Shape (rows, columns), at least one row.

    Raises:
        UsageError: If there is no row, a value is infinite, or a value is ``nan`` and ``undefined``
            is false.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not table.shape[0]:
        raise UsageError(
            f"expected at least one row of values but got an array of shape {table.shape}",
            where=where,
            remedy="pass the values of at least one query",
        )
    if np.isinf(table).any():
        raise UsageError(
            "expected finite values but got an infinite one",
            where=where,
            remedy="remove infinite values",
        )
    if not undefined and np.isnan(table).any():
        raise UsageError(
            f"expected defined values but got {int(np.isnan(table).sum())} NaN",
            where=where,
            remedy="remove the rows with undefined values, and report how many were removed",
        )
    return table


def as_pair(
    first: npt.ArrayLike, second: npt.ArrayLike, where: str
) -> tuple[FloatArray, FloatArray]:
    """Return two one-dimensional arrays of equal length, finite and not empty.

    Raises:
        UsageError: If the shapes differ, there is no value, or a value is NaN or infinite.
    """
    one, two = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if one.ndim != 1 or one.shape != two.shape or not len(one):
        raise UsageError(
            f"expected two arrays of shape (n,) but got shapes {one.shape} and {two.shape}",
            where=where,
            remedy="pass the values of the same ids, in the same order",
        )
    as_table(one, where)
    as_table(two, where)
    return one, two


def check_level(confidence: float, where: str) -> None:
    """Refuse a confidence level outside (0, 1).

    Raises:
        UsageError: If the level is not between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise UsageError(
            f"expected a confidence level between 0 and 1 but got {confidence}",
            where=where,
            remedy="use 0.95, for example",
        )


def check_resamples(resamples: int, where: str) -> None:
    """Refuse a number of resamples below 1.

    Raises:
        UsageError: If the number is below 1.
    """
    if resamples < 1:
        raise UsageError(
            f"expected at least 1 resample but got {resamples}",
            where=where,
            remedy="use 10000, for example",
        )


def check_choice(value: str, choices: Collection[str], kind: str) -> None:
    """Refuse an unknown name.

    Raises:
        UsageError: If ``value`` is not in ``choices``; the error lists them.
    """
    if value not in choices:
        raise UsageError(f"unknown {kind} {value!r}", remedy=f"expected {', '.join(choices)}")


def none_if_nan(value: float) -> float | None:
    """Return a plain float, or ``None`` for NaN."""
    return None if np.isnan(value) else float(value)
