"""Passing over millions of rows in pieces that stay in the processor's cache.

An array over all rows costs more to allocate than to compute. What only asks whether something
holds everywhere, or gathers the few places where it does not, needs none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

PIECE_ROWS = 1 << 16
_PIECES_WORTH_THREADS = 8

_T = TypeVar("_T")
Piece = tuple[int, int]


def pieces(n_rows: int, starts: npt.NDArray[np.int64] | None = None) -> list[Piece]:
    """Cut rows into pieces of about ``PIECE_ROWS``.

    Args:
        n_rows: How many there are.
        starts: Rows at which a cut may be, ascending from 0: first rows of queries, so that none
            is cut in two. Anywhere, if not given.

    Returns:
        First row and end of each piece.
    """
    cuts = np.arange(0, n_rows, PIECE_ROWS)
    if starts is not None and n_rows:
        cuts = np.unique(starts[np.searchsorted(starts, cuts, "right") - 1])
    ends = [*cuts[1:].tolist(), n_rows]
    return list(zip(cuts.tolist(), ends, strict=True)) if n_rows else []


def over(work: Callable[[int, int], _T], cuts: Sequence[Piece]) -> list[_T]:
    """Do some work on every piece, several at a time: NumPy and Polars let threads run."""
    if len(cuts) < _PIECES_WORTH_THREADS:
        return [work(begin, end) for begin, end in cuts]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda cut: work(*cut), cuts))


def holds(test: Callable[[int, int], bool], cuts: Sequence[Piece]) -> bool:
    """Whether a test holds on every piece; the first failure ends the looking."""
    failed = False

    def unless_failed(begin: int, end: int) -> bool:
        nonlocal failed
        if not failed and not test(begin, end):
            failed = True
        return not failed

    return all(over(unless_failed, cuts))
