"""The result of fixing a file: a summary for people and programs, and a diff line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.text import plural, visible
from trectools_plus.validation.draft import Applied, LineNumbers

_LONGEST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Change:
    """A line with another text or position than before.

    Attributes:
        line: The line number in the input, from 1.
        before: The text, without LF.
        after: The text in the output; ``None`` if the line was removed. It ends in LF only if the
            input's last line did not.
        moved_to: The line number in the output, if its order among the others changed.
    """

    line: int
    before: str
    after: str | None
    moved_to: int | None = None


@dataclass(frozen=True, slots=True)
class FixSummary:
    """The result of fixing a file.

    Attributes:
        path: The input, as the user named it.
        kind: ``run``, ``qrels`` or ``topics``.
        output: The file written; ``None`` if none was.
        applied: The applied fixes, in order; none if the file had nothing to fix.
        notes: Fixes that were not applied, and why.
        refused: The reason why nothing was written.
        repacked: The change of compression from input to output.
        lines_before, lines_after: Number of lines of input and output.
    """

    path: str
    kind: str
    output: str | None
    applied: tuple[Applied, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str | None = None
    repacked: str | None = None
    lines_before: int = 0
    lines_after: int = 0
    _changes: Callable[[], Iterator[Change]] = field(default=lambda: iter(()), repr=False)

    def iter_changes(self) -> Iterator[Change]:
        """Yield each changed line, in the order of the input; computed lazily.

        A line with another encoding, byte order mark or line end is a changed one. The conversion
        of a whole file from UTF-16 or the like is in :attr:`applied` alone.
        """
        return self._changes()

    def iter_diff(self) -> Iterator[str]:
        """Yield the diff as lines with LF: line number in the input, text before and after."""
        for change in self.iter_changes():
            place = f"{self.path}:{change.line}"
            moved = "" if change.moved_to is None else f"  (now line {change.moved_to})"
            if change.after == change.before:
                yield f"{place}: > {_shown(change.before)}{moved}\n"
                continue
            yield f"{place}: - {_shown(change.before)}\n"
            if change.after is not None:
                yield f"{place}: + {_shown(change.after)}{moved}\n"

    def to_text(self) -> str:
        """The summary for people, several lines."""
        if self.output is None:
            lines = [f"{self.path}: not fixed, nothing written: {self.refused}"]
        elif self.applied:
            before, after = plural(self.lines_before, "line"), f"{self.lines_after:,}"
            lines = [f"{self.path}: fixed, written to {self.output} ({before}, now {after})"]
        else:
            done = self.repacked or "copied"
            lines = [f"{self.path}: nothing was fixed, {done} to {self.output}"]
        for one in self.applied if self.output is not None else ():
            label = f"{one.code} {one.name}" if one.code else one.name
            lines.append(f"  {label}: {one.what} ({one.count:,})")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {
            "path": self.path,
            "output": self.output,
            "refused": self.refused,
            "lines_before": self.lines_before,
            "lines_after": self.lines_after,
            "applied": [
                {"code": one.code, "name": one.name, "count": one.count, "what": one.what}
                for one in self.applied
            ],
            "notes": list(self.notes),
        }


def _shown(text: str) -> str:
    if text.isprintable() and len(text) <= _LONGEST_SHOWN:
        return text
    return "\\t".join(visible(part, _LONGEST_SHOWN) for part in text.split("\t"))


_DIFF_SLICE = 10_000


def iter_changes(
    raw: bytes, text: bytes, after: bytes, origin: LineNumbers | None
) -> Iterator[Change]:
    r"""Yield the lines of a file that are removed, changed or moved.

    Changed line ends are shown: ``\r`` before LF, and the LF that was added to the last line. Bytes
    that are not UTF-8 are shown as escapes (``\xe9``).

    Args:
        raw: The bytes of the file.
        text: The file as UTF-8 without byte order mark, with LF or CRLF.
        after: The fixed text, with LF.
        origin: The line in ``text`` of each line of ``after``; ``None`` if no line was moved.
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
    """Add LF to the new line that comes from the last line of the input, if it still exists."""
    at = np.array([last - 1]) if origin is None else np.flatnonzero(origin == last)
    return new.clone().scatter(at, new.gather(at) + "\n") if len(at) and new.len() else new


def _lines_as_they_were(raw: bytes, text: bytes) -> pl.Series:
    """The lines of a file before all fixes, with CR and byte order mark."""
    lines = _lines_of(text)
    if raw == text:
        return lines
    if b"\n" not in raw and b"\r" in raw:
        raw = raw.replace(b"\r", b"\r\n")
    if b"\0" in raw:  # UTF-16 and the like: all bytes change, but no line
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
    """Flag the lines that changed their order, by the simple count that flags fewer of them."""
    if not len(origin):
        return np.zeros(0, np.bool_)
    # Lines after a later line, or lines before an earlier one.
    sank = origin < np.maximum.accumulate(origin)
    rose = origin > np.minimum.accumulate(origin[::-1])[::-1]
    return sank if int(sank.sum()) <= int(rose.sum()) else rose
