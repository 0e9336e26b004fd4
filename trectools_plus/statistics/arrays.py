"""Array types, argument checks and resampling, shared by the functions of this package.

Random rows are drawn in chunks of bounded memory. Each chunk has its own random stream, and its
size depends only on the number of rows. The same seed therefore gives the same draws on every
machine, for any number of threads, columns and workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from trectools_plus.blas import one_blas_thread
from trectools_plus.distributed import current_workers
from trectools_plus.errors import UsageError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

DEFAULT_CONFIDENCE = 0.95
DEFAULT_RESAMPLES = 10_000
DEFAULT_SEED = 42
EQUAL = 1e-12
"""Two values with a smaller difference are equal: the last bits depend on the order of a sum."""

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
    x, y = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise UsageError(
            f"expected two arrays of shape (n,) but got shapes {x.shape} and {y.shape}",
            where=where,
            remedy="pass the values of the same ids, in the same order",
        )
    as_table(x, where)
    as_table(y, where)
    return x, y


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


T = TypeVar("T")


CELLS_PER_CHUNK = 2**19
"""Cells of one chunk's matrix: 4 MiB of float64 per thread, independent of the number of rows."""
CELLS_PER_COUNT = 2**15
"""Cells that are counted at once."""
RESAMPLES_PER_BLOCK = 2**10
COLUMNS_PER_BLOCK = 2**8
"""Resamples and columns whose t statistics are computed at once: they fit into the caches."""


def map_chunks(
    function: Callable[[int, np.random.Generator], T],
    rows: int,
    resamples: int,
    seed: int,
) -> list[T]:
    """Call a function once per chunk of resamples, on several threads or a scheduler's workers.

    Args:
        function: Takes the number of resamples in the chunk and its random generator.
        rows: The number of cells of one resample.
        resamples: The number of resamples in all chunks together.
        seed: The same seed, rows and resamples give the same draws.

    Returns:
        The function's results, in the order of the chunks.
    """
    size = max(1, CELLS_PER_CHUNK // rows)
    sizes = [min(size, resamples - start) for start in range(0, resamples, size)]
    streams = np.random.SeedSequence(seed).spawn(len(sizes))

    def call(chunk: tuple[int, np.random.SeedSequence]) -> T:
        return function(chunk[0], np.random.Generator(np.random.PCG64(chunk[1])))

    def call_on_worker(chunk: tuple[int, np.random.SeedSequence]) -> T:
        with one_blas_thread():
            return call(chunk)

    # Nested threads would wait for each other, and the number of BLAS threads would change the last
    # bits of a matrix product.
    workers = current_workers()
    if workers is not None and len(sizes) > 1:
        return workers.map(call_on_worker, zip(sizes, streams, strict=True))
    with one_blas_thread(), ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(call, zip(sizes, streams, strict=True)))


def draw_rows(
    rows: int, resamples: int, generator: np.random.Generator
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Draw row numbers with replacement, shape (resamples, rows)."""
    # The smallest type for a row number: NumPy then gets several numbers from one random word.
    dtype = np.uint16 if rows <= 2**16 else np.uint32 if rows <= 2**32 else np.uint64
    return generator.integers(0, rows, size=(resamples, rows), dtype=dtype)


def draw_counts(rows: int, resamples: int, generator: np.random.Generator) -> FloatArray:
    """Return how often :func:`draw_rows` drew each row, shape (resamples, rows)."""
    counts = np.empty((resamples, rows))
    drawn = draw_rows(rows, resamples, generator)
    # Count many resamples at once, as numbers of cells in a block that fits into the caches.
    size = max(1, CELLS_PER_COUNT // rows)
    starts = np.arange(0, size * rows, rows)[:, None]
    for begin in range(0, resamples, size):
        block = drawn[begin : begin + size]
        cells = (block + starts[: len(block)]).ravel()
        counts[begin : begin + size] = np.bincount(cells, minlength=block.size).reshape(-1, rows)
    return counts


def count_extreme(
    draw: Callable[[int, int, np.random.Generator], FloatArray],
    statistic: Callable[[FloatArray, FloatArray], FloatArray],
    table: FloatArray,
    threshold: FloatArray,
    draws: tuple[int, int],
) -> IntArray:
    """Count each column's resampled statistics that are at least its threshold.

    Args:
        draw: Takes the number of rows, a number of resamples and a generator; returns the weights
            of the rows, shape (resamples, rows).
        statistic: Takes weights and columns, shape (rows, columns); its results have the shape
            (resamples, columns).
        table: Shape (rows, columns).
        threshold: Shape (columns,).
        draws: The number of resamples, and the seed as in :func:`map_chunks`; all columns get the
            same draws.

    Returns:
        Counts of shape (columns,), between 0 and the number of resamples.
    """
    rows, columns = table.shape
    blocks = _blocks(columns)

    def extreme(size: int, generator: np.random.Generator) -> IntArray:
        drawn = draw(rows, size, generator)
        counts = np.zeros(columns, dtype=np.int64)
        for begin in range(0, size, RESAMPLES_PER_BLOCK):
            some = drawn[begin : begin + RESAMPLES_PER_BLOCK]
            for block in blocks:
                counts[block] += (statistic(some, table[:, block]) >= threshold[block]).sum(axis=0)
        return counts

    return np.asarray(np.sum(map_chunks(extreme, rows, *draws), axis=0))


def _blocks(columns: int) -> list[slice]:
    return [slice(at, at + COLUMNS_PER_BLOCK) for at in range(0, columns, COLUMNS_PER_BLOCK)]


def studentised_means(counts: FloatArray, table: FloatArray) -> FloatArray:
    """Return each resampled mean divided by its own standard error, without the sign.

    If all rows of a resample have the same value, its standard error is that of a resample in which
    one row differs by the range of the data. A resample that repeats a single row has no standard
    error: the result is infinite.

    Args:
        counts: How often each row was drawn, shape (resamples, rows).
        table: Shape (rows, columns); each column has mean 0 and range 1.

    Returns:
        Shape (resamples, columns).
    """
    n = float(len(table))
    # In place: with thousands of columns, most of the time is spent on reading and writing arrays.
    means = counts @ table
    means /= n
    squares = means * means
    variances = counts @ table**2
    variances /= n
    variances -= squares
    equal = variances <= EQUAL
    some_equal = bool(equal.any())
    if some_equal:
        variances[equal] = 1.0
    squares /= variances
    squares *= n - 1.0
    studentised = np.sqrt(squares, out=squares)
    if some_equal:
        studentised[equal] = (np.abs(means) * n)[equal]
    if len(table) <= _ONE_ROW_MATTERS:
        studentised[counts.max(axis=1) == len(table)] = np.inf
    return np.asarray(studentised)


_ONE_ROW_MATTERS = 8
"""With more rows, fewer than one resample in two million repeats a single row."""
