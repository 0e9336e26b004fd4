"""Random draws in chunks of bounded memory: one seed gives the same draws on any machine.

Each chunk has a stream of its own and its size depends on the number of rows only, so neither the
number of threads nor that of columns changes what is drawn, nor do the workers of a scheduler.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from trectools_plus.blas import one_blas_thread
from trectools_plus.distributed import current_workers
from trectools_plus.statistics.arrays import DEFAULT_RESAMPLES, DEFAULT_SEED, FloatArray, IntArray

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resampling:
    """Settings of bootstrap intervals and randomisation tests.

    Attributes:
        resamples: The number of resamples, at least 1.
        seed: The seed of the draws.
        confidence: The level of the intervals, between 0 and 1.
    """

    resamples: int = DEFAULT_RESAMPLES
    seed: int = DEFAULT_SEED
    confidence: float = 0.95


CELLS_PER_CHUNK = 2**19
"""Cells of one chunk's matrix: 4 MiB of float64 per thread, whatever the number of rows is."""


def map_chunks(
    function: Callable[[int, np.random.Generator], T], rows: int, resamples: int, seed: int
) -> list[T]:
    """Call a function once per chunk of resamples, on several threads or a scheduler's workers.

    Args:
        function: Takes how many resamples the chunk holds, and the chunk's own generator.
        rows: How many cells one resample takes.
        resamples: How many there are in all.
        seed: Equal seeds, rows and resamples give equal draws.

    Returns:
        What the function returned, in the order of the chunks.
    """
    size = max(1, CELLS_PER_CHUNK // rows)
    sizes = [min(size, resamples - start) for start in range(0, resamples, size)]
    streams = np.random.SeedSequence(seed).spawn(len(sizes))

    def call(chunk: tuple[int, np.random.SeedSequence]) -> T:
        return function(chunk[0], np.random.Generator(np.random.PCG64(chunk[1])))

    def call_alone(chunk: tuple[int, np.random.SeedSequence]) -> T:
        with one_blas_thread():
            return call(chunk)

    # Threads within threads would wait for each other, and how a matrix product is cut up would
    # decide about its last bits.
    workers = current_workers()
    if workers is not None and len(sizes) > 1:
        return workers.map(call_alone, zip(sizes, streams, strict=True))
    with one_blas_thread(), ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(call, zip(sizes, streams, strict=True)))


def draw_rows(
    rows: int, resamples: int, generator: np.random.Generator
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Row numbers of shape (resamples, rows), drawn with replacement."""
    # The narrowest integers that hold a row number: several are made from one random word.
    dtype = np.uint16 if rows <= 2**16 else np.uint32 if rows <= 2**32 else np.uint64
    return generator.integers(0, rows, size=(resamples, rows), dtype=dtype)


def draw_counts(rows: int, resamples: int, generator: np.random.Generator) -> FloatArray:
    """How often :func:`draw_rows` drew each row, shape (resamples, rows)."""
    counts = np.empty((resamples, rows))
    for index, draw in enumerate(draw_rows(rows, resamples, generator)):
        counts[index] = np.bincount(draw, minlength=rows)
    return counts


def count_extreme(
    draw: Callable[[int, int, np.random.Generator], FloatArray],
    table: FloatArray,
    threshold: FloatArray,
    resamples: int,
    seed: int,
) -> IntArray:
    """How many resampled means of each column are at least as far from 0 as its threshold.

    Args:
        draw: Takes the number of rows, that of a chunk's resamples and its generator, and returns
            the rows' weights, shape (resamples, rows): counts, or signs.
        table: Shape (rows, columns).
        threshold: Shape (columns,).
        resamples: How many resamples.
        seed: As in :func:`map_chunks`; every column gets the same draws.

    Returns:
        Counts of shape (columns,), between 0 and ``resamples``.
    """
    rows, columns = table.shape

    def extreme(size: int, generator: np.random.Generator) -> IntArray:
        weights = draw(rows, size, generator)
        width = max(1, CELLS_PER_CHUNK // size)
        found = np.empty(columns, dtype=np.int64)
        for start in range(0, columns, width):
            block = slice(start, start + width)
            means = weights @ table[:, block] / rows
            found[block] = (np.abs(means) >= threshold[block]).sum(axis=0)
        return found

    return np.asarray(np.sum(map_chunks(extreme, rows, resamples, seed), axis=0))
