"""What the functions of this package take: tables, levels, counts; and what they refuse."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

DEFAULT_RESAMPLES = 10_000
DEFAULT_SEED = 42
ROUNDING = 1e-12
"""Two values nearer than this are the same: the last bits differ with the order of a sum."""


def as_table(values: npt.ArrayLike, where: str, *, undefined: bool = False) -> FloatArray:
    """See an array as a table with a column per variable.

    Args:
        values: Shape (rows, columns) or (rows,).
        where: What to call the place in an error.
        undefined: Whether ``nan`` is allowed, for values that are undefined.

    Returns:
        Shape (rows, columns), at least one row.

    Raises:
        UsageError: If there is no row, a value is infinite, or ``nan`` where that is refused.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not table.shape[0]:
        raise UsageError(
            f"expected at least one row of values but got an array of shape {table.shape}",
            where=where,
            remedy="there must be a query to average over",
        )
    if np.isinf(table).any():
        raise UsageError("expected finite values but got an infinite one", where=where)
    if not undefined and np.isnan(table).any():
        raise UsageError(
            f"expected defined values but got {int(np.isnan(table).sum())} that are NaN",
            where=where,
            remedy="leave out the rows where a value is undefined, and say how many",
        )
    return table


def as_pair(
    first: npt.ArrayLike, second: npt.ArrayLike, where: str
) -> tuple[FloatArray, FloatArray]:
    """Two arrays of one dimension, equally long, finite and not empty.

    Raises:
        UsageError: If they are not.
    """
    one, two = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if one.ndim != 1 or one.shape != two.shape or not len(one):
        raise UsageError(
            f"expected two equally long rows of values but got shapes {one.shape} and {two.shape}",
            where=where,
            remedy="align them by id first",
        )
    as_table(one, where)
    as_table(two, where)
    return one, two


def check_level(confidence: float, where: str) -> None:
    """Refuse a confidence level outside (0, 1).

    Raises:
        UsageError: If it is.
    """
    if not 0.0 < confidence < 1.0:
        raise UsageError(
            f"expected a confidence level between 0 and 1 but got {confidence}",
            where=where,
            remedy="0.95 is usual",
        )


def check_resamples(resamples: int, where: str) -> None:
    """Refuse fewer than one resample.

    Raises:
        UsageError: If there are.
    """
    if resamples < 1:
        raise UsageError(
            f"expected at least 1 resample but got {resamples}",
            where=where,
            remedy="10,000 is usual",
        )


def check_choice(value: str, choices: Collection[str], what: str) -> None:
    """Refuse a name that is none of the known ones.

    Raises:
        UsageError: If it is none; it lists them.
    """
    if value not in choices:
        raise UsageError(f"unknown {what} '{value}'", remedy=f"expected {', '.join(choices)}")
