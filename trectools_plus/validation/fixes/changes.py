"""The lines in which two texts differ, when it is known where each line of the second came from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.validation.fixes.summary import Change

LineNumbers = npt.NDArray[np.uint32]
_DIFF_SLICE = 10_000


def iter_changes(before: bytes, after: bytes, origin: LineNumbers | None) -> Iterator[Change]:
    """Yield the lines of a text that another one has not, or not as they are, or not there.

    Args:
        before: A text of UTF-8; line ends do not matter.
        after: The text that was made of it, with LF.
        origin: For each line of ``after``, its line in ``before``; ``None`` if none was moved.
    """
    old, new = _lines_of(before), _lines_of(after)
    if origin is None:
        origin = np.arange(1, new.len() + 1, dtype=np.uint32)
    places = pl.Series(np.arange(1, len(origin) + 1))
    moved_to = places.set(pl.Series(~_moved(origin)), None)
    table = pl.DataFrame({"line": origin, "after": new, "moved_to": moved_to})
    lines = pl.DataFrame({"line": np.arange(1, old.len() + 1, dtype=np.uint32), "before": old})
    both = lines.join(table, on="line", how="left", maintain_order="left")
    both = both.filter(
        pl.col("after").is_null()
        | (pl.col("before") != pl.col("after"))
        | pl.col("moved_to").is_not_null()
    )
    for part in both.iter_slices(_DIFF_SLICE):
        for line, text, now, place in part.iter_rows():
            yield Change(line, text, now, place)


def _lines_of(data: bytes) -> pl.Series:
    """The lines of a text without their ends."""
    text = data.decode().removesuffix("\n")
    if not text:
        return pl.Series([], dtype=pl.String)
    lines: pl.Series = pl.Series([text]).str.split("\n").explode().str.strip_suffix("\r")
    return lines


def _moved(origin: LineNumbers) -> npt.NDArray[np.bool_]:
    """Which lines changed their order: as few as two simple ways of counting can tell."""
    if not len(origin):
        return np.zeros(0, np.bool_)
    # Those that stand behind a later line, or those that stand before an earlier one.
    sank = origin < np.maximum.accumulate(origin)
    rose = origin > np.minimum.accumulate(origin[::-1])[::-1]
    return sank if int(sank.sum()) <= int(rose.sum()) else rose
