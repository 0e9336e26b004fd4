"""The lines in which two texts differ, when it is known where each line of the second came from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.validation.fixes.summary import Change

LineNumbers = npt.NDArray[np.uint32]
_DIFF_SLICE = 10_000


def iter_changes(
    raw: bytes, text: bytes, after: bytes, origin: LineNumbers | None
) -> Iterator[Change]:
    r"""Yield the lines of a file that another one has not, or not as they are, or not there.

    Line ends are shown where they are the change: ``\r`` before LF, and the LF that the last line
    was given. Bytes that are no UTF-8 are shown as escapes (``\xe9``).

    Args:
        raw: The bytes of the file.
        text: The same as UTF-8, without byte order mark, its lines ended by LF or CRLF.
        after: The text that was made of it, with LF.
        origin: For each line of ``after``, its line in ``text``; ``None`` if none was moved.
    """
    old, new = _lines_as_they_were(raw, text), _lines_of(after)
    if after.endswith(b"\n") and not text.endswith(b"\n"):
        new = _with_line_end(new, old.len(), origin)
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
        for line, then, now, place in part.iter_rows():
            yield Change(line, then, now, place)


def _with_line_end(new: pl.Series, last: int, origin: LineNumbers | None) -> pl.Series:
    """The new lines, LF behind that which comes from the last line of the input, if it stayed."""
    at = np.array([last - 1]) if origin is None else np.flatnonzero(origin == last)
    return new.clone().scatter(at, new.gather(at) + "\n") if len(at) and new.len() else new


def _lines_as_they_were(raw: bytes, text: bytes) -> pl.Series:
    """The lines of a file before anything was mended, each with its CR and byte order mark."""
    lines = _lines_of(text)
    if raw == text:
        return lines
    if b"\n" not in raw and b"\r" in raw:
        raw = raw.replace(b"\r", b"\r\n")
    if b"\0" in raw:  # UTF-16 and the like: all bytes change, and no line
        return lines
    before = _lines_of(raw.decode(errors="backslashreplace").encode())
    return before if before.len() == lines.len() else lines


def _lines_of(data: bytes) -> pl.Series:
    """The lines of a text without LF."""
    text = data.decode().removesuffix("\n")
    if not text:
        return pl.Series([], dtype=pl.String)
    lines: pl.Series = pl.Series([text]).str.split("\n").explode()
    return lines


def _moved(origin: LineNumbers) -> npt.NDArray[np.bool_]:
    """Which lines changed their order: as few as two simple ways of counting can tell."""
    if not len(origin):
        return np.zeros(0, np.bool_)
    # Those that stand behind a later line, or those that stand before an earlier one.
    sank = origin < np.maximum.accumulate(origin)
    rose = origin > np.minimum.accumulate(origin[::-1])[::-1]
    return sank if int(sank.sum()) <= int(rose.sum()) else rose
